import IssueCore
import IssueProtocol
import SQLiteKit

/// Moving series between groups, on the writer's connection.
///
/// A group that was merged into another one keeps its row as a redirect: `merged_into` is the other group. So its id
/// and its fingerprint remain valid, and the fingerprint finds the other group. All counts, posting lists and fates
/// belong to series or records, so a move changes none of them.
struct GroupTable {
    let connection: DatabaseConnection

    /// Selects the group that the group `?1` is merged into, directly or indirectly; the group itself if it is not.
    static let rootSQL: StaticString = """
        WITH RECURSIVE up (id, target) AS (
            SELECT id, merged_into FROM groups WHERE id = ?1
            UNION
            SELECT groups.id, groups.merged_into FROM up JOIN groups ON groups.id = up.target
        )
        SELECT id FROM up WHERE target IS NULL
        """

    /// Returns the group that a group is merged into, or the group itself.
    func root(of group: GroupID) throws(SQLiteError) -> GroupID {
        try connection.first(Self.rootSQL, group) { $0.id(0, as: GroupID.self) } ?? group
    }

    /// Returns the group with a fingerprint, which may be merged into another one.
    func group(account: AccountID, fingerprint: String) throws(SQLiteError) -> GroupID? {
        try connection.first("SELECT id FROM groups WHERE account = ?1 AND fingerprint = ?2", account, fingerprint) {
            $0.id(0, as: GroupID.self)
        }
    }

    /// Makes a group a redirect to another one. Its series must be moved afterwards.
    ///
    /// - Parameters:
    ///   - source: A group that is not a redirect.
    ///   - target: Another group of the same account that is not a redirect.
    ///   - correction: The correction that causes the merge; nil if the fingerprint rule does.
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
        // A redirect has no content of its own, so no text remains here when records are erased.
        try connection.run(
            """
            UPDATE groups SET merged_into = ?2, merged_by = ?3, rule = ?4, title = '', domain = NULL, code = NULL,
                file = NULL, line = NULL, function = NULL, module = NULL, first_version = NULL, last_version = NULL
            WHERE id = ?1
            """, source, target, correction, Fingerprint.rule)
    }

    /// Moves series of a group to another one, with all their records.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of series to move.
    ///   - row: The row id of the next record.
    /// - Returns: The series that were moved. If there are fewer than `limit`, no others are left.
    func moveSeries(
        of source: GroupID, to target: GroupID, limit: Int, from row: RowID
    ) throws(SQLiteError) -> [SeriesID] {
        let series = try connection.all(
            #"SELECT id FROM series WHERE "group" = ?1 ORDER BY id LIMIT ?2"#, source, limit
        ) { $0.id(0, as: SeriesID.self) }
        try move(series, from: source, to: target, from: row)
        return series
    }

    /// The maximum number of moves that are stored for a series. A user who merges and splits all day can't store more.
    static let maxMoves = 16

    /// Moves series of one group to another one. Their records up to `row` keep the limits, summaries and mutes of
    /// their previous group.
    ///
    /// If a series has moved more than 16 times, the earliest moves are forgotten: their records then count as records
    /// of the group that the series belonged to afterwards.
    func move(
        _ series: [SeriesID], from source: GroupID, to target: GroupID, from row: RowID
    ) throws(SQLiteError) {
        guard !series.isEmpty else { return }
        // If a series moves twice without a record in between, its records belong to the first group.
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

    /// Returns the attributes from which the newest rule computes the fingerprint of a group.
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
        // An overflow series names the fingerprint of its group as if the sender had chosen it.
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

    /// Returns the series and the message of the first record of a group if it is stored and has a computed
    /// fingerprint.
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

    /// Returns the change of a group of an older rule.
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

    /// Marks a group as one of the newest rule, with this fingerprint or the one it has.
    func finish(_ group: GroupID, fingerprint: String? = nil) throws(SQLiteError) {
        try connection.run(
            "UPDATE groups SET rule = ?2, fingerprint = coalesce(?3, fingerprint) WHERE id = ?1", group,
            Fingerprint.rule, fingerprint)
    }
}
