package import IssueCore
package import IssueProtocol
import SQLiteKit

extension StoreReader {
    /// A page of groups.
    package struct GroupPage: Sendable {
        package var groups: [IssueGroup]
        /// The cursor of the next page; nil if this is the last one.
        package var next: String?
    }

    /// The parameters of a list of groups.
    package struct GroupQuery: Sendable {
        package var filter: IssueFilter
        package var order: ResultOrder
        /// The maximum number of groups.
        package var limit: Int
        /// The cursor of the page; nil for the first page.
        package var after: String?
        /// The number of buckets of each sparkline; nil for none.
        package var sparkline: Int?
        package var now: IssueTimestamp

        package init(
            filter: IssueFilter, order: ResultOrder, limit: Int, after: String?, sparkline: Int?, now: IssueTimestamp
        ) {
            self.filter = filter
            self.order = order
            self.limit = limit
            self.after = after
            self.sparkline = sparkline
            self.now = now
        }
    }

    /// Returns groups with the counts of the records that match the filter, including records that retention has
    /// removed.
    ///
    /// If the filter limits the time, a record of a closed range counts if the filter's period overlaps the minute of
    /// receipt. A record older than a week counts if the period overlaps the first minute of the hour of receipt.
    ///
    /// Conditions on the content of records select groups (`groups(with:in:)`). The counts of these groups also include
    /// records that match only the other conditions.
    ///
    /// - Throws: `QueryFailure` if the query is invalid, or the error of the query.
    package func groups(_ query: GroupQuery, viewer: Viewer) throws -> GroupPage {
        guard query.filter.outcomes == nil, query.filter.destination == nil else {
            throw QueryFailure.invalidFilter(field: "fates", reason: "issues cannot be filtered by fate")
        }
        var selection = try SeriesSelection(query.filter, viewer: viewer, selectsGroups: true)
        let cursor = try query.after.map { try PageCursor($0) }
        return try snapshot {
            selection.groups = try self.groups(with: query.filter, in: selection)
            if let change = query.filter.sinceDeployment { selection.groups = try groups(change, in: selection) }
            let sums = try groupSums(query, selection, after: cursor)
            let newest = try newestRecords(of: sums.prefix(query.limit).map(\.group))
            var groups: [IssueGroup] = []
            var bytes = 0
            for sum in sums.prefix(query.limit) where bytes < Self.pageBytes {
                let group = try group(sum, newest: newest[sum.group])
                groups.append(group)
                bytes += group.json.count
            }
            let page = sums.prefix(groups.count)
            if let buckets = query.sparkline, buckets > 0 {
                try addSparklines(to: &groups, of: page.map(\.group), buckets: buckets, query, selection)
            }
            let next =
                sums.count > page.count
                ? page.last.map { PageCursor(value: $0.sortKey, row: $0.group.rawValue).text } : nil
            return GroupPage(groups: groups, next: next)
        }
    }

    /// The counts of a group. Times are in milliseconds since 1970-01-01 UTC.
    struct GroupSum {
        var group: GroupID
        var records: Int64
        var occurrences: Int64
        var firstAt: Int64
        var lastAt: Int64
        var sortKey: Int64
    }

