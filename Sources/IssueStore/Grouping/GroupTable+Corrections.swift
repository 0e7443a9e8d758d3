import IssueCore
import IssueProtocol
import SQLiteKit

/// The attributes of a group that depend on its series.
package struct GroupAttributes: Equatable, Sendable {
    /// The description of the group's first series. Series with the group's own fingerprint take precedence.
    var first: SeriesDescription
    /// The highest severity of its series (`IssueLevel.rank`).
    var severity: Int64
    /// When its first record was received, in milliseconds since 1970-01-01 UTC.
    var firstAt: Int64
    var firstVersion: String?
    var lastVersion: String?
    /// The newest series of the group when the attributes were read.
    var last: SeriesID
}

/// A cache of the patterns of rules and splits, which are compared with new series.
///
/// A record that exceeds the limits for new issues is compared with the rules, too, so the rules are kept in memory.
struct PatternCache {
    /// A correction and its pattern.
    struct Entry {
        /// The number of the correction.
        var id: Int64
        var target: GroupID
        var selector: SplitSelector
    }

    /// The rules of an account, newest first. The patterns of an account or a group take up to 60 KB.
    var rules = BoundedCache<AccountID, [Entry]>(capacity: 64)
    /// The splits of a group, newest first.
    var splits = BoundedCache<GroupID, [Entry]>(capacity: 64)

    mutating func removeAll() {
        rules.removeAll()
        splits.removeAll()
    }
}

/// A row of `corrections`.
struct CorrectionRow {
    var id: Int64
    var kind: GroupCorrection.Kind
    var source: GroupID
    var target: GroupID
    /// The stored form of a `SplitSelector`; nil for a merge.
    var pattern: String?
}

extension GroupCorrection.Kind {
    /// The number of the kind in the database.
    var databaseValue: Int64 {
        switch self {
        case .merge: 1
        case .split: 2
        case .rule: 3
        }
    }

    init?(databaseValue: Int64) {
        guard let match = Self.allCases.first(where: { $0.databaseValue == databaseValue }) else { return nil }
        self = match
    }
}

/// Reads and changes corrections in the database.
extension GroupTable {
    /// Returns `true` if an account may get more corrections without exceeding a limit.
    ///
    /// - Parameters:
    ///   - count: The number of new corrections.
    ///   - kind: The kind of these corrections.
    ///   - group: A group of the account.
    func allowsCorrections(
        _ count: Int, _ kind: GroupCorrection.Kind = .merge, ofAccountOf group: GroupID
    ) throws(SQLiteError) -> Bool {
        let found = try connection.first(
            """
            SELECT sum(account = own.id), sum(account = own.id AND kind = ?2), count(*)
            FROM corrections JOIN (SELECT id, uid FROM accounts WHERE id = (
                SELECT account FROM groups WHERE id = ?1)) AS own
            WHERE account IN (SELECT accounts.id FROM accounts WHERE accounts.uid = own.uid)
            """, group, kind.databaseValue
        ) { (all: $0.int(0), ofKind: $0.int(1), byUser: $0.int(2)) }
        guard let found else { return true }
        return found.all + count <= StoreWriter.maxCorrections
            && found.byUser + count <= StoreWriter.maxCorrectionsByUser
            && (kind == .merge || found.ofKind + count <= StoreWriter.maxRules)
    }

    /// Returns the length of the longest chain of merges that ends at one of these groups. In a chain, the target of
    /// each merge is the source of the next one.
    ///
    /// - Parameter groups: Groups of one account.
    func mergeDepth(of groups: [GroupID]) throws(SQLiteError) -> Int {
        guard let first = groups.first else { return 0 }
        // Each target of a merge or rule counts as the end of a chain of one merge.
        let parents = try connection.all(
            """
            SELECT DISTINCT groups.id, merged_into FROM corrections JOIN groups ON groups.id = corrections.target
            WHERE corrections.account = (SELECT account FROM groups WHERE id = ?1) AND kind <> 2
            """, first
        ) { ($0.id(0, as: GroupID.self), $0.optionalID(1, as: GroupID.self)) }
        let parent = Dictionary(parents.map { ($0.0, $0.1) }) { first, _ in first }
        let wanted = Set(groups)
        var deepest = 0
        for start in parent.keys {
            var (next, depth) = (Optional(start), 0)
            while let group = next, depth <= parent.count {
                depth += 1
                if wanted.contains(group) { deepest = max(deepest, depth) }
                next = parent[group] ?? nil
            }
        }
        return deepest
    }

