import IssueCore
import IssueProtocol
import SQLiteKit

/// The rows of one commit, which SQLite reads directly from memory through a `BatchTable`.
struct RowBuffer {
    /// One row of `records`. Its ranges refer to the buffer's text.
    struct BufferedRecord {
        var series: SeriesID
        var process: ProcessRowID
        /// Milliseconds from the time it was received to the time it occurred (negative if it occurred before), or
        /// `absent`.
        var occurred: Int64
        var firstOccurred: Int64
        var count: Int64
        var messageForm: DecodedRecord.MessageForm
        var message: ByteRange
        var metadata: ByteRange
        var details: ByteRange

        /// The total size of its text, in bytes.
        var byteCount: Int { Int(message.count) + Int(metadata.count) + Int(details.count) }
    }

    static let columns: [StaticString] = [
        "id", "series", "process", "occurred", "first_occurred", "count", "message", "metadata", "details",
    ]

    /// The id of the first row. The following rows have consecutive ids.
    var firstID: RowID = 0
    var receivedAt: Int64 = 0
    private(set) var count = 0
    private(set) var cells: [BatchCell] = []
    private(set) var text = ByteBuffer()

    var isEmpty: Bool { count == 0 }

    /// The id of the next row.
    var nextID: RowID { firstID + count }

    mutating func clear() {
        count = 0
        cells.removeAll(keepingCapacity: true)
        text.truncate(to: 0)
    }

    @inline(__always)
    mutating func append(_ row: BufferedRecord) {
        cells.append(isEmpty ? .int64(firstID.rawValue) : .null)
        cells.append(.int64(row.series.rawValue))
        cells.append(.int64(row.process.rawValue))
        cells.append(row.occurred == DecodedRecord.absent ? .null : .int64(row.occurred))
        cells.append(row.firstOccurred == DecodedRecord.absent ? .null : .int64(row.firstOccurred))
        cells.append(.int64(row.count))
        switch row.messageForm {
        case .template: cells.append(.null)
        case .parts: cells.append(.blob(row.message.lower..<row.message.upper))
        case .whole: cells.append(.text(row.message.lower..<row.message.upper))
        }
        cells.append(Self.text(row.metadata))
        cells.append(Self.text(row.details))
        count += 1
    }

    @inline(__always)
    private static func text(_ range: ByteRange) -> BatchCell {
        range.isEmpty ? .null : .text(range.lower..<range.upper)
    }

    /// Copies a range of a batch's bytes into the buffer and returns its range there.
    @inline(__always)
    mutating func take(_ range: ByteRange, from batch: Span<UInt8>) -> ByteRange {
        guard !range.isEmpty else { return .empty }
        let start = text.count
        text.append(batch, from: range.lower, to: range.upper)
        return ByteRange(from: start, to: text.count)
    }

    /// Copies bytes into the buffer and returns their range there.
    mutating func take(_ bytes: [UInt8]) -> ByteRange {
        let start = text.count
        text.append(contentsOf: bytes)
        return ByteRange(from: start, to: text.count)
    }
}
