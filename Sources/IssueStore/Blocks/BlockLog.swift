import IssueCore
import IssueProtocol
import SQLiteKit

/// Adds, changes and removes blocks, on the writer's connection. All functions must be called in a transaction.
package final class BlockLog {
    let reader: BlockReader
    private unowned let connection: DatabaseConnection
    private var encoder = BlockEncoder()

    /// The default maximum number of records in a block.
    package static let maxRecords = 256
    /// The text size, in bytes, at which a block gets no further records. A single record may be larger.
    static let maxTextBytes = 64 << 10

    private let maxRecords: Int

    init(on connection: DatabaseConnection, maxRecords: Int = maxRecords) throws(SQLiteError) {
        self.connection = connection
        self.maxRecords = min(max(1, maxRecords), BlockFormat.maxRecords)
        reader = try BlockReader(on: connection)
    }

    // MARK: Adding

    /// Stores the rows of a commit in blocks.
    ///
    /// The rows may begin with all rows of the newest block. A larger block then replaces that block.
    ///
    /// - Parameters:
    ///   - rows: The rows, in ascending order of their ids.
    ///   - bytes: The bytes that the rows refer to.
    /// - Returns: The number of rows in the last block if the next commit should extend it; otherwise 0.
    func append(_ rows: [BlockRow], _ bytes: Span<UInt8>) throws(SQLiteError) -> Int {
        var start = 0
        var extensible = 0
        while start < rows.count {
            var end = start
            var size = 0
            while end < rows.count, end - start < maxRecords, size < Self.maxTextBytes {
                size += rows[end].byteCount
                end += 1
            }
            try write(
                rows[start..<end], bytes, rows[start].id...rows[end - 1].id,
                "INSERT OR REPLACE INTO blocks (first_id, last_id, records, checksum, body) VALUES (?1, ?2, ?3, ?4, ?5)"
            )
            // A block that is at least half full is not worth rewriting.
            let isExtensible = (end - start) * 2 < maxRecords && size * 2 < Self.maxTextBytes
            extensible = isExtensible ? end - start : 0
            start = end
        }
        return extensible
    }

    /// Encodes a block, and runs a statement with its columns.
    private func write(
        _ rows: ArraySlice<BlockRow>, _ bytes: Span<UInt8>, _ ids: ClosedRange<RowID>, _ sql: StaticString
    ) throws(SQLiteError) {
        let body = encoder.encode(rows, bytes, firstID: ids.lowerBound)
        let header = BlockHeader(firstID: ids.lowerBound, lastID: ids.upperBound, records: rows.count)
        try connection.run(
            sql, header.firstID, header.lastID, header.records, RecordBlock.checksum(header, body.span),
            DatabaseBytes.blob(body))
    }

    // MARK: Removing

    /// Deletes the blocks that are entirely in a range of ids, without reading their records.
    ///
    /// - Returns: The number of removed records.
    func remove(_ ids: ClosedRange<RowID>) throws(SQLiteError) -> Int64 {
        // The last id of a damaged block may be too high. The block is in the range if the next one begins right after
        // the range or earlier.
        let counts = try connection.all(
            """
            DELETE FROM blocks WHERE first_id BETWEEN ?1 AND ?2 AND (last_id <= ?2
                OR (SELECT min(next.first_id) - 1 FROM blocks AS next WHERE next.first_id > blocks.first_id) <= ?2)
            RETURNING records
            """, ids.lowerBound, ids.upperBound
        ) { DamagedBlock.records(in: $0.int64(0)) }
        return counts.reduce(0, +)
    }

    /// Removes all records in a range of ids except those to keep.
    ///
    /// Blocks whose span contains no id to keep are deleted unread. A damaged block that may have a record to keep is
    /// left unchanged.
    ///
    /// - Parameters:
    ///   - ids: The range. It begins with the first id of a block and ends with the last id of a block.
    ///   - kept: The ids of the records to keep, in ascending order. Ids without a record are ignored.
    /// - Returns: The number of removed records.
    func remove(_ ids: ClosedRange<RowID>, keeping kept: [RowID]) throws(SQLiteError) -> Int64 {
        var count: Int64 = 0
        var next = ids.lowerBound
        var index = 0
        while index < kept.count {
            guard let rows = try rows(ofBlockWith: kept[index]) else {
                index += 1
                continue
            }
            var own: Set<RowID> = []
            while index < kept.count, kept[index] <= rows.upperBound {
                own.insert(kept[index])
                index += 1
            }
            if next < rows.lowerBound { count += try remove(next...(rows.lowerBound - 1)) }
            if let block = try reader.block(from: rows.lowerBound), block.firstID == rows.lowerBound {
                count += try rewrite(block) { own.contains($0.id) }
            }
            next = rows.upperBound + 1
        }
        if next <= ids.upperBound { count += try remove(next...ids.upperBound) }
        return count
    }

    /// Returns the id range of the block that may contain a record, or nil if there is none.
    private func rows(ofBlockWith row: RowID) throws(SQLiteError) -> ClosedRange<RowID>? {
        // The last id of a damaged block may be too high.
        let rows = try connection.first(
            """
            SELECT first_id, min(last_id, coalesce(
                (SELECT min(next.first_id) - 1 FROM blocks AS next WHERE next.first_id > blocks.first_id), last_id))
            FROM blocks WHERE first_id <= ?1 ORDER BY first_id DESC LIMIT 1
            """, row
        ) { (first: $0.id(0, as: RowID.self), last: $0.id(1, as: RowID.self)) }
        guard let rows, row <= rows.last else { return nil }
        return rows.first...rows.last
    }

    /// Removes single records.
    ///
    /// Records in a damaged block remain, unless only its text is damaged and all of its records are to be removed.
    ///
    /// - Parameter ids: The ids, in ascending order. Ids without a record are ignored.
    /// - Returns: The number of removed records.
    @discardableResult
    func remove(_ ids: [RowID]) throws(SQLiteError) -> Int64 {
        var count: Int64 = 0
        var next = 0
        while next < ids.count {
            guard let block = try reader.block(from: ids[next]) else { break }
            var gone: Set<RowID> = []
            while next < ids.count, ids[next] <= block.lastID {
                gone.insert(ids[next])
                next += 1
            }
            count += try rewrite(block) { !gone.contains($0.id) }
        }
        return count
    }

    /// Replaces a block with one that has only some of its records, or deletes it if none are left.
    ///
    /// - Returns: The number of removed records. If records are left but the text of the block is damaged, leaves the
    ///   block unchanged and returns 0.
    private func rewrite(_ block: RecordBlock, keeping isKept: (BlockRow) -> Bool) throws(SQLiteError) -> Int64 {
        let kept = block.rows.indices.filter { isKept(block.rows[$0]) }
        let removed = Int64(block.rows.count - kept.count)
        guard removed > 0 else { return 0 }
        guard !kept.isEmpty else {
            try connection.run("DELETE FROM blocks WHERE first_id = ?1", block.firstID)
            return removed
        }
        guard let text = try reader.text(of: block) else { return 0 }
        var bytes: [UInt8] = []
        let rows = kept.map { index in
            var row = block.rows[index]
            func move(_ range: ByteRange) -> ByteRange {
                let start = bytes.count
                bytes.append(contentsOf: text.span, from: range.lower, to: range.upper)
                return ByteRange(from: start, to: bytes.count)
            }
            row.message = move(row.message)
            let start = bytes.count
            if block.hasMetadata(index) { block.appendMetadata(of: index, text.span, to: &bytes) }
            row.metadata = ByteRange(from: start, to: bytes.count)
            row.details = move(row.details)
            return row
        }
        try write(
            rows[...], bytes.span, block.firstID...block.lastID,
            "UPDATE blocks SET last_id = ?2, records = ?3, checksum = ?4, body = ?5 WHERE first_id = ?1")
        return removed
    }
}