    /// Inserts a correction and returns its number, which is higher than that of any earlier correction. The number of
    /// a correction that was undone is not used again, because destinations, scripts and the output of earlier commands
    /// may contain it.
    ///
    /// The highest number so far is kept in `sqlite_sequence`, as for a column with `AUTOINCREMENT`. A database of an
    /// older version has no such entry at first. Its next correction gets a number that is higher than those of all
    /// corrections and correction events that it still has.
    func insertCorrection(
        _ kind: GroupCorrection.Kind, from source: GroupID, to target: GroupID, pattern: String?,
        _ author: StoreWriter.CorrectionAuthor
    ) throws(SQLiteError) -> Int64 {
        try connection.run(
            """
            INSERT INTO corrections (id, account, kind, source, target, pattern, author, at, reason)
            SELECT 1 + max(coalesce((SELECT max(id) FROM corrections), 0),
                           coalesce((SELECT max(correction) FROM correction_events), 0),
                           coalesce((SELECT max(seq) FROM sqlite_sequence WHERE name = 'corrections'), 0)),
                   account, ?1, ?2, ?3, ?4, ?5, ?6, ?7
            FROM groups WHERE id = ?3
            """, kind.databaseValue, source, target, pattern, author.uid, author.at, author.reason)
        let number = connection.lastInsertedRowID
        try connection.run("UPDATE sqlite_sequence SET seq = ?1 WHERE name = 'corrections'", number)
        if connection.changes == 0 {
            try connection.run("INSERT INTO sqlite_sequence (name, seq) VALUES ('corrections', ?1)", number)
        }
        return number
    }

    /// Returns a correction by its number; nil if it does not exist.
    func correction(_ id: Int64) throws(SQLiteError) -> CorrectionRow? {
        try connection.first("SELECT kind, source, target, pattern FROM corrections WHERE id = ?1", id) { row in
            GroupCorrection.Kind(databaseValue: row.int64(0)).map {
                CorrectionRow(
                    id: id, kind: $0, source: row.id(1), target: row.id(2), pattern: row.optionalText(3))
            }
        } ?? nil
    }

    func dropCorrection(_ id: Int64) throws(SQLiteError) {
        try connection.run("DELETE FROM corrections WHERE id = ?1", id)
    }

    /// Returns series of a group in the order of their ids, without those whose description was erased.
    ///
    /// - Parameters:
    ///   - series: Only series with a higher id are returned.
    ///   - limit: The maximum number of series.
    func series(
        of group: GroupID, above series: SeriesID = 0, limit: Int
    ) throws(SQLiteError) -> [(id: SeriesID, description: SeriesDescription)] {
        try connection.all(
            #"SELECT id, key FROM series WHERE "group" = ?1 AND id > ?2 AND key <> x'' ORDER BY id LIMIT ?3"#, group,
            series, limit
        ) { ($0.id(0, as: SeriesID.self), $0.bytes(1)) }.map { ($0.0, SeriesKey.decode($0.1) ?? SeriesDescription()) }
    }

    /// Compares the titles of a group's series with a pattern. Ignores series whose description was erased.
    ///
    /// - Returns: The first series whose title matches, nil if there is none; and whether all titles match.
    func match(_ pattern: TitlePattern, in group: GroupID) throws(SQLiteError) -> (sample: SeriesID?, isAll: Bool) {
        var (sample, isAll) = (SeriesID?.none, true)
        try scanSeries(of: group) { id, description in
            if pattern.matches(RecordCommit.title(of: description)) { sample = sample ?? id } else { isAll = false }
            return sample == nil || isAll
        }
        return (sample, isAll)
    }

    /// Passes the series of a group to a closure, in the order of their ids, until the closure returns `false`. Leaves
    /// out series whose description was erased.
    private func scanSeries(
        of group: GroupID, while body: (SeriesID, SeriesDescription) -> Bool
    ) throws(SQLiteError) {
        var next: SeriesID = 0
        while true {
            let page = try series(of: group, above: next, limit: StoreWriter.seriesPerCorrection)
            for series in page where !body(series.id, series.description) { return }
            guard let last = page.last, page.count == StoreWriter.seriesPerCorrection else { return }
            next = last.id
        }
    }

