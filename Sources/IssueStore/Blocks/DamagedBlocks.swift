package import IssueCore
import SQLiteKit

/// A block that cannot be decoded.
package struct DamagedBlock: Equatable, Sendable {
    /// The range of ids that it covers.
    package var rows: ClosedRange<RowID>
    /// The number of its unreadable records, according to its row in `blocks`, which may be damaged, too.
    package var records: Int64

    /// Clamps a stored number of records, which may be corrupt, to the range from 0 to `BlockFormat.maxRecords`, so
    /// that a sum of such numbers does not overflow.
    static func records(in stored: Int64) -> Int64 { min(max(stored, 0), Int64(BlockFormat.maxRecords)) }
}

/// The list of damaged blocks, which is kept across restarts.
extension StoreWriter {
    /// Adds a block to the list of damaged blocks.
    ///
    /// - Returns: `true` if the block was added; `false` if it is listed already or no longer exists.
    package func note(_ block: DamagedBlock) throws(StoreFailure) -> Bool {
        let first = block.rows.lowerBound
        let isKnown = try Self.convertingErrors { () throws(SQLiteError) in
            try connection.exists("SELECT 1 FROM damaged_blocks WHERE first_id = ?1", first)
        }
        if isKnown { return false }
        // If a power cut loses the entry, it is added again when the block is read.
        return try transaction(isSynced: false) { () throws(SQLiteError) in
            try connection.run(
                """
                INSERT OR IGNORE INTO damaged_blocks (first_id, last_series, last_process)
                SELECT first_id, coalesce((SELECT max(id) FROM series), 0), coalesce((SELECT max(id) FROM processes), 0)
                FROM blocks WHERE first_id = ?1
                """, first)
            return connection.changes > 0
        }
    }

    /// The maximum number of damaged blocks that are read again at startup.
    private static let maxRechecked = 1024

    /// Removes from the list the blocks that no longer exist, and those that can be read again, for example after a
    /// temporary disk fault. If the list is long, only some of its blocks are read.
    package func recheckDamagedBlocks() throws(StoreFailure) {
        let known = try Self.convertingErrors { () throws(SQLiteError) in
            try connection.all("SELECT first_id FROM damaged_blocks ORDER BY random() LIMIT ?1", Self.maxRechecked) {
                $0.id(0, as: RowID.self)
            }
        }
        guard !known.isEmpty else { return }
        // A block stays on the list if reading it fails.
        let readable = known.filter { (try? blocks.reader.isReadable($0)) == true }
        try transaction { () throws(SQLiteError) in
            try connection.run(
                """
                DELETE FROM damaged_blocks WHERE first_id NOT IN (SELECT first_id FROM blocks)
                    OR first_id IN (SELECT value FROM json_each(?1))
                """, Self.list(readable))
        }
    }
}

extension RecordRemoval {
    /// Returns those of the given processes that were added after all listed damaged blocks were found. No record in a
    /// listed block refers to them.
    ///
    /// A record in a damaged block may refer to any older process, and the block may become readable again after a
    /// temporary disk fault.
    func newerThanDamage(_ processes: [ProcessRowID]) throws(SQLiteError) -> [ProcessRowID] {
        let last = try newest(inDamaged: "SELECT max(last_process) FROM damaged_blocks JOIN blocks USING (first_id)")
        return processes.filter { $0.rawValue > last }
    }

    /// Returns those of the given series that were added after all listed damaged blocks were found. No record in a
    /// listed block refers to them.
    func newerThanDamage(_ series: [SeriesID]) throws(SQLiteError) -> [SeriesID] {
        let last = try newest(inDamaged: "SELECT max(last_series) FROM damaged_blocks JOIN blocks USING (first_id)")
        return series.filter { $0.rawValue > last }
    }

    private func newest(inDamaged query: StaticString) throws(SQLiteError) -> Int64 {
        let newest = try connection.first(query) { $0.optionalInt64(0) } ?? nil
        return newest ?? 0
    }
}

extension StoreReader {
    /// Returns the number of records in blocks that are known to be damaged.
    package func damagedRecords() throws -> Int64 {
        try connection.all("SELECT records FROM damaged_blocks JOIN blocks USING (first_id)") {
            DamagedBlock.records(in: $0.int64(0))
        }.reduce(0, +)
    }

    /// Examines the next known damaged blocks, and returns those that are still unreadable and have records that are in
    /// no posting list. Such a block is in the open range, or was damaged before its range was closed.
    ///
    /// - Parameters:
    ///   - row: The first id of the last block that was examined; `RowID.min` to start.
    ///   - limit: The maximum number of blocks to examine.
    /// - Returns: The blocks, and the first id of the last block that was examined; nil if no blocks are left to
    ///   examine.
    package func unlistedDamagedBlocks(
        above row: RowID, limit: Int = 16
    ) throws -> (blocks: [DamagedBlock], last: RowID)? {
        try snapshot {
            let known = try connection.all(
                """
                SELECT first_id FROM damaged_blocks JOIN blocks USING (first_id)
                WHERE first_id > ?1 ORDER BY first_id LIMIT ?2
                """, row, limit
            ) { $0.id(0, as: RowID.self) }
            let unlisted = try known.compactMap { first -> DamagedBlock? in
                guard try !blocks.isReadable(first), let block = blocks.skipped[first] else { return nil }
                let listed = try outbox.accounts(ofUnreadable: [block.rows]).count
                return Int64(listed) < block.records ? block : nil
            }
            return known.last.map { (unlisted, $0) }
        }
    }

    /// Returns `true` if a block can be read. A new `StoreReader` reads it from the file; one that was used before may
    /// have it in its cache.
    package func isReadable(_ block: DamagedBlock) throws -> Bool {
        try snapshot { try blocks.isReadable(block.rows.lowerBound) }
    }

    /// Reads the next blocks completely, so that damaged ones are reported.
    ///
    /// - Parameters:
    ///   - row: The first id of the last block that was checked; `RowID.min` to start.
    ///   - limit: The maximum number of blocks.
    ///   - time: The duration after which the check fails with `StoreFailure.tooSlow`.
    /// - Returns: The number of records in damaged blocks, and the first id of the last block that was checked; nil if
    ///   no blocks are left to check.
    package func checkBlocks(
        above row: RowID, limit: Int = 64, within time: Duration = .seconds(600)
    ) throws -> (unreadable: Int64, last: RowID)? {
        try snapshot(within: time) {
            let found = try connection.all(
                "SELECT first_id, records FROM blocks WHERE first_id > ?1 ORDER BY first_id LIMIT ?2", row, limit
            ) { (first: $0.id(0, as: RowID.self), records: DamagedBlock.records(in: $0.int64(1))) }
            var unreadable: Int64 = 0
            for block in found where try !blocks.isReadable(block.first) { unreadable += block.records }
            return found.last.map { (unreadable, $0.first) }
        }
    }
}
