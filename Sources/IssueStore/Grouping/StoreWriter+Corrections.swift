package import IssueCore
package import IssueProtocol
import SQLiteKit

extension StoreWriter {
    /// Who makes a correction, when and why.
    package struct CorrectionAuthor: Sendable {
        package var uid: UInt32
        package var at: IssueTimestamp
        package var reason: String

        package init(uid: UInt32, at: IssueTimestamp, reason: String?) {
            self.uid = uid
            self.at = at
            self.reason = reason ?? ""
        }
    }

    /// The maximum number of corrections of an application.
    package static let maxCorrections = 1000
    /// The maximum number of rules of an application. Each of them is compared with the title of each new issue.
    package static let maxRules = 100
    /// The maximum number of series that a correction moves at once. `regroup` moves the others.
    private static let seriesPerCorrection = 4096

    private var table: GroupTable { GroupTable(connection: connection) }

    /// Merges groups into another group of the same account, with all future records of their fingerprints.
    ///
    /// - Returns: The number of groups that were merged. Groups that belong together already are not counted. Nil if the
    ///   account would have too many corrections.
    package func merge(
        _ groups: [GroupID], into target: GroupID, by author: CorrectionAuthor
    ) throws(StoreFailure) -> Int? {
        try transaction { () throws(SQLiteError) in
            let target = try table.root(of: target)
            guard try table.correctionCount(ofAccountOf: target) + groups.count <= Self.maxCorrections else {
                return nil
            }
            var count = 0
            for group in groups {
                let source = try table.root(of: group)
                guard source != target else { continue }
                let correction = try table.insertCorrection(.merge, from: source, to: target, pattern: nil, author)
                try redirect(source, to: target, by: correction)
                if try !moveSeries(of: source, to: target, limit: Self.seriesPerCorrection) {
                    memory.values.regroupedThrough = 0
                }
                count += 1
            }
            return count
        }
    }

    /// Merges the groups of an account that match a pattern into one group, including future ones.
    ///
    /// - Parameter groups: The groups that match now.
    /// - Returns: `false` if the account has too many rules.
    package func addRule(
        _ pattern: TitlePattern, merging groups: [GroupID], into target: GroupID, by author: CorrectionAuthor
    ) throws(StoreFailure) -> Bool {
        try transaction { () throws(SQLiteError) in
            let target = try table.root(of: target)
            guard try table.correctionCount(ofAccountOf: target) < Self.maxCorrections,
                try table.correctionCount(ofAccountOf: target, kind: .rule) < Self.maxRules
            else { return false }
            let correction = try table.insertCorrection(.rule, from: target, to: target, pattern: pattern, author)
            for group in groups {
                let source = try table.root(of: group)
                guard source != target else { continue }
                try redirect(source, to: target, by: correction)
                if try !moveSeries(of: source, to: target, limit: Self.seriesPerCorrection) {
                    memory.values.regroupedThrough = 0
                }
            }
            return true
        }
    }

    /// The result of a split.
    package enum SplitResult: Equatable, Sendable {
        case done(GroupID)
        /// No series of the group matches.
        case noMatch
        /// All series of the group match, so that none would be left.
        case allMatch
        case tooMany
    }

    /// Moves the series of a group whose titles match a pattern, including future ones, to a group of their own.
    ///
    /// The new group has the state of the old one.
    package func split(
        _ group: GroupID, by pattern: TitlePattern, _ author: CorrectionAuthor
    ) throws(StoreFailure) -> SplitResult {
        try transaction { () throws(SQLiteError) in
            let source = try table.root(of: group)
            guard try table.correctionCount(ofAccountOf: source) < Self.maxCorrections else { return .tooMany }
            let series = try table.series(of: source)
            let matching = series.filter { pattern.matches(RecordCommit.title(of: $0.description)) }
            guard let first = matching.first else { return .noMatch }
            guard matching.count < series.count else { return .allMatch }
            let target = try table.splitTarget(of: source, pattern, first.description)
            _ = try table.insertCorrection(.split, from: source, to: target, pattern: pattern, author)
            let triage = TriageTable(connection: connection)
            _ = try triage.write(try triage.standing(ofGroup: source), of: target, from: memory.open.nextID)
            try table.move(matching.map(\.id), from: source, to: target, from: memory.open.nextID)
            try table.describe(source)
            try table.describe(target)
            try groupsChanged([source, target])
            return .done(target)
        }
    }

