package import IssueCore
package import IssueProtocol
import SQLiteKit

/// What was said of the groups whose records come in now; the database holds all of it.
struct TriageCache {
    /// What has to be known of a series to judge its records by.
    struct Series {
        var group: Int64
        var version: ApplicationVersion
    }

    private static let capacity = 8192

    private var series: [Int64: Series] = [:]
    private var triageStates: [Int64: TriageState] = [:]

    mutating func series(_ id: Int64, or find: () throws -> Series?) rethrows -> Series? {
        if let known = series[id] { return known }
        let found = try find()
        if series.count >= Self.capacity { series.removeAll() }
        series[id] = found
        return found
    }

    mutating func standing(of group: Int64, or find: () throws -> TriageState) rethrows -> TriageState {
        if let known = triageStates[group] { return known }
        let found = try find()
        if triageStates.count >= Self.capacity { triageStates.removeAll() }
        triageStates[group] = found
        return found
    }

    /// It has changed.
    mutating func forget(_ group: Int64) {
        triageStates[group] = nil
    }

    mutating func removeAll() {
        series.removeAll()
        triageStates.removeAll()
    }
}

extension StoreReader {
    /// A group of which somebody wants to say something.
    package struct Subject: Equatable, Sendable {
        package var group: Int64
        package var uid: UInt32
        var account: Int64
    }

    /// A group by its id; a foreign one answers as an absent one.
    package func subject(_ id: String, viewer: Viewer) throws -> Subject {
        try snapshot {
            guard let key = GroupID.key(id), let group = try group(key: key, viewer: viewer) else {
                throw QueryFailure.notFound(id: id)
            }
            let owner = try connection.withStatement(
                "SELECT accounts.id, uid FROM groups JOIN accounts ON accounts.id = groups.account WHERE groups.id = ?1"
            ) { statement in
                statement.bind(group, at: 1)
                return try statement.first { (account: $0.int64(0), uid: UInt32(clamping: $0.int64(1))) }
            }
            guard let owner else { throw QueryFailure.notFound(id: id) }
            return Subject(group: group, uid: owner.uid, account: owner.account)
        }
    }

    /// The newest version that a group's application has reported with, as far as that is still known.
    package func newestVersion(of subject: Subject) throws -> ApplicationVersion {
        try snapshot {
            var newest = ApplicationVersion()
            try connection.withStatement(
                "SELECT version, build FROM series WHERE account = ?1 GROUP BY version, build ORDER BY min(id)"
            ) { statement in
                statement.bind(subject.account, at: 1)
                try statement.forEach { row in
                    newest.met(ApplicationVersion(name: row.optionalText(0), build: row.optionalInt64(1)))
                }
            }
            return newest
        }
    }

    /// Whether it was this record with which its group came back last.
    package func isRegression(row: Int64) throws -> Bool {
        try snapshot {
            try connection.withStatement(
                """
                SELECT 1 FROM records JOIN series ON series.id = records.series JOIN groups ON groups.id = series."group"
                WHERE records.id = ?1 AND groups.regression = ?1
                """
            ) { statement in
                statement.bind(row, at: 1)
                return try statement.first { _ in true } ?? false
            }
        }
    }

    /// Which rows of a group are told to nobody.
    func mutes(ofGroup id: Int64) throws -> MutedRows {
        let stretches = try connection.withStatement(
            #"SELECT first_id, coalesce(last_id, ?2) FROM mutes WHERE "group" = ?1 ORDER BY first_id"#
        ) { statement in
            statement.bind(id, at: 1)
            statement.bind(Int64.max, at: 2)
            return try statement.all { $0.int64(0)...max($0.int64(0), $0.int64(1)) }
        }
        return MutedRows(stretches)
    }
}

/// What somebody says of groups, and what their records do to that.
extension StoreWriter {
    /// How many mutes one transaction ends at most.
    private static let mutesAtATime = 256

    /// Keeps what somebody says of a group.
    ///
    /// - Returns: whether the group is there.
    package func set(_ standing: TriageState, ofGroup id: Int64) throws(StoreFailure) -> Bool {
        let series = try transaction {
            guard try write(standing, of: id, from: open.nextID) else { return Set<Int64>?.none }
            return try self.series(ofGroup: id)
        }
        guard let series else { return false }
        try changed(id, series, isWatched: standing.state != .open)
        return true
    }

    /// Opens the groups again that were muted until now.
    package func endMutes(at now: Timestamp) throws(StoreFailure) {
        let ended = try transaction {
            let ended = try connection.withStatement(
                "SELECT id FROM groups WHERE muted_until <= ?1 ORDER BY muted_until LIMIT ?2"
            ) { statement in
                statement.bind(now.milliseconds, at: 1)
                statement.bind(Self.mutesAtATime, at: 2)
                return try statement.all { $0.int64(0) }
            }
            for group in ended { _ = try write(TriageState(), of: group, from: open.nextID) }
            return try ended.map { (group: $0, series: try series(ofGroup: $0)) }
        }
        nextMuteEnd = nil
        for (group, series) in ended { try changed(group, series, isWatched: false) }
        if ended.isEmpty { nextMuteEnd = try transaction { try Self.nextMuteEnd(connection) } }
    }

