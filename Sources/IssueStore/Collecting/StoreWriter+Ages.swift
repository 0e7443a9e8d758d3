package import IssueCore
package import IssueProtocol
import SQLiteKit

/// What is so old that nothing of it is kept any more, and what is told of old times at less length.
extension StoreWriter {
    /// From which age on counts are kept by the hour.
    package static let countsByHour: Duration = .seconds(7 * 86_400)
    private static let countsAtATime = 8192

    /// The wall time before which nothing is kept any more, by the clock that holds now.
    package func keptSince(wall: Timestamp, monotonic: MonotonicInstant) throws(StoreFailure) -> Timestamp {
        do {
            let offset = try connection.withStatement("SELECT offset FROM clock ORDER BY first_id DESC LIMIT 1") {
                try $0.first { $0.int64(0) } ?? 0
            }
            let moment = logTime(wall: wall, monotonic: monotonic).advanced(by: .zero - retention.maxAge)
            return Timestamp(milliseconds: moment.milliseconds - offset)
        } catch let error as SQLiteError {
            throw StoreFailure(error)
        } catch {
            preconditionFailure("Reading fails with an error of SQLite: \(error)")
        }
    }

    /// The last range all of whose records are older than what is kept; 0 where there is none. What is known of the age
    /// of earlier ones is of no use any more, and goes.
    ///
    /// A series has no log time of its own, and a wall clock that was set back makes what came meanwhile look old.
    package func lastOldRange(wall: Timestamp, monotonic: MonotonicInstant) throws(StoreFailure) -> Int64 {
        let moment = logTime(wall: wall, monotonic: monotonic).advanced(by: .zero - retention.maxAge)
        return try transaction {
            let range = try connection.withStatement("SELECT coalesce(max(range), 0) FROM ages WHERE at < ?1") {
                statement in
                statement.bind(moment.milliseconds, at: 1)
                return try statement.first { $0.int64(0) } ?? 0
            }
            try connection.withStatement("DELETE FROM ages WHERE range < ?1") { statement in
                statement.bind(range, at: 1)
                try statement.run()
            }
            return range
        }
    }

    /// Sums some counts of before a time up by the hour, from a minute on; the sums stay exact.
    ///
    /// - Returns: the minute to go on from, or nothing at the end.
    package func rollUpCounts(from minute: Int64, before time: Timestamp) throws(StoreFailure) -> Int64? {
        // Whole hours only, so that none is told half by the minute.
        let end = time.milliseconds / 3_600_000 * 60
        return try transaction {
            let last = try connection.withStatement(
                """
                SELECT max(minute) FROM (
                    SELECT minute FROM counts WHERE minute >= ?1 AND minute < ?2 ORDER BY minute LIMIT ?3)
                """
            ) { statement in
                statement.bind(minute, at: 1)
                statement.bind(end, at: 2)
                statement.bind(Self.countsAtATime, at: 3)
                return try statement.first { $0.optionalInt64(0) } ?? nil
            }
            guard let last else { return nil }
            try connection.withStatement(
                """
                WITH old AS (
                    SELECT minute - minute % 60 AS hour, series, sum(records) AS records, sum(occurrences) AS occurrences
                    FROM counts WHERE minute BETWEEN ?1 AND ?2 AND minute % 60 <> 0 GROUP BY 1, 2)
                INSERT INTO counts (minute, series, records, occurrences)
                SELECT hour, series, records, occurrences FROM old WHERE true
                ON CONFLICT DO UPDATE SET records = records + excluded.records,
                                          occurrences = occurrences + excluded.occurrences
                """
            ) { statement in
                statement.bind(minute, at: 1)
                statement.bind(last, at: 2)
                try statement.run()
            }
            try connection.withStatement("DELETE FROM counts WHERE minute BETWEEN ?1 AND ?2 AND minute % 60 <> 0") {
                statement in
                statement.bind(minute, at: 1)
                statement.bind(last, at: 2)
                try statement.run()
            }
            return last + 1
        }
    }
}