    /// Undoes a correction, also for records that arrived since.
    ///
    /// - Returns: The groups that the records belong to now; nil if the correction does not exist.
    package func undo(correction id: Int64) throws(StoreFailure) -> [GroupID]? {
        try transaction { () throws(SQLiteError) in
            guard let found = try table.correction(id) else { return nil }
            var changed = [try table.root(of: found.target)]
            switch found.kind {
            case .merge, .rule:
                for source in try table.redirects(by: id) {
                    try table.detach(source, from: memory.open.nextID)
                    changed.append(source)
                }
            case .split:
                let group = changed[0]
                try table.dropCorrection(id)
                let back = try table.returnHome(seriesOf: group, from: memory.open.nextID)
                changed += back
                // Its id refers to the group that the records returned to.
                if let other = back.first, group == found.target, try table.series(of: group).isEmpty {
                    try table.redirect(group, to: other, by: nil, from: memory.open.nextID)
                    changed.removeFirst()
                }
            }
            try table.dropCorrection(id)
            for group in changed { try table.describe(group) }
            try groupsChanged(changed)
            return changed
        }
    }

    /// Undoes the merges into a group or, if the group was merged into another one, that merge.
    ///
    /// - Returns: The groups that the records belong to now.
    package func undoMerges(of group: GroupID) throws(StoreFailure) -> [GroupID] {
        let ids = try transaction { () throws(SQLiteError) in try table.mergesToUndo(of: group) }
        var groups: [GroupID] = []
        for id in ids {
            for group in try undo(correction: id) ?? [] where !groups.contains(group) { groups.append(group) }
        }
        return groups
    }

    /// Updates the caches after series have moved between these groups.
    private func groupsChanged(_ groups: [GroupID]) throws(SQLiteError) {
        memory.caches.triage.removeAll()
        memory.values.nextMuteEnd = try Self.nextMuteEnd(connection)
        let triage = TriageTable(connection: connection)
        for group in groups {
            memory.caches.series.watch(
                try triage.series(ofGroup: group), try triage.standing(ofGroup: group).state != .open)
        }
    }
}

/// A row of `corrections`.
struct CorrectionRow {
    var id: Int64
    var kind: GroupCorrection.Kind
    var source: GroupID
    var target: GroupID
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

/// Corrections in the database.
extension GroupTable {
    func correctionCount(
        ofAccountOf group: GroupID, kind: GroupCorrection.Kind? = nil
    ) throws(SQLiteError) -> Int {
        try connection.withStatement(
            """
            SELECT count(*) FROM corrections
            WHERE account = (SELECT account FROM groups WHERE id = ?1) AND (?2 IS NULL OR kind = ?2)
            """
        ) { statement throws(SQLiteError) in
            statement.bind(group, at: 1)
            statement.bind(kind?.databaseValue, at: 2)
            return try statement.first { $0.int(0) } ?? 0
        }
    }

    func insertCorrection(
        _ kind: GroupCorrection.Kind, from source: GroupID, to target: GroupID, pattern: TitlePattern?,
        _ author: StoreWriter.CorrectionAuthor
    ) throws(SQLiteError) -> Int64 {
        try connection.withStatement(
            """
            INSERT INTO corrections (account, kind, source, target, pattern, author, at, reason)
            SELECT account, ?1, ?2, ?3, ?4, ?5, ?6, ?7 FROM groups WHERE id = ?3
            """
        ) { statement throws(SQLiteError) in
            statement.bind(kind.databaseValue, at: 1)
            statement.bind(source, at: 2)
            statement.bind(target, at: 3)
            statement.bind(pattern?.text, at: 4)
            statement.bind(Int64(author.uid), at: 5)
            statement.bind(author.at.millisecondsSince1970, at: 6)
            statement.bind(author.reason, at: 7)
            try statement.run()
        }
        return connection.lastInsertedRowID
    }

    func correction(_ id: Int64) throws(SQLiteError) -> CorrectionRow? {
        try connection.withStatement("SELECT kind, source, target FROM corrections WHERE id = ?1") {
            statement throws(SQLiteError) in
            statement.bind(id, at: 1)
            return try statement.first { row in
                GroupCorrection.Kind(databaseValue: row.int64(0)).map {
                    CorrectionRow(id: id, kind: $0, source: row.id(1), target: row.id(2))
                }
            } ?? nil
        }
    }