    /// Returns the group that now has the records of a group: the one that it is merged into, or the group itself.
    ///
    /// Corrections can leave a group without series in two ways: a split has moved all series of its fingerprint, or
    /// the group was split off from a merged group and lost all its series when the merge was undone. For a group
    /// without series, returns the group that has the oldest series of its fingerprint. If there is no such series,
    /// returns the source of the newest split into the group.
    func holder(of group: GroupID) throws(SQLiteError) -> GroupID {
        let first = try root(of: group)
        var seen: Set<GroupID> = []
        var holder = first
        while try !hasSeries(holder, 1) {
            let next =
                try connection.first(
                    """
                    SELECT coalesce((SELECT "group" FROM series WHERE home = ?1 ORDER BY id LIMIT 1), (
                        SELECT source FROM corrections
                        WHERE account = (SELECT account FROM groups WHERE id = ?1) AND target = ?1 AND kind = 2
                        ORDER BY id DESC LIMIT 1))
                    """, holder
                ) { $0.optionalID(0, as: GroupID.self) } ?? nil
            guard let next, seen.insert(holder).inserted else { return first }
            holder = try root(of: next)
        }
        return holder
    }

    /// Returns `true` if a group was created by a split that has been undone, or by importing corrections, has no
    /// series, and is not a redirect.
    func isSurplus(_ group: GroupID) throws(SQLiteError) -> Bool {
        try connection.exists(
            """
            SELECT 1 FROM groups WHERE id = ?1 AND first_record = 0 AND merged_into IS NULL
                AND NOT EXISTS (SELECT 1 FROM series WHERE "group" = ?1)
                AND NOT EXISTS (
                    SELECT 1 FROM corrections WHERE corrections.account = groups.account AND target = ?1 AND kind = 2)
            """, group)
    }

    /// Makes a surplus group a redirect, so that its id remains valid.
    func redirectSurplus(_ group: GroupID, to target: GroupID, from row: RowID) throws(SQLiteError) {
        let triage = TriageTable(connection: connection)
        if try triage.standing(ofGroup: group) != TriageState() {
            _ = try triage.write(TriageState(), of: group, from: row)
        }
        try setRedirect(group, to: target, by: nil)
    }

    /// Returns `true` if a group has at least this many series.
    func hasSeries(_ group: GroupID, _ count: Int) throws(SQLiteError) -> Bool {
        try connection.first(#"SELECT 1 FROM series WHERE "group" = ?1 LIMIT 1 OFFSET ?2"#, group, count - 1) { _ in
            true
        } ?? false
    }

    /// Returns the group to which a split moves series of `source`. Inserts that group if it is new.
    ///
    /// - Returns: Nil if `source` does not exist, or if the split's group was merged into `source`.
    func splitTarget(
        of source: GroupID, _ selector: SplitSelector, _ series: SeriesDescription
    ) throws(SQLiteError) -> GroupID? {
        let owner = try connection.first(
            """
            SELECT account, uid, app, fingerprint FROM groups JOIN accounts ON accounts.id = groups.account
            WHERE groups.id = ?1
            """, source
        ) {
            ($0.id(0, as: AccountID.self), UInt32(clamping: $0.int64(1)), $0.text(2), $0.text(3))
        }
        guard let (account, uid, app, fingerprint) = owner else { return nil }
        let own = selector.fingerprint(splitting: fingerprint)
        if let known = try group(account: account, fingerprint: own) {
            // If the group is a redirect because an earlier split was undone, it becomes a group again.
            try connection.run(
                "UPDATE groups SET merged_into = NULL, merged_by = NULL WHERE id = ?1 AND merged_by IS NULL", known)
            let root = try root(of: known)
            return root == source ? nil : root
        }
        return try insert(series, account: account, uid: uid, app: app, own, firstRecord: 0, at: 0)
    }

    /// Inserts a group with the attributes of its first series.
    ///
    /// - Parameters:
    ///   - row: The row of its first record; 0 if a correction creates the group.
    ///   - time: The time at which its first record was received, in milliseconds since 1970-01-01 UTC; 0 if a
    ///     correction creates the group.
    func insert(
        _ series: SeriesDescription, account: AccountID, uid: UInt32, app: String, _ fingerprint: String,
        firstRecord row: RowID, at time: Int64
    ) throws(SQLiteError) -> GroupID {
        let title = RecordCommit.title(of: series)
        let key = Fingerprint.groupKey(uid: uid, app: app, fingerprint: fingerprint)
        try connection.run(
            """
            INSERT INTO groups (account, fingerprint, rule, key, title, severity, domain, code, file, line, function,
                module, first_at, first_version, last_version, first_record)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?14, ?15)
            """, account, fingerprint, Fingerprint.rule, Int64(bitPattern: key), title, Int64(series.severity.rank),
            series.domain, series.code, series.source.fileID, series.source.line, series.source.function,
            series.source.module, time, series.app.version, row)
        return GroupID(rawValue: connection.lastInsertedRowID)
    }

