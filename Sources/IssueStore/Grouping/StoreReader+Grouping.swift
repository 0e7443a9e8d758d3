package import IssueCore
package import IssueProtocol
import SQLiteKit

extension StoreReader {
    /// The maximum number of corrections in one reply.
    private static let maxCorrections = 1000
    /// The maximum number of groups that are compared for suggestions. The newest ones are chosen.
    private static let maxCompared = 4096

    static let correctionSQL = """
        SELECT corrections.id, corrections.kind, target.key, source.key, accounts.app, accounts.uid,
               corrections.pattern, corrections.author, corrections.at, corrections.reason, corrections.hits
        FROM corrections
        JOIN accounts ON accounts.id = corrections.account
        JOIN groups AS target ON target.id = corrections.target
        JOIN groups AS source ON source.id = corrections.source
        """

    static func correction(_ row: borrowing Row) -> GroupCorrection {
        let kind = GroupCorrection.Kind(databaseValue: row.int64(1)) ?? .merge
        let (reason, stored) = (row.text(9), row.optionalText(6))
        var (template, field) = (stored, IssueSplitField?.none)
        if case .field(let name, let value)? = stored.flatMap({ SplitSelector(stored: $0) }) {
            (template, field) = (value, name)
        }
        return GroupCorrection(
            id: row.int64(0), kind: kind, group: GroupKey.text(key: row.int64(2)),
            other: kind == .rule ? nil : GroupKey.text(key: row.int64(3)), app: row.text(4),
            user: UInt32(clamping: row.int64(5)), template: template, field: field,
            author: UInt32(clamping: row.int64(7)), timestamp: row.time(8), reason: reason.isEmpty ? nil : reason,
            hits: row.int64(10))
    }

    /// Returns at most 1,000 corrections, the newest first.
    ///
    /// - Parameters:
    ///   - id: The id of a group. Only corrections of the group that now has its records, and of groups merged into
    ///     that group, are returned. Nil for all corrections.
    ///   - viewer: The viewer.
    /// - Throws: `QueryFailure.notFound` if the group does not exist or the viewer must not see it; otherwise the error
    ///   of the query.
    package func corrections(of id: String? = nil, viewer: Viewer) throws -> [GroupCorrection] {
        try snapshot {
            let group = try id.map { try subject($0, viewer: viewer).group }
            return try connection.all(
                composedSQL: """
                    WITH RECURSIVE below (id) AS (
                        SELECT ?2 UNION SELECT groups.id FROM below JOIN groups ON groups.merged_into = below.id
                    )
                    \(Self.correctionSQL)
                    WHERE \(Viewer.condition(parameter: 1)) AND (?2 IS NULL OR corrections.target IN (SELECT id FROM below)
                        OR corrections.source IN (SELECT id FROM below))
                    ORDER BY corrections.id DESC LIMIT ?3
                    """, viewer, group, Self.maxCorrections
            ) { Self.correction($0) }
        }
    }

    /// Returns the user whose groups a correction concerns; nil if the correction does not exist or the viewer must
    /// not see it.
    package func owner(ofCorrection id: Int64, viewer: Viewer) throws -> UInt32? {
        try snapshot {
            try connection.first(
                composedSQL: """
                    SELECT uid FROM corrections JOIN accounts ON accounts.id = corrections.account
                    WHERE corrections.id = ?1 AND \(Viewer.condition(parameter: 2))
                    """, id, viewer
            ) { UInt32(clamping: $0.int64(0)) }
        }
    }

    /// Returns the other groups of the subject's account whose titles match a pattern, without redirects and the
    /// overflow group.
    ///
    /// - Parameter limit: The maximum number of groups.
    package func groups(of subject: Subject, matching pattern: TitlePattern, limit: Int) throws -> [GroupID] {
        try snapshot {
            var found: [GroupID] = []
            try connection.forEach(
                """
                SELECT id, title FROM groups WHERE account = ?1 AND merged_into IS NULL AND id <> ?2
                    AND fingerprint <> 'overflow'
                """, subject.account, subject.group
            ) { row in
                if found.count < limit, pattern.matches(row.text(1)) { found.append(row.id(0)) }
            }
            return found
        }
    }

    /// Returns, per field, the distinct values in a group, each with the oldest series that has it. The values are in
    /// the order of these series. Ignores series whose description was erased.
    ///
    /// - Parameter limit: The maximum number of values per field that are returned.
    package func values(
        ofGroup group: GroupID, limit: Int
    ) throws -> [IssueSplitField: [(value: String, sample: SeriesID)]] {
        try snapshot { try GroupTable(connection: connection).values(ofGroup: group, limit: limit) }
    }

