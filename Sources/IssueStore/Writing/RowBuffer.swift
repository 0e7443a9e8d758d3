import IssueCore
import IssueProtocol
import SQLiteKit

/// The rows of one commit, as the database reads them from memory.
struct RowBuffer: RowSource {
    /// One row of `records`, its text in the buffer's bytes.
    struct Row {
        var series: Int64
        var process: Int64
        var occurred: Int64
        var firstOccurred: Int64
        var count: Int64
        var messageForm: DecodedRecord.MessageForm
        var message: ByteRange
        var metadata: ByteRange
        var details: ByteRange
    }

    static let columns: [StaticString] = [
        "id", "series", "process", "received_at", "occurred", "first_occurred", "count", "message", "metadata",
        "details",
    ]

    var firstID: Int64 = 0
    var receivedAt: Int64 = 0
    var rows: [Row] = []
    var text = ByteBuffer()

    /// What the texts of the rows are parts of.
    var bytes: [UInt8] { text.bytes }

    var rowCount: Int { rows.count }

    /// The id of the row that comes next.
    var nextID: Int64 { firstID + Int64(rows.count) }

    mutating func clear() {
        rows.removeAll(keepingCapacity: true)
        text.truncate(to: 0)
    }

    func write(row: Int, column: Int, to result: borrowing ResultContext) {
        let record = rows[row]
        switch column {
        case 0:
            // The rows behind the first take the ids that follow it.
            if row == 0 { result.int64(firstID) }
        case 1: result.int64(record.series)
        case 2: result.int64(record.process)
        case 3: result.int64(receivedAt)
        case 4: if record.occurred != DecodedRecord.absent { result.int64(record.occurred) }
        case 5: if record.firstOccurred != DecodedRecord.absent { result.int64(record.firstOccurred) }
        case 6: result.int64(record.count)
        case 7:
            switch record.messageForm {
            case .template: break
            case .parts: result.blob(record.message.lower..<record.message.upper)
            case .whole: result.text(record.message.lower..<record.message.upper)
            }
        case 8: if !record.metadata.isEmpty { result.text(record.metadata.lower..<record.metadata.upper) }
        default: if !record.details.isEmpty { result.text(record.details.lower..<record.details.upper) }
        }
    }

    /// Copies a part of a batch and answers where it is here.
    @inline(__always)
    mutating func take(_ range: ByteRange, from batch: Span<UInt8>) -> ByteRange {
        guard !range.isEmpty else { return .empty }
        let start = text.count
        text.append(batch, from: range.lower, to: range.upper)
        return ByteRange(from: start, to: text.count)
    }

    mutating func take(_ bytes: some Sequence<UInt8>) -> ByteRange {
        let start = text.count
        text.append(contentsOf: bytes)
        return ByteRange(from: start, to: text.count)
    }
}
