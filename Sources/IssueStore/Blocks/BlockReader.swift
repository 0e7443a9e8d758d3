package import IssueCore
import IssueProtocol
package import SQLiteKit

/// Reads blocks on one connection, with small caches of decoded blocks and of block digests.
///
/// The caches need no invalidation: an entry is used only if its ids and checksum are those in the current snapshot.
package final class BlockReader {
    /// What the reader does with a block whose checksum or content is invalid.
    package enum DamagePolicy: Sendable {
        /// Skips the block, as if it had no records, and calls `onDamagedBlock` once for it.
        case skip
        /// Throws `SQLITE_CORRUPT`.
        case fail
    }

    // Unowned, because the connection owns the reader through its virtual table.
    private unowned let connection: DatabaseConnection
    private let policy: DamagePolicy
    private var cache = [RecordBlock?](repeating: nil, count: 16)
    /// The index of the cache entry to replace next.
    private var next = 0
    /// Digests of blocks that were read, each at the slot of the block's last id. Allocated on first use.
    private var digests: [BlockDigest?] = []
    /// The block that was read last in the current snapshot, or the one passed to `use(_:)`; nil if there is none.
    private var current: RecordBlock?
    private var isInSnapshot = false
    /// The last block that could not be decoded. Its bytes are not checked again for each of its records.
    private var lastDamaged: BlockHeader?
    /// The damaged blocks that were ever skipped, each once.
    package private(set) var damagedBlocks: [DamagedBlock] = []
    /// The damaged blocks that were skipped since the last snapshot began or, if later, `takeSkipped()` was called,
    /// keyed by their first ids.
    private(set) var skipped: [RowID: DamagedBlock] = [:]

    /// Called once for each damaged block that is skipped.
    package var onDamagedBlock: ((DamagedBlock) -> Void)?

    /// Creates a reader and adds the table `records` to the connection.
    ///
    /// - Parameters:
    ///   - connection: The connection. It must stay open as long as the reader is used.
    ///   - policy: What to do with damaged blocks.
    package init(on connection: DatabaseConnection, policy: DamagePolicy = .skip) throws(SQLiteError) {
        self.connection = connection
        self.policy = policy
        try RowTable.add("records", columns: RecordTable.columns, of: RecordTable(self), to: connection)
    }

    /// Declares that all reads until `endSnapshot()` see the same state of the database, so that consecutive reads of a
    /// block look it up once.
    func beginSnapshot() {
        isInSnapshot = true
        current = nil
        lastDamaged = nil
        skipped = [:]
    }

    /// Ends the snapshot that `beginSnapshot()` began.
    func endSnapshot() {
        isInSnapshot = false
        current = nil
    }

    /// Makes reads of this block's records use this block, even if it is not in the table, until nil is passed or a
    /// snapshot begins or ends. Must not be called within a snapshot.
    func use(_ block: RecordBlock?) { current = block }

    /// Returns the first block that has a record with this id or a higher one; nil if there is none within the limit.
    ///
    /// - Parameters:
    ///   - row: The id.
    ///   - limit: The last id of interest. Blocks that begin after it are not read.
    func block(from row: RowID, limit: RowID = .max) throws(SQLiteError) -> RecordBlock? {
        if let current, current.firstID <= row, let last = current.rows.last, row <= last.id { return current }
        var start = row
        while true {
            let found = try connection.first(
                """
                SELECT first_id, last_id, records, checksum, body FROM blocks
                WHERE first_id BETWEEN coalesce((SELECT max(first_id) FROM blocks WHERE first_id <= ?1), ?1) AND ?2
                    AND last_id >= ?1
                ORDER BY first_id LIMIT 1
                """, start, limit
            ) { decoded($0) }
            guard let found else { return nil }
            if let block = try usable(found), let last = block.rows.last?.id, last >= start { return block }
            // The last id of a damaged block may be wrong, so the search continues with the first id of the next one.
            guard let next = try firstID(after: found.header.firstID), next > start else { return nil }
            start = next
        }
    }

    /// Returns the last block that has a record with this id or a lower one; nil if there is none within the limit.
    ///
    /// - Parameters:
    ///   - row: The id.
    ///   - limit: The first id of interest. Blocks that end before it are not read.
    func block(upTo row: RowID, limit: RowID = .min) throws(SQLiteError) -> RecordBlock? {
        if let current, row <= current.lastID, let first = current.rows.first, first.id <= row { return current }
        var end = row
        while true {
            let found = try connection.first(
                """
                SELECT first_id, last_id, records, checksum, body FROM blocks
                WHERE first_id = (SELECT max(first_id) FROM blocks WHERE first_id <= ?1) AND last_id >= ?2
                """, end, limit
            ) { decoded($0) }
            guard let found else { return nil }
            if let block = try usable(found), let first = block.rows.first?.id, first <= end { return block }
            guard found.header.firstID > RowID.min, found.header.firstID <= end else { return nil }
            end = found.header.firstID - 1
        }
    }

    /// Returns the last block that may have records in a range of ids; nil if there is none.
    ///
    /// With a filter, skips blocks that are known to have no records of the filter's series, so that a query for a
    /// rare series need not decode the whole open range.
    func lastBlock(in rows: ClosedRange<RowID>, with filter: SeriesFilter?) throws(SQLiteError) -> RecordBlock? {
        guard let filter else { return try block(upTo: rows.upperBound, limit: rows.lowerBound) }
        if digests.isEmpty { digests = [BlockDigest?](repeating: nil, count: Self.maxDigests) }
        var end = rows.upperBound
        while let known = digests[Self.slot(end)], known.lastID == end, !known.series.mayOverlap(filter.bits),
            try isCurrent(known)
        {
            guard known.firstID > rows.lowerBound else { return nil }
            end = known.firstID - 1
        }
        let block = try block(upTo: end, limit: rows.lowerBound)
        if let block {
            digests[Self.slot(block.lastID)] = BlockDigest(
                firstID: block.firstID, lastID: block.lastID, checksum: block.checksum,
                series: SeriesBits(block.rows.lazy.map(\.series)))
        }
        return block
    }

    /// The identity of a block, and the series in it.
    private struct BlockDigest {
        var firstID: RowID
        var lastID: RowID
        var checksum: Int64
        var series: SeriesBits
    }

    /// The number of slots: enough for the open range, unless it has many small blocks.
    private static let maxDigests = 512

    /// Returns the slot of a block. Consecutive blocks mostly have different slots, because a block is usually extended
    /// until it has at least 128 records or 32 KiB of text.
    private static func slot(_ lastID: RowID) -> Int { Int(lastID.rawValue / 128 % Int64(maxDigests)) }

    /// Returns `true` if the current snapshot contains the block of a digest.
    private func isCurrent(_ block: BlockDigest) throws(SQLiteError) -> Bool {
        try connection.exists(
            "SELECT 1 FROM blocks WHERE first_id = ?1 AND last_id = ?2 AND checksum = ?3", block.firstID, block.lastID,
            block.checksum)
    }

    /// Returns the block that contains a record, and the record's index in the block; nil if the record does not exist
    /// or is in a damaged block that is skipped.
    func find(_ row: RowID) throws(SQLiteError) -> (block: RecordBlock, index: Int)? {
        guard let block = try block(from: row, limit: row), let index = block.index(of: row) else { return nil }
        return (block, index)
    }

    /// Passes each block with records in a range of ids to a closure, in ascending order, until the closure returns
    /// `false`. May also pass blocks that span ids of the range but have no record in it.
    func scan(
        _ rows: ClosedRange<RowID>, while body: (RecordBlock) throws(SQLiteError) -> Bool
    ) throws(SQLiteError) {
        var next = rows.lowerBound
        while next <= rows.upperBound, let block = try block(from: next, limit: rows.upperBound) {
            guard try body(block), block.lastID < rows.upperBound else { return }
            next = block.lastID + 1
        }
    }

    // MARK: Cache

    /// A row of `blocks`. The block is nil if it is damaged.
    private typealias Found = (header: BlockHeader, block: RecordBlock?)

    private func decoded(_ row: borrowing Row) -> Found {
        let header = BlockHeader(
            firstID: row.id(0), lastID: row.id(1), records: Int(clamping: row.int64(2)), checksum: row.int64(3))
        for known in cache {
            guard let known, known.firstID == header.firstID, known.checksum == header.checksum,
                known.rows.count == header.records, known.lastID == header.lastID
            else { continue }
            return (header, known)
        }
        guard header != lastDamaged, let block = RecordBlock(header, body: row.bytes(4).span) else {
            lastDamaged = header
            return (header, nil)
        }
        cache[next] = block
        next = (next + 1) % cache.count
        return (header, block)
    }

    private func usable(_ found: Found) throws(SQLiteError) -> RecordBlock? {
        if let block = found.block {
            if isInSnapshot { current = block }
            return block
        }
        return try damaged(found.header)
    }

    /// Returns the first id of the next block after the one that begins with `first`; nil if there is none.
    private func firstID(after first: RowID) throws(SQLiteError) -> RowID? {
        try connection.first("SELECT min(first_id) FROM blocks WHERE first_id > ?1", first) {
            $0.optionalID(0, as: RowID.self)
        } ?? nil
    }

    /// Handles a damaged block according to the policy: returns nil or throws.
    @discardableResult
    func damaged(_ header: BlockHeader) throws(SQLiteError) -> RecordBlock? {
        switch policy {
        case .fail: throw SQLiteError(code: .corrupt, message: "the block of row \(header.firstID) is damaged")
        case .skip:
            // The last id may be wrong, but no block ends after the next one begins.
            let last = min(header.lastID, try firstID(after: header.firstID).map { $0 - 1 } ?? .max)
            let block = DamagedBlock(
                rows: header.firstID...max(header.firstID, last),
                records: DamagedBlock.records(in: Int64(header.records)))
            skipped[header.firstID] = block
            if !damagedBlocks.contains(where: { $0.rows.lowerBound == header.firstID }) {
                damagedBlocks.append(block)
                onDamagedBlock?(block)
            }
            return nil
        }
    }

    /// Returns the damaged blocks that were skipped since the last call or, if later, the beginning of the last
    /// snapshot.
    package func takeSkipped() -> [DamagedBlock] {
        defer { skipped = [:] }
        return Array(skipped.values)
    }

    /// Returns `true` if the block with this first id exists and can be decoded, including its text. With the policy
    /// `fail`, throws if it cannot be decoded.
    func isReadable(_ first: RowID) throws(SQLiteError) -> Bool {
        lastDamaged = nil
        let found = try connection.first(
            "SELECT first_id, last_id, records, checksum, body FROM blocks WHERE first_id = ?1", first
        ) { decoded($0) }
        guard let found, let block = try usable(found) else { return false }
        return try text(of: block) != nil
    }

    /// Returns the parts of a range of ids that are in damaged blocks. Damaged blocks that have not been read yet are
    /// left out.
    package func unreadable(in rows: ClosedRange<RowID>) -> [ClosedRange<RowID>] {
        damagedBlocks.filter { $0.rows.overlaps(rows) }.map { $0.rows.clamped(to: rows) }
    }

    /// Returns the same as `unreadable(in:)`, but leaves out blocks that have been removed or can be read again.
    func stillUnreadable(in rows: ClosedRange<RowID>) throws(SQLiteError) -> [ClosedRange<RowID>] {
        var found: [ClosedRange<RowID>] = []
        for block in damagedBlocks where block.rows.overlaps(rows) {
            let first = block.rows.lowerBound
            guard try connection.exists("SELECT 1 FROM blocks WHERE first_id = ?1", first), try !isReadable(first)
            else {
                continue
            }
            found.append(block.rows.clamped(to: rows))
        }
        return found
    }

    /// Returns the text of a block; nil if it is damaged and damaged blocks are skipped.
    ///
    /// - Throws: `SQLITE_CORRUPT` if the text is damaged and the policy is `fail`.
    func text(of block: RecordBlock) throws(SQLiteError) -> [UInt8]? {
        if let text = block.text() { return text }
        try damaged(BlockHeader(firstID: block.firstID, lastID: block.lastID, records: block.rows.count))
        return nil
    }
}

