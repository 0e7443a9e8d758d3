import IssueCore
import IssueProtocol
import SQLiteKit

/// Reads and changes groups, and moves series between them. Changes need the writer's connection and a transaction.
///
/// A group that was merged into another one keeps its row as a redirect: `merged_into` is the other group. Its id and
/// its fingerprint therefore remain valid and lead to the other group. All counts, posting lists and fates belong to
/// series or records, so a move changes none of them.
struct GroupTable {
    let connection: DatabaseConnection

    /// Selects the group at the end of the chain of merges that begins with the group `?1`; the group itself if it is
    /// not merged.
    static let rootSQL: StaticString = """
        WITH RECURSIVE up (id, target) AS (
            SELECT id, merged_into FROM groups WHERE id = ?1
            UNION
            SELECT groups.id, groups.merged_into FROM up JOIN groups ON groups.id = up.target
        )
        SELECT id FROM up WHERE target IS NULL
        """

    /// Returns the group at the end of the chain of merges that begins with a group; the group itself if it is not
    /// merged.
    func root(of group: GroupID) throws(SQLiteError) -> GroupID {
        try connection.first(Self.rootSQL, group) { $0.id(0, as: GroupID.self) } ?? group
    }

    /// Returns the group of an account with a fingerprint; nil if there is none. The group may be a redirect.
    func group(account: AccountID, fingerprint: String) throws(SQLiteError) -> GroupID? {
        try connection.first("SELECT id FROM groups WHERE account = ?1 AND fingerprint = ?2", account, fingerprint) {
            $0.id(0, as: GroupID.self)
        }
    }

    /// Makes `source` a redirect, and merges its attributes and state into `target`. The series of `source` must be
    /// moved afterwards.
    ///
    /// - Parameters:
    ///   - source: A group that is not a redirect.
    ///   - target: Another group of the same account that is not a redirect.
    ///   - correction: The correction that causes the merge; nil if the cause is a new version of the fingerprint
    ///     algorithm (`Fingerprint.rule`), or if the group is no longer needed.
    ///   - row: The row id of the next record.
    func redirect(
        _ source: GroupID, to target: GroupID, by correction: Int64?, from row: RowID
    ) throws(SQLiteError) {
        let triage = TriageTable(connection: connection)
        let (own, other) = (try triage.standing(ofGroup: target), try triage.standing(ofGroup: source))
        let merged = TriageState.merged(own, other)
        if merged != own { _ = try triage.write(merged, of: target, from: row) }
        if other != TriageState() { _ = try triage.write(TriageState(), of: source, from: row) }
        try connection.run(
            """
            UPDATE groups SET severity = max(groups.severity, other.severity),
                first_version = CASE WHEN other.first_at < groups.first_at THEN other.first_version
                    ELSE groups.first_version END,
                first_at = min(groups.first_at, other.first_at),
                last_version = CASE
                    WHEN (SELECT max(id) FROM series WHERE "group" = ?1) > (SELECT max(id) FROM series WHERE "group" = ?2)
                    THEN coalesce(other.last_version, groups.last_version)
                    ELSE coalesce(groups.last_version, other.last_version) END
            FROM groups AS other WHERE groups.id = ?2 AND other.id = ?1
            """, source, target)
        try setRedirect(source, to: target, by: correction)
    }

    /// Moves series of a group to another one, with all their records.
    ///
    /// - Parameters:
    ///   - source: The group that has the series.
    ///   - target: The group that gets them.
    ///   - limit: The maximum number of series to move.
    ///   - row: The row id of the next record.
    /// - Returns: The series that were moved. If there are fewer than `limit`, none are left in `source`.
    func moveSeries(
        of source: GroupID, to target: GroupID, limit: Int, from row: RowID
    ) throws(SQLiteError) -> [SeriesID] {
        let series = try connection.all(
            #"SELECT id FROM series WHERE "group" = ?1 ORDER BY id LIMIT ?2"#, source, limit
        ) { $0.id(0, as: SeriesID.self) }
        try move(series, from: source, to: target, from: row)
        return series
    }