    /// Returns groups with their counts. Groups without series are left out.
    package func groups(_ ids: [GroupID]) throws -> [IssueGroup] {
        try snapshot {
            let newest = try newestRecords(of: ids)
            return try ids.compactMap { id in try sum(of: id).map { try group($0, newest: newest[id]) } }
        }
    }

    /// Explains why a record, or the newest record of a group, is in its group.
    ///
    /// - Parameters:
    ///   - id: The id of the record or group.
    ///   - viewer: The viewer.
    /// - Throws: `QueryFailure.notFound` if nothing with this id exists, the viewer must not see it, or the group has
    ///   no series; `.unreadable` if it is the id of a record in a damaged block; otherwise the error of the query.
    package func explain(_ id: String, viewer: Viewer) throws -> GroupExplanation {
        try snapshot {
            let shown = try show(id, viewer: viewer)
            let subject = try subject(shown.group.id, viewer: viewer)
            let group = subject.group
            let row = shown.record.flatMap { RecordID($0.id)?.row }
            var explanation = GroupExplanation(
                group: shown.group, fingerprint: shown.group.fingerprint, isChosen: false,
                rule: shown.group.fingerprintRule, template: nil, ids: try ids(leadingTo: group), corrections: [])
            var home = group
            var series: SeriesDescription?
            if let row {
                try connection.forEach(
                    """
                    SELECT home.id, home.fingerprint, home.rule, series.fingerprint, series.key, records.details
                    FROM records JOIN series ON series.id = records.series
                    JOIN groups AS home ON home.id = coalesce(series.home, series."group") WHERE records.id = ?1
                    """, row
                ) { row in
                    home = row.id(0)
                    explanation.fingerprint = row.text(1)
                    let ownFingerprint = row.optionalText(3)
                    let details = row.optionalText(5).flatMap { try? JSONValue(json: $0) }
                    if let original = details?["original"] {
                        // An overflow series stores the fingerprint of its group as if the sender had chosen it.
                        let isOverflowGroup = ownFingerprint == "overflow"
                        explanation.isChosen =
                            !isOverflowGroup && !(original["fingerprint"]?.asString ?? "").isEmpty
                        explanation.rule =
                            explanation.isChosen || isOverflowGroup ? nil : Int(clamping: row.int64(2))
                    } else {
                        explanation.isChosen = !(ownFingerprint ?? "").isEmpty
                        explanation.rule = explanation.isChosen ? nil : Int(clamping: row.int64(2))
                    }
                    series = SeriesKey.decode(row.bytes(4))
                }
            }
            if let series {
                explanation.template = MessageTemplate.title(of: series.template[...])
                // The corrections that would apply to a new series with this description.
                var patterns = PatternCache()
                let known = try GroupTable(connection: connection).known(
                    home: home, account: subject.account, series: series, &patterns)
                if let known, known.id == group {
                    explanation.corrections = try known.corrections.compactMap { try correction($0) }
                    return explanation
                }
            }
            explanation.corrections = try connection.all(
                composedSQL: """
                    WITH RECURSIVE up (id, target, correction) AS (
                        SELECT id, merged_into, merged_by FROM groups WHERE id = ?1
                        UNION
                        SELECT groups.id, groups.merged_into, groups.merged_by
                        FROM up JOIN groups ON groups.id = up.target
                    )
                    \(Self.correctionSQL)
                    WHERE corrections.id IN (SELECT correction FROM up) OR corrections.kind = 2 AND corrections.target = ?2
                    ORDER BY corrections.id
                    """, home, group
            ) { Self.correction($0) }
            return explanation
        }
    }

    /// Returns the ids of a group and of the groups that are merged into it, as clients see them; at most 1,000.
    private func ids(leadingTo group: GroupID) throws -> [String] {
        try connection.all(
            """
            WITH RECURSIVE below (id) AS (
                SELECT ?1 UNION SELECT groups.id FROM below JOIN groups ON groups.merged_into = below.id
            )
            SELECT key FROM groups WHERE id IN (SELECT id FROM below) ORDER BY id = ?1 DESC, id LIMIT 1000
            """, group
        ) { GroupKey.text(key: $0.int64(0)) }
    }

