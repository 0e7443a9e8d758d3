package import IssueCore
import IssueProtocol
import SQLiteKit

/// Removes ranges, in steps that delay no commit for long.
///
/// First, the records are removed in slices, in the order of their ids. One transaction removes a slice and updates the
/// ledger, so that the ledger always balances and an interrupted removal can continue. Then the posting lists and the
/// batches are removed, and finally the row in `ranges`, unless the range is the newest one. The counts of the records,
/// in `counts` and `totals`, are kept.
extension StoreWriter {
    /// Performs the next step of removing a closed range, which must be the oldest one.
    ///
    /// - Returns: The result of the step. `isDone` is `true` after the last step.
    /// - Throws: `StoreFailure`. The step can then be repeated.
    package func forget(_ range: RetentionSnapshot.ClosedRange) throws(StoreFailure) -> ExpiryProgress {
        try transaction(isSynced: false) { () throws(SQLiteError) in try removal.forget(range, &memory) }
    }

    /// Closes the open range, unless it has no records.
    package func closeOpenRange() throws(StoreFailure) {
        guard memory.open.first != nil else { return }
        try transaction { () throws(SQLiteError) in try closeRange() }
        // A block never has records of two ranges.
        startNewBlock()
    }

    /// Removes free pages from the file. The file system gets the space back once the WAL is checkpointed.
    ///
    /// - Parameter pages: The maximum number of pages.
    /// - Returns: The number of free pages left in the file.
    /// - Throws: The failure of the operation.
    package func shrink(pages: Int64) throws(StoreFailure) -> Int64 {
        try Self.convertingErrors { () throws(SQLiteError) in
            try connection.execute(composedSQL: "PRAGMA incremental_vacuum(\(pages))")
            return try connection.pragma("freelist_count")
        }
    }

    /// Deletes producer marks that were last used before `moment`.
    ///
    /// - Parameters:
    ///   - moment: A log time. The stored time may be up to an hour earlier than the actual last use.
    ///   - limit: The maximum number of marks to delete.
    /// - Returns: `true` if there may be more.
    package func deleteProducerMarks(before moment: RecordLogInstant, limit: Int64 = 512) throws(StoreFailure) -> Bool {
        try transaction { () throws(SQLiteError) in
            try connection.run(
                """
                DELETE FROM producers WHERE (uid, producer) IN
                    (SELECT uid, producer FROM producers WHERE used_at < ?1 ORDER BY used_at LIMIT ?2)
                """, moment.milliseconds, limit)
            return connection.changes >= limit
        }
    }

    var removal: RecordRemoval { RecordRemoval(connection: connection, blocks: blocks) }
}

/// Removes records and rows that refer to them, for retention and for erasing. Functions that change the database must
/// be called in a transaction.
struct RecordRemoval {
    let connection: DatabaseConnection
    let blocks: BlockLog
    var outbox: ForwardingOutbox { ForwardingOutbox(connection: connection, blocks: blocks.reader) }

    // MARK: Limits per transaction

    /// The maximum number of blocks if all of them are deleted.
    static let sliceBlocks: Int64 = 32
    /// The maximum number of blocks if some of them may be rewritten.
    static let sliceRewrittenBlocks: Int64 = 8
    /// The maximum total size of the blocks, in bytes. The last block may exceed it.
    private static let sliceBytes: Int64 = 1 << 20
    private static let slicePostings: Int64 = 1024
    private static let sliceBatches: Int64 = 512
    /// The maximum number of dead letters. Each line can take hundreds of KiB, even if its record compresses well.
    private static let sliceLetters: Int64 = 64

    /// Performs the next step of removing a range.
    func forget(
        _ range: RetentionSnapshot.ClosedRange, _ memory: inout WriterMemory
    ) throws(SQLiteError) -> ExpiryProgress {
        if let last = try sliceEnd(of: range.firstID...range.lastID, blocks: Self.sliceBlocks) {
            return try deleteSlice(range, through: last, &memory)
        }
        var progress = ExpiryProgress()
        if try deletePostings(of: range.id) { return progress }
        if try deleteBatches(through: range.lastID) { return progress }
        try end(range)
        progress.isDone = true
        return progress
    }

    // MARK: Records