    func dropCorrection(_ id: Int64) throws(SQLiteError) {
        try connection.withStatement("DELETE FROM corrections WHERE id = ?1") { statement throws(SQLiteError) in
            statement.bind(id, at: 1)
            try statement.run()
        }
    }

    /// Returns the groups that a correction has made redirects.
    func redirects(by correction: Int64) throws(SQLiteError) -> [GroupID] {
        // The index on the account's groups is the fastest way to find them.
        try connection.withStatement(
            """
            SELECT id FROM groups WHERE merged_by = ?1 AND merged_into IS NOT NULL
                AND account = (SELECT account FROM corrections WHERE id = ?1) ORDER BY id
            """
        ) { statement throws(SQLiteError) in
            statement.bind(correction, at: 1)
            return try statement.all { $0.id(0, as: GroupID.self) }
        }
    }

    /// Returns the merges into a group, or the one that made the group a redirect, newest first.
    func mergesToUndo(of group: GroupID) throws(SQLiteError) -> [Int64] {
        try connection.withStatement(
            """
            SELECT id FROM corrections WHERE kind = 1 AND CASE
                WHEN (SELECT merged_by FROM groups WHERE id = ?1) IS NULL THEN target = ?1
                ELSE id = (SELECT merged_by FROM groups WHERE id = ?1) END
            ORDER BY id DESC
            """
        ) { statement throws(SQLiteError) in
            statement.bind(group, at: 1)
            return try statement.all { $0.int64(0) }
        }
    }

    /// Returns the series of a group: those of its own fingerprint first, each part oldest first.
    func series(of group: GroupID) throws(SQLiteError) -> [(id: SeriesID, description: SeriesDescription)] {
        try connection.withStatement(
            #"SELECT id, key FROM series WHERE "group" = ?1 AND key <> x'' ORDER BY home IS NOT NULL, id"#
        ) { statement throws(SQLiteError) in
            statement.bind(group, at: 1)
            return try statement.all { ($0.id(0, as: SeriesID.self), $0.bytes(1)) }
        }.compactMap { row in SeriesKey.decode(row.1).map { (row.0, $0) } }
    }

    /// Returns the group that a pattern splits off another one. Inserts it if it is new.
    func splitTarget(
        of source: GroupID, _ pattern: TitlePattern, _ series: SeriesDescription
    ) throws(SQLiteError) -> GroupID {
        let owner = try connection.withStatement(
            """
            SELECT account, uid, app, fingerprint FROM groups JOIN accounts ON accounts.id = groups.account
            WHERE groups.id = ?1
            """
        ) { statement throws(SQLiteError) in
            statement.bind(source, at: 1)
            return try statement.first {
                ($0.id(0, as: AccountID.self), UInt32(clamping: $0.int64(1)), $0.text(2), $0.text(3))
            }
        }
        guard let (account, uid, app, fingerprint) = owner else { return source }
        let own = pattern.fingerprint(splitting: fingerprint)
        if let known = try group(account: account, fingerprint: own) {
            // A redirect from an earlier split that was undone.
            try connection.withStatement(
                "UPDATE groups SET merged_into = NULL, merged_by = NULL WHERE id = ?1 AND merged_by IS NULL"
            ) { statement throws(SQLiteError) in
                statement.bind(known, at: 1)
                try statement.run()
            }
            return try root(of: known)
        }
        return try insert(series, account: account, uid: uid, app: app, own, firstRecord: 0, at: 0)
    }

