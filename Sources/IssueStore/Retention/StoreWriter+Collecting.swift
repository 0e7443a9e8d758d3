package import IssueCore
package import IssueProtocol
import SQLiteKit

/// Removes rows that are no longer needed, a limited number per transaction.
///
/// The newest row of a table is kept if SQLite would otherwise assign its id again. Rows that a cache contains are
/// kept, or the cache is emptied.
extension StoreWriter {
    /// The maximum number of series or processes that one transaction examines or removes.
    package static let maxCollectedRows = 256
    /// The maximum number of issues that one transaction examines.
    private static let maxExaminedIssues = 256
    /// The number of counts after which one transaction examines no further minute.
    private static let maxCountsPerTransaction = 8192
    /// The maximum number of summaries that one transaction examines.
    private static let maxSummariesPerTransaction = 512

    /// Removes processes without records, except those to which records in damaged blocks may refer.
    ///
    /// - Parameters:
    ///   - processes: Ids of processes to which no record up to row `edge` refers.
    ///   - edge: The last row that was examined. Processes with later records are kept.
    /// - Returns: The number of processes that are kept because of damaged blocks.
    @discardableResult
    package func collect(processes: [ProcessRowID], seenThrough edge: RowID) throws(StoreFailure) -> Int {
        let cached = Set(memory.caches.processes.values.map(\.process))
        return try transaction { () throws(SQLiteError) in
            let newer = try removal.newerThanDamage(processes)
            let used = try Set(
                connection.all("SELECT DISTINCT process FROM records WHERE id > ?1", edge) {
                    $0.id(0, as: ProcessRowID.self)
                })
            try removal.delete(
                "DELETE FROM processes WHERE id IN (SELECT value FROM json_each(?1)) AND id < (SELECT max(id) FROM processes)",
                newer.filter { !cached.contains($0) && !used.contains($0) })
            return processes.count - newer.count
        }
    }

    /// Removes series that have no records, their totals, and groups that then have no series. Series to which records
    /// in damaged blocks may refer are kept.
    ///
    /// - Parameters:
    ///   - series: Ids of series to which no record up to row `edge` refers.
    ///   - edge: The last row that was examined. Series with later records are kept.
    package func collect(series: [SeriesID], seenThrough edge: RowID) throws(StoreFailure) {
        try transaction { () throws(SQLiteError) in
            let used = try removal.reported(from: edge + 1)
            let newest = try newestSeries()
            let unused = try removal.newerThanDamage(series).filter { !used.contains($0) && $0 < newest }
            try removal.collect(series: unused)
            dropSeriesCaches()
        }
    }

    /// Examines the next series, and adds those without records to an estimate.
    ///
    /// - Parameters:
    ///   - series: Only series with a higher id are examined.
    ///   - estimate: The estimate to which series without records are added.
    /// - Returns: The last series that was examined; nil if none is left.
    package func countUnreferencedSeries(
        above series: SeriesID, _ estimate: inout UnreferencedSeries
    ) throws(StoreFailure) -> SeriesID? {
        let examined = try Self.convertingErrors { () throws(SQLiteError) in
            try removal.examineSeries(above: series, limit: Self.maxCollectedRows, open: memory.open)
        }
        for series in examined.recordless { estimate.add(keyBytes: series.keyBytes, of: series.user) }
        return examined.last
    }

    /// Examines the next series. Removes those without records, although their counts could still be queried, and
    /// groups that then have no series. Used if space is short.
    ///
    /// - Parameters:
    ///   - users: Only series of these users are removed.
    ///   - series: Only series with a higher id are examined.
    /// - Returns: The last series that was examined, nil if none is left; and the number of removed series.
    package func collectSeries(
        of users: Set<UInt32>, above series: SeriesID
    ) throws(StoreFailure) -> (last: SeriesID?, removed: Int) {
        try transaction { () throws(SQLiteError) in
            let examined = try removal.examineSeries(above: series, limit: Self.maxCollectedRows, open: memory.open)
            let newest = try newestSeries()
            let recordless = examined.recordless.filter { $0.id < newest && users.contains($0.user) }.map(\.id)
            let unused = try removal.newerThanDamage(recordless)
            if !unused.isEmpty {
                try removal.collect(series: unused)
                dropSeriesCaches()
            }
            return (examined.last, unused.count)
        }
    }

