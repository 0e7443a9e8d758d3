package import IssueCore
package import IssueProtocol
import SQLiteKit

/// Reads states and deployments.
extension SetAsideStore {
    /// Reads the triage states of the next groups, except initial states.
    ///
    /// - Parameter row: The last group that was read; 0 to start.
    /// - Returns: At most 256 states in the order of their groups, and the last group that was read; nil if there are
    ///   none left or they cannot be read.
    package func notes(above row: GroupID = 0) -> (items: [GroupNote], last: GroupID)? {
        bounded { () throws(SQLiteError) in
            // Files of earlier versions lack newer columns, so constants replace these columns. `AS changed_by` is
            // needed because WHERE refers to this column.
            for columns: StaticString in [
                "fixed_version, fixed_after, muted_left, changed_by, changed_at, change_note",
                "fixed_version, fixed_after, muted_left, NULL AS changed_by, NULL, NULL",
                "NULL, NULL, NULL, NULL AS changed_by, NULL, NULL",
            ] {
                guard let notes = try? notes(above: row, newer: columns) else { continue }
                guard let last = notes.last?.id, last > row else { return nil }
                return (notes.map(\.note), last)
            }
            return nil
        }
    }

    /// - Parameter columns: The columns `fixed_version`, `fixed_after`, `muted_left`, `changed_by`, `changed_at` and
    ///   `change_note`, or a constant for each one that the file lacks.
    private func notes(
        above row: GroupID, newer columns: StaticString
    ) throws(SQLiteError) -> [(note: GroupNote, id: GroupID)] {
        let sql = """
            SELECT uid, app, fingerprint, state, muted_until, muted_version, regressed, groups.id, rule, \(columns)
            FROM groups JOIN accounts ON accounts.id = groups.account
            WHERE groups.id > ?1 AND (state <> 0 OR regressed <> 0 OR changed_by IS NOT NULL)
                AND length(app) <= 1024 AND length(fingerprint) <= 1024 AND length(coalesce(muted_version, '')) <= 1024
            ORDER BY groups.id LIMIT 256
            """
        let found = try connection.all(composedSQL: sql, row) { row in
            let note = GroupNote(
                uid: UInt32(clamping: row.int64(0)), app: row.text(1), fingerprint: row.text(2),
                standing: TriageState(
                    GroupState(databaseValue: UInt8(clamping: row.int64(3))) ?? .open, mutedUntil: row.optionalTime(4),
                    knownVersion: row.optionalText(5).map { ApplicationVersion(text: $0) },
                    fixedIn: row.optionalText(9).map { ApplicationVersion(text: String($0.prefix(1024))) },
                    fixAwaitedSince: row.optionalTime(10), occurrencesLeft: row.optionalInt64(11),
                    hasRegressed: row.int64(6) != 0, change: IssueStateChange(salvaged: row, from: 12)))
            return (note: note, id: row.id(7, as: GroupID.self), rule: row.int64(8))
        }
        let groups = GroupTable(connection: connection)
        return found.map { note, id, rule in
            var note = note
            // The records have already been imported, so the group in the current store has a fingerprint of the newest
            // rule.
            if rule < Fingerprint.rule, let subject = try? groups.subject(of: id),
                let fingerprint = Regrouping.fingerprint(of: subject)
            {
                note.fingerprint = fingerprint
            }
            return (note, id)
        }
    }

    /// Reads the next deployments.
    ///
    /// - Parameter row: The last deployment that was read; 0 to start.
    /// - Returns: At most 256 deployments in the order of their rows, and the last one that was read; nil if there are
    ///   none left or they cannot be read.
    package func deployments(above row: Int64 = 0) -> (items: [IssueDeployment], last: Int64)? {
        bounded { () throws(SQLiteError) in
            var last = row
            let deployments = try connection.all(
                """
                SELECT app, uid, version, at, observed, revision, note, author, id FROM deployments
                WHERE id > ?1 AND length(CAST(app AS BLOB)) BETWEEN 1 AND ?2
                    AND length(CAST(version AS BLOB)) BETWEEN 1 AND ?3
                    AND length(CAST(coalesce(revision, '') AS BLOB)) <= ?3
                    AND length(CAST(coalesce(note, '') AS BLOB)) <= ?4
                ORDER BY id LIMIT 256
                """, row, DeploymentLimits.maxAppBytes, IssueDeployment.maxVersionBytes, DeploymentLimits.maxNoteBytes
            ) { row in
                last = max(last, row.int64(8))
                return DeploymentTable.deployment(row)
            }
            return last > row ? (deployments, last) : nil
        }
    }
}

