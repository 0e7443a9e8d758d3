package import IssueCore
package import IssueProtocol
import SQLiteKit

/// Finds the ranges from which records of some applications must be removed, because their maximum age differs from
/// that of others.
///
/// For each age, the writer remembers up to which range no such records are left. After a start, it searches all ranges
/// again, a few at a time.
extension StoreWriter {
    /// The maximum number of ranges searched at once.
    private static let maxSearchedRanges: Int64 = 4

    /// Adds what applications with a maximum age of their own need.
    func addAges(to facts: inout RetentionSnapshot) throws(SQLiteError) {
        guard !retention.applicationAges.isEmpty else { return }
        let ages = try applicationAges()
        if let oldest = facts.oldest {
            let longer = ages.filter { $0.value > retention.maxAge }
            let present = try accounts(in: oldest.id, among: Set(longer.keys))
            facts.oldest?.longestAge = present.compactMap { longer[$0] }.max()
        }
        for age in retention.partialAges where facts.aged == nil {
            try search(age, Set(ages.filter { $0.value <= age }.keys), &facts)
        }
    }

    /// Returns the maximum age of the records of each application. Must not be called while a transaction may have added
    /// applications that a rollback would remove.
    func applicationAges() throws(SQLiteError) -> [AccountID: Duration] {
        // Some of them may have been deleted since. The id of an application is never used again.
        if accountAges.known.count > AccountAges.maxKnown { accountAges = AccountAges() }
        let accounts = try connection.all(
            "SELECT id, uid, app FROM accounts WHERE id > ?1 ORDER BY id", accountAges.last
        ) { ($0.id(0, as: AccountID.self), UInt32(clamping: $0.int64(1)), $0.text(2)) }
        for (id, uid, app) in accounts {
            accountAges.known[id] = retention.maxAge(uid: uid, application: app)
            accountAges.last = id
        }
        return accountAges.known
    }

    /// Searches the next ranges older than an age for records of the accounts.
    private func search(
        _ age: Duration, _ accounts: Set<AccountID>, _ facts: inout RetentionSnapshot
    ) throws(SQLiteError) {
        let ranges = try connection.all(
            "SELECT id, first_id, last_id FROM ranges WHERE id > ?1 ORDER BY id LIMIT ?2", searchedThrough[age] ?? 0,
            Self.maxSearchedRanges
        ) {
            (id: $0.int64(0), first: $0.id(1, as: RowID.self), last: $0.id(2, as: RowID.self))
        }
        for range in ranges {
            let newest = try newest(ofRange: range.id, range.first, range.last)
            guard newest.duration(to: facts.now) >= age else { return }
            guard try self.accounts(in: range.id, among: accounts).isEmpty else {
                let isUnderWay = try isUnderWay(range.first, range.last)
                // This range waits for an answer, but not those of other ages.
                if isUnderWay, newest.duration(to: facts.now) < age + age { return }
                facts.aged = RetentionSnapshot.AgedRange(
                    range: RetentionSnapshot.ClosedRange(
                        id: range.id, firstID: range.first, lastID: range.last, newest: newest, isUnderWay: isUnderWay),
                    accounts: accounts, maxAge: age)
                return
            }
            searchedThrough[age] = range.id
        }
        if ranges.count == Int(Self.maxSearchedRanges) { facts.isSearchingAged = true }
    }

    /// Returns the accounts among the given ones that have records in a range.
    private func accounts(in range: Int64, among accounts: Set<AccountID>) throws(SQLiteError) -> Set<AccountID> {
        guard !accounts.isEmpty else { return [] }
        let present = try connection.all(
            """
            SELECT DISTINCT series.account FROM postings JOIN series ON series.id = postings.series
            WHERE postings.range = ?1 AND postings.records > 0
            """, range
        ) { $0.id(0, as: AccountID.self) }
        return accounts.intersection(present)
    }

    /// Returns the last range whose records are all older than the maximum age of their applications, or 0 if there is
    /// none. Deletes the ages of earlier ranges, which are no longer needed.
    ///
    /// Ranges are used because a series has no time on the record log's clock. By wall-clock time, records received
    /// while the clock was set back would look too old.
    package func expiredRanges(
        wall: IssueTimestamp, monotonic: MonotonicInstant
    ) throws(StoreFailure) -> ExpiredRanges {
        let now = logTime(wall: wall, monotonic: monotonic)
        let retention = retention
        return try transaction { () throws(SQLiteError) in
            var expired = ExpiredRanges(general: try newestRange(before: now.advanced(by: .zero - retention.maxAge)))
            if !retention.applicationAges.isEmpty {
                for (account, age) in try applicationAges() where age != retention.maxAge {
                    expired.accounts[account] = try newestRange(before: now.advanced(by: .zero - age))
                }
            }
            let last = try newestRange(before: now.advanced(by: .zero - retention.highestAge))
            try connection.run("DELETE FROM ages WHERE range < ?1", last)
            return expired
        }
    }

    /// Returns the newest closed range whose last record came before a time; 0 if there is none.
    func newestRange(before moment: RecordLogInstant) throws(SQLiteError) -> Int64 {
        try connection.first("SELECT coalesce(max(range), 0) FROM ages WHERE at < ?1", moment.milliseconds) {
            $0.int64(0)
        } ?? 0
    }
}

/// The maximum ages of the applications that the writer has read. They are valid until the settings change.
struct AccountAges {
    /// The number from which all are read anew.
    static let maxKnown = 4096

    var known: [AccountID: Duration] = [:]
    /// The last application that was read.
    var last: AccountID = 0
}

/// The ranges whose records are all older than their maximum age.
package struct ExpiredRanges: Equatable, Sendable {
    /// The last one by the general maximum age; 0 if there is none.
    package var general: Int64
    /// The last one for each application with another maximum age.
    package var accounts: [AccountID: Int64] = [:]
}