    /// Examines the next issues without records that are kept because of their state. In the first pass of `kept`, only
    /// adds up their sizes; in the second, removes the oldest issues of the users who exceed the limit.
    ///
    /// - Parameter kept: Decides which issues are removed. Its position, which must not be nil, is advanced.
    package func collectIssues(_ kept: inout KeptIssues) throws(StoreFailure) {
        guard let position = kept.position else { preconditionFailure("All issues were examined before") }
        var decision = kept
        let last = try transaction { () throws(SQLiteError) in
            let examined = try removal.examineIssues(above: position, limit: Self.maxExaminedIssues)
            let removed = examined.kept.filter { decision.examine(bytes: $0.bytes, of: $0.user) }
            for issue in removed { try removal.collect(group: issue.id, keepsState: false) }
            if !removed.isEmpty { dropSeriesCaches() }
            return examined.last
        }
        decision.stepEnded(at: last)
        kept = decision
    }

    /// Erases the next issues without records that are kept because of their state, with everything that refers to
    /// them, as part of a purge.
    ///
    /// - Parameters:
    ///   - group: Only issues with a higher id are examined.
    ///   - apps: Only issues of these applications are removed; nil for all.
    ///   - users: Only issues of these user ids are removed; nil for all.
    /// - Returns: The last issue that was examined; nil if none is left.
    package func eraseIssues(
        above group: GroupID, apps: [String]?, users: [UInt32]?
    ) throws(StoreFailure) -> GroupID? {
        try erasing { () throws(SQLiteError) in
            let examined = try removal.examineIssues(above: group, limit: Self.maxExaminedIssues)
            let removed = examined.kept.filter { issue in
                (apps?.contains(issue.app) ?? true) && (users?.contains(issue.user) ?? true)
            }
            for issue in removed { try removal.erase(group: issue.id) }
            if !removed.isEmpty { memory.caches = WriterMemory.Caches() }
            return examined.last
        }
    }

    private func newestSeries() throws(SQLiteError) -> SeriesID {
        try connection.first("SELECT max(id) FROM series") { $0.id(0, as: SeriesID.self) } ?? 0
    }

    private func dropSeriesCaches() {
        memory.caches.series.removeAll()
        memory.caches.owners.removeAll()
        memory.caches.triage.removeAll()
        memory.caches.olderGroups = OlderGroups()
    }

    /// Removes senders and accounts that nothing refers to, rows of `ledger` whose counts are 0, observed deployments
    /// without an account, and rows of `clock`, `mutes` and `moves` that apply only to rows before the first stored
    /// record.
    ///
    /// The statements find the first record with `ORDER BY id LIMIT 1`. For `min(id)`, SQLite would read all records,
    /// because `records` is a virtual table.
    ///
    /// - Returns: `true` if there may be more.
    package func collectOwners() throws(StoreFailure) -> Bool {
        try transaction { () throws(SQLiteError) in
            var mayBeMore = false
            for sql: StaticString in [
                """
                DELETE FROM senders WHERE id IN (
                    SELECT id FROM senders WHERE id < (SELECT max(id) FROM senders)
                        AND id NOT IN (SELECT sender FROM processes) AND id NOT IN (SELECT sender FROM series)
                    LIMIT 4)
                """,
                "DELETE FROM ledger WHERE records = 0 AND occurrences = 0",
                """
                DELETE FROM accounts WHERE id IN (
                    SELECT id FROM accounts WHERE id < (SELECT max(id) FROM accounts)
                        AND id NOT IN (SELECT account FROM groups) AND id NOT IN (SELECT account FROM series)
                        AND id NOT IN (SELECT account FROM ledger)
                    LIMIT 4)
                """,
                """
                DELETE FROM clock WHERE first_id < (
                    SELECT max(first_id) FROM clock
                    WHERE first_id <= coalesce((SELECT id FROM records ORDER BY id LIMIT 1), (SELECT max(first_id) FROM clock)))
                """,
                """
                DELETE FROM mutes WHERE ("group", first_id) IN (
                    SELECT "group", first_id FROM mutes WHERE last_id < (SELECT id FROM records ORDER BY id LIMIT 1) LIMIT 256)
                """,
                """
                DELETE FROM deployments WHERE id IN (
                    SELECT id FROM deployments WHERE observed = 1
                        AND NOT EXISTS (
                            SELECT 1 FROM accounts WHERE accounts.uid = deployments.uid AND accounts.app = deployments.app)
                    LIMIT 4)
                """,
                """
                DELETE FROM moves WHERE (series, last_id) IN (
                    SELECT series, last_id FROM moves WHERE last_id < (SELECT id FROM records ORDER BY id LIMIT 1) LIMIT 256)
                """,
            ] {
                try connection.run(sql)
                // 4 and 256 are the limits in the statements.
                mayBeMore = mayBeMore || connection.changes == 4 || connection.changes == 256
            }
            memory.caches.senders.removeAll()
            memory.caches.accounts.removeAll()
            memory.caches.deployments.removeAll()
            return mayBeMore
        }
    }