    /// Inserts a group with the attributes of its first series.
    ///
    /// - Parameters:
    ///   - row: The row of its first record.
    ///   - time: The time at which the record was received, in milliseconds since 1970.
    func insert(
        _ series: SeriesDescription, account: AccountID, uid: UInt32, app: String, _ fingerprint: String,
        firstRecord row: RowID, at time: Int64
    ) throws(SQLiteError) -> GroupID {
        let title = RecordCommit.title(of: series)
        let key = Fingerprint.groupKey(uid: uid, app: app, fingerprint: fingerprint)
        try connection.withStatement(
            """
            INSERT INTO groups (account, fingerprint, rule, key, title, severity, domain, code, file, line, function,
                module, first_at, first_version, last_version, first_record)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?14, ?15)
            """
        ) { statement throws(SQLiteError) in
            statement.bind(account, at: 1)
            statement.bind(fingerprint, at: 2)
            statement.bind(Fingerprint.rule, at: 3)
            statement.bind(Int64(bitPattern: key), at: 4)
            statement.bind(title, at: 5)
            statement.bind(Int64(series.severity.rank), at: 6)
            statement.bind(series.domain, at: 7)
            statement.bind(series.code, at: 8)
            statement.bind(series.source.fileID, at: 9)
            statement.bind(series.source.line, at: 10)
            statement.bind(series.source.function, at: 11)
            statement.bind(series.source.module, at: 12)
            statement.bind(time, at: 13)
            statement.bind(series.app.version, at: 14)
            statement.bind(row, at: 15)
            try statement.run()
        }
        return GroupID(rawValue: connection.lastInsertedRowID)
    }

    /// Turns a redirect back into a group, with the series of its own fingerprint and of the groups merged into it. It
    /// gets the state of the group that it was merged into.
    func detach(_ group: GroupID, from row: RowID) throws(SQLiteError) {
        let target = try root(of: group)
        try connection.withStatement("UPDATE groups SET merged_into = NULL, merged_by = NULL WHERE id = ?1") {
            statement throws(SQLiteError) in
            statement.bind(group, at: 1)
            try statement.run()
        }
        let series = try connection.withStatement(
            """
            WITH RECURSIVE below (id) AS (
                SELECT ?1 UNION SELECT groups.id FROM below JOIN groups ON groups.merged_into = below.id
            )
            SELECT id FROM series WHERE "group" = ?2 AND home IN (SELECT id FROM below)
            """
        ) { statement throws(SQLiteError) in
            statement.bind(group, at: 1)
            statement.bind(target, at: 2)
            return try statement.all { $0.id(0, as: SeriesID.self) }
        }
        let triage = TriageTable(connection: connection)
        _ = try triage.write(try triage.standing(ofGroup: target), of: group, from: row)
        try move(series, from: target, to: group, from: row)
    }

    /// Moves the series that a split has moved to a group back to the groups of their fingerprints.
    ///
    /// - Returns: These groups.
    func returnHome(seriesOf group: GroupID, from row: RowID) throws(SQLiteError) -> [GroupID] {
        let away = try connection.withStatement(
            #"SELECT id, home FROM series WHERE "group" = ?1 AND home IS NOT NULL"#
        ) { statement throws(SQLiteError) in
            statement.bind(group, at: 1)
            return try statement.all { ($0.id(0, as: SeriesID.self), $0.id(1, as: GroupID.self)) }
        }
        var groups: [GroupID: [SeriesID]] = [:]
        for (series, home) in away { groups[try root(of: home), default: []].append(series) }
        groups[group] = nil
        for (target, series) in groups { try move(series, from: group, to: target, from: row) }
        return groups.keys.sorted()
    }

    /// Gives a group the title of its first series and the severity, versions and first time of all of its series.
    func describe(_ group: GroupID) throws(SQLiteError) {
        guard let first = try series(of: group).first?.description else { return }
        try connection.withStatement(
            """
            UPDATE groups SET title = ?2, domain = ?3, code = ?4, file = ?5, line = ?6, function = ?7, module = ?8,
                severity = (SELECT max(severity) FROM series WHERE "group" = ?1),
                first_at = (SELECT min(first_at) FROM series WHERE "group" = ?1),
                first_version = (SELECT version FROM series WHERE "group" = ?1 ORDER BY id LIMIT 1),
                last_version = (
                    SELECT version FROM series WHERE "group" = ?1 AND version IS NOT NULL ORDER BY id DESC LIMIT 1)
            WHERE id = ?1
            """
        ) { statement throws(SQLiteError) in
            statement.bind(group, at: 1)
            statement.bind(RecordCommit.title(of: first), at: 2)
            statement.bind(first.domain, at: 3)
            statement.bind(first.code, at: 4)
            statement.bind(first.source.fileID, at: 5)
            statement.bind(first.source.line, at: 6)
            statement.bind(first.source.function, at: 7)
            statement.bind(first.source.module, at: 8)
            try statement.run()
        }
    }