/// The triage state of a group in a set-aside database.
package struct GroupNote: Equatable, Sendable {
    /// The user of the group's application.
    package var uid: UInt32
    package var app: String
    package var fingerprint: String

    package var standing: TriageState
}

extension IssueStateChange {
    /// Reads the last change of a group's state in a set-aside database; nil if no user made it. A note that is longer
    /// than `maxNoteBytes` is left out.
    fileprivate init?(salvaged row: borrowing Row, from column: Int) {
        self.init(row, from: column)
        if let note, note.utf8.count > Self.maxNoteBytes { self.note = nil }
    }
}

/// A group of a set-aside database, identified by names that do not depend on the database.
package struct SalvagedGroup: Equatable, Sendable {
    package var uid: UInt32
    package var app: String
    package var fingerprint: String
    package var title: String
}

/// A part of the grouping of a set-aside database that cannot be derived from its records.
package enum GroupingNote: Equatable, Sendable {
    /// A group and its key, which does not match its fingerprint, because the group had another fingerprint before.
    case id(Int64, of: SalvagedGroup)
    /// A group that a change of the fingerprint rule has merged into another one, and the key of the merged group.
    case redirect(SalvagedGroup, id: Int64, to: SalvagedGroup)
    /// A correction made by a user (`author`). `hits` is the number of new series that it has moved since.
    case correction(
        GroupCorrection.Kind, SalvagedGroup, to: SalvagedGroup, pattern: String?, author: UInt32,
        at: IssueTimestamp, reason: String, hits: Int64)
}

extension SetAsideStore {
    private static let groupsPerStep = 256
    private static let columns =
        "accounts.uid, accounts.app, own.fingerprint, own.title, other.fingerprint, other.title"

    private static func groups(_ row: borrowing Row) -> (own: SalvagedGroup, other: SalvagedGroup) {
        let (uid, app) = (UInt32(clamping: row.int64(0)), row.text(1))
        return (
            SalvagedGroup(uid: uid, app: app, fingerprint: row.text(2), title: row.text(3)),
            SalvagedGroup(uid: uid, app: app, fingerprint: row.text(4), title: row.text(5))
        )
    }

    /// Reads the ids and redirects of the next groups.
    ///
    /// - Parameter row: The last group that was read; 0 to start.
    /// - Returns: The notes, and the last group that was read; nil if there are none left or they cannot be read.
    package func ids(above row: GroupID) -> (items: [GroupingNote], last: GroupID)? {
        bounded { () throws(SQLiteError) in
            let found = try Statement(
                composedSQL: """
                    SELECT \(Self.columns), own.id, own.key, own.merged_into IS NOT NULL, own.merged_by IS NOT NULL
                    FROM groups AS own JOIN accounts ON accounts.id = own.account
                    JOIN groups AS other ON other.id = coalesce(own.merged_into, own.id) AND other.account = own.account
                    WHERE own.id > ?1 AND length(app) <= 1024 AND length(own.fingerprint) <= 1024
                        AND length(other.fingerprint) <= 1024
                    ORDER BY own.id LIMIT \(Self.groupsPerStep)
                    """, on: connection)
            found.bind(row, at: 1)
            var last = row
            var notes: [GroupingNote] = []
            try found.forEach { row in
                let (own, other) = Self.groups(row)
                last = max(last, row.id(6))
                let key = row.int64(7)
                let computedKey = Fingerprint.groupKey(uid: own.uid, app: own.app, fingerprint: own.fingerprint)
                if row.int64(8) == 0 {
                    if key != Int64(bitPattern: computedKey), key != 0 { notes.append(.id(key, of: own)) }
                } else if row.int64(9) == 0 {
                    notes.append(.redirect(own, id: key, to: other))
                }
            }
            return last > row ? (notes, last) : nil
        }
    }