    /// Examines the next counts, and removes those of series that no longer have totals.
    ///
    /// - Parameter minute: The minute to start at, in minutes since 1970.
    /// - Returns: The minute to continue from, or nil at the end.
    package func collectCounts(from minute: Int64) throws(StoreFailure) -> Int64? {
        try transaction { () throws(SQLiteError) in
            let last =
                try connection.first(
                    "SELECT max(minute) FROM (SELECT minute FROM counts WHERE minute >= ?1 ORDER BY minute LIMIT ?2)",
                    minute, Self.maxCountsPerTransaction
                ) { $0.optionalInt64(0) } ?? nil
            guard let last else { return nil }
            try connection.run(
                """
                DELETE FROM counts WHERE minute BETWEEN ?1 AND ?2
                    AND NOT EXISTS (SELECT 1 FROM totals WHERE totals.series = counts.series)
                """, minute, last)
            return last < .max ? last + 1 : nil
        }
    }

    /// Examines the next summaries. Removes old ones that were delivered or given up, with their dead letters, and old
    /// events about corrections.
    ///
    /// - Parameters:
    ///   - number: Only summaries with a higher id are examined.
    ///   - time: Only summaries and events stored before this time are removed.
    ///   - now: The current time. Events that still count towards the limit of their user are kept.
    /// - Returns: The last summary that was examined; nil if no old one is left.
    package func collectSummaries(
        above number: Int64, before time: IssueTimestamp, now: IssueTimestamp
    ) throws(StoreFailure) -> Int64? {
        try transaction { () throws(SQLiteError) in
            let examined = try connection.all(
                "SELECT id, state, at FROM summaries WHERE id > ?1 ORDER BY id LIMIT ?2", number,
                Self.maxSummariesPerTransaction
            ) { (id: $0.int64(0), state: $0.int64(1), at: $0.int64(2)) }
            let old = examined.filter { $0.at < time.millisecondsSince1970 }
            let settled = old.filter { $0.state != 0 }.map(\.id)
            try removal.delete(
                "DELETE FROM summaries WHERE id IN (SELECT value FROM json_each(?1)) AND id < (SELECT max(id) FROM summaries)",
                settled)
            try removal.delete(
                "DELETE FROM dead_letters WHERE summary IN (SELECT value FROM json_each(?1)) AND summary NOT IN (SELECT id FROM summaries)",
                settled)
            try removal.delete(
                "DELETE FROM summary_windows WHERE summary NOT IN (SELECT id FROM summaries) AND summary IN (SELECT value FROM json_each(?1))",
                old.map(\.id))
            try outbox.deleteCorrectionEvents(before: min(time, now.advanced(by: .zero - Self.correctionEventAge)))
            // Summaries are in chronological order, so none after a recent one is old.
            let mayBeMore = examined.count == Self.maxSummariesPerTransaction && old.count == examined.count
            return mayBeMore ? examined.last?.id : nil
        }
    }
}

extension RecordRemoval {
    /// The result of examining some series.
    struct ExaminedSeries {
        /// The last series that was examined; nil if none was.
        var last: SeriesID?
        /// The series without records, with the sizes of their keys in bytes.
        var recordless: [(id: SeriesID, user: UInt32, keyBytes: Int64)] = []
    }

