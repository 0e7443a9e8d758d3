import IssueCore
package import IssueProtocol
import SQLiteKit

extension StoreWriter {
    /// Stores a silence. Silences that ended more than 30 days ago are removed, and all but the last 1,000 that have
    /// ended.
    ///
    /// - Parameters:
    ///   - silence: The silence. Its id and count are ignored.
    ///   - now: The wall time.
    /// - Returns: The silence with its id; nil if too many are in effect, of all users or of its own.
    package func add(_ silence: IssueSilence, at now: IssueTimestamp) throws(StoreFailure) -> IssueSilence? {
        try transaction { () throws(SQLiteError) in
            try connection.withStatement(
                """
                DELETE FROM silences WHERE until < ?1 OR until <= ?2
                    AND id <= (SELECT id FROM silences WHERE until <= ?2 ORDER BY id DESC LIMIT 1 OFFSET ?3)
                """
            ) { statement throws(SQLiteError) in
                statement.bind(now.advanced(by: .zero - SilenceTable.keptFor).millisecondsSince1970, at: 1)
                statement.bind(now.millisecondsSince1970, at: 2)
                statement.bind(SilenceTable.maxEnded, at: 3)
                try statement.run()
            }
            let (count, own) = try connection.withStatement(
                "SELECT count(*), count(*) FILTER (WHERE uid = ?2) FROM silences WHERE until > ?1"
            ) { statement throws(SQLiteError) in
                statement.bind(now.millisecondsSince1970, at: 1)
                statement.bind(silence.uid, at: 2)
                return try statement.first { ($0.int64(0), $0.int64(1)) } ?? (0, 0)
            }
            guard count < IssueSilence.maxCount, own < IssueSilence.maxCountOfUser else { return nil }
            try connection.withStatement(
                """
                INSERT INTO silences (apps, environments, units, groups, until, reason, uid, at)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
                """
            ) { statement throws(SQLiteError) in
                statement.bind(SilenceTable.text(silence.apps), at: 1)
                statement.bind(SilenceTable.text(silence.environments), at: 2)
                statement.bind(SilenceTable.text(silence.units), at: 3)
                statement.bind(SilenceTable.text(silence.groups), at: 4)
                statement.bind(silence.until.millisecondsSince1970, at: 5)
                statement.bind(silence.reason, at: 6)
                statement.bind(silence.uid, at: 7)
                statement.bind(now.millisecondsSince1970, at: 8)
                try statement.run()
            }
            var stored = silence
            (stored.id, stored.at, stored.count) = (SilenceTable.id(connection.lastInsertedRowID), now, 0)
            return stored
        }
    }

    /// Ends a silence now. Returns `false` if none with this id is in effect.
    package func endSilence(_ id: String, by uid: UInt32, at now: IssueTimestamp) throws(StoreFailure) -> Bool {
        guard let number = SilenceTable.number(id) else { return false }
        return try transaction { () throws(SQLiteError) in
            try connection.withStatement(
                "UPDATE silences SET until = ?2, ended_by = ?3 WHERE id = ?1 AND until > ?2"
            ) { statement throws(SQLiteError) in
                statement.bind(number, at: 1)
                statement.bind(now.millisecondsSince1970, at: 2)
                statement.bind(Int64(uid), at: 3)
                try statement.run()
            }
            return connection.changes > 0
        }
    }
}

extension StoreReader {
    /// Returns the silences in effect, the oldest first.
    package func silences(at now: IssueTimestamp) throws -> [(number: Int64, silence: IssueSilence)] {
        try snapshot {
            try connection.withStatement(
                """
                SELECT id, apps, environments, units, groups, until, reason, uid, at, count FROM silences
                WHERE until > ?1 ORDER BY id
                """
            ) { statement in
                statement.bind(now.millisecondsSince1970, at: 1)
                return try statement.all {
                    (
                        $0.int64(0),
                        IssueSilence(
                            id: SilenceTable.id($0.int64(0)), apps: SilenceTable.list($0.text(1)),
                            environments: SilenceTable.list($0.text(2)), units: SilenceTable.list($0.text(3)),
                            groups: SilenceTable.list($0.text(4)),
                            until: IssueTimestamp(millisecondsSince1970: $0.int64(5)), reason: $0.text(6),
                            uid: $0.int64(7), at: IssueTimestamp(millisecondsSince1970: $0.int64(8)), count: $0.int64(9)
                        )
                    )
                }
            }
        }
    }
}

/// The stored form of silences.
enum SilenceTable {
    static let keptFor: Duration = .seconds(30 * 86_400)
    /// The maximum number of silences kept after their end: operators can add and end any number of them.
    static let maxEnded: Int64 = 1000

    /// The id as clients see it, such as `s12`.
    static func id(_ number: Int64) -> String { "s\(number)" }

    static func number(_ id: String) -> Int64? {
        id.first == "s" ? Int64(id.dropFirst()) : nil
    }

    static func text(_ names: [String]) -> String {
        var writer = JSONWriter()
        writer.array { for name in names { $0.string(name) } }
        return writer.text
    }

    static func list(_ text: String) -> [String] {
        (try? JSONValue(json: text))?.asArray?.compactMap(\.asString) ?? []
    }
}

extension StoreReader {
    /// Returns the silences in effect in the form in which events are compared with them: with the ids that their
    /// groups have now.
    ///
    /// A group may have been merged into another one after it was silenced, and events have the id of the other one.
    /// The silence then covers all of that group.
    package func effectiveSilences(at now: IssueTimestamp) throws -> [(number: Int64, silence: IssueSilence)] {
        try snapshot {
            try silences(at: now).map { number, silence in
                var effective = silence
                effective.groups = try silence.groups.map { try currentID(ofGroup: $0) ?? $0 }
                return (number, effective)
            }
        }
    }

    /// Returns the id of the group that an id leads to; nil if no group has this id.
    private func currentID(ofGroup id: String) throws -> String? {
        guard let key = GroupKey.key(id), let group = try group(key: key, viewer: .everything) else { return nil }
        return try connection.withStatement("SELECT key FROM groups WHERE id = ?1") { statement in
            statement.bind(group, at: 1)
            return try statement.first { GroupKey.text(key: $0.int64(0)) }
        }
    }
}