    /// Reads the next corrections, in the order in which they were made.
    ///
    /// - Parameter number: The last correction that was read; 0 to start.
    /// - Returns: The notes, and the last correction that was read; nil if there are none left or they cannot be read.
    package func corrections(above number: Int64) -> (items: [GroupingNote], last: Int64)? {
        bounded { () throws(SQLiteError) in
            let found = try Statement(
                composedSQL: """
                    SELECT \(Self.columns), corrections.id, kind, pattern, author, at, reason, hits
                    FROM corrections JOIN accounts ON accounts.id = corrections.account
                    JOIN groups AS own ON own.id = corrections.source AND own.account = corrections.account
                    JOIN groups AS other ON other.id = corrections.target AND other.account = corrections.account
                    WHERE corrections.id > ?1 AND length(app) <= 1024 AND length(own.fingerprint) <= 1024
                        AND length(other.fingerprint) <= 1024 AND length(coalesce(pattern, '')) <= 1024
                        AND length(reason) <= 1024
                    ORDER BY corrections.id LIMIT \(Self.groupsPerStep)
                    """, on: connection)
            found.bind(number, at: 1)
            var last = number
            var notes: [GroupingNote] = []
            try found.forEach { row in
                let (own, other) = Self.groups(row)
                last = max(last, row.int64(6))
                guard let kind = GroupCorrection.Kind(databaseValue: row.int64(7)) else { return }
                notes.append(
                    .correction(
                        kind, own, to: other, pattern: row.optionalText(8), author: UInt32(clamping: row.int64(9)),
                        at: row.time(10), reason: row.text(11), hits: max(0, row.int64(12))))
            }
            return last > number ? (notes, last) : nil
        }
    }
}

extension StoreWriter {
    /// Stores records of a set-aside database, except those that this database has received itself and still has, and
    /// those that were imported before, from any database.
    ///
    /// The cardinality guard does not count them. Records that the guard of the set-aside database moved to an
    /// overflow series stay in one if their group exists here but their own series does not.
    ///
    /// - Parameters:
    ///   - submissions: The records.
    ///   - wall: The current wall-clock time.
    ///   - monotonic: The current monotonic time.
    /// - Returns: The number of records that were stored.
    package func importSalvaged(
        _ submissions: [Submission], wall: IssueTimestamp, monotonic: MonotonicInstant
    ) throws(StoreFailure) -> Int64 {
        try transaction(mayUseReserve: false) { () throws(SQLiteError) in
            var recovered = RecoveredIDs(connection: connection)
            var fresh = submissions
            for index in fresh.indices {
                fresh[index].calls = []
                for call in submissions[index].calls {
                    if let original = call.original {
                        if try isStored(original) { continue }
                        if try !recovered.insert(original.id) { continue }
                    }
                    fresh[index].calls.append(call)
                }
            }
            try recovered.write()
            // Storing a submission without calls would store its process.
            fresh.removeAll { $0.calls.isEmpty }
            return try fill(fresh, wall: wall, monotonic: monotonic, isImport: true)
                .reduce(0) { $0 + $1.receipts.storedCount }
        }
    }

    /// Returns `true` if this database has a record under its original id. This is possible if this database is a
    /// restored copy of the set-aside one.
    private func isStored(_ original: ReportCall.Original) throws(SQLiteError) -> Bool {
        let row = original.id.row
        guard let store = memory.values.storeIDs.last(where: { $0.firstID <= row }), store.code == original.id.store,
            let found = try blocks.reader.find(row)
        else { return false }
        // A copy that was made without `issuectl backup` assigns the same ids to other records.
        return found.block.rows[found.index].receivedAt == original.receivedAt?.millisecondsSince1970
    }

    /// Imports the triage states of groups that exist here and have the initial state.
    package func importSalvaged(_ notes: some Sequence<GroupNote>) throws(StoreFailure) {
        try transaction { () throws(SQLiteError) in
            for note in notes {
                guard let group = try group(of: note) else { continue }
                _ = try change(group, to: note.standing)
            }
        }
    }

    /// Stores those deployments of a set-aside database that are not stored here yet.
    package func importSalvaged(_ deployments: some Sequence<IssueDeployment>) throws(StoreFailure) {
        try transaction { () throws(SQLiteError) in
            let table = DeploymentTable(connection: connection)
            for deployment in deployments where try !table.contains(deployment) {
                try table.insert(deployment)
                let scope: DeploymentScope = deployment.user.map { .user($0) } ?? .everyone
                if deployment.isObserved {
                    try table.removeSurplusObserved(app: deployment.app, uid: deployment.user)
                } else {
                    try table.removeSurplusDeclared(app: deployment.app, scope)
                }
            }
            memory.caches.deployments.removeAll()
        }
    }