@available(*, unavailable)
extension BlockReader: Sendable {}

/// The records of all blocks as rows of the virtual table `records`, so that SQL can join them with other tables.
private final class RecordTable: RowSource {
    static let columns: [StaticString] = [
        "id INTEGER", "series INTEGER", "process INTEGER", "received_at INTEGER", "occurred INTEGER",
        "first_occurred INTEGER", "count INTEGER", "message", "metadata TEXT", "details TEXT",
    ]

    private let blocks: BlockReader

    init(_ blocks: BlockReader) {
        self.blocks = blocks
    }

    func rows(
        in ids: ClosedRange<Int64>, isDescending: Bool, columns: ColumnSet
    ) throws(SQLiteError) -> RowWindow? {
        var (lower, upper) = (RowID(rawValue: max(ids.lowerBound, 1)), RowID(rawValue: ids.upperBound))
        while lower <= upper {
            let found =
                isDescending
                ? try blocks.block(upTo: upper, limit: lower) : try blocks.block(from: lower, limit: upper)
            guard let block = found else { return nil }
            let wanted = block.index(from: lower)..<block.index(from: upper < .max ? upper + 1 : upper)
            if isDescending { upper = block.firstID - 1 } else { lower = block.lastID + 1 }
            guard !wanted.isEmpty else {
                // If the block is beyond the range, no records are left in the range.
                let isPast = isDescending ? block.lastID < lower : block.firstID > upper
                if isPast { return nil }
                continue
            }
            guard var window = try window(block, wanted, columns) else { continue }
            window.rest = lower <= upper ? lower.rawValue...upper.rawValue : nil
            return window
        }
        return nil
    }