    /// Determines which of the next series have no records, neither in closed ranges nor in the open one.
    ///
    /// - Parameters:
    ///   - series: Only series with a higher id are examined.
    ///   - limit: The maximum number of series to examine.
    ///   - open: The open range.
    func examineSeries(
        above series: SeriesID, limit: Int, open: OpenRange
    ) throws(SQLiteError) -> ExaminedSeries {
        var examined = ExaminedSeries()
        try connection.forEach(
            """
            WITH RECURSIVE some (id, account, key_bytes) AS (
                SELECT id, account, length(key) FROM series WHERE id > ?1 ORDER BY id LIMIT ?2),
            chain (series, previous, records) AS (
                SELECT postings.series, postings.previous, postings.records
                FROM some CROSS JOIN totals ON totals.series = some.id
                CROSS JOIN postings ON postings.range = totals.last_range AND postings.series = totals.series
                UNION
                SELECT postings.series, postings.previous, postings.records
                FROM chain CROSS JOIN postings
                    ON postings.range = chain.previous AND postings.series = chain.series
                WHERE chain.records = 0
            )
            SELECT some.id, some.id IN (SELECT series FROM chain WHERE records > 0), uid, key_bytes
            FROM some JOIN accounts ON accounts.id = some.account ORDER BY some.id
            """, series, limit
        ) { row in
            examined.last = row.id(0)
            guard row.int64(1) == 0 else { return }
            examined.recordless.append((row.id(0), UInt32(clamping: row.int64(2)), row.int64(3)))
        }
        let stillOpen = open.series(among: Set(examined.recordless.map(\.id)))
        examined.recordless.removeAll { stillOpen.contains($0.id) }
        return examined
    }

    /// An issue without records that is kept because of its state.
    struct KeptIssue {
        var id: GroupID
        var user: UInt32
        var app: String
        /// The approximate size of its row, its index entries and its rows of `mutes`, in bytes.
        var bytes: Int64
    }

    /// The approximate size of an issue without its texts, in bytes.
    private static let bytesOfIssue = 200
    /// The approximate size of a row of `mutes`, in bytes.
    private static let bytesOfMute = 30

    /// Determines which of the next issues have no series, and therefore no records, and are resolved or muted.
    ///
    /// - Parameters:
    ///   - group: Only issues with a higher id are examined.
    ///   - limit: The maximum number of issues to examine.
    /// - Returns: The issues, and the last one that was examined; nil if none was.
    func examineIssues(
        above group: GroupID, limit: Int
    ) throws(SQLiteError) -> (last: GroupID?, kept: [KeptIssue]) {
        var (last, kept): (GroupID?, [KeptIssue]) = (nil, [])
        // The fingerprint counts twice, because an index contains it, too.
        try connection.forEach(
            """
            WITH some AS (SELECT * FROM groups WHERE id > ?1 ORDER BY id LIMIT ?2)
            SELECT some.id, state <> 0 AND NOT EXISTS (SELECT 1 FROM series WHERE "group" = some.id)
                       AND NOT EXISTS (SELECT 1 FROM series WHERE home = some.id), uid, app,
                   ?3 + (SELECT count(*) FROM mutes WHERE "group" = some.id) * ?4 + 2 * length(CAST(fingerprint AS BLOB)) + length(CAST(
                       title || coalesce(domain, '') || coalesce(file, '') || coalesce(function, '')
                       || coalesce(module, '') || coalesce(first_version, '') || coalesce(last_version, '')
                       || coalesce(muted_version, '') || coalesce(fixed_version, '') || coalesce(change_note, '') AS BLOB))
            FROM some JOIN accounts ON accounts.id = some.account ORDER BY some.id
            """, group, limit, Self.bytesOfIssue, Self.bytesOfMute
        ) { row in
            last = row.id(0)
            guard row.int64(1) != 0 else { return }
            kept.append(
                KeptIssue(id: row.id(0), user: UInt32(clamping: row.int64(2)), app: row.text(3), bytes: row.int64(4)))
        }
        return (last, kept)
    }

    /// Removes series, their totals, and groups that then have no series.
    func collect(series unused: [SeriesID]) throws(SQLiteError) {
        let groups = try connection.all(
            """
            SELECT home FROM series WHERE id IN (SELECT value FROM json_each(?1)) AND home IS NOT NULL
            UNION SELECT "group" FROM series WHERE id IN (SELECT value FROM json_each(?1))
            """, StoreWriter.list(unused)
        ) { $0.id(0, as: GroupID.self) }
        for series in unused { try deletePostingChain(of: series) }
        try delete("DELETE FROM totals WHERE series IN (SELECT value FROM json_each(?1))", unused)
        try delete("DELETE FROM moves WHERE series IN (SELECT value FROM json_each(?1))", unused)
        try delete("DELETE FROM series WHERE id IN (SELECT value FROM json_each(?1))", unused)
        for group in groups { try collect(group: group) }
    }

