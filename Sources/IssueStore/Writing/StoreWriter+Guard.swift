import IssueCore
import IssueProtocol
import SQLiteKit

extension StoreWriter {
    /// How many of the newest rows are looked at, so that a start does not grow with the file.
    private static let newest: Int64 = 16_384

    /// Tells the guard, with the first commit of a run, what was made in its windows before: a restart lifts no bound.
    func restoreGuard(at time: LogClock.Reading) throws {
        guard !isGuardRestored else { return }
        isGuardRestored = true
        let starts = guardian.windowStarts(at: time.log)
        func wall(_ instant: LogInstant) -> Int64 {
            time.wall.advanced(by: time.log.duration(to: instant)).milliseconds
        }
        let made = try connection.withStatement(
            """
            SELECT account, sum(is_group), sum(1 - is_group) FROM (
                SELECT account, 1 AS is_group FROM groups
                WHERE id > (SELECT coalesce(max(id), 0) FROM groups) - ?3 AND first_at >= ?1
                    AND fingerprint <> 'overflow'
                UNION ALL
                SELECT account, 0 FROM series
                WHERE id > (SELECT coalesce(max(id), 0) FROM series) - ?3 AND first_at >= ?2
            ) GROUP BY account
            """
        ) { statement in
            statement.bind(wall(starts.groups), at: 1)
            statement.bind(wall(starts.series), at: 2)
            statement.bind(Self.newest, at: 3)
            return try statement.all { ($0.int64(0), $0.int64(1), $0.int64(2)) }
        }
        for (account, groups, series) in made {
            guardian.restore(account: account, newGroups: groups, newSeries: series, at: time.log)
        }
        let named = try connection.withStatement(
            """
            SELECT uid, count(*) FROM accounts
            WHERE id > (SELECT coalesce(max(id), 0) FROM accounts) - ?2 AND first_at >= ?1 AND app <> 'overflow'
            GROUP BY uid
            """
        ) { statement in
            statement.bind(wall(starts.names), at: 1)
            statement.bind(Self.newest, at: 2)
            return try statement.all { (UInt32(clamping: $0.int64(0)), $0.int64(1)) }
        }
        // Senders have no time of their own; those of today come behind the last that a series of before today has.
        let appeared = try connection.withStatement(
            """
            SELECT uid, count(*) FROM senders
            WHERE id > (SELECT coalesce(max(id), 0) FROM senders) - ?2 AND command <> 'overflow' AND id > (
                SELECT coalesce(max(sender), 0) FROM series
                WHERE id > (SELECT coalesce(max(id), 0) FROM series) - ?2 AND first_at < ?1)
            GROUP BY uid
            """
        ) { statement in
            statement.bind(wall(starts.names), at: 1)
            statement.bind(Self.newest, at: 2)
            return try statement.all { (UInt32(clamping: $0.int64(0)), $0.int64(1)) }
        }
        for (uid, senders) in appeared { guardian.restore(uid: uid, newSenders: senders, at: time.log) }
        for (uid, names) in named { guardian.restore(uid: uid, newApplications: names, at: time.log) }
    }
}
