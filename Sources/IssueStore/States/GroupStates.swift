package import IssueCore
package import IssueProtocol
import SQLiteKit

/// A cache of the triage states of groups, and of the groups and versions of series. All of them are in the database
/// too.
struct TriageCache {
    /// The attributes of a series that triage needs.
    struct Series {
        var group: GroupID
        var version: ApplicationVersion
    }

    private var series = BoundedCache<SeriesID, Series>(capacity: 8192)
    private var states = BoundedCache<GroupID, TriageState>(capacity: 8192)

    /// Returns the group and the version of a series; nil if the series does not exist.
    mutating func attributes(ofSeries id: SeriesID, in table: TriageTable) throws(SQLiteError) -> Series? {
        if let known = series[id] { return known }
        guard let found = try table.attributes(ofSeries: id) else { return nil }
        series.insert(found, for: id)
        return found
    }

    /// Returns the state of a group; open if the group does not exist.
    mutating func standing(ofGroup id: GroupID, in table: TriageTable) throws(SQLiteError) -> TriageState {
        if let known = states[id] { return known }
        let found = try table.standing(ofGroup: id)
        states.insert(found, for: id)
        return found
    }

    /// Adds the state of a group. The database must already contain this state.
    mutating func insert(_ standing: TriageState, ofGroup id: GroupID) {
        states.insert(standing, for: id)
    }

    /// Removes a group whose state has changed.
    mutating func forget(_ group: GroupID) {
        states.remove(group)
    }

    /// Removes a series that has moved to another group.
    mutating func forget(series id: SeriesID) {
        series.remove(id)
    }

    mutating func removeAll() {
        series.removeAll()
        states.removeAll()
    }
}

extension StoreReader {
    /// A group with its user and account.
    package struct Subject: Equatable, Sendable {
        package var group: GroupID
        package var uid: UInt32
        package var account: AccountID
    }

    /// Returns the group that now has the records of the group with this id, and that group's user and account.
    ///
    /// - Throws: `QueryFailure.notFound` if the group does not exist or if the viewer must not see it; otherwise the
    ///   error of the query.
    package func subject(_ id: String, viewer: Viewer) throws -> Subject {
        try snapshot {
            guard let key = GroupKey.key(id), let group = try group(key: key, viewer: viewer) else {
                throw QueryFailure.notFound(id: id)
            }
            let owner = try connection.first(
                "SELECT accounts.id, uid FROM groups JOIN accounts ON accounts.id = groups.account WHERE groups.id = ?1",
                group
            ) {
                (account: $0.id(0, as: AccountID.self), uid: UInt32(clamping: $0.int64(1)))
            }
            guard let owner else { throw QueryFailure.notFound(id: id) }
            return Subject(group: group, uid: owner.uid, account: owner.account)
        }
    }

    /// Returns the newest version of a group's application: the version whose first declared deployment is the latest
    /// or, if no deployment was declared, the newest version of the application's stored series. The result is empty if
    /// no version is known.
    package func newestVersion(of subject: Subject) throws -> ApplicationVersion {
        try snapshot {
            let history = try DeploymentTable(connection: connection).history(of: subject.account)
            if let newest = history.newestDeclared { return newest }
            var newest = ApplicationVersion()
            try connection.forEach(
                "SELECT version, build FROM series WHERE account = ?1 GROUP BY version, build ORDER BY min(id)",
                subject.account
            ) { row in
                newest.raise(to: ApplicationVersion(name: row.optionalText(0), build: row.optionalInt64(1)))
            }
            return newest
        }
    }

    /// Returns `true` if a record caused the last regression of its group.
    package func isRegression(row: RowID) throws -> Bool {
        try snapshot {
            try connection.exists(
                """
                SELECT 1 FROM records JOIN series ON series.id = records.series JOIN groups ON groups.id = series."group"
                WHERE records.id = ?1 AND groups.regression = ?1
                """, row)
        }
    }

