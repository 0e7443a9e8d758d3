import IssueCore
import IssueProtocol

/// The records of one commit, before they are encoded as blocks.
///
/// It may begin with the records of the newest block, if that block is small. The block is then replaced by a larger
/// one.
struct RowBuffer {
    /// The id of the first record of the commit. The following records have consecutive ids.
    private(set) var firstID: RowID = 0
    var receivedAt: Int64 = 0
    private(set) var rows: [BlockRow] = []
    /// The number of rows at the start that are stored already.
    private(set) var storedCount = 0
    private(set) var text = ByteBuffer()

    /// `true` if the commit has no records.
    var isEmpty: Bool { rows.count == storedCount }

    /// The id of the next row.
    var nextID: RowID { firstID + (rows.count - storedCount) }

    mutating func clear() {
        rows.removeAll(keepingCapacity: true)
        text.truncate(to: 0)
        storedCount = 0
    }

    /// Begins a commit.
    ///
    /// - Parameters:
    ///   - firstID: The id of the first record. Stored rows are dropped unless they end right before it.
    ///   - receivedAt: When its records were received, in milliseconds since 1970-01-01 UTC.
    mutating func begin(firstID: RowID, receivedAt: Int64) {
        if let last = rows.last, last.id + 1 != firstID { clear() }
        storedCount = rows.count
        self.firstID = firstID
        self.receivedAt = receivedAt
    }

    /// Drops all but the last rows, after they were stored.
    mutating func keepLast(_ count: Int) {
        guard count < rows.count else { return }
        guard count > 0 else { return clear() }
        rows.removeFirst(rows.count - count)
        // The texts of a row follow those of the row before.
        let start = rows.lazy.flatMap { [$0.message, $0.metadata, $0.details] }.filter { !$0.isEmpty }.map(\.lower)
            .min()
        guard let start else { return text.truncate(to: 0) }
        text.removeFirst(start)
        func moved(_ range: ByteRange) -> ByteRange {
            range.isEmpty ? .empty : ByteRange(from: range.lower - start, to: range.upper - start)
        }
        for index in rows.indices {
            rows[index].message = moved(rows[index].message)
            rows[index].metadata = moved(rows[index].metadata)
            rows[index].details = moved(rows[index].details)
        }
    }

    /// Appends a row. It gets the next id.
    @inline(__always)
    mutating func append(_ row: BlockRow) {
        var row = row
        row.id = nextID
        rows.append(row)
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