    /// Returns the attributes of a group, computed from its series; nil if no series has a description.
    ///
    /// Reads all of its series. If there may be many, call this on a query thread.
    func attributes(of group: GroupID) throws(SQLiteError) -> GroupAttributes? {
        let first =
            try connection.first(
                #"SELECT key FROM series WHERE "group" = ?1 AND key <> x'' ORDER BY home IS NOT NULL, id LIMIT 1"#,
                group
            ) { SeriesKey.decode($0.bytes(0)) } ?? nil
        guard let first else { return nil }
        return try connection.first(
            """
            SELECT max(severity), min(first_at), max(id),
                (SELECT version FROM series WHERE "group" = ?1 ORDER BY id LIMIT 1),
                (SELECT version FROM series WHERE "group" = ?1 AND version IS NOT NULL ORDER BY id DESC LIMIT 1)
            FROM series WHERE "group" = ?1
            """, group
        ) { row in
            GroupAttributes(
                first: first, severity: row.int64(0), firstAt: row.int64(1), firstVersion: row.optionalText(3),
                lastVersion: row.optionalText(4), last: row.id(2))
        }
    }

    /// Sets the attributes of a group. Has no effect if `attributes` is nil or the group is a redirect.
    ///
    /// Severity and last version also take into account series that are newer than `attributes.last`.
    func describe(_ group: GroupID, _ attributes: GroupAttributes?) throws(SQLiteError) {
        guard let attributes else { return }
        let first = attributes.first
        try connection.run(
            """
            UPDATE groups SET title = ?2, domain = ?3, code = ?4, file = ?5, line = ?6, function = ?7, module = ?8,
                severity = max(?9, coalesce((SELECT max(severity) FROM series WHERE "group" = ?1 AND id > ?13), 0)),
                first_at = ?10, first_version = ?11,
                last_version = coalesce((
                    SELECT version FROM series WHERE "group" = ?1 AND id > ?13 AND version IS NOT NULL
                    ORDER BY id DESC LIMIT 1), ?12)
            WHERE id = ?1 AND merged_into IS NULL
            """, group, RecordCommit.title(of: first), first.domain, first.code, first.source.fileID, first.source.line,
            first.source.function, first.source.module, attributes.severity, attributes.firstAt,
            attributes.firstVersion, attributes.lastVersion, attributes.last)
    }

    // MARK: New series

    /// Returns the split that applies to a new series of a group; nil if there is none.
    func split(
        of group: GroupID, _ series: SeriesDescription, _ cache: inout PatternCache
    ) throws(SQLiteError) -> (id: Int64, target: GroupID)? {
        Self.match(series, in: try splits(of: group, &cache))
    }

    /// Returns the splits of a group, the newest first.
    func splits(of group: GroupID, _ cache: inout PatternCache) throws(SQLiteError) -> [PatternCache.Entry] {
        if let known = cache.splits[group] { return known }
        let splits = try patterns(
            in: "SELECT id, target, pattern FROM corrections WHERE source = ?1 AND kind = 2 ORDER BY id DESC",
            group.rawValue)
        cache.splits.insert(splits, for: group)
        return splits
    }

    /// Returns the rule that applies to a series whose fingerprint has no group; nil if there is none.
    func rule(
        account: AccountID, _ series: SeriesDescription, _ cache: inout PatternCache
    ) throws(SQLiteError) -> (id: Int64, target: GroupID)? {
        let rules: [PatternCache.Entry]
        if let known = cache.rules[account] {
            rules = known
        } else {
            rules = try patterns(
                in: "SELECT id, target, pattern FROM corrections WHERE account = ?1 AND kind = 3 ORDER BY id DESC",
                account.rawValue)
            cache.rules.insert(rules, for: account)
        }
        return Self.match(series, in: rules)
    }

    private static func match(
        _ series: SeriesDescription, in entries: [PatternCache.Entry]
    ) -> (id: Int64, target: GroupID)? {
        guard !entries.isEmpty else { return nil }
        var fields = SplitSelector.Fields(series, title: RecordCommit.title(of: series))
        return entries.first { $0.selector.matches(&fields) }.map { ($0.id, $0.target) }
    }