    /// Returns the last id of the next slice, which consists of the first blocks in a range of ids; nil if the range
    /// has no blocks.
    ///
    /// - Parameters:
    ///   - rows: The range. It must not begin inside a block.
    ///   - blocks: The maximum number of blocks. There may be fewer, because of `sliceBytes`.
    func sliceEnd(of rows: ClosedRange<RowID>, blocks: Int64) throws(SQLiteError) -> RowID? {
        // The last id of a damaged block may be wrong, but a block ends neither before its first id nor after the next
        // block begins.
        try connection.first(
            """
            SELECT max(max(first_id, min(last_id, coalesce(
                (SELECT min(next.first_id) - 1 FROM blocks AS next WHERE next.first_id > slice.first_id), last_id))))
            FROM (
                SELECT first_id, last_id,
                       sum(size) OVER (ORDER BY first_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
                FROM (
                    SELECT first_id, last_id, length(body) AS size FROM blocks
                    WHERE first_id BETWEEN ?1 AND ?2 ORDER BY first_id LIMIT ?3
                )
            ) AS slice WHERE coalesce(before, 0) < ?4
            """, rows.lowerBound, rows.upperBound, blocks, Self.sliceBytes
        ) { $0.optionalID(0) } ?? nil
    }

    private func deleteSlice(
        _ range: RetentionSnapshot.ClosedRange, through last: RowID, _ memory: inout WriterMemory
    ) throws(SQLiteError) -> ExpiryProgress {
        var progress = ExpiryProgress()
        if try deleteDeadLetters(of: range.firstID...last) { return progress }
        progress.expired = try outbox.expire(range.firstID...last)
        memory.values.removals.removed()
        progress.records = try blocks.remove(range.firstID...last)
        try connection.run("DELETE FROM express WHERE record <= ?1", last)
        try outbox.deleteSingles(through: last)
        try shrink(range: range.id, by: Int(progress.records))
        return progress
    }

    /// Deletes some of the dead letters of records that are about to be removed. Without its record, a dead letter
    /// could not be requeued, and its line would only take space.
    ///
    /// - Parameters:
    ///   - rows: The range of rows from which records are about to be removed.
    ///   - kept: The rows in this range whose records, and dead letters, are kept.
    /// - Returns: `true` if there may be more.
    func deleteDeadLetters(of rows: ClosedRange<RowID>, keeping kept: [RowID] = []) throws(SQLiteError) -> Bool {
        try connection.run(
            """
            DELETE FROM dead_letters WHERE id IN (
                SELECT id FROM dead_letters WHERE record BETWEEN ?1 AND ?2 AND summary IS NULL
                    AND record NOT IN (SELECT value FROM json_each(?3)) LIMIT ?4)
            """, rows.lowerBound, rows.upperBound, StoreWriter.list(kept), Self.sliceLetters)
        return connection.changes >= Self.sliceLetters
    }

    // MARK: Postings and batches

    /// Deletes some of the posting lists of a range. Returns `true` if there may be more.
    private func deletePostings(of range: Int64) throws(SQLiteError) -> Bool {
        try connection.run(
            """
            DELETE FROM postings WHERE range = ?1
                AND series IN (SELECT series FROM postings WHERE range = ?1 ORDER BY series LIMIT ?2)
            """, range, Self.slicePostings)
        return connection.changes >= Self.slicePostings
    }

    /// Deletes batches that have no records left. Unfinished batches are kept.
    ///
    /// The ids of batches of kind 0, which were made by scanning the record log, ascend nearly in the same order as the
    /// records in them. Therefore, deletion stops at the first such batch whose span ends after `last`. The newest
    /// batch is always kept, because SQLite would otherwise assign its id again.
    ///
    /// - Returns: `true` if there may be more.
    private func deleteBatches(through last: RowID) throws(SQLiteError) -> Bool {
        try connection.run(
            """
            DELETE FROM batches WHERE id IN (
                SELECT id FROM batches
                WHERE id < coalesce(
                        (SELECT id FROM batches WHERE kind = 0 AND last_id > ?1 ORDER BY id LIMIT 1),
                        (SELECT max(id) FROM batches))
                    AND state <> 0 AND (kind < 2 OR last_id <= ?1)
                ORDER BY id LIMIT ?2
            )
            """, last, Self.sliceBatches)
        return connection.changes >= Self.sliceBatches
    }

    /// Performs the last step of removing a range.
    private func end(_ range: RetentionSnapshot.ClosedRange) throws(SQLiteError) {
        // Destinations need not scan rows that no longer have records.
        try outbox.moveCursors(to: range.lastID)
        try connection.run("UPDATE ranges SET records = 0, bytes = 0 WHERE id = ?1", range.id)
        try connection.run("DELETE FROM shares WHERE range <= ?1", range.id)
        // The row of the newest range shows which ids were assigned, so it is kept until there is a newer range.
        try connection.run("DELETE FROM ranges WHERE id <= ?1 AND id < (SELECT max(id) FROM ranges)", range.id)
    }
}

/// The result of one step of removing records from a range.
package struct ExpiryProgress: Equatable, Sendable {
    /// The number of records that this step removed.
    package var records: Int64 = 0
    /// The number of fates of these records that changed from pending to expired, over all destinations.
    package var expired: Int64 = 0
    /// Whether this was the last step.
    package var isDone = false
}
