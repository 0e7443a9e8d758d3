package import IssueCore
package import IssueProtocol
import SQLiteKit

/// The numbers that `Retention` returns.
extension StoreReader {
    /// The maximum number of applications with an age of their own.
    private static let maxApplications = 100
    /// In milliseconds.
    private static let day: Int64 = 86_400_000

    /// Reads the state of the store that the next removals depend on.
    ///
    /// - Parameters:
    ///   - retention: The limits.
    ///   - freeBytes: The free space of the file system, in bytes; nil if unknown.
    ///   - now: The current wall time.
    package func retentionUsage(
        _ retention: RetentionSettings, freeBytes: Int64?, now: IssueTimestamp
    ) throws -> RetentionUsage {
        try snapshot {
            var usage = RetentionUsage()
            let pageSize = try connection.pragma("page_size")
            usage.spareBytes = try connection.pragma("freelist_count") * pageSize
            usage.usedBytes = try connection.pragma("page_count") * pageSize - usage.spareBytes
            usage.freeBytes = freeBytes
            usage.records = try connection.integer(Self.recordCount)
            usage.oldest = try connection.first("SELECT received_at FROM records ORDER BY id LIMIT 1") {
                $0.time(0)
            }
            try addRate(to: &usage, now: now)
            try addPortions(to: &usage, retention)
            let shares = try connection.all("SELECT uid, sum(bytes) FROM shares WHERE bytes > 0 GROUP BY uid") {
                (user: UInt32(clamping: $0.int64(0)), bytes: $0.int64(1))
            }
            usage.largestUser = EvictionPolicy.largestUser(shares, retention.users)
            return usage
        }
    }

    /// Counts the records of the last day. Those of the open range are not in `counts`; they are no older than a day.
    private func addRate(to usage: inout RetentionUsage, now: IssueTimestamp) throws {
        let start = now.millisecondsSince1970 - Self.day
        let closed = try connection.integer(
            "SELECT coalesce(sum(records), 0) FROM counts WHERE minute >= ?1", start / 60_000)
        usage.recentRecords =
            closed + usage.records - (try connection.integer("SELECT coalesce(sum(records), 0) FROM ranges"))
        let first = try connection.first("SELECT min(minute) FROM counts") { $0.optionalInt64(0) } ?? nil
        let begin = first.map { $0 * 60_000 } ?? usage.oldest?.millisecondsSince1970 ?? start
        usage.period = .milliseconds(min(Self.day, max(0, now.millisecondsSince1970 - begin)))
    }

    private func addPortions(to usage: inout RetentionUsage, _ retention: RetentionSettings) throws {
        var general: Set<AccountID> = []
        var own: [(account: AccountID, name: LimitView.Application, age: Duration)] = []
        let accounts = try connection.all("SELECT id, uid, app FROM accounts ORDER BY id") {
            ($0.id(0, as: AccountID.self), UInt32(clamping: $0.int64(1)), $0.text(2))
        }
        for (id, uid, app) in accounts {
            let age = retention.maxAge(uid: uid, application: app)
            if age == retention.maxAge { general.insert(id) } else { own.append((id, (uid, app), age)) }
        }
        if let portion = try oldestPortion(of: own.isEmpty ? nil : general) {
            usage.portions.append(
                RetentionUsage.Portion(
                    maxAge: retention.maxAge, newest: portion.newest, records: portion.records))
        }
        for (account, name, age) in own.prefix(Self.maxApplications) {
            let portion = try oldestPortion(of: [account])
            usage.portions.append(
                RetentionUsage.Portion(
                    app: name.app, uid: name.uid, maxAge: age, newest: portion?.newest, records: portion?.records ?? 0))
        }
    }

    /// Returns the number of records of some accounts in the oldest closed range that has any, and the time of its
    /// newest record.
    ///
    /// - Parameter accounts: The accounts; nil for all.
    private func oldestPortion(of accounts: Set<AccountID>?) throws -> (newest: IssueTimestamp, records: Int64)? {
        let list = accounts.map { StoreWriter.list($0) }
        let found = try connection.first(
            """
            SELECT postings.range FROM postings JOIN series ON series.id = postings.series
            WHERE postings.records > 0 AND (?1 IS NULL OR series.account IN (SELECT value FROM json_each(?1)))
            ORDER BY postings.range LIMIT 1
            """, list
        ) { $0.int64(0) }
        guard let found else { return nil }
        return try connection.first(
            """
            SELECT sum(postings.records), (SELECT last_at FROM ranges WHERE id = ?2)
            FROM postings JOIN series ON series.id = postings.series
            WHERE postings.range = ?2 AND (?1 IS NULL OR series.account IN (SELECT value FROM json_each(?1)))
            """, list, found
        ) { ($0.time(1), $0.int64(0)) }
    }
}