    /// Returns the SQL that selects the groups of a page.
    ///
    /// - Parameters:
    ///   - order: The order of the groups.
    ///   - isBounded: `true` if the filter limits the time.
    static func groupSumsSQL(_ order: ResultOrder, isBounded: Bool) -> String {
        // All sort keys are in descending order, so that the same cursor condition applies to all orders. sum() fails
        // if the result exceeds 64 bits, so total() is used for occurrences.
        let sortKey: StaticString
        switch order {
        case .newest: sortKey = "max(last_at)"
        case .oldest: sortKey = "-min(first_at)"
        case .most: sortKey = "CAST(total(occurrences) AS INTEGER)"
        case .worst: sortKey = "(SELECT severity FROM groups WHERE id = \"group\") * 10000000000000 + max(last_at)"
        }
        let closed: StaticString =
            !isBounded
            ? "SELECT series, records, occurrences, first_at, last_at FROM totals"
            : """
            SELECT sum.series, sum.records, sum.occurrences, max(sum.first * 60000, totals.first_at) AS first_at,
                   min(sum.last * 60000 + 59999, totals.last_at) AS last_at
            FROM (
                SELECT series, sum(records) AS records, total(occurrences) AS occurrences, min(minute) AS first,
                       max(minute) AS last
                FROM counts WHERE minute BETWEEN ?14 / 60000 AND ?15 / 60000 GROUP BY series
            ) AS sum
            JOIN totals ON totals.series = sum.series
            """
        return """
            WITH matching AS MATERIALIZED (\(SeriesSelection.sql)),
            closed AS (\(closed)),
            open AS MATERIALIZED (
                SELECT series, count(*) AS records, sum(count) AS occurrences,
                       min(received_at) AS first_at, max(received_at) AS last_at
                FROM records WHERE id > ?16 AND received_at BETWEEN ?14 AND ?15 GROUP BY series
            ),
            sums AS (
                SELECT "group", records, occurrences, first_at, last_at FROM matching JOIN closed USING (series)
                UNION ALL
                SELECT "group", records, occurrences, first_at, last_at FROM matching JOIN open USING (series)
            ),
            keyed AS (
                SELECT "group", sum(records) AS records, CAST(total(occurrences) AS INTEGER) AS occurrences,
                       min(first_at) AS first_at, max(last_at) AS last_at, \(sortKey) AS sort_key
                FROM sums GROUP BY "group"
            )
            SELECT "group", records, occurrences, first_at, last_at, sort_key FROM keyed
            WHERE ?17 IS NULL OR (sort_key, "group") < (?17, ?18)
            ORDER BY sort_key DESC, "group" DESC LIMIT ?19
            """
    }

    private func groupSums(_ query: GroupQuery, _ selection: SeriesSelection, after: PageCursor?) throws -> [GroupSum] {
        let isBounded = query.filter.since != nil || query.filter.until != nil
        let sql = Self.groupSumsSQL(query.order, isBounded: isBounded)
        let statement = try selection.statement(
            sql, on: connection, query.filter.since?.millisecondsSince1970 ?? 0,
            query.filter.until?.millisecondsSince1970 ?? Int64.max, try lastClosedID(), after?.value, after?.row,
            query.limit + 1)
        return try statement.all { row in
            GroupSum(
                group: row.id(0), records: row.int64(1), occurrences: row.int64(2), firstAt: row.int64(3),
                lastAt: row.int64(4), sortKey: row.int64(5))
        }
    }

    /// Returns the title of the group with a public id; nil if there is no such group. The title of a merged group is
    /// empty. Call this in a snapshot.
    package func title(ofGroup id: String) throws -> String? {
        guard let key = GroupKey.key(id) else { return nil }
        return try connection.first("SELECT title FROM groups WHERE key = ?1", key) { $0.text(0) }
    }

    /// Returns the group that a sum belongs to, with the counts of the sum.
    ///
    /// - Parameters:
    ///   - sum: The sum.
    ///   - newest: The row of the group's newest stored record (`newestRecord(of:)`); nil if none is stored.
    func group(_ sum: GroupSum, newest: RowID?) throws -> IssueGroup {
        let group = try connection.first(
            """
            SELECT groups.key, title, severity, state, muted_until, regressed, accounts.app, accounts.uid, fingerprint,
                   domain, code, file, line, function, module, first_version, last_version, groups.first_at,
                   rule, fixed_version, fixed_after IS NOT NULL, muted_left, changed_by, changed_at,
                   change_note
            FROM groups JOIN accounts ON accounts.id = groups.account WHERE groups.id = ?1
            """, sum.group
        ) { row in
            var group = IssueGroup(
                id: GroupKey.text(key: row.int64(0)), title: row.text(1),
                level: IssueLevel(rank: UInt8(clamping: row.int64(2))) ?? .error,
                state: GroupState(databaseValue: UInt8(clamping: row.int64(3))) ?? .open,
                mutedUntil: row.optionalTime(4),
                hasRegressed: row.int64(5) != 0, app: row.text(6), user: UInt32(clamping: row.int64(7)),
                fingerprint: row.text(8), domain: row.optionalText(9),
                code: row.optionalInt64(10).map { Int(clamping: $0) },
                source: Self.source(row, from: 11), records: Int(clamping: sum.records),
                occurrences: Int(clamping: sum.occurrences),
                firstSeen: IssueTimestamp(millisecondsSince1970: max(sum.firstAt, row.int64(17))),
                lastSeen: IssueTimestamp(millisecondsSince1970: sum.lastAt), firstVersion: row.optionalText(15),
                lastVersion: row.optionalText(16))
            group.fingerprintRule = Int(clamping: row.int64(18))
            group.resolvedIn = row.optionalText(19)
            group.isResolvedInNext = row.int64(20) != 0
            group.mutedUntilCount = row.optionalInt64(21).map { Int(clamping: $0) }
            group.stateChange = IssueStateChange(row, from: 22)
            return group
        }
        guard var group else { throw QueryFailure.notFound(id: "") }
        if let newest { group.newestRecord = try recordID(row: newest).text }
        return group
    }

