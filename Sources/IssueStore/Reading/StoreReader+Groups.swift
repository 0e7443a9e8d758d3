package import IssueCore
package import IssueProtocol
import SQLiteKit

extension StoreReader {
    /// A page of groups, and the cursor of the next page if there is one.
    package struct GroupPage: Sendable {
        package var groups: [IssueGroup]
        package var next: String?
    }

    /// The parameters of a list of groups.
    package struct GroupQuery: Sendable {
        package var filter: IssueFilter
        package var order: ResultOrder
        /// The maximum number of groups.
        package var limit: Int
        /// The cursor of the page, or nil for the first page.
        package var after: String?
        /// The number of buckets of each sparkline, or nil for none.
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

    /// Returns groups with the counts of the records that match the filter.
    ///
    /// If the filter limits the time, the counts of closed ranges are exact to the minute. Text and metadata in the
    /// filter select groups, see `groups(with:in:)`; the counts include their other records.
    ///
    /// - Throws: `QueryFailure` if the query is invalid, or the error of the query.
    package func groups(_ query: GroupQuery, viewer: Viewer) throws -> GroupPage {
        guard query.filter.outcomes == nil, query.filter.destination == nil else {
            throw QueryFailure.invalidFilter(field: "fates", reason: "groups cannot be filtered by fate")
        }
        var selection = try SeriesSelection(query.filter, viewer: viewer, selectsGroups: true)
        let cursor = try query.after.map { try PageCursor($0) }
        return try snapshot {
            selection.groups = try self.groups(with: query.filter, in: selection)
            if let change = query.filter.sinceDeployment { selection.groups = try groups(change, in: selection) }
            let sums = try groupSums(query, selection, after: cursor)
            var groups: [IssueGroup] = []
            var bytes = 0
            for sum in sums.prefix(query.limit) where bytes < Self.pageBytes {
                let group = try group(sum)
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

    struct GroupSum {
        var group: GroupID
        var records: Int64
        var occurrences: Int64
        var firstAt: Int64
        var lastAt: Int64
        var sortKey: Int64
    }

    /// The SQL that selects the groups of a page.
    ///
    /// - Parameter isBounded: `true` if the filter has a time.
    static func groupSumsSQL(_ order: ResultOrder, isBounded: Bool) -> String {
        // All keys are sorted in descending order, so that one cursor condition serves all of them. sum() fails above
        // the largest integer, so total() is used for occurrences.
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
        let statement = try Statement(composedSQL: sql, on: connection)
        selection.bind(
            to: statement, query.filter.since?.millisecondsSince1970 ?? 0,
            query.filter.until?.millisecondsSince1970 ?? Int64.max, try lastClosedID(), after?.value, after?.row,
            query.limit + 1)
        return try statement.all { row in
            GroupSum(
                group: row.id(0), records: row.int64(1), occurrences: row.int64(2), firstAt: row.int64(3),
                lastAt: row.int64(4), sortKey: row.int64(5))
        }
    }

    /// Returns the group that a sum belongs to.
    func group(_ sum: GroupSum) throws -> IssueGroup {
        let newest = try newestRecord(of: sum.group)
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

    /// Returns the id of a group as users see it, or nil if the group does not exist.
    package func publicID(of group: GroupID) throws -> String? {
        try snapshot {
            try connection.first("SELECT key FROM groups WHERE id = ?1", group) { GroupKey.text(key: $0.int64(0)) }
        }
    }

    /// Returns the row of a group's newest stored record, or nil if none is stored.
    func newestRecord(of group: GroupID) throws -> RowID? {
        let open =
            try connection.first(
                """
                SELECT max(id) FROM records
                WHERE id > ?1 AND series IN (SELECT id FROM series WHERE "group" = ?2)
                """, try lastClosedID(), group
            ) { $0.optionalID(0, as: RowID.self) } ?? nil
        if let open { return open }
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
        // While a range is being removed, its lists still contain removed records. Then all older records are gone,
        // too.
        return try newest.flatMap { try isStored($0) ? $0 : nil }
    }

    private func isStored(_ row: RowID) throws -> Bool {
        try connection.exists("SELECT 1 FROM records WHERE id = ?1", row)
    }

    /// Adds the number of records per bucket. The buckets cover the time of the filter, or the last 24 hours.
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
        let statement = try Statement(composedSQL: sql, on: connection)
        selection.bind(to: statement, StoreWriter.list(rows), start, width, end, try lastClosedID())
        try statement.forEach { row in
            guard let index = places[row.id(0)] else { return }
            let bucket = Int(min(max(row.int64(1), 0), Int64(buckets) - 1))
            groups[index].sparkline[bucket] += row.int(2)
        }
    }
}

/// Determining the fate of one record at one destination.
extension StoreReader {
    func fate(
        ofRow row: RowID, _ destination: Int64, _ name: String, cursor: RowID
    ) throws -> IssueFate {
        var fate = IssueFate(
            destination: name, outcome: .pending, attempts: 0, timestamp: nil, answer: nil, maybeDuplicate: false)
        guard let batch = try batch(of: row, destination, cursor: cursor) else { return fate }
        let list: (BatchList) -> Bool = { batch.lists[$0]?.contains(row) == true }
        fate.timestamp = batch.at
        if list(.withheld) {
            // The record was never in a request, so the response does not apply to it.
            fate.outcome = .withheld
            return fate
        } else if list(.dead) {
            fate.outcome = .deadLettered
            fate.maybeDuplicate = batch.maybeDuplicate
            try complete(&fate, letterOf: row, destination)
        } else if list(.sent) {
            fate.outcome = IssueFate.Outcome(ofSentByState: batch.state)
            fate.attempts = Int(clamping: batch.attempts)
            fate.answer = batch.answer
            fate.maybeDuplicate = batch.maybeDuplicate
            if fate.outcome == .pending { try complete(&fate, sending: destination) }
        } else {
            fate.outcome = .summarised
            try complete(&fate, held: batch.held.reason(of: row), row, destination)
        }
        return fate
    }

    private enum BatchList: Hashable { case sent, withheld, dead }

    private struct BatchRow {
        var state: Int64
        var at: IssueTimestamp
        var attempts: Int64
        var answer: String?
        var maybeDuplicate: Bool
        var held: SuppressionReasons
        var lists: [BatchList: [RowID]]

        init(_ row: borrowing Row) {
            let first = row.id(0, as: RowID.self)
            state = row.int64(1)
            at = row.time(2)
            attempts = row.int64(3)
            answer = row.optionalText(4)
            maybeDuplicate = row.int64(5) != 0
            held = BatchManifest(json: row.text(9)).held
            lists = [
                .sent: PostingList.decode(row.bytes(6), base: first) ?? [],
                .withheld: PostingList.decode(row.bytes(7), base: first) ?? [],
                .dead: PostingList.decode(row.bytes(8), base: first) ?? [],
            ]
        }
    }

    /// Returns the batch that determines the fate of a record: its own if it was sent outside the scan, otherwise the
    /// one whose span contains it. Nil if it was not scanned yet.
    private func batch(of row: RowID, _ destination: Int64, cursor: RowID) throws -> BatchRow? {
        let single = try ForwardingOutbox(connection: connection, blocks: blocks).single(row, destination)
        guard let single else { return row <= cursor ? try batch(holding: row, destination) : nil }
        return try connection.first(
            """
            SELECT first_id, state, at, attempts, answer, maybe_duplicate, sent, withheld, dead, notes
            FROM batches WHERE id = ?1
            """, single
        ) { BatchRow($0) }
    }

    /// Applies the fate of the summary that counts a suppressed record: the record is dead-lettered with it.
    private func complete(
        _ fate: inout IssueFate, held reason: SuppressionReason?, _ row: RowID, _ destination: Int64
    ) throws {
        guard let reason, let summary = try connection.summary(tellingOf: row, for: reason, destination),
            summary.state == .dead
        else { return }
        fate.outcome = .deadLettered
        try complete(&fate, letterOfSummary: summary.id)
    }

    private func complete(_ fate: inout IssueFate, letterOfSummary summary: Int64) throws {
        _ = try connection.first("SELECT attempts, at, answer FROM dead_letters WHERE summary = ?1", summary) {
            fate.takes(letter: $0)
        }
    }

    /// Takes the response to a dead-lettered record from its dead letter.
    private func complete(_ fate: inout IssueFate, letterOf row: RowID, _ destination: Int64) throws {
        _ = try connection.first(
            "SELECT attempts, at, answer FROM dead_letters WHERE record = ?1 AND destination = ?2", row, destination
        ) { fate.takes(letter: $0) }
    }

    /// Takes the attempts of the current batch from the destination's state. A preempted batch shows the same numbers.
    private func complete(_ fate: inout IssueFate, sending destination: Int64) throws {
        let state = try connection.first("SELECT state FROM destinations WHERE id = ?1", destination) {
            DestinationRow.State(json: $0.text(0))
        }
        guard let state, state.batchAttempts > 0 else { return }
        fate.attempts = Int(clamping: state.batchAttempts)
        fate.answer = state.lastAnswer
    }

    private func batch(holding row: RowID, _ destination: Int64) throws -> BatchRow? {
        try connection.first(
            """
            SELECT first_id, state, at, attempts, answer, maybe_duplicate, sent, withheld, dead, notes
            FROM batches WHERE destination = ?1 AND last_id >= ?2 AND kind = 0 ORDER BY last_id LIMIT 1
            """, destination, row
        ) { found -> BatchRow? in
            found.id(0) <= row ? BatchRow(found) : nil
        } ?? nil
    }
}

extension IssueFate {
    fileprivate mutating func takes(letter row: borrowing Row) {
        attempts = row.int(0)
        timestamp = row.time(1)
        answer = row.optionalText(2)
    }
}