    /// A group of some series is not as it was.
    func changed(_ group: Int64, _ series: Set<Int64>, isWatched: Bool) throws(StoreFailure) {
        self.series.watch(series, isWatched)
        triageStates.forget(group)
        nextMuteEnd = try transaction { try Self.nextMuteEnd(connection) }
    }

    /// What a record that is about to be stored does to its group, of which somebody has said something.
    func effect(of place: SeriesLocation, _ commit: inout Commit) throws -> TriageState.Effect {
        guard let found = try triageStates.series(place.series, or: { try triageSeries(place.series) }) else {
            return .none
        }
        // A series that takes the rest has no version of its own.
        let version = place.original.map { ApplicationVersion(name: $0.app.version, build: $0.app.build) }
        var standing = try triageStates.standing(of: found.group) { try self.standing(ofGroup: found.group) }
        let row = commit.rows.nextID
        let effect = standing.reported(by: version ?? found.version, at: commit.time.wall)
        switch effect {
        case .none, .silence: break
        case .regression, .expiry:
            _ = try write(standing, of: found.group, from: row)
            if effect == .regression { try note(regression: row, of: found.group) }
            triageStates.forget(found.group)
            commit.series.watch(try series(ofGroup: found.group), false)
        }
        return effect
    }

    /// What was said of a group, as it is stored.
    func standing(ofGroup id: Int64) throws -> TriageState {
        try connection.withStatement(
            "SELECT state, muted_until, muted_version, regressed FROM groups WHERE id = ?1"
        ) { statement in
            statement.bind(id, at: 1)
            return try statement.first { row in
                TriageState(
                    GroupState(rawValue: UInt8(clamping: row.int64(0))) ?? .open,
                    mutedUntil: row.optionalInt64(1).map { Timestamp(milliseconds: $0) },
                    knownVersion: row.optionalText(2).map { ApplicationVersion(text: $0) },
                    hasRegressed: row.int64(3) != 0)
            }
        } ?? TriageState()
    }

    /// Writes what holds of a group from a row on; answers whether it is there.
    func write(_ standing: TriageState, of group: Int64, from row: Int64) throws -> Bool {
        try connection.withStatement(
            "UPDATE groups SET state = ?2, muted_until = ?3, muted_version = ?4, regressed = ?5 WHERE id = ?1"
        ) { statement in
            statement.bind(group, at: 1)
            statement.bind(Int64(standing.state.rawValue), at: 2)
            statement.bind(standing.mutedUntil?.milliseconds, at: 3)
            statement.bind(standing.knownVersion?.text, at: 4)
            statement.bind(standing.hasRegressed ? Int64(1) : 0, at: 5)
            try statement.run()
        }
        guard connection.changes > 0 else { return false }
        if standing.state == .muted {
            try run(
                """
                INSERT INTO mutes ("group", first_id) SELECT ?1, ?2
                WHERE NOT EXISTS (SELECT 1 FROM mutes WHERE "group" = ?1 AND last_id IS NULL)
                """, group, row)
        } else {
            try run(#"DELETE FROM mutes WHERE "group" = ?1 AND first_id >= ?2"#, group, row)
            try run(#"UPDATE mutes SET last_id = ?2 - 1 WHERE "group" = ?1 AND last_id IS NULL"#, group, row)
        }
        return true
    }

    static func nextMuteEnd(_ connection: Connection) throws -> Timestamp? {
        try connection.withStatement("SELECT min(muted_until) FROM groups WHERE muted_until IS NOT NULL") {
            try $0.first { $0.optionalInt64(0).map { Timestamp(milliseconds: $0) } } ?? nil
        }
    }

    func series(ofGroup id: Int64) throws -> Set<Int64> {
        try connection.withStatement(#"SELECT id FROM series WHERE "group" = ?1"#) { statement in
            statement.bind(id, at: 1)
            return Set(try statement.all { $0.int64(0) })
        }
    }

    private func triageSeries(_ id: Int64) throws -> TriageCache.Series? {
        try connection.withStatement(#"SELECT "group", version, build FROM series WHERE id = ?1"#) { statement in
            statement.bind(id, at: 1)
            return try statement.first { row in
                TriageCache.Series(
                    group: row.int64(0),
                    version: ApplicationVersion(name: row.optionalText(1), build: row.optionalInt64(2)))
            }
        }
    }

    private func note(regression row: Int64, of group: Int64) throws {
        try run("UPDATE groups SET regression = ?2 WHERE id = ?1", group, row)
    }

    private func run(_ sql: StaticString, _ first: Int64, _ second: Int64) throws {
        try connection.withStatement(sql) { statement in
            statement.bind(first, at: 1)
            statement.bind(second, at: 2)
            try statement.run()
        }
    }
}