    /// Returns the ranges of rows that were stored while a group was muted. The earliest ranges may be missing.
    func mutes(ofGroup id: GroupID) throws -> MutedRows {
        let ranges = try connection.all(
            #"SELECT first_id, coalesce(last_id, ?2) FROM mutes WHERE "group" = ?1 ORDER BY first_id"#, id, Int64.max
        ) { $0.id(0, as: RowID.self)...max($0.id(0), $0.id(1)) }
        return MutedRows(ranges)
    }
}

/// Changes triage states.
extension StoreWriter {
    /// The maximum number of mutes that one call of `endMutes` ends.
    private static let maxMutesPerTransaction = 256

    /// Sets the triage state of a group.
    ///
    /// - Parameters:
    ///   - standing: The new state.
    ///   - id: The group.
    ///   - keepsNote: `true` to keep the note of the present state if both states are resolved or both are muted
    ///     (`TriageState.keepingNote`).
    /// - Returns: `false` if the group does not exist.
    package func set(
        _ standing: TriageState, ofGroup id: GroupID, keepsNote: Bool = false
    ) throws(StoreFailure) -> Bool {
        try transaction { () throws(SQLiteError) in
            guard keepsNote else { return try change(id, to: standing) }
            let present = try TriageTable(connection: connection).standing(ofGroup: id)
            return try change(id, to: standing.keepingNote(of: present))
        }
    }

    /// Reopens at most 256 groups whose mute ends at or before `now`, and updates `nextMuteEnd`.
    package func endMutes(at now: IssueTimestamp) throws(StoreFailure) {
        try transaction { () throws(SQLiteError) in
            let ended = try connection.all(
                "SELECT id FROM groups WHERE muted_until <= ?1 ORDER BY muted_until LIMIT ?2",
                now, Self.maxMutesPerTransaction
            ) { $0.id(0, as: GroupID.self) }
            for group in ended { _ = try change(group, to: TriageState()) }
            memory.values.nextMuteEnd = try Self.nextMuteEnd(connection)
        }
    }

    /// Sets the triage state of a group. The state applies from the next record on. Must be called in a transaction.
    /// Returns `false` if the group does not exist.
    func change(_ group: GroupID, to standing: TriageState) throws(SQLiteError) -> Bool {
        let triage = TriageTable(connection: connection)
        guard try triage.write(standing, of: group, from: memory.open.nextID) else { return false }
        try triage.watch(group, standing.state != .open, &memory.caches.series)
        memory.caches.triage.forget(group)
        memory.values.nextMuteEnd = try Self.nextMuteEnd(connection)
        return true
    }

    /// Returns the time at which the next mute with a time limit ends; nil if there is none.
    static func nextMuteEnd(_ connection: DatabaseConnection) throws(SQLiteError) -> IssueTimestamp? {
        try connection.first("SELECT min(muted_until) FROM groups WHERE muted_until IS NOT NULL") {
            $0.optionalTime(0)
        } ?? nil
    }
}

extension RecordCommit {
    /// Updates the triage state of a record's group before the record is stored. Returns the effect of the record.
    ///
    /// If only the number of occurrences until the end of a mute has changed, the new state is added to `countdowns`,
    /// which are written once per commit. Otherwise, a changed state is written at once.
    ///
    /// - Parameters:
    ///   - location: The series and account of the record.
    ///   - count: The number of the record's occurrences.
    ///   - memory: The writer's memory.
    mutating func updateTriage(
        for location: SeriesLocation, count: Int64, _ memory: inout WriterMemory
    ) throws(SQLiteError) -> TriageState.Effect {
        let triage = TriageTable(connection: connection)
        guard let found = try memory.caches.triage.attributes(ofSeries: location.series, in: triage) else {
            return .none
        }
        // An overflow series has no version, so the version in the record's own description applies.
        let version = location.original.map { ApplicationVersion(name: $0.app.version, build: $0.app.build) }
        let before =
            if let counted = countdowns[found.group] {
                counted
            } else {
                try memory.caches.triage.standing(ofGroup: found.group, in: triage)
            }
        var standing = before
        let history =
            standing.dependsOnVersion ? try deployments(of: location.account, &memory) : DeploymentHistory()
        let row = rows.nextID
        let effect = standing.reported(by: version ?? found.version, at: time.wall, in: history, count: count)
        switch effect {
        case .none, .silence: if standing != before { countdowns[found.group] = standing }
        case .regression, .expiry:
            countdowns[found.group] = nil
            _ = try triage.write(standing, of: found.group, from: row)
            if effect == .regression { try triage.note(regression: row, of: found.group) }
            memory.caches.triage.forget(found.group)
            try triage.watch(found.group, false, &memory.caches.series)
        }
        return effect
    }