    /// Returns pairs of groups of the same account whose titles differ in one word, and whose domain, code, file,
    /// function and module are the same. Compares at most the newest 4,096 groups (`MergeSuggestions.pairs`).
    ///
    /// - Parameters:
    ///   - app: The name of an application; nil for all.
    ///   - limit: The maximum number of pairs.
    package func suggestions(app: String?, limit: Int, viewer: Viewer) throws -> [MergeSuggestion] {
        try snapshot {
            struct Candidate {
                var id: String
                var title: String
                var app: String
            }
            var shown: [GroupID: Candidate] = [:]
            let candidates = try connection.all(
                composedSQL: """
                    SELECT groups.id, groups.key, title, app, account, domain, code, file, function, module
                    FROM groups JOIN accounts ON accounts.id = groups.account
                    WHERE \(Viewer.condition(parameter: 1)) AND (?2 IS NULL OR accounts.app = ?2)
                        AND merged_into IS NULL AND fingerprint <> 'overflow'
                        AND EXISTS (SELECT 1 FROM series WHERE series."group" = groups.id)
                    ORDER BY groups.id DESC LIMIT ?3
                    """, viewer, app, Self.maxCompared
            ) { row in
                let id = row.id(0, as: GroupID.self)
                shown[id] = Candidate(id: GroupKey.text(key: row.int64(1)), title: row.text(2), app: row.text(3))
                let context = (4...9).map { row.optionalText($0) ?? "" }.joined(separator: "\u{1F}")
                return MergeSuggestions.Candidate(group: id, title: row.text(2), context: context)
            }
            return MergeSuggestions.pairs(among: candidates.reversed(), limit: limit).map { pair in
                let both = pair.groups.compactMap { shown[$0] }
                return MergeSuggestion(
                    groups: both.map(\.id), titles: both.map(\.title), words: pair.words, app: both.first?.app ?? "")
            }
        }
    }
}

/// The group that a record would join, and how the record would change the group. See `StoreReader.preview`.
package struct RecordPreview: Equatable, Sendable {
    /// The user and the name of the account. A new name is replaced with `overflow` if the user has too many new
    /// application names.
    package var uid: UInt32
    package var app: String
    /// Other users with an account of this name, as far as the viewer may see them. The list is limited.
    package var otherUsers: [UInt32] = []
    /// The account; nil if it is new or the viewer must not see it.
    package var account: AccountID?
    /// The fingerprint of the record, or that of the overflow group.
    package var fingerprint: String
    /// Whether the record would join the overflow group, because of a limit on new groups or series.
    package var isOverflow = false
    /// The number of groups that the application may still create now. Nil if the record needs no new group, or if
    /// there is no limit.
    package var newGroupsLeft: Int64?
    /// The id of the group, as clients see it; for a new group, the id that it would get.
    package var id: String
    /// The group, after all corrections; nil if it is new.
    package var group: GroupID?
    /// The group with its counts; nil if it is new or has no series.
    package var shown: IssueGroup?
    package var corrections: [GroupCorrection] = []
    /// The effect of the record on the state of the group.
    package var effect: TriageState.Effect = .none
    /// How the record would change its group.
    package var changes: NotificationKinds = []

    /// Whether the record would be the first one of its group, or a regression.
    package var isFirst: Bool { group == nil || effect == .regression }
}

extension StoreReader {
    /// The maximum number of other users in a preview; one more if the record's user has no account of the name.
    private static let maxOtherUsers = 20

    /// Returns the group that a record would join. Stores nothing.
    ///
    /// - Parameters:
    ///   - series: The series of the record.
    ///   - count: The number of occurrences that the record reports.
    ///   - app: The name of the account.
    ///   - user: The user of the account. Nil for `asker` or, if only other users have an account of this name, the
    ///     first of them that the viewer may see.
    ///   - asker: The user who asks.
    ///   - viewer: The viewer.
    ///   - limits: The limits on new groups, series and application names. What counts towards them is read from the
    ///     database.
    ///   - users: Maps user ids to the accountable users.
    ///   - now: The wall time.
    package func preview(
        _ series: SeriesDescription, count: Int64, app: String, user: UInt32?, asker: UInt32, viewer: Viewer,
        limits: LimitSettings, users: AccountableUsers, at now: IssueTimestamp
    ) throws -> RecordPreview {
        try snapshot {
            let accounts = try accounts(named: app, first: user ?? asker, viewer: viewer)
            let uid = user ?? accounts.first?.uid ?? asker
            var preview = RecordPreview(
                uid: uid, app: app, otherUsers: accounts.map(\.uid).filter { $0 != uid },
                account: accounts.first { $0.uid == uid }?.id, fingerprint: Fingerprint.of(series, app: app), id: "")
            let log = try logTime(at: now)
            let owner = users.owner(of: uid)
            var cardinalityGuard = CardinalityGuard(settings: limits)
            try cardinalityGuard.restore(from: connection, wall: now, log: log, users)
            // A viewer who must not see the account can't know whether it exists.
            if preview.account == nil, viewer.sees(Int64(uid)) {
                if cardinalityGuard.admitApplication(uid: owner, at: log) == .overflow {
                    preview.app = "overflow"
                    preview.otherUsers = []
                    preview.account = try self.accounts(named: "overflow", first: uid, viewer: viewer)
                        .first { $0.uid == uid }?.id
                }
            }
            var found = try knownGroup(of: series, fingerprint: preview.fingerprint, account: preview.account)
            if found == nil {
                let account = preview.account ?? AccountID(rawValue: -1)
                preview.newGroupsLeft = cardinalityGuard.groupsLeft(account: account, user: owner, at: log)
                if cardinalityGuard.admitSeries(account: account, user: owner, isNewGroup: true, at: log) != .allow {
                    preview.isOverflow = true
                    preview.fingerprint = "overflow"
                    found = try knownGroup(
                        of: .overflow(of: series, app: preview.app), fingerprint: "overflow",
                        account: preview.account)
                }
            }
            let key = Fingerprint.groupKey(uid: uid, app: preview.app, fingerprint: preview.fingerprint)
            preview.id = GroupKey.text(key: Int64(bitPattern: key))
            try add(found, of: series, count: count, at: now, to: &preview)
            return preview
        }
    }

