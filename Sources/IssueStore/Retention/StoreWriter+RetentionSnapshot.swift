package import IssueCore
package import IssueProtocol
import SQLiteKit

extension StoreWriter {
    /// Returns the state of the store on which retention bases its decisions. Also updates `maxSize`, on which the size
    /// of ranges depends.
    ///
    /// - Parameters:
    ///   - freeBytes: The free space of the file system, in bytes; nil if unknown.
    ///   - wall: The current wall-clock time.
    ///   - monotonic: The current monotonic time.
    package func retentionSnapshot(
        freeBytes: Int64?, wall: IssueTimestamp, monotonic: MonotonicInstant
    ) throws(StoreFailure) -> RetentionSnapshot {
        try Self.convertingErrors { () throws(SQLiteError) in
            let pageSize = try connection.pragma("page_size")
            let pages = try connection.pragma("page_count")
            let spare = try connection.pragma("freelist_count")
            var snapshot = RetentionSnapshot(
                oldest: try oldestRange(), openSince: try openSince(), usedBytes: (pages - spare) * pageSize,
                spareBytes: spare * pageSize, freeBytes: freeBytes, now: logTime(wall: wall, monotonic: monotonic))
            snapshot.excessWALBytes = connection.excessWALBytes(retention.disk)
            maxSize = retention.effectiveMaxSize(
                availableBytes: snapshot.availableBytes, usedBytes: snapshot.usedBytes)
            snapshot.openBytes = Int64(memory.open.byteCount)
            snapshot.isOpenRangeFull = memory.open.first != nil && isRangeFull
            try addAges(to: &snapshot)
            if Retention(settings: retention).lacksRoom(snapshot) { snapshot.holdings = try holdings() }
            return snapshot
        }
    }

    /// The number of ranges closed so far. When it changes, retention must check again.
    package var closedRanges: Int64 { memory.values.rangeID - 1 }

    private func oldestRange() throws(SQLiteError) -> RetentionSnapshot.ClosedRange? {
        // The row of the newest range is kept after its records are gone, so that no id is assigned again.
        let row = try connection.first(
            """
            SELECT id, first_id, last_id,
                   records > 0 OR EXISTS (
                       SELECT 1 FROM blocks WHERE blocks.first_id BETWEEN ranges.first_id AND ranges.last_id)
            FROM ranges
            WHERE records > 0 OR EXISTS (SELECT 1 FROM postings WHERE range = ranges.id) ORDER BY id LIMIT 1
            """
        ) {
            (
                id: $0.int64(0), first: $0.id(1, as: RowID.self), last: $0.id(2, as: RowID.self),
                hasRecords: $0.int64(3) != 0
            )
        }
        guard let row else { return nil }
        var oldest = RetentionSnapshot.ClosedRange(
            id: row.id, firstID: row.first, lastID: row.last, newest: try newest(ofRange: row.id, row.first, row.last),
            hasBatchInFlight: try hasBatchInFlight(row.first, row.last))
        oldest.isEmpty = !row.hasRecords
        return oldest
    }

    /// Returns the log time of the last record in a range. If no record is left, returns the stored log time of the
    /// last one that the range had.
    func newest(ofRange range: Int64, _ first: RowID, _ last: RowID) throws(SQLiteError) -> RecordLogInstant {
        // Unlike wall time, log time never runs backwards, so the last record has the highest one.
        let record = try connection.first(
            "SELECT id, received_at FROM records WHERE id BETWEEN ?1 AND ?2 ORDER BY id DESC LIMIT 1", first, last
        ) { (id: $0.id(0, as: RowID.self), at: $0.int64(1)) }
        if let record { return try logTime(ofRow: record.id, receivedAt: record.at) }
        // A range without a stored age counts as old.
        let age = try connection.integer("SELECT at FROM ages WHERE range = ?1", range)
        return RecordLogInstant(milliseconds: age)
    }