    /// The maximum number of moves that are stored for a series, however often a user merges and splits groups.
    static let maxMoves = 16

    /// Moves series of one group to another one. For their records before `row`, the limits, summaries and mutes of
    /// their previous group still apply.
    ///
    /// If a series has moved more than 16 times, its earliest moves are removed. The records from before these moves
    /// then count as records of the group that had the series after the last removed move.
    func move(
        _ series: [SeriesID], from source: GroupID, to target: GroupID, from row: RowID
    ) throws(SQLiteError) {
        guard !series.isEmpty else { return }
        // If a series moves twice without a record in between, its earlier records stay with the first group.
        try connection.run(
            #"INSERT OR IGNORE INTO moves (series, last_id, "group") SELECT value, ?2 - 1, ?3 FROM json_each(?1)"#,
            StoreWriter.list(series), row, source)
        try connection.run(
            """
            DELETE FROM moves WHERE series IN (SELECT value FROM json_each(?1)) AND last_id <= (
                SELECT last_id FROM moves AS newer WHERE newer.series = moves.series
                ORDER BY last_id DESC LIMIT 1 OFFSET ?2)
            """, StoreWriter.list(series), Self.maxMoves)
        try connection.run(
            """
            UPDATE series SET "group" = ?2, home = nullif(coalesce(home, "group"), ?2)
            WHERE id IN (SELECT value FROM json_each(?1))
            """, StoreWriter.list(series), target)
    }

    // MARK: Regrouping

    /// Returns the attributes from which the newest fingerprint rule computes the fingerprint of a group; nil if the
    /// group does not exist.
    func subject(of group: GroupID) throws(SQLiteError) -> Regrouping.Subject? {
        let found = try connection.first(
            """
            SELECT fingerprint, title, domain, code, file, line, function, module, app, first_record
            FROM groups JOIN accounts ON accounts.id = groups.account WHERE groups.id = ?1
            """, group
        ) { row in
            var series = SeriesDescription()
            series.domain = row.optionalText(2)
            series.code = row.optionalInt64(3)
            series.source = SourceLocation(
                fileID: row.optionalText(4), line: row.optionalInt64(5), function: row.optionalText(6),
                module: row.optionalText(7))
            return (
                subject: Regrouping.Subject(fingerprint: row.text(0), series: series, app: row.text(8)),
                title: row.text(1), first: row.id(9, as: RowID.self)
            )
        }
        guard let found else { return nil }
        var subject = found.subject
        if let (description, app, message) = try firstRecord(found.first, of: group) {
            (subject.series, subject.app, subject.message) = (description, app, message)
            return subject
        }
        // Series without a chosen fingerprint come first. An overflow series stores its group's fingerprint as if the
        // sender had chosen it.
        let series = try connection.first(
            """
            SELECT key, coalesce(app, command) FROM series JOIN senders ON senders.id = sender
            WHERE "group" = ?1 AND key <> x'' ORDER BY coalesce(fingerprint, '') <> '', series.id LIMIT 1
            """, group
        ) { ($0.bytes(0), $0.text(1)) }
        if let (key, app) = series, let description = SeriesKey.decode(key) {
            (subject.series, subject.app) = (description, app)
        } else if subject.fingerprint != "overflow",
            let template = Regrouping.template(ofTitle: found.title, at: subject.series?.source ?? SourceLocation())
        {
            subject.series?.template = template
        } else {
            subject.series = nil
        }
        return subject
    }