    private static func source(_ row: borrowing Row, from column: Int) -> SourceLocation? {
        let source = SourceLocation(
            fileID: row.optionalText(column), line: row.optionalInt64(column + 1),
            function: row.optionalText(column + 2), module: row.optionalText(column + 3))
        return source == SourceLocation() ? nil : source
    }

    /// Returns the id of a group as clients see it; nil if the group does not exist.
    package func publicID(of group: GroupID) throws -> String? {
        try snapshot {
            try connection.first("SELECT key FROM groups WHERE id = ?1", group) { GroupKey.text(key: $0.int64(0)) }
        }
    }

    /// Returns the row of a group's newest stored record; see `newestRecords(of:)`.
    func newestRecord(of group: GroupID) throws -> RowID? { try newestRecords(of: [group])[group] }

    /// Returns the rows of the newest stored records of groups, without the groups that have none. If the newest record
    /// of a group is unreadable, returns the row of an older one, or leaves the group out.
    func newestRecords(of groups: [GroupID]) throws -> [GroupID: RowID] {
        guard !groups.isEmpty else { return [:] }
        // The open range has no posting lists, so all its records are read: once for all groups. If they were read for
        // each group, a user with large records could delay the lists of all others.
        let open = try connection.all(
            """
            SELECT series."group", max(records.id)
            FROM records CROSS JOIN series ON series.id = records.series
            WHERE records.id > ?1 AND series."group" IN (SELECT value FROM json_each(?2)) GROUP BY 1
            """, try lastClosedID(), StoreWriter.list(groups)
        ) { (group: $0.id(0, as: GroupID.self), row: $0.id(1, as: RowID.self)) }
        var newest = Dictionary(uniqueKeysWithValues: open.map { ($0.group, $0.row) })
        for group in groups where newest[group] == nil { newest[group] = try newestClosedRecord(of: group) }
        return newest
    }

    /// Returns the row of a group's newest record in closed ranges; nil if there is none.
    private func newestClosedRecord(of group: GroupID) throws -> RowID? {
        let lists = try connection.all(
            """
            WITH RECURSIVE chain (series, range) AS (
                SELECT series, last_range FROM totals WHERE series IN (SELECT id FROM series WHERE "group" = ?1)
                UNION ALL
                -- A list without records is only a link of the chain.
                SELECT chain.series, postings.previous FROM chain
                JOIN postings ON postings.range = chain.range AND postings.series = chain.series
                WHERE postings.records = 0 AND postings.previous IS NOT NULL
            )
            SELECT ranges.first_id, postings.ids FROM chain
            JOIN postings ON postings.range = chain.range AND postings.series = chain.series
            JOIN ranges ON ranges.id = chain.range
            WHERE postings.records > 0
            """, group
        ) { ($0.id(0, as: RowID.self), $0.bytes(1)) }
        let newest = lists.compactMap { PostingList.decode($0.1, base: $0.0)?.last }.max()
        // While a range is being removed, its lists still contain records that were removed. All older records have
        // been removed then.
        return try newest.flatMap { try connection.exists("SELECT 1 FROM records WHERE id = ?1", $0) ? $0 : nil }
    }