    /// Returns the number of bytes of each user in each closed range, the oldest range first.
    private func holdings() throws(SQLiteError) -> [RetentionSnapshot.Holding] {
        let settled = try settledThrough()
        return try connection.all(
            """
            SELECT ranges.id, ranges.first_id, ranges.last_id, ranges.last_at, shares.uid, shares.bytes
            FROM shares JOIN ranges ON ranges.id = shares.range ORDER BY ranges.id
            """
        ) { row in
            // `newest` and `hasBatchInFlight` of a holding are not used.
            RetentionSnapshot.Holding(
                range: RetentionSnapshot.ClosedRange(
                    id: row.int64(0), firstID: row.id(1), lastID: row.id(2),
                    newest: RecordLogInstant(milliseconds: row.int64(3)), hasBatchInFlight: false),
                user: UInt32(clamping: row.int64(4)), bytes: row.int64(5), isSettled: row.id(2) <= settled)
        }
    }

    /// Returns the row up to which the fate of every record is final at all destinations.
    private func settledThrough() throws(SQLiteError) -> RowID {
        try connection.first(
            """
            SELECT min(
                coalesce((SELECT min(cursor) FROM destinations WHERE active = 1 OR cursor < given_id), ?1),
                coalesce((SELECT min(first_id) - 1 FROM batches WHERE state = 0 AND kind <> 1), ?1),
                coalesce((SELECT min(record) - 1 FROM singles WHERE batch = 0), ?1))
            """, RowID.max
        ) { $0.id(0) } ?? 0
    }

    private func openSince() throws(SQLiteError) -> RecordLogInstant? {
        guard let first = memory.open.first else { return nil }
        return try logTime(ofRow: first.id, receivedAt: first.receivedAt)
    }

    private func logTime(ofRow row: RowID, receivedAt: Int64) throws(SQLiteError) -> RecordLogInstant {
        let offset =
            try connection.first("SELECT offset FROM clock WHERE first_id <= ?1 ORDER BY first_id DESC LIMIT 1", row) {
                $0.int64(0)
            } ?? 0
        return RecordLogInstant(milliseconds: receivedAt).advanced(by: .milliseconds(offset))
    }

    func hasBatchInFlight(_ first: RowID, _ last: RowID) throws(SQLiteError) -> Bool {
        try connection.exists(
            "SELECT 1 FROM batches WHERE state = 0 AND kind <> 1 AND first_id <= ?2 AND last_id >= ?1 LIMIT 1", first,
            last)
    }
}

/// Finds the ranges from which records of some applications must be removed, because these applications have a lower
/// maximum age than others.
///
/// For each age, the writer remembers the last range that it has searched (`searchedThrough`). After a start, or when
/// the settings change, it searches all ranges again, a few at a time.
extension StoreWriter {
    /// The maximum number of ranges searched for one age per snapshot.
    private static let maxSearchedRanges: Int64 = 4

    /// Adds the parts of a snapshot that depend on applications with a maximum age of their own.
    func addAges(to snapshot: inout RetentionSnapshot) throws(SQLiteError) {
        guard !retention.applicationAges.isEmpty else { return }
        let ages = try applicationAges()
        if let oldest = snapshot.oldest {
            let longer = ages.filter { $0.value > retention.maxAge }
            let present = try accounts(in: oldest.id, among: Set(longer.keys))
            snapshot.oldest?.longestAge = present.compactMap { longer[$0] }.max()
        }
        for age in retention.partialAges where snapshot.aged == nil {
            try search(age, Set(ages.filter { $0.value <= age }.keys), &snapshot)
        }
    }

    /// Returns the maximum age of the records of each application. The result is cached, so this must not be called in
    /// a transaction that may have added applications.
    func applicationAges() throws(SQLiteError) -> [AccountID: Duration] {
        // The cache may contain applications that have been deleted. Their ids are never assigned again.
        if ageSearch.known.count > AgeSearch.maxKnown { ageSearch.forgetAges() }
        let accounts = try connection.all(
            "SELECT id, uid, app FROM accounts WHERE id > ?1 ORDER BY id", ageSearch.last
        ) { ($0.id(0, as: AccountID.self), UInt32(clamping: $0.int64(1)), $0.text(2)) }
        for (id, uid, app) in accounts {
            ageSearch.known[id] = retention.maxAge(uid: uid, application: app)
            ageSearch.last = id
        }
        return ageSearch.known
    }