    /// Returns the group that a note refers to; nil if it does not exist or does not have the initial triage state.
    private func group(of note: GroupNote) throws(SQLiteError) -> GroupID? {
        try connection.first(
            """
            SELECT id FROM groups
            WHERE state = 0 AND regressed = 0 AND changed_by IS NULL AND fingerprint = ?3
                AND account = (SELECT id FROM accounts WHERE uid = ?1 AND app = ?2)
            """, note.uid, note.app, note.fingerprint
        ) { $0.id(0) }
    }
}

/// The ids that recovered records got in the first database that stored them. Stored as spans, since a repair usually
/// recovers consecutive records.
private struct RecoveredIDs {
    let connection: DatabaseConnection
    /// The span that is being extended and has not been written yet; nil if there is none.
    private var span: (code: Int64, rows: ClosedRange<RowID>)?

    init(connection: DatabaseConnection) {
        self.connection = connection
    }

    /// Adds an id. Returns `false` if it was added before.
    mutating func insert(_ id: RecordID) throws(SQLiteError) -> Bool {
        let code = Int64(bitPattern: id.store)
        if let span, span.code == code, span.rows.contains(id.row) { return false }
        let before = try connection.first(
            "SELECT first_id, last_id FROM recovered WHERE code = ?1 AND first_id <= ?2 ORDER BY first_id DESC LIMIT 1",
            code, id.row
        ) { (first: $0.id(0, as: RowID.self), last: $0.id(1, as: RowID.self)) }
        if let before, id.row <= before.last { return false }
        if let span, span.code == code, id.row == span.rows.upperBound + 1 {
            self.span = (code, span.rows.lowerBound...id.row)
            return true
        }
        try write()
        let first = before.flatMap { $0.last + 1 == id.row ? $0.first : nil }
        span = (code, (first ?? id.row)...id.row)
        return true
    }

    /// Writes the current span.
    mutating func write() throws(SQLiteError) {
        guard let (code, rows) = span else { return }
        span = nil
        try connection.run(
            "INSERT OR REPLACE INTO recovered (code, first_id, last_id) VALUES (?1, ?2, ?3)", code, rows.lowerBound,
            rows.upperBound)
    }
}

extension ReceiptList {
    /// The number of newly stored records.
    fileprivate var storedCount: Int64 {
        switch self {
        case .run(_, let count): Int64(count)
        case .mixed(let receipts):
            Int64(
                receipts.count { receipt in
                    if case .stored = receipt { true } else { false }
                })
        }
    }
}

extension StoreWriter {
    /// Imports the grouping of a set-aside database, with one transaction per note. Leaves out notes that contradict
    /// the grouping here, and corrections that exist already or would exceed a limit.
    ///
    /// - Throws: The failure of a transaction. The notes before the one that failed have been imported then.
    package func importSalvaged(_ notes: [GroupingNote]) throws(StoreFailure) {
        for note in notes {
            switch note {
            case .id(let id, let group):
                try transaction { () throws(SQLiteError) in try importID(id, of: group) }
            case .redirect(let group, let id, let other):
                try transaction { () throws(SQLiteError) in
                    let (source, target) = (try ensure(group), try ensure(other))
                    try importID(id, of: group)
                    try join(source, target, by: nil)
                }
            case .correction(let kind, let group, let other, let pattern, let uid, let at, let reason, let hits):
                try transaction { () throws(SQLiteError) in
                    try importCorrection(
                        kind, group, other, pattern.flatMap { SplitSelector(stored: $0) },
                        CorrectionAuthor(uid: uid, at: at, reason: reason), hits: hits)
                }
            }
        }
    }

    private var table: GroupTable { GroupTable(connection: connection) }

    /// Returns the group with the same user, application and fingerprint. Inserts it without series if it is missing.
    private func ensure(_ group: SalvagedGroup) throws(SQLiteError) -> GroupID {
        let found = try connection.first(
            "SELECT id FROM accounts WHERE uid = ?1 AND app = ?2", group.uid, group.app
        ) { $0.id(0, as: AccountID.self) }
        let account: AccountID
        if let found {
            account = found
        } else {
            try connection.run(
                "INSERT INTO accounts (uid, app, first_at) VALUES (?1, ?2, 0)", group.uid, group.app)
            account = AccountID(rawValue: connection.lastInsertedRowID)
        }
        if let known = try table.group(account: account, fingerprint: group.fingerprint) { return known }
        var series = SeriesDescription()
        series.template = Array(group.title.prefix(200).utf8)
        return try table.insert(
            series, account: account, uid: group.uid, app: group.app, group.fingerprint, firstRecord: 0, at: 0)
    }