    /// Writes `occurrencesLeft` of each state in `countdowns` to the database, and caches the state.
    func writeCountdowns(_ memory: inout WriterMemory) throws(SQLiteError) {
        for (group, standing) in countdowns {
            try connection.run("UPDATE groups SET muted_left = ?2 WHERE id = ?1", group, standing.occurrencesLeft)
            memory.caches.triage.insert(standing, ofGroup: group)
        }
    }
}

extension IssueStateChange {
    /// Reads the columns `changed_by`, `changed_at` and `change_note`. Nil if the user or the time is not set.
    init?(_ row: borrowing Row, from column: Int) {
        guard let user = row.optionalInt64(column), let time = row.optionalInt64(column + 1) else { return nil }
        self.init(
            user: UInt32(clamping: user), time: IssueTimestamp(millisecondsSince1970: time),
            note: row.optionalText(column + 2))
    }
}

/// The triage states in the tables `groups` and `mutes`.
struct TriageTable {
    let connection: DatabaseConnection

    /// Returns the stored triage state of a group; open if the group does not exist.
    func standing(ofGroup id: GroupID) throws(SQLiteError) -> TriageState {
        try connection.first(
            """
            SELECT state, muted_until, muted_version, regressed, fixed_version, fixed_after, muted_left, changed_by,
                changed_at, change_note
            FROM groups WHERE id = ?1
            """, id
        ) { row in
            TriageState(
                GroupState(databaseValue: UInt8(clamping: row.int64(0))) ?? .open, mutedUntil: row.optionalTime(1),
                knownVersion: row.optionalText(2).map { ApplicationVersion(text: $0) },
                fixedIn: row.optionalText(4).map { ApplicationVersion(text: $0) }, fixAwaitedSince: row.optionalTime(5),
                occurrencesLeft: row.optionalInt64(6),
                hasRegressed: row.int64(3) != 0, change: IssueStateChange(row, from: 7))
        } ?? TriageState()
    }