    // MARK: New series

    /// Returns the split that applies to a title in a group; nil if there is none.
    func split(of group: GroupID, title: String) throws(SQLiteError) -> (id: Int64, target: GroupID)? {
        try pattern(
            in: "SELECT id, target, pattern FROM corrections WHERE source = ?1 AND kind = 2 ORDER BY id DESC",
            group.rawValue, title)
    }

    /// Returns the rule that applies to a title of a new group; nil if there is none.
    func rule(account: AccountID, title: String) throws(SQLiteError) -> (id: Int64, target: GroupID)? {
        try pattern(
            in: "SELECT id, target, pattern FROM corrections WHERE account = ?1 AND kind = 3 ORDER BY id DESC",
            account.rawValue, title)
    }

    private func pattern(
        in sql: StaticString, _ id: Int64, _ title: String
    ) throws(SQLiteError) -> (id: Int64, target: GroupID)? {
        let found = try connection.withStatement(sql) { statement throws(SQLiteError) in
            statement.bind(id, at: 1)
            return try statement.all { ($0.int64(0), $0.id(1, as: GroupID.self), $0.text(2)) }
        }
        let match = found.first { TitlePattern($0.2)?.matches(title) ?? false }
        return match.map { ($0.0, $0.1) }
    }

    /// Counts a series that corrections have moved.
    func count(hitsOf corrections: [Int64]) throws(SQLiteError) {
        guard !corrections.isEmpty else { return }
        try connection.withStatement(
            "UPDATE corrections SET hits = hits + 1 WHERE id IN (SELECT value FROM json_each(?1))"
        ) { statement throws(SQLiteError) in
            statement.bind(StoreWriter.list(corrections), at: 1)
            try statement.run()
        }
    }

    /// Makes a group without series a redirect, because a rule matches its title.
    func redirectNew(_ group: GroupID, to target: GroupID, by correction: Int64) throws(SQLiteError) {
        try connection.withStatement(
            """
            UPDATE groups SET merged_into = ?2, merged_by = ?3, title = '', domain = NULL, code = NULL, file = NULL,
                line = NULL, function = NULL, module = NULL, first_version = NULL, last_version = NULL
            WHERE id = ?1
            """
        ) { statement throws(SQLiteError) in
            statement.bind(group, at: 1)
            statement.bind(target, at: 2)
            statement.bind(correction, at: 3)
            try statement.run()
        }
    }
}

extension GroupTable {
    /// Returns the group that the records of a fingerprint belong to, after all corrections. Nil if it is a new one.
    ///
    /// - Parameters:
    ///   - home: The group that has the fingerprint; nil if there is none.
    ///   - account: The account.
    ///   - series: The series of the records, whose title is compared with patterns.
    func known(
        home: GroupID?, account: AccountID, series: SeriesDescription
    ) throws(SQLiteError) -> RecordCommit.KnownGroup? {
        var known: RecordCommit.KnownGroup
        if let home {
            known = RecordCommit.KnownGroup(id: home, home: home, isWatched: false)
        } else if let rule = try rule(account: account, title: RecordCommit.title(of: series)) {
            known = RecordCommit.KnownGroup(id: rule.target, home: nil, isWatched: false, corrections: [rule.id])
        } else {
            return nil
        }
        // A group is merged or split by one correction at most, and none leads back.
        while true {
            let row = try connection.withStatement(
                """
                SELECT merged_into, state <> 0, merged_by,
                       EXISTS (SELECT 1 FROM corrections WHERE source = ?1 AND kind = 2), severity
                FROM groups WHERE id = ?1
                """
            ) { statement throws(SQLiteError) in
                statement.bind(known.id, at: 1)
                return try statement.first {
                    (
                        $0.optionalID(0, as: GroupID.self), $0.int64(1) != 0, $0.optionalInt64(2), $0.int64(3) != 0,
                        $0.int64(4) >= Int64(IssueLevel.critical.rank)
                    )
                }
            }
            known.isWatched = row?.1 ?? false
            known.isCritical = row?.4 ?? false
            if let target = row?.0 {
                known.id = target
                if let correction = row?.2 { known.corrections.append(correction) }
            } else if row?.3 == true,
                let split = try split(of: known.id, title: RecordCommit.title(of: series)),
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