    /// Returns the cells of some records; nil if `columns` has a text column, the text is damaged, and damaged blocks
    /// are skipped.
    private func window(
        _ block: RecordBlock, _ indices: Range<Int>, _ columns: ColumnSet
    ) throws(SQLiteError) -> RowWindow? {
        let hasText = columns.contains(7) || columns.contains(8) || columns.contains(9)
        guard let text = hasText ? try blocks.text(of: block) : [] else { return nil }
        var cells: [BatchCell] = []
        cells.reserveCapacity(indices.count * Self.columns.count)
        var bytes: [UInt8] = []
        func add(_ range: ByteRange) -> Range<Int> {
            let start = bytes.count
            bytes.append(contentsOf: text.span, from: range.lower, to: range.upper)
            return start..<bytes.count
        }
        for index in indices {
            let row = block.rows[index]
            cells.append(.int64(row.id.rawValue))
            cells.append(.int64(row.series.rawValue))
            cells.append(.int64(row.process.rawValue))
            cells.append(.int64(row.receivedAt))
            cells.append(row.occurred == DecodedRecord.absent ? .null : .int64(row.occurred))
            cells.append(row.firstOccurred == DecodedRecord.absent ? .null : .int64(row.firstOccurred))
            cells.append(.int64(row.count))
            if hasText {
                switch row.messageForm {
                case .template: cells.append(.null)
                case .parts: cells.append(.blob(add(row.message)))
                case .whole: cells.append(.text(add(row.message)))
                }
                if columns.contains(8), block.hasMetadata(index) {
                    let start = bytes.count
                    block.appendMetadata(of: index, text.span, to: &bytes)
                    cells.append(.text(start..<bytes.count))
                } else {
                    cells.append(.null)
                }
                cells.append(row.details.isEmpty ? .null : .text(add(row.details)))
            } else {
                cells.append(.null)
                cells.append(.null)
                cells.append(.null)
            }
        }
        return RowWindow(cells: cells, bytes: bytes, rest: nil)
    }
}
