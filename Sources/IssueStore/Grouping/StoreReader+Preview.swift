package import IssueCore
package import IssueProtocol
import SQLiteKit

/// The group that a record would join, and how it would change it. See `StoreReader.preview`.
package struct RecordPreview: Equatable, Sendable {
    /// The user and the name of the account.
    package var uid: UInt32
    package var app: String
    /// Other users with an account of this name, as far as the viewer may see them; at most 20.
    package var otherUsers: [UInt32] = []
    /// The account; nil if it is new or the viewer must not see it.
    package var account: AccountID?
    package var fingerprint: String
    /// The id of the group, as clients see it. A new group would get it.
    package var id: String
    /// The group, after all corrections; nil if it is new.
    package var group: GroupID?
    /// The group with its counts; nil if it has no records.
    package var shown: IssueGroup?
    package var corrections: [GroupCorrection] = []
    /// The effect of the record on the state of the group.
    package var effect: TriageState.Effect = .none
    /// How the record would change its group.
    package var changes: NotificationKinds = []

    /// `true` if the record would be the first of its group, or reopen it.
    package var isFirst: Bool { group == nil || effect == .regression }
}

extension StoreReader {
    /// The maximum number of other users in a preview.
    private static let maxOtherUsers = 20

    /// Returns the group that a record would join. Stores nothing.
    ///
    /// - Parameters:
    ///   - series: The series of the record.
    ///   - count: The number of its occurrences.
    ///   - app: The name of the account.
    ///   - user: The user whose account it is. Nil for `asker` or, if `asker` has no account of this name, for the user
    ///     who had one first.
    ///   - asker: The user who asks.
    ///   - now: The wall time.
    package func preview(
        _ series: SeriesDescription, count: Int64, app: String, user: UInt32?, asker: UInt32, viewer: Viewer,
        at now: IssueTimestamp
    ) throws -> RecordPreview {
        try snapshot {
            let accounts = try accounts(named: app, first: user ?? asker, viewer: viewer)
            let uid = user ?? accounts.first?.uid ?? asker
            let fingerprint = Fingerprint.of(series, app: app)
            let key = Fingerprint.groupKey(uid: uid, app: app, fingerprint: fingerprint)
            var preview = RecordPreview(
                uid: uid, app: app, otherUsers: accounts.map(\.uid).filter { $0 != uid },
                account: accounts.first { $0.uid == uid }?.id, fingerprint: fingerprint,
                id: GroupKey.text(key: Int64(bitPattern: key)))
            try addGroup(of: series, count: count, at: now, to: &preview)
            return preview
        }
    }

    private func accounts(
        named app: String, first user: UInt32, viewer: Viewer
    ) throws -> [(id: AccountID, uid: UInt32)] {
        let statement = try Statement(
            composedSQL: """
                SELECT id, uid FROM accounts WHERE app = ?2 AND \(Viewer.condition(parameter: 1))
                ORDER BY uid = ?3 DESC, id LIMIT ?4
                """, on: connection)
        statement.bind(viewer, app, user, Self.maxOtherUsers + 1)
        return try statement.all { ($0.id(0), UInt32(clamping: $0.int64(1))) }
    }

    private func addGroup(
        of series: SeriesDescription, count: Int64, at now: IssueTimestamp, to preview: inout RecordPreview
    ) throws {
        let table = GroupTable(connection: connection)
        var found: RecordCommit.KnownGroup?
        if let account = preview.account {
            var home = try table.group(account: account, fingerprint: preview.fingerprint)
            if home == nil {
                var older = OlderGroups()
                home = try older.group(account: account, fingerprint: preview.fingerprint, in: table)
            }
            var patterns = PatternCache()
            found = try table.known(home: home, account: account, series: series, &patterns)
        }
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
        if let sum = try sum(of: found.id) { preview.shown = try group(sum) }
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

    func correction(_ id: Int64) throws -> GroupCorrection? {
        let statement = try Statement(
            composedSQL: "\(Self.correctionSQL) WHERE corrections.id = ?1", on: connection)
        statement.bind(id)
        return try statement.first { Self.correction($0) }
    }

    /// Returns how many groups an account and all accounts of its user have got since two times. Only the newest
    /// 16,384 groups of the store are counted, as after a restart of the daemon.
    package func newGroupCounts(
        account: AccountID, user: UInt32, since start: IssueTimestamp
    ) throws -> (account: Int64, user: Int64) {
        try snapshot {
            try connection.first(
                """
                SELECT count(*) FILTER (WHERE account = ?1), count(*)
                FROM groups JOIN accounts ON accounts.id = groups.account
                WHERE groups.id > (SELECT coalesce(max(id), 0) FROM groups) - 16384 AND groups.first_at >= ?3
                    AND fingerprint <> 'overflow' AND uid = ?2
                """, account, user, start
            ) { ($0.int64(0), $0.int64(1)) } ?? (0, 0)
        }
    }

    /// Returns the present time of the record log's clock.
    ///
    /// - Parameter now: The wall time.
    package func logTime(at now: IssueTimestamp) throws -> RecordLogInstant {
        try snapshot {
            let offset = try offset(after: try newestRow()).offset
            return RecordLogInstant(milliseconds: now.millisecondsSince1970.clampedSum(offset))
        }
    }

    /// Returns the destinations with a cursor, by name.
    package func destinationIDs() throws -> [String: Int64] {
        try snapshot {
            let rows = try connection.all("SELECT name, id FROM destinations ORDER BY id") { ($0.text(0), $0.int64(1)) }
            return Dictionary(rows) { $1 }
        }
    }

    /// Returns the stored token buckets of a destination itself.
    package func buckets(ofDestination destination: Int64) throws -> [BucketRow] {
        try buckets(of: AccountID(rawValue: 0), destination)
    }
}
