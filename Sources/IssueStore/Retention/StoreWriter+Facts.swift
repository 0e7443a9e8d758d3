package import IssueCore
package import IssueProtocol
import SQLiteKit

extension StoreWriter {
    /// What retention goes by.
    ///
    /// - Parameter freeBytes: what is free on the file system, where that is known.
    package func retentionFacts(
        freeBytes: Int64?, wall: Timestamp, monotonic: MonotonicInstant
    ) throws(StoreFailure) -> RetentionFacts {
        do {
            let pageSize = try connection.pragma("page_size")
            let pages = try connection.pragma("page_count")
            let spare = try connection.pragma("freelist_count")
            var facts = RetentionFacts(
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

    private func oldestRange() throws -> RetentionFacts.ClosedRange? {
        // The newest range's row outlives its records, so that no id is ever given out again.
        let row = try connection.withStatement(
            """
            SELECT id, first_id, last_id FROM ranges
            WHERE records > 0 OR EXISTS (SELECT 1 FROM postings WHERE range = ranges.id) ORDER BY id LIMIT 1
            """
        ) { try $0.first { (id: $0.int64(0), first: $0.int64(1), last: $0.int64(2)) } }
        guard let row else { return nil }
        return RetentionFacts.ClosedRange(
            id: row.id, firstID: row.first, lastID: row.last, newest: try newest(ofRange: row.id, row.first, row.last),
            isUnderWay: try isUnderWay(row.first, row.last))
    }

    /// The log time of a range's last record, or where none is left, of the last that there was.
    private func newest(ofRange range: Int64, _ first: Int64, _ last: Int64) throws -> LogInstant {
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
        return LogInstant(milliseconds: age)
    }

    private func holdings() throws -> [RetentionFacts.Holding] {
        let settled = try settledThrough()
        return try connection.withStatement(
            """
            SELECT ranges.id, ranges.first_id, ranges.last_id, ranges.last_at, shares.uid, shares.bytes
            FROM shares JOIN ranges ON ranges.id = shares.range ORDER BY ranges.id
            """
        ) { statement in
            try statement.all { row in
                RetentionFacts.Holding(
                    range: RetentionFacts.ClosedRange(
                        id: row.int64(0), firstID: row.int64(1), lastID: row.int64(2),
                        newest: LogInstant(milliseconds: row.int64(3)), isUnderWay: false),
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

    private func openSince() throws -> LogInstant? {
        guard let first = open.first else { return nil }
        return try logTime(ofRow: first.id, receivedAt: first.receivedAt)
    }

    private func logTime(ofRow row: Int64, receivedAt: Int64) throws -> LogInstant {
        let offset = try connection.withStatement(
            "SELECT offset FROM clock WHERE first_id <= ?1 ORDER BY first_id DESC LIMIT 1"
        ) { statement in
            statement.bind(row, at: 1)
            return try statement.first { $0.int64(0) } ?? 0
        }
        return LogInstant(milliseconds: receivedAt).advanced(by: .milliseconds(offset))
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