    /// Removes a group without series, after up to 64 groups that were merged into it.
    ///
    /// Keeps the group if one of these applies:
    /// - It is the newest group.
    /// - Its state is not open, and `keepsState` is `true`.
    /// - A correction other than a rule has merged it.
    /// - A correction, a series, a move of series, a group merged into it, a limiter window, an unsent summary or an
    ///   event about a correction refers to it.
    ///
    /// A group that a rule has merged need not be kept: if the group is reported again, the rule merges it again. If
    /// these groups were kept, there would be a row for each fingerprint that the rule has ever matched.
    ///
    /// - Parameters:
    ///   - group: The group.
    ///   - keepsState: `false` to remove the group even if its state is not open.
    func collect(group: GroupID, keepsState: Bool = true) throws(SQLiteError) {
        let redirects = try connection.all(
            """
            SELECT id FROM groups WHERE merged_into = ?1 AND NOT EXISTS (SELECT 1 FROM series WHERE "group" = ?1)
            LIMIT 64
            """, group
        ) { $0.id(0, as: GroupID.self) }
        for redirect in redirects { try collect(group: redirect) }
        let isRemovable = try connection.exists(
            """
            SELECT 1 FROM groups WHERE id = ?1 AND (state = 0 OR NOT ?2)
                AND (merged_by IS NULL OR merged_by IN (
                    SELECT corrections.id FROM corrections
                    WHERE corrections.account = groups.account AND kind = 3))
                AND id < (SELECT max(id) FROM groups)
                AND NOT EXISTS (
                    SELECT 1 FROM corrections
                    WHERE corrections.account = groups.account AND (source = ?1 OR target = ?1))
                AND NOT EXISTS (SELECT 1 FROM series WHERE home = ?1)
                AND NOT EXISTS (SELECT 1 FROM moves WHERE "group" = ?1)
                AND NOT EXISTS (SELECT 1 FROM series WHERE "group" = ?1)
                AND NOT EXISTS (SELECT 1 FROM groups AS other WHERE other.merged_into = ?1)
                AND NOT EXISTS (SELECT 1 FROM limits WHERE kind = 2 AND key >> 3 = ?1)
                AND NOT EXISTS (SELECT 1 FROM summaries WHERE ("group" = ?1 OR other = ?1) AND state = 0)
                AND NOT EXISTS (SELECT 1 FROM correction_events WHERE source = ?1 OR target = ?1)
            """, group, keepsState ? 1 : 0)
        guard isRemovable else { return }
        try delete("DELETE FROM limits WHERE kind = 1 AND key IN (SELECT value FROM json_each(?1))", [group])
        try delete(#"DELETE FROM mutes WHERE "group" IN (SELECT value FROM json_each(?1))"#, [group])
        try delete("DELETE FROM groups WHERE id IN (SELECT value FROM json_each(?1))", [group])
    }

    func delete(_ sql: StaticString, _ ids: [some DatabaseID]) throws(SQLiteError) {
        try delete(sql, ids.map(\.rawValue))
    }

    /// Runs a statement that deletes the rows with these ids. Does nothing if there are no ids.
    func delete(_ sql: StaticString, _ ids: [Int64]) throws(SQLiteError) {
        guard !ids.isEmpty else { return }
        try connection.run(sql, StoreWriter.list(ids))
    }
}

/// Determines the start of the retention period, and sums up old counts per hour.
extension StoreWriter {
    /// The age above which counts are stored per hour instead of per minute.
    package static let hourlyCountsAge: Duration = .seconds(7 * 86_400)
    /// The number of counts after which one transaction sums up no further minute.
    private static let maxAgedCountsPerTransaction = 8192

    /// Returns the start of the retention period, in wall-clock time: records received before it exceed the general
    /// maximum age. The log time is converted with the current offset.
    package func retentionStart(wall: IssueTimestamp, monotonic: MonotonicInstant) throws(StoreFailure)
        -> IssueTimestamp
    {
        let offset = try Self.convertingErrors { () throws(SQLiteError) in
            try connection.integer("SELECT offset FROM clock ORDER BY first_id DESC LIMIT 1")
        }
        let moment = logTime(wall: wall, monotonic: monotonic).advanced(by: .zero - retention.maxAge)
        return IssueTimestamp(millisecondsSince1970: moment.milliseconds - offset)
    }