    private func patterns(in sql: StaticString, _ id: Int64) throws(SQLiteError) -> [PatternCache.Entry] {
        try connection.all(sql, id) { ($0.int64(0), $0.id(1, as: GroupID.self), $0.text(2)) }.compactMap { row in
            SplitSelector(stored: row.2).map { PatternCache.Entry(id: row.0, target: row.1, selector: $0) }
        }
    }

    /// Returns, per field, the distinct values in a group, each with the oldest series that has it. The values are in
    /// the order of these series. Ignores series whose description was erased.
    ///
    /// - Parameter limit: The maximum number of values per field that are returned.
    func values(
        ofGroup group: GroupID, limit: Int
    ) throws(SQLiteError) -> [IssueSplitField: [(value: String, sample: SeriesID)]] {
        var values: [IssueSplitField: [(value: String, sample: SeriesID)]] = [:]
        var seen: [IssueSplitField: Set<String>] = [:]
        try scanSeries(of: group) { id, description in
            var fields = SplitSelector.Fields(description, title: RecordCommit.title(of: description))
            for field in IssueSplitField.allCases where values[field, default: []].count < limit {
                let value = fields[field]
                guard seen[field, default: []].insert(value).inserted else { continue }
                values[field, default: []].append((value, id))
            }
            return true
        }
        return values
    }

    /// Adds one hit to each of these corrections, for a new series to which they have applied.
    func count(hitsOf corrections: [Int64]) throws(SQLiteError) {
        guard !corrections.isEmpty else { return }
        try connection.run(
            "UPDATE corrections SET hits = hits + 1 WHERE id IN (SELECT value FROM json_each(?1))",
            StoreWriter.list(corrections))
    }

    /// Makes a group a redirect, without moving its series or its state.
    ///
    /// - Parameters:
    ///   - group: The group.
    ///   - target: Another group of the same account that is not a redirect.
    ///   - correction: The correction that causes the merge; nil if the cause is a new version of the fingerprint
    ///     algorithm (`Fingerprint.rule`), or if the group is no longer needed.
    func setRedirect(_ group: GroupID, to target: GroupID, by correction: Int64?) throws(SQLiteError) {
        // A redirect needs no attributes, and their texts would remain here after the records are erased.
        try connection.run(
            """
            UPDATE groups SET merged_into = ?2, merged_by = ?3, rule = ?4, title = '', domain = NULL, code = NULL,
                file = NULL, line = NULL, function = NULL, module = NULL, first_version = NULL, last_version = NULL
            WHERE id = ?1
            """, group, target, correction, Fingerprint.rule)
    }
}

extension GroupTable {
    /// Returns the group that the records of a fingerprint belong to, after all corrections; nil if a new group is
    /// needed.
    ///
    /// - Parameters:
    ///   - home: The group that has the fingerprint; nil if there is none.
    ///   - account: The account.
    ///   - series: The series of the records, whose title and fields are compared with rules and splits.
    ///   - cache: The cache of patterns.
    func known(
        home: GroupID?, account: AccountID, series: SeriesDescription, _ cache: inout PatternCache
    ) throws(SQLiteError) -> RecordCommit.KnownGroup? {
        var known: RecordCommit.KnownGroup
        if let home {
            known = RecordCommit.KnownGroup(id: home, home: home, isWatched: false)
        } else if let rule = try rule(account: account, series, &cache) {
            known = RecordCommit.KnownGroup(id: rule.target, home: nil, isWatched: false, corrections: [rule.id])
        } else {
            return nil
        }
        // Merges form no cycle, and each split is applied at most once, so this loop ends.
        while true {
            let row = try connection.first(
                """
                SELECT merged_into, state <> 0, merged_by,
                       EXISTS (SELECT 1 FROM corrections WHERE source = ?1 AND kind = 2), severity
                FROM groups WHERE id = ?1
                """, known.id
            ) {
                (
                    $0.optionalID(0, as: GroupID.self), $0.int64(1) != 0, $0.optionalInt64(2), $0.int64(3) != 0,
                    $0.int64(4) >= Int64(IssueLevel.critical.rank)
                )
            }
            known.isWatched = row?.1 ?? false
            known.isCritical = row?.4 ?? false
            if let target = row?.0 {
                known.id = target
                if let correction = row?.2 { known.corrections.append(correction) }
            } else if row?.3 == true,
                let split = try split(of: known.id, series, &cache),
                !known.corrections.contains(split.id)
            {
                known.id = split.target
                known.corrections.append(split.id)
            } else {
                return known
            }
        }
    }
}