    private func accounts(
        named app: String, first user: UInt32, viewer: Viewer
    ) throws -> [(id: AccountID, uid: UInt32)] {
        try connection.all(
            composedSQL: """
                SELECT id, uid FROM accounts WHERE app = ?2 AND \(Viewer.condition(parameter: 1))
                ORDER BY uid = ?3 DESC, id LIMIT ?4
                """, viewer, app, user, Self.maxOtherUsers + 1
        ) { ($0.id(0), UInt32(clamping: $0.int64(1))) }
    }

    /// Returns the group that a series belongs to, after all corrections; nil if a new group is needed.
    private func knownGroup(
        of series: SeriesDescription, fingerprint: String, account: AccountID?
    ) throws -> RecordCommit.KnownGroup? {
        guard let account else { return nil }
        let table = GroupTable(connection: connection)
        var home = try table.group(account: account, fingerprint: fingerprint)
        if home == nil {
            var older = OlderGroups()
            home = try older.group(account: account, fingerprint: fingerprint, in: table)
        }
        var patterns = PatternCache()
        return try table.known(home: home, account: account, series: series, &patterns)
    }

    /// Adds a group, and the effects of a record on it, to a preview. `found` is nil for a new group.
    private func add(
        _ found: RecordCommit.KnownGroup?, of series: SeriesDescription, count: Int64, at now: IssueTimestamp,
        to preview: inout RecordPreview
    ) throws {
        guard let found, let account = preview.account else {
            preview.changes = series.severity == .critical ? [.new, .critical] : .new
            return
        }
        preview.group = found.id
        preview.corrections = try found.corrections.compactMap { try correction($0) }
        let facts = try connection.first("SELECT key, first_at FROM groups WHERE id = ?1", found.id) {
            (key: $0.int64(0), firstAt: $0.int64(1))
        }
        if let facts { preview.id = GroupKey.text(key: facts.key) }
        if let sum = try sum(of: found.id) { preview.shown = try group(sum, newest: newestRecord(of: found.id)) }
        if series.severity == .critical, !found.isCritical { preview.changes.insert(.critical) }
        guard found.isWatched else { return }
        var state = try TriageTable(connection: connection).standing(ofGroup: found.id)
        preview.effect = state.reported(
            by: ApplicationVersion(name: series.app.version, build: series.app.build), at: now,
            in: try DeploymentTable(connection: connection).history(of: account), count: count)
        switch preview.effect {
        case .none, .expiry: break
        case .silence: preview.changes = []
        case .regression:
            preview.changes.formUnion(series.severity == .critical ? [.regressed, .critical] : .regressed)
        }
    }

    /// Returns a correction by its number; nil if it does not exist.
    func correction(_ id: Int64) throws -> GroupCorrection? {
        try connection.first(composedSQL: "\(Self.correctionSQL) WHERE corrections.id = ?1", id) { Self.correction($0) }
    }

    /// Returns the current log time.
    ///
    /// - Parameter now: The wall time.
    package func logTime(at now: IssueTimestamp) throws -> RecordLogInstant {
        try snapshot {
            let offset = try offset(after: try newestRow()).offset
            return RecordLogInstant(milliseconds: now.millisecondsSince1970.clampedSum(offset))
        }
    }

    /// Returns the ids of all destinations, keyed by name.
    package func destinationIDs() throws -> [String: Int64] {
        try snapshot {
            let rows = try connection.all("SELECT name, id FROM destinations ORDER BY id") { ($0.text(0), $0.int64(1)) }
            return Dictionary(rows) { $1 }
        }
    }
}