    /// Searches the next ranges, up to the first one that has not reached `age`, for records of the accounts. Sets
    /// `snapshot.aged` to the first range found, unless its records must still be kept.
    private func search(
        _ age: Duration, _ accounts: Set<AccountID>, _ snapshot: inout RetentionSnapshot
    ) throws(SQLiteError) {
        let ranges = try connection.all(
            "SELECT id, first_id, last_id FROM ranges WHERE id > ?1 ORDER BY id LIMIT ?2",
            ageSearch.searchedThrough[age] ?? 0,
            Self.maxSearchedRanges
        ) {
            (id: $0.int64(0), first: $0.id(1, as: RowID.self), last: $0.id(2, as: RowID.self))
        }
        for range in ranges {
            let newest = try newest(ofRange: range.id, range.first, range.last)
            guard newest.duration(to: snapshot.now) >= age else { return }
            guard try self.accounts(in: range.id, among: accounts).isEmpty else {
                let hasBatchInFlight = try hasBatchInFlight(range.first, range.last)
                // If a batch with records of this range has no response yet, the records are kept until the response
                // arrives or they reach twice the maximum age. The search for other ages continues.
                if hasBatchInFlight, newest.duration(to: snapshot.now) < age + age { return }
                snapshot.aged = RetentionSnapshot.AgedRange(
                    range: RetentionSnapshot.ClosedRange(
                        id: range.id, firstID: range.first, lastID: range.last, newest: newest,
                        hasBatchInFlight: hasBatchInFlight),
                    accounts: accounts, maxAge: age)
                return
            }
            ageSearch.searchedThrough[age] = range.id
        }
        if ranges.count == Int(Self.maxSearchedRanges) { snapshot.isSearchingAged = true }
    }

    /// Returns those of the given accounts that have records in a range. Records in damaged blocks that an earlier
    /// removal has kept do not count.
    private func accounts(in range: Int64, among accounts: Set<AccountID>) throws(SQLiteError) -> Set<AccountID> {
        guard !accounts.isEmpty else { return [] }
        let present = try connection.all(
            """
            SELECT DISTINCT series.account FROM postings JOIN series ON series.id = postings.series
            WHERE postings.range = ?1 AND postings.records > 0 AND postings.bytes > 0
            """, range
        ) { $0.id(0, as: AccountID.self) }
        return accounts.intersection(present)
    }

    /// Returns, for each maximum age, the last range whose records are all older. Deletes rows of `ages` that are no
    /// longer needed.
    ///
    /// Ranges are used because no log time is stored for series. By wall time, records that were received while the
    /// clock was set back would look too old.
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

    /// Returns the newest closed range whose last record was received before a time; 0 if there is none.
    func newestRange(before moment: RecordLogInstant) throws(SQLiteError) -> Int64 {
        try connection.first("SELECT coalesce(max(range), 0) FROM ages WHERE at < ?1", moment.milliseconds) {
            $0.int64(0)
        } ?? 0
    }
}

/// The state of the search for records of applications with a maximum age of their own. Valid until the settings
/// change.
struct AgeSearch {
    /// The number of applications above which the known ages are forgotten.
    static let maxKnown = 4096

    /// The maximum ages of the applications that have been read so far.
    var known: [AccountID: Duration] = [:]
    /// The last application that was read.
    var last: AccountID = 0
    /// For each maximum age, the last range that was searched. No range up to it has records of applications with this
    /// age or a lower one.
    var searchedThrough: [Duration: Int64] = [:]

    mutating func forgetAges() {
        known = [:]
        last = 0
    }
}

/// For each maximum age, the last range whose records are all older.
package struct ExpiredRanges: Equatable, Sendable {
    /// The last range for the general maximum age; 0 if there is none.
    package var general: Int64
    /// The last range for each application with another maximum age; 0 if there is none.
    package var accounts: [AccountID: Int64] = [:]
}