@available(*, unavailable)
extension BlockLog: Sendable {}

/// The records of one commit, before they are encoded as blocks.
///
/// The buffer may begin with the records of the newest block, if that block is small. A larger block then replaces it.
struct RowBuffer {
    /// The id of the first record of the commit. The following records have consecutive ids.
    private(set) var firstID: RowID = 0
    /// The time at which the records of the commit were received, in milliseconds since 1970-01-01 UTC.
    var receivedAt: Int64 = 0
    private(set) var rows: [BlockRow] = []
    /// The number of rows at the start of `rows` that the newest block already contains.
    private(set) var storedCount = 0
    /// The bytes that the rows refer to.
    private(set) var text = ByteBuffer()

    /// Whether the commit has no records.
    var isEmpty: Bool { rows.count == storedCount }

    /// The id of the next row.
    var nextID: RowID { firstID + (rows.count - storedCount) }

    /// Removes all rows but keeps the allocated memory.
    mutating func clear() {
        rows.removeAll(keepingCapacity: true)
        text.truncate(to: 0)
        storedCount = 0
    }

    /// Begins a commit.
    ///
    /// - Parameters:
    ///   - firstID: The id of the first record. If it does not follow the last row of the newest block, the rows of
    ///     that block are dropped.
    ///   - receivedAt: The time at which the commit's records were received, in milliseconds since 1970-01-01 UTC.
    mutating func begin(firstID: RowID, receivedAt: Int64) {
        if let last = rows.last, last.id + 1 != firstID { clear() }
        storedCount = rows.count
        self.firstID = firstID
        self.receivedAt = receivedAt
    }

    /// Removes all but the last `count` rows. All rows must have been stored.
    mutating func keepLast(_ count: Int) {
        guard count < rows.count else { return }
        guard count > 0 else { return clear() }
        rows.removeFirst(rows.count - count)
        // Texts are stored in the order of the rows, so all bytes before `start` belong to removed rows.
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

    /// Copies a range of a `RecordBatch`'s bytes into the buffer and returns the range of the copy.
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
