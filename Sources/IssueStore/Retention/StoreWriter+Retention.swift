package import IssueCore
package import IssueProtocol
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
    package func forget(_ range: RetentionSnapshot.ClosedRange) throws(StoreFailure) -> ExpiryProgress {
        try transaction(isSynced: false) {
            if let last = try sliceEnd(of: range) { return try forgetRecords(range, through: last) }
            var progress = ExpiryProgress()
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
    package func forgetMarks(before moment: RecordLogInstant, limit: Int64 = 512) throws(StoreFailure) -> Bool {
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

    private func sliceEnd(of range: RetentionSnapshot.ClosedRange) throws -> Int64? {
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
        _ range: RetentionSnapshot.ClosedRange, through last: Int64
    ) throws -> ExpiryProgress {
        var progress = ExpiryProgress()
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

    private func end(_ range: RetentionSnapshot.ClosedRange) throws {
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

extension StoreWriter {
    /// What retention goes by.
    ///
    /// - Parameter freeBytes: what is free on the file system, where that is known.
    package func retentionFacts(
        freeBytes: Int64?, wall: Timestamp, monotonic: MonotonicInstant
    ) throws(StoreFailure) -> RetentionSnapshot {
        do {
            let pageSize = try connection.pragma("page_size")
            let pages = try connection.pragma("page_count")
            let spare = try connection.pragma("freelist_count")
            var facts = RetentionSnapshot(
                oldest: try oldestRange(), openSince: try openSince(), usedBytes: (pages - spare) * pageSize,
                spareBytes: spare * pageSize, freeBytes: freeBytes, now: logTime(wall: wall, monotonic: monotonic))
            facts.excessWALBytes = excessWALBytes
            if Retention(settings: retention).lacksRoom(facts) { facts.holdings = try holdings() }
            return facts
        } catch let error as SQLiteError {
            throw StoreFailure(error)
        } catch {
            preconditionFailure("Reading fails with an error of SQLite: \(error)")
        }
    }

    /// How many ranges were ever closed: when it moves, it is time to look.
    package var closedRanges: Int64 { rangeID - 1 }

    private func oldestRange() throws -> RetentionSnapshot.ClosedRange? {
        // The newest range's row outlives its records, so that no id is ever given out again.
        let row = try connection.withStatement(
            """
            SELECT id, first_id, last_id FROM ranges
            WHERE records > 0 OR EXISTS (SELECT 1 FROM postings WHERE range = ranges.id) ORDER BY id LIMIT 1
            """
        ) { try $0.first { (id: $0.int64(0), first: $0.int64(1), last: $0.int64(2)) } }
        guard let row else { return nil }
        return RetentionSnapshot.ClosedRange(
            id: row.id, firstID: row.first, lastID: row.last, newest: try newest(ofRange: row.id, row.first, row.last),
            isUnderWay: try isUnderWay(row.first, row.last))
    }

    /// The log time of a range's last record, or where none is left, of the last that there was.
    private func newest(ofRange range: Int64, _ first: Int64, _ last: Int64) throws -> RecordLogInstant {
        // Log time never goes back, so the last record's is the highest, which of wall times need not be so.
        let record = try connection.withStatement(
            "SELECT id, received_at FROM records WHERE id BETWEEN ?1 AND ?2 ORDER BY id DESC LIMIT 1"
        ) { statement in
            statement.bind(first, at: 1)
            statement.bind(last, at: 2)
            return try statement.first { (id: $0.int64(0), at: $0.int64(1)) }
        }
        if let record { return try logTime(ofRow: record.id, receivedAt: record.at) }
        // What is no longer known has long been old.
        let age = try connection.withStatement("SELECT at FROM ages WHERE range = ?1") { statement in
            statement.bind(range, at: 1)
            return try statement.first { $0.int64(0) } ?? 0
        }
        return RecordLogInstant(milliseconds: age)
    }

    private func holdings() throws -> [RetentionSnapshot.Holding] {
        let settled = try settledThrough()
        return try connection.withStatement(
            """
            SELECT ranges.id, ranges.first_id, ranges.last_id, ranges.last_at, shares.uid, shares.bytes
            FROM shares JOIN ranges ON ranges.id = shares.range ORDER BY ranges.id
            """
        ) { statement in
            try statement.all { row in
                RetentionSnapshot.Holding(
                    range: RetentionSnapshot.ClosedRange(
                        id: row.int64(0), firstID: row.int64(1), lastID: row.int64(2),
                        newest: RecordLogInstant(milliseconds: row.int64(3)), isUnderWay: false),
                    user: UInt32(clamping: row.int64(4)), bytes: row.int64(5), isSettled: row.int64(2) <= settled)
            }
        }
    }

    /// Up to which row every destination has said of every record what became of it.
    private func settledThrough() throws -> Int64 {
        try connection.withStatement(
            """
            SELECT min(
                coalesce((SELECT min(cursor) FROM destinations WHERE active = 1 OR cursor < given_id), ?1),
                coalesce((SELECT min(first_id) - 1 FROM batches WHERE state = 0 AND kind <> 1), ?1),
                coalesce((SELECT min(record) - 1 FROM singles WHERE batch = 0), ?1))
            """
        ) { statement in
            statement.bind(Int64.max, at: 1)
            return try statement.first { $0.int64(0) } ?? 0
        }
    }

    private func openSince() throws -> RecordLogInstant? {
        guard let first = open.first else { return nil }
        return try logTime(ofRow: first.id, receivedAt: first.receivedAt)
    }

    private func logTime(ofRow row: Int64, receivedAt: Int64) throws -> RecordLogInstant {
        let offset = try connection.withStatement(
            "SELECT offset FROM clock WHERE first_id <= ?1 ORDER BY first_id DESC LIMIT 1"
        ) { statement in
            statement.bind(row, at: 1)
            return try statement.first { $0.int64(0) } ?? 0
        }
        return RecordLogInstant(milliseconds: receivedAt).advanced(by: .milliseconds(offset))
    }

    private func isUnderWay(_ first: Int64, _ last: Int64) throws -> Bool {
        try connection.withStatement(
            "SELECT 1 FROM batches WHERE state = 0 AND kind <> 1 AND first_id <= ?2 AND last_id >= ?1 LIMIT 1"
        ) { statement in
            statement.bind(first, at: 1)
            statement.bind(last, at: 2)
            return try statement.first { _ in true } ?? false
        }
    }
}

/// How far the forgetting of a range has come with one step.
package struct ExpiryProgress: Equatable, Sendable {
    /// Records that this step removed.
    package var records: Int64 = 0
    /// How many fates of them were still pending, over all destinations.
    package var expired: Int64 = 0
    /// Nothing is left of the range.
    package var isDone = false
}
