package import IssueCore
import IssueProtocol
import SQLiteKit

/// What retention removes, in steps that hold up no commit for long.
///
/// A range goes in slices of its records, from the first on, each with its
/// share of the ledger in one transaction; then its posting lists; its row
/// last. So at any time all that is left can be found, and all books are right.
/// Counts and totals stay.
extension StoreWriter {
    /// How many records a slice holds at most, and of how many bytes, about.
    private static let sliceRecords: Int64 = 2048
    private static let sliceBytes: Int64 = 1 << 20
    private static let slicePostings: Int64 = 1024
    private static let sliceBatches: Int64 = 512

    /// Takes a step of forgetting a closed range, before which no older one is left.
    package func forget(_ range: RetentionFacts.ClosedRange) throws(StoreFailure) -> ForgettingProgress {
        try transaction(isSynced: false) {
            if let last = try sliceEnd(of: range) { return try forgetRecords(range, through: last) }
            var progress = ForgettingProgress()
            if try forgetPostings(of: range.id) { return progress }
            if try forgetBatches(through: range.lastID) { return progress }
            try end(range)
            progress.isDone = true
            return progress
        }
    }

    /// Closes the open range before it is full.
    package func closeOpenRange() throws(StoreFailure) {
        guard open.first != nil else { return }
        try transaction { try closeRange() }
        startRange()
    }

    /// Gives free pages back to the file system, which has them once the log is copied.
    ///
    /// - Returns: how many are left.
    package func shrink(pages: Int64) throws(StoreFailure) -> Int64 {
        do {
            try connection.execute(composedSQL: "PRAGMA incremental_vacuum(\(pages))")
            return try connection.pragma("freelist_count")
        } catch {
            throw StoreFailure(error)
        }
    }

    /// Deletes some marks of producers that were last used before a moment of the log.
    ///
    /// - Returns: whether there may be more.
    package func forgetMarks(before moment: LogInstant, limit: Int64 = 512) throws(StoreFailure) -> Bool {
        try transaction {
            try connection.withStatement(
                """
                DELETE FROM producers WHERE (uid, producer) IN
                    (SELECT uid, producer FROM producers WHERE used_at < ?1 ORDER BY used_at LIMIT ?2)
                """
            ) { statement in
                statement.bind(moment.milliseconds, at: 1)
                statement.bind(limit, at: 2)
                try statement.run()
            }
            return connection.changes >= limit
        }
    }

    // MARK: Records

    private func sliceEnd(of range: RetentionFacts.ClosedRange) throws -> Int64? {
        try connection.withStatement(
            """
            SELECT max(id) FROM (
                SELECT id FROM records WHERE id BETWEEN ?1 AND ?2 ORDER BY id
                LIMIT (SELECT max(16, min(?3, records * ?4 / max(bytes, 1))) FROM ranges WHERE id = ?5)
            )
            """
        ) { statement in
            statement.bind(range.firstID, at: 1)
            statement.bind(range.lastID, at: 2)
            statement.bind(Self.sliceRecords, at: 3)
            statement.bind(Self.sliceBytes, at: 4)
            statement.bind(range.id, at: 5)
            return try statement.first { $0.optionalInt64(0) } ?? nil
        }
    }

    private func forgetRecords(
        _ range: RetentionFacts.ClosedRange, through last: Int64
    ) throws -> ForgettingProgress {
        var progress = ForgettingProgress()
        progress.expired = try expire(range.firstID...last)
        removals += 1
        try connection.withStatement("DELETE FROM records WHERE id BETWEEN ?1 AND ?2") { statement in
            statement.bind(range.firstID, at: 1)
            statement.bind(last, at: 2)
            try statement.run()
        }
        progress.records = Int64(connection.changes)
        try connection.withStatement("DELETE FROM express WHERE record <= ?1") { statement in
            statement.bind(last, at: 1)
            try statement.run()
        }
        try forgetSingles(through: last)
        try shrink(range: range.id, by: Int(progress.records))
        return progress
    }

    // MARK: What hangs on them

    /// - Returns: whether there may be more.
    private func forgetPostings(of range: Int64) throws -> Bool {
        try connection.withStatement(
            """
            DELETE FROM postings WHERE range = ?1
                AND series IN (SELECT series FROM postings WHERE range = ?1 ORDER BY series LIMIT ?2)
            """
        ) { statement in
            statement.bind(range, at: 1)
            statement.bind(Self.slicePostings, at: 2)
            try statement.run()
        }
        return connection.changes >= Self.slicePostings
    }

    /// Deletes batches of which no record is left; one that has summaries to send stays until it is answered.
    ///
    /// They are in the order of the log, nearly: those behind the first that still has records wait for it. The newest
    /// stays in any case, so that its number is not given out again while its answer is awaited.
    ///
    /// - Returns: whether there may be more.
    private func forgetBatches(through last: Int64) throws -> Bool {
        try connection.withStatement(
            """
            DELETE FROM batches WHERE id IN (
                SELECT id FROM batches
                WHERE id < coalesce(
                        (SELECT id FROM batches WHERE kind = 0 AND last_id > ?1 ORDER BY id LIMIT 1),
                        (SELECT max(id) FROM batches))
                    AND state <> 0 AND (kind < 2 OR last_id <= ?1)
                ORDER BY id LIMIT ?2
            )
            """
        ) { statement in
            statement.bind(last, at: 1)
            statement.bind(Self.sliceBatches, at: 2)
            try statement.run()
        }
        return connection.changes >= Self.sliceBatches
    }

    private func end(_ range: RetentionFacts.ClosedRange) throws {
        // Nothing is left below, so there is nothing to walk there either.
        try moveCursors(to: range.lastID)
        try connection.withStatement("UPDATE ranges SET records = 0, bytes = 0 WHERE id = ?1") { statement in
            statement.bind(range.id, at: 1)
            try statement.run()
        }
        try connection.withStatement("DELETE FROM shares WHERE range <= ?1") { statement in
            statement.bind(range.id, at: 1)
            try statement.run()
        }
        // The newest row says which ids were given out, and so stays until there is a newer one.
        try connection.withStatement(
            "DELETE FROM ranges WHERE id <= ?1 AND id < (SELECT max(id) FROM ranges)"
        ) { statement in
            statement.bind(range.id, at: 1)
            try statement.run()
        }
    }
}