    /// Writes the new state of a group, which applies from `row` on. Unless the new state is muted, keeps only the last
    /// 64 muted periods of the group. Returns `false` if the group does not exist.
    func write(_ standing: TriageState, of group: GroupID, from row: RowID) throws(SQLiteError) -> Bool {
        try connection.run(
            """
            UPDATE groups SET state = ?2, muted_until = ?3, muted_version = ?4, regressed = ?5, fixed_version = ?6,
                fixed_after = ?7, muted_left = ?8, changed_by = ?9, changed_at = ?10, change_note = ?11
            WHERE id = ?1
            """, group, Int64(standing.state.databaseValue), standing.mutedUntil,
            standing.knownVersion?.text, standing.hasRegressed, standing.fixedIn?.text,
            standing.fixAwaitedSince, standing.occurrencesLeft,
            standing.change?.user, standing.change?.time, standing.change?.note)
        guard connection.changes > 0 else { return false }
        if standing.state == .muted {
            try connection.run(
                """
                INSERT INTO mutes ("group", first_id) SELECT ?1, ?2
                WHERE NOT EXISTS (SELECT 1 FROM mutes WHERE "group" = ?1 AND last_id IS NULL)
                """, group, row)
        } else {
            try connection.run(#"DELETE FROM mutes WHERE "group" = ?1 AND first_id >= ?2"#, group, row)
            try connection.run(#"UPDATE mutes SET last_id = ?2 - 1 WHERE "group" = ?1 AND last_id IS NULL"#, group, row)
            try connection.run(
                """
                DELETE FROM mutes WHERE "group" = ?1 AND first_id <= (
                    SELECT first_id FROM mutes WHERE "group" = ?1 AND first_id < ?2
                    ORDER BY first_id DESC LIMIT 1 OFFSET 64)
                """, group, row)
        }
        return true
    }

    /// Sets `isWatched` of the group's cached series after the state of the group has changed. If the group may have
    /// more series than fit into the cache, empties the cache instead, because reading all series would take too long.
    func watch(_ group: GroupID, _ isWatched: Bool, _ cache: inout SeriesTable) throws(SQLiteError) {
        let series: [SeriesID] = try connection.all(
            #"SELECT id FROM series WHERE "group" = ?1 LIMIT ?2"#, group, SeriesTable.capacity
        ) { $0.id(0) }
        if series.count < SeriesTable.capacity { cache.watch(Set(series), isWatched) } else { cache.removeAll() }
    }

    func attributes(ofSeries id: SeriesID) throws(SQLiteError) -> TriageCache.Series? {
        try connection.first(#"SELECT "group", version, build FROM series WHERE id = ?1"#, id) { row in
            TriageCache.Series(
                group: row.id(0),
                version: ApplicationVersion(name: row.optionalText(1), build: row.optionalInt64(2)))
        }
    }

    /// Stores a record as the cause of the last regression of a group.
    func note(regression row: RowID, of group: GroupID) throws(SQLiteError) {
        try connection.run("UPDATE groups SET regression = ?2 WHERE id = ?1", group, row)
    }
}

/// Resolves issues that have not occurred for a while.
extension StoreWriter {
    /// The maximum number of groups that one call of `resolveQuiet` examines.
    private static let maxExaminedGroups = 256

    /// The result of one step of a pass over all open groups.
    package struct QuietPass: Equatable, Sendable {
        /// The last group that was examined.
        package var last: GroupID
        /// The number of issues that this step resolved.
        package var resolved: Int
        /// Whether this was the last step of the pass.
        package var isDone: Bool
    }

    /// Examines the next open groups, at most 256, and resolves the quiet ones (`QuietPeriod`).
    ///
    /// - Parameters:
    ///   - group: The last group that was examined; 0 to start.
    ///   - wall: The current wall time.
    ///   - monotonic: The current monotonic time.
    package func resolveQuiet(
        above group: GroupID, wall: IssueTimestamp, monotonic: MonotonicInstant
    ) throws(StoreFailure) -> QuietPass {
        let end = QuietPeriod(retention.resolveAfter).end(at: logTime(wall: wall, monotonic: monotonic))
        return try transaction { () throws(SQLiteError) in
            let range = try end.map { end throws(SQLiteError) in try newestRange(before: end) } ?? 0
            guard range > 0 else { return QuietPass(last: group, resolved: 0, isDone: true) }
            let groups = try connection.all(
                "SELECT id FROM groups WHERE id > ?1 AND state = 0 ORDER BY id LIMIT ?2", group, Self.maxExaminedGroups
            ) { $0.id(0, as: GroupID.self) }
            let activities = try activities(of: groups)
            var resolved = 0
            for group in groups
            where QuietPeriod.resolves(.open, activities[group] ?? [], quietThrough: range) {
                _ = try change(group, to: TriageState(.resolved))
                resolved += 1
            }
            return QuietPass(
                last: groups.last ?? group, resolved: resolved, isDone: groups.count < Self.maxExaminedGroups)
        }
    }

    private func activities(of groups: [GroupID]) throws(SQLiteError) -> [GroupID: [QuietPeriod.Activity]] {
        var activities: [GroupID: [QuietPeriod.Activity]] = [:]
        try connection.forEach(
            """
            SELECT series."group", series.id, totals.last_range FROM series
            LEFT JOIN totals ON totals.series = series.id
            WHERE series."group" IN (SELECT value FROM json_each(?1))
            """, Self.list(groups)
        ) { row in
            activities[row.id(0), default: []].append(
                QuietPeriod.Activity(lastRange: row.optionalInt64(2), mayBeOpen: memory.open.mayContain(row.id(1))))
        }
        return activities
    }
}