    /// Gives a group the key that it had in the set-aside database. Does nothing if another group has this key, or if
    /// the group's current key is not the one computed from its fingerprint.
    private func importID(_ id: Int64, of group: SalvagedGroup) throws(SQLiteError) {
        let computedKey = Fingerprint.groupKey(uid: group.uid, app: group.app, fingerprint: group.fingerprint)
        try connection.run(
            """
            UPDATE groups SET key = ?1 WHERE key = ?2 AND fingerprint = ?3
                AND NOT EXISTS (SELECT 1 FROM groups AS other WHERE other.key = ?1)
            """, id, Int64(bitPattern: computedKey), group.fingerprint)
    }

    /// Merges `source` into `target` or, if `target` is merged itself, into the group that `target` is merged into.
    /// Does nothing if `source` is merged already, or if `target` is `source` or is merged into it.
    private func join(_ source: GroupID, _ target: GroupID, by correction: Int64?) throws(SQLiteError) {
        let (root, target) = (try table.root(of: source), try table.root(of: target))
        guard root == source, root != target else { return }
        try redirect(source, to: target, by: correction)
        if try !moveSeries(of: source, to: target, limit: 4096) { memory.values.regroupedThrough = 0 }
    }

    private func importCorrection(
        _ kind: GroupCorrection.Kind, _ group: SalvagedGroup, _ other: SalvagedGroup, _ selector: SplitSelector?,
        _ author: CorrectionAuthor, hits: Int64
    ) throws(SQLiteError) {
        let (source, target) = (try ensure(group), try ensure(other))
        memory.caches.patterns.removeAll()
        guard try table.allowsCorrections(1, kind, ofAccountOf: target),
            try !table.hasCorrection(kind, from: source, to: target, selector?.stored)
        else { return }
        switch kind {
        case .merge:
            guard try table.root(of: source) == source, try table.root(of: target) != source,
                try table.mergeDepth(of: [source]) < Self.maxDepth
            else { return }
            let id = try table.insertCorrection(kind, from: source, to: target, pattern: nil, author)
            try table.set(hits: hits, of: id)
            try join(source, target, by: id)
        case .split:
            guard let selector, source != target, try table.root(of: source) != table.root(of: target) else { return }
            let id = try table.insertCorrection(kind, from: source, to: target, pattern: selector.stored, author)
            try table.set(hits: hits, of: id)
            let root = try table.root(of: source)
            let matching = try table.series(of: root, limit: .max).filter {
                selector.matches($0.description, title: RecordCommit.title(of: $0.description))
            }
            try table.move(matching.map(\.id), from: root, to: try table.root(of: target), from: memory.open.nextID)
            try table.describe(target, try table.attributes(of: target))
            memory.caches.triage.removeAll()
        case .rule:
            guard case .title(let pattern)? = selector else { return }
            let id = try table.insertCorrection(kind, from: source, to: target, pattern: pattern.text, author)
            try table.set(hits: hits, of: id)
            for other in try table.groups(ofAccountOf: target, matching: pattern) { try join(other, target, by: id) }
        }
    }
}

extension GroupTable {
    /// Returns `true` if a correction with these values exists.
    func hasCorrection(
        _ kind: GroupCorrection.Kind, from source: GroupID, to target: GroupID, _ pattern: String?
    ) throws(SQLiteError) -> Bool {
        try connection.exists(
            "SELECT 1 FROM corrections WHERE kind = ?1 AND source = ?2 AND target = ?3 AND pattern IS ?4",
            kind.databaseValue, source, target, pattern)
    }

    fileprivate func set(hits: Int64, of correction: Int64) throws(SQLiteError) {
        try connection.run("UPDATE corrections SET hits = ?2 WHERE id = ?1", correction, hits)
    }

    /// Returns the unmerged groups with a matching title in the account of `group`, except the overflow group.
    fileprivate func groups(
        ofAccountOf group: GroupID, matching pattern: TitlePattern
    ) throws(SQLiteError) -> [GroupID] {
        try connection.all(
            """
            SELECT id, title FROM groups WHERE account = (SELECT account FROM groups WHERE id = ?1)
                AND merged_into IS NULL AND fingerprint <> 'overflow'
            """, group
        ) { ($0.id(0, as: GroupID.self), $0.text(1)) }.filter { pattern.matches($0.1) }.map(\.0)
    }
}