    /// Sets the sparklines of groups: the numbers of records per bucket. The buckets cover the filter's period. If the
    /// filter has no end, the period ends now; if it has no start, the period is 24 hours long.
    private func addSparklines(
        to groups: inout [IssueGroup], of rows: [GroupID], buckets: Int, _ query: GroupQuery,
        _ selection: SeriesSelection
    ) throws {
        let end = query.filter.until ?? query.now
        let start = query.filter.since ?? end.advanced(by: .seconds(-86_400))
        let width = max(
            1, (end.millisecondsSince1970 - start.millisecondsSince1970 + Int64(buckets) - 1) / Int64(buckets))
        let places = Dictionary(rows.enumerated().map { ($0.element, $0.offset) }) { first, _ in first }
        for index in groups.indices { groups[index].sparkline = Array(repeating: 0, count: buckets) }
        let sql = """
            WITH own AS MATERIALIZED (
                SELECT series, "group" FROM (\(SeriesSelection.sql))
                WHERE "group" IN (SELECT value FROM json_each(?14))
            )
            SELECT own."group", max(minute * 60000 - ?15, 0) / ?16 AS bucket, sum(records)
            FROM counts CROSS JOIN own ON own.series = counts.series
            WHERE minute BETWEEN ?15 / 60000 AND ?17 / 60000 GROUP BY 1, 2
            UNION ALL
            SELECT own."group", (received_at - ?15) / ?16 AS bucket, count(*)
            FROM records CROSS JOIN own ON own.series = records.series
            WHERE records.id > ?18 AND received_at BETWEEN ?15 AND ?17 GROUP BY 1, 2
            """
        let statement = try selection.statement(
            sql, on: connection, StoreWriter.list(rows), start, width, end, try lastClosedID())
        try statement.forEach { row in
            guard let index = places[row.id(0)] else { return }
            let bucket = Int(min(max(row.int64(1), 0), Int64(buckets) - 1))
            groups[index].sparkline[bucket] += row.int(2)
        }
    }

    /// Returns the groups of a selection that are new or gone since the last declared deployment of their application.
    ///
    /// - Parameters:
    ///   - change: Whether new groups or groups that are gone are returned.
    ///   - selection: The series that match the other parts of the filter.
    func groups(_ change: DeploymentChange, in selection: SeriesSelection) throws -> [GroupID] {
        let windows = try deploymentWindows()
        guard !windows.isEmpty else { return [] }
        let sql = """
            WITH matching AS MATERIALIZED (
                SELECT DISTINCT "group" FROM (\(SeriesSelection.sql))
                WHERE "group" IN (
                    SELECT id FROM groups WHERE account IN (SELECT value FROM json_each(?14)))
            ),
            open AS MATERIALIZED (
                SELECT series, max(received_at) AS at FROM records WHERE id > ?15 GROUP BY series
            )
            SELECT matching."group", groups.account, groups.first_at,
                   max(max(coalesce(totals.last_at, 0), coalesce(open.at, 0)))
            FROM matching
            JOIN groups ON groups.id = matching."group"
            JOIN series ON series."group" = groups.id
            LEFT JOIN totals ON totals.series = series.id
            LEFT JOIN open ON open.series = series.id
            GROUP BY 1
            """
        let statement = try selection.statement(
            sql, on: connection, StoreWriter.list(windows.keys), try lastClosedID())
        var groups: [GroupID] = []
        try statement.forEach { row in
            let found = windows[row.id(1)]?.change(first: row.time(2), newest: row.time(3))
            if found == change { groups.append(row.id(0)) }
        }
        return groups
    }

    /// Returns the times of the last two declared deployments of each account that has any.
    private func deploymentWindows() throws -> [AccountID: DeploymentWindow] {
        let times = try connection.all(
            """
            SELECT accounts.id, deployments.at FROM deployments
            JOIN accounts ON accounts.app = deployments.app
                AND (deployments.uid IS NULL OR deployments.uid = accounts.uid)
            WHERE observed = 0
            """
        ) { ($0.id(0, as: AccountID.self), $0.time(1)) }
        return Dictionary(grouping: times, by: \.0).compactMapValues { DeploymentWindow($0.map(\.1)) }
    }
}