    /// Sums up old counts per hour. Sums over whole hours stay exact.
    ///
    /// - Parameters:
    ///   - minute: The minute to start at, in minutes since 1970.
    ///   - time: Counts before this time, rounded down to a whole hour, are summed up.
    /// - Returns: The minute to continue from, or nil at the end.
    package func rollUpCounts(from minute: Int64, before time: IssueTimestamp) throws(StoreFailure) -> Int64? {
        // The end is a whole hour, so that no hour is summed up only in part.
        let end = time.millisecondsSince1970 / 3_600_000 * 60
        return try transaction { () throws(SQLiteError) in
            let last =
                try connection.first(
                    """
                    SELECT max(minute) FROM (
                        SELECT minute FROM counts WHERE minute >= ?1 AND minute < ?2 ORDER BY minute LIMIT ?3)
                    """, minute, end, Self.maxAgedCountsPerTransaction
                ) { $0.optionalInt64(0) } ?? nil
            guard let last else { return nil }
            try connection.run(
                """
                WITH old AS (
                    SELECT minute - minute % 60 AS hour, series, sum(records) AS records, sum(occurrences) AS occurrences
                    FROM counts WHERE minute BETWEEN ?1 AND ?2 AND minute % 60 <> 0 GROUP BY 1, 2)
                INSERT INTO counts (minute, series, records, occurrences)
                SELECT hour, series, records, occurrences FROM old WHERE true
                ON CONFLICT DO UPDATE SET records = records + excluded.records,
                                          occurrences = occurrences + excluded.occurrences
                """, minute, last)
            try connection.run("DELETE FROM counts WHERE minute BETWEEN ?1 AND ?2 AND minute % 60 <> 0", minute, last)
            return last < .max ? last + 1 : nil
        }
    }
}

extension StoreReader {
    /// The ids that the examined records refer to.
    package struct References: Sendable {
        package var series: Set<SeriesID> = []
        package var processes: Set<ProcessRowID> = []
        /// The last row that was examined.
        package var edge: RowID = 0

        package init() {}
    }

    /// The maximum number of rows examined per snapshot.
    private static let maxExaminedRows: Int64 = 20_000

    /// Examines the next records, at most 20,000, and adds the ids that they refer to.
    ///
    /// - Parameter references: The ids found so far. Examination continues after row `references.edge`.
    /// - Returns: `true` if there may be more records.
    package func read(_ references: inout References) throws -> Bool {
        var found = references
        var count: Int64 = 0
        try snapshot {
            // Consecutive records usually have the same series and process.
            var (series, process): (SeriesID, ProcessRowID) = (0, 0)
            try connection.forEach(
                "SELECT id, series, process FROM records WHERE id > ?1 ORDER BY id LIMIT ?2", references.edge,
                Self.maxExaminedRows
            ) { row in
                count += 1
                found.edge = row.id(0)
                if row.id(1) != series {
                    series = row.id(1)
                    found.series.insert(series)
                }
                if row.id(2) != process {
                    process = row.id(2)
                    found.processes.insert(process)
                }
            }
        }
        references = found
        return count == Self.maxExaminedRows
    }

    /// Returns the series and processes to which none of the examined records refers.
    ///
    /// - Parameters:
    ///   - references: The ids to which the examined records refer.
    ///   - ranges: Expired ranges. Series that occurred in a later closed range are left out.
    package func unreferenced(
        _ references: References, quietSince ranges: ExpiredRanges
    ) throws -> (series: [SeriesID], processes: [ProcessRowID]) {
        try snapshot {
            let series = try connection.all(
                """
                SELECT series.id, series.account, coalesce(totals.last_range, 0) FROM series
                LEFT JOIN totals ON totals.series = series.id ORDER BY series.id
                """
            ) {
                (id: $0.id(0, as: SeriesID.self), account: $0.id(1, as: AccountID.self), last: $0.int64(2))
            }.filter { $0.last <= ranges.accounts[$0.account] ?? ranges.general }.map(\.id)
            let processes = try connection.all("SELECT id FROM processes ORDER BY id") {
                $0.id(0, as: ProcessRowID.self)
            }
            return (
                series.filter { !references.series.contains($0) },
                processes.filter { !references.processes.contains($0) }
            )
        }
    }
}