    /// Returns the series, the application name and the message of a group's first record. Returns nil if the record is
    /// gone, unreadable or in another group, or if its sender chose the fingerprint.
    private func firstRecord(
        _ row: RowID, of group: GroupID
    ) throws(SQLiteError) -> (series: SeriesDescription, app: String, message: [UInt8])? {
        let found = try connection.first(
            """
            SELECT message, typeof(message), series.key, coalesce(series.app, command)
            FROM records JOIN series ON series.id = records.series JOIN senders ON senders.id = series.sender
            WHERE records.id = ?1 AND series."group" = ?2 AND coalesce(series.fingerprint, '') = ''
            """, row, group
        ) { ($0.bytes(0), $0.text(1), $0.bytes(2), $0.text(3)) }
        guard let (bytes, type, key, app) = found, let series = SeriesKey.decode(key) else { return nil }
        let message =
            type == "text" ? bytes : MessageTemplate.messageBytes(template: series.template, parts: bytes)
        return (series, app, message)
    }

    /// Returns the change that the newest fingerprint rule requires for a group with a fingerprint of an older rule.
    func decision(for group: GroupID, account: AccountID) throws(SQLiteError) -> Regrouping.Decision {
        guard let subject = try subject(of: group) else { return .keep }
        let fingerprint = Regrouping.fingerprint(of: subject)
        var holder: GroupID?
        if let fingerprint, let found = try self.group(account: account, fingerprint: fingerprint) {
            holder = try root(of: found)
        }
        return Regrouping.decision(
            fingerprint: subject.fingerprint, newFingerprint: fingerprint, holder: holder == group ? nil : holder)
    }

    /// Stores that a group has a fingerprint of the newest rule.
    ///
    /// - Parameter fingerprint: The new fingerprint; nil to keep the current one.
    func finish(_ group: GroupID, fingerprint: String? = nil) throws(SQLiteError) {
        try connection.run(
            "UPDATE groups SET rule = ?2, fingerprint = coalesce(?3, fingerprint) WHERE id = ?1", group,
            Fingerprint.rule, fingerprint)
    }
}

/// The groups that still have a fingerprint of an older rule, by account and by the fingerprint that they will get.
///
/// With these, the first record of a new series finds its group even if `regroup` has not changed the group yet.
struct OlderGroups {
    /// The maximum number of groups of an account that are examined; these are the newest ones. A new series of a group
    /// beyond this limit creates a second group. `regroup` merges the two later.
    private static let limit = 512

    private var groups: [AccountID: [String: GroupID]] = [:]

    /// Returns the group that will get this fingerprint; nil if there is none.
    mutating func group(
        account: AccountID, fingerprint: String, in table: GroupTable
    ) throws(SQLiteError) -> GroupID? {
        if let known = groups[account] { return known[fingerprint] }
        let ids = try table.connection.all(
            """
            SELECT id FROM groups WHERE account = ?1 AND rule < ?2 AND merged_into IS NULL ORDER BY id DESC LIMIT ?3
            """, account, Fingerprint.rule, Self.limit
        ) { $0.id(0, as: GroupID.self) }
        var found: [String: GroupID] = [:]
        // Of groups with the same new fingerprint, the oldest one is used, as in `regroup`.
        for id in ids {
            guard let subject = try table.subject(of: id),
                let newFingerprint = Regrouping.fingerprint(of: subject)
            else { continue }
            found[newFingerprint] = id
        }
        groups[account] = found
        return found[fingerprint]
    }
}

extension StoreWriter {
    /// The result of a step of `regroup`.
    package struct RegroupingStep: Equatable, Sendable {
        /// The number of groups that got another fingerprint.
        package var changed = 0
        /// The number of groups that were merged into others.
        package var merged = 0
        /// Whether no group is left to examine.
        package var isDone = false
    }

    /// The maximum number of groups that a step changes.
    private static let groupsPerStep = 16
    /// The maximum number of series that a step moves per group.
    private static let seriesPerStep = 256
    /// The maximum number of group ids that a step examines.
    private static let idsPerStep: Int64 = 2048

    /// Whether groups may have fingerprints of an older rule, or merges may be incomplete.
    package var mustRegroup: Bool { memory.values.regroupedThrough != nil }