extension StoreReader {
    /// The maximum number of applications or groups that get a series of their own in a histogram: those with the most
    /// records. The others share one series.
    private static let maxKeys = 20

    /// Returns the number of records that match a filter, by time.
    ///
    /// The counts include records that retention has removed. Counts older than a week are stored per hour, in the
    /// first minute of the hour. Conditions on the content of records select groups, as in a list of groups.
    ///
    /// - Throws: `QueryFailure` if the filter is invalid, or the error of the query.
    package func histogram(
        _ filter: IssueFilter, _ frame: HistogramFrame, by dimension: HistogramDimension, viewer: Viewer
    ) throws -> [HistogramSeries] {
        guard filter.outcomes == nil, filter.destination == nil else {
            throw QueryFailure.invalidFilter(field: "fates", reason: "counts cannot be filtered by fate")
        }
        var selection = try SeriesSelection(filter, viewer: viewer, selectsGroups: true)
        let key: StaticString
        switch dimension {
        case .total: key = "'total'"
        case .level: key = "series.severity"
        case .app: key = "accounts.app"
        case .group: key = "groups.key"
        }
        let sql = """
            WITH own AS MATERIALIZED (
                SELECT matching.series, \(key) AS key FROM (\(SeriesSelection.sql)) AS matching
                JOIN series ON series.id = matching.series
                JOIN groups ON groups.id = series."group"
                JOIN accounts ON accounts.id = series.account
            ),
            counted AS MATERIALIZED (
                SELECT key, minute, sum(records) AS records FROM (
                    SELECT own.key AS key, minute / ?14 * ?14 AS minute, records
                    FROM counts CROSS JOIN own ON own.series = counts.series WHERE minute BETWEEN ?15 AND ?16
                    UNION ALL
                    SELECT own.key, received_at / 60000 / ?14 * ?14, 1
                    FROM records CROSS JOIN own ON own.series = records.series
                    WHERE records.id > ?17 AND received_at BETWEEN ?18 AND ?19
                ) GROUP BY 1, 2
            ),
            most AS MATERIALIZED (SELECT key FROM counted GROUP BY key ORDER BY sum(records) DESC, key LIMIT ?20)
            SELECT CASE WHEN key IN (SELECT key FROM most) THEN key END, minute, sum(records)
            FROM counted GROUP BY 1, 2
            """
        return try snapshot {
            selection.groups = try groups(with: filter, in: selection)
            if let change = filter.sinceDeployment { selection.groups = try groups(change, in: selection) }
            let statement = try selection.statement(
                sql, on: connection, frame.minutesPerBucket, frame.minutes.lowerBound, frame.minutes.upperBound,
                try lastClosedID(), frame.times.lowerBound, frame.times.upperBound, Self.maxKeys)
            var counts: [String?: [Int]] = [:]
            if dimension == .total { counts["total"] = [Int](repeating: 0, count: frame.bucketCount) }
            let none = [Int](repeating: 0, count: frame.bucketCount)
            guard !frame.isEmpty else { return Self.series(counts, dimension) }
            try statement.forEach { row in
                counts[row.optionalText(0), default: none][frame.bucket(ofMinute: row.int64(1))] += row.int(2)
            }
            return Self.series(counts, dimension)
        }
    }

    /// Returns the series in the order of the reply, with their names.
    private static func series(
        _ counts: [String?: [Int]], _ dimension: HistogramDimension
    ) -> [HistogramSeries] {
        var series = counts.compactMap { key, counts in key.map { HistogramSeries(key: $0, counts: counts) } }
        switch dimension {
        case .level: series.sort { $0.key > $1.key }
        case .total, .app, .group: series.sort { ($1.sum, $0.key) < ($0.sum, $1.key) }
        }
        for index in series.indices { series[index].key = name(series[index].key, dimension) }
        if let rest = counts[nil] { series.append(HistogramSeries(key: HistogramSeries.rest, counts: rest)) }
        return series
    }

    private static func name(_ key: String, _ dimension: HistogramDimension) -> String {
        switch dimension {
        case .total, .app: key
        case .level: (UInt8(key).flatMap { IssueLevel(rank: $0) } ?? .error).name
        case .group: GroupKey.text(key: Int64(key) ?? 0)
        }
    }
}