/// The reply to the method `Retention`.
extension StoreReader {
    /// The maximum number of listed applications with a maximum age of their own.
    private static let maxApplications = 100
    /// One day, in milliseconds.
    private static let day: Int64 = 86_400_000

    /// Returns the figures on which the next removals depend.
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
            usage.excessWALBytes = connection.excessWALBytes(retention.disk)
            usage.records = try Self.recordCount(on: connection)
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

    /// Adds the number of records of the last day (or since the first count, if that is later), the length of this
    /// period, and the average size of the records in closed ranges. The number includes all records of the open range,
    /// because `counts` lacks them, and a range is open for at most a day.
    private func addRate(to usage: inout RetentionUsage, now: IssueTimestamp) throws {
        let start = now.millisecondsSince1970 - Self.day
        let closed = try connection.integer(
            "SELECT coalesce(sum(records), 0) FROM counts WHERE minute >= ?1", start / 60_000)
        usage.recentRecords =
            closed + usage.records - (try connection.integer("SELECT coalesce(sum(records), 0) FROM ranges"))
        let first = try connection.first("SELECT min(minute) FROM counts") { $0.optionalInt64(0) } ?? nil
        let begin = first.map { $0 * 60_000 } ?? usage.oldest?.millisecondsSince1970 ?? start
        usage.period = .milliseconds(min(Self.day, max(0, now.millisecondsSince1970 - begin)))
        // If records are removed from a range, its bytes shrink by the same proportion.
        usage.averageBytes =
            try connection.first("SELECT sum(bytes) / sum(records) FROM ranges WHERE records > 0") {
                $0.optionalInt64(0)
            } ?? nil
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
        if let portion = try oldestPortion(of: own.isEmpty ? nil : general, withRange: true) {
            usage.portions.append(
                RetentionUsage.Portion(
                    maxAge: retention.maxAge, newest: portion.newest, records: portion.records))
        }
        for (account, name, age) in own.prefix(Self.maxApplications) {
            let portion = try oldestPortion(of: [account], withRange: false)
            usage.portions.append(
                RetentionUsage.Portion(
                    app: name.app, uid: name.uid, maxAge: age, newest: portion?.newest, records: portion?.records ?? 0))
        }
    }

    /// Finds the oldest closed range with records of some accounts. Returns the highest time of receipt in that range,
    /// and the number of its records that belong to these accounts; nil if no range is found.
    ///
    /// - Parameters:
    ///   - accounts: The accounts; nil for all.
    ///   - withRange: `true` if the records are removed together with their range. If only some of its records are
    ///     removed, those in damaged blocks that an earlier removal has kept do not count.
    private func oldestPortion(
        of accounts: Set<AccountID>?, withRange: Bool
    ) throws -> (newest: IssueTimestamp, records: Int64)? {
        let list = accounts.map { StoreWriter.list($0) }
        let minBytes: Int64 = withRange ? 0 : 1
        let found = try connection.first(
            """
            SELECT postings.range FROM postings JOIN series ON series.id = postings.series
            WHERE postings.records > 0 AND postings.bytes >= ?2
                AND (?1 IS NULL OR series.account IN (SELECT value FROM json_each(?1)))
            ORDER BY postings.range LIMIT 1
            """, list, minBytes
        ) { $0.int64(0) }
        guard let found else { return nil }
        return try connection.first(
            """
            SELECT sum(postings.records), (SELECT last_at FROM ranges WHERE id = ?2)
            FROM postings JOIN series ON series.id = postings.series
            WHERE postings.range = ?2 AND postings.bytes >= ?3
                AND (?1 IS NULL OR series.account IN (SELECT value FROM json_each(?1)))
            """, list, found, minBytes
        ) { ($0.time(1), $0.int64(0)) }
    }
}

extension DatabaseConnection {
    /// Returns the number of bytes by which the WAL file exceeds its usual size; 0 if it does not. A truncating
    /// checkpoint frees them.
    func excessWALBytes(_ budget: DiskBudget) -> Int64 { max(0, (walFileBytes ?? 0) - budget.typicalWALBytes) }
}