    /// Updates the next groups to the newest version of the fingerprint rule, and continues incomplete merges.
    ///
    /// Usually, just the fingerprint of a group changes. A group whose new fingerprint already belongs to another group
    /// of the account is merged into that group. Fingerprints that senders have chosen do not change.
    ///
    /// - Parameters:
    ///   - groups: The maximum number of groups to change; nil for the default.
    ///   - series: The maximum number of series to move per group; nil for the default.
    package func regroup(
        groups: Int? = nil, series: Int? = nil
    ) throws(StoreFailure) -> RegroupingStep {
        guard let start = memory.values.regroupedThrough else { return RegroupingStep(isDone: true) }
        let (groups, series) = (groups ?? Self.groupsPerStep, series ?? Self.seriesPerStep)
        return try transaction(isSynced: false) { () throws(SQLiteError) in
            let end = GroupID(rawValue: start.rawValue + Self.idsPerStep)
            let found = try connection.all(
                """
                SELECT id, account, merged_into FROM groups
                WHERE id > ?1 AND id <= ?2 AND (rule < ?3
                    OR merged_into IS NOT NULL AND EXISTS (SELECT 1 FROM series WHERE "group" = groups.id))
                ORDER BY id LIMIT ?4
                """, start, end, Fingerprint.rule, groups
            ) {
                ($0.id(0, as: GroupID.self), $0.id(1, as: AccountID.self), $0.optionalID(2, as: GroupID.self))
            }
            var step = RegroupingStep()
            for (group, account, target) in found {
                if let target {
                    guard try moveSeries(of: group, to: target, limit: series) else { return step }
                } else {
                    switch try table.decision(for: group, account: account) {
                    case .keep: try table.finish(group)
                    case .change(let fingerprint):
                        try table.finish(group, fingerprint: fingerprint)
                        step.changed += 1
                    case .merge(let target):
                        step.merged += 1
                        try redirect(group, to: target, by: nil)
                        guard try moveSeries(of: group, to: target, limit: series) else { return step }
                    }
                }
                memory.values.regroupedThrough = group
            }
            if found.count < groups {
                let newest = try connection.first("SELECT max(id) FROM groups") { $0.id(0, as: GroupID.self) } ?? 0
                memory.values.regroupedThrough = end < newest ? end : nil
                step.isDone = end >= newest
            }
            return step
        }
    }

    private var table: GroupTable { GroupTable(connection: connection) }

    /// Makes `source` a redirect, merges its attributes and state into `target`, and updates the caches. The series of
    /// `source` must be moved afterwards.
    func redirect(_ source: GroupID, to target: GroupID, by correction: Int64?) throws(SQLiteError) {
        try table.redirect(source, to: target, by: correction, from: memory.open.nextID)
        memory.caches.triage.forget(source)
        memory.caches.triage.forget(target)
        memory.values.nextMuteEnd = try Self.nextMuteEnd(connection)
        try updateWatch(of: source)
        try updateWatch(of: target)
    }

    /// Moves series of a redirect to the group that it is merged into. Returns `false` if some may be left.
    func moveSeries(of source: GroupID, to target: GroupID, limit: Int) throws(SQLiteError) -> Bool {
        let target = try table.root(of: target)
        let moved = try table.moveSeries(of: source, to: target, limit: limit, from: memory.open.nextID)
        try seriesMoved(moved, to: target)
        return moved.count < limit
    }

    /// Updates the caches after series have moved to a group.
    func seriesMoved(_ series: [SeriesID], to target: GroupID) throws(SQLiteError) {
        guard !series.isEmpty else { return }
        for id in series { memory.caches.triage.forget(series: id) }
        let state = try TriageTable(connection: connection).standing(ofGroup: target).state
        memory.caches.series.watch(Set(series), state != .open)
    }

    /// Updates the cached series of a group after its state may have changed.
    func updateWatch(of group: GroupID) throws(SQLiteError) {
        let triage = TriageTable(connection: connection)
        try triage.watch(group, try triage.standing(ofGroup: group).state != .open, &memory.caches.series)
    }
}
