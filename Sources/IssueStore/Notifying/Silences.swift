import IssueCore
package import IssueProtocol
import SQLiteKit

extension StoreWriter {
    /// Stores a silence. Removes silences that ended more than 30 days ago, and all but the newest 1,000 ended
    /// silences.
    ///
    /// - Parameters:
    ///   - silence: The silence. Its id, its time and its count are ignored.
    ///   - now: The wall time.
    /// - Returns: The silence with its id; nil if too many silences of its user, or of all users, are in effect.
    package func add(_ silence: IssueSilence, at now: IssueTimestamp) throws(StoreFailure) -> IssueSilence? {
        try transaction { () throws(SQLiteError) in
            try connection.run(
                """
                DELETE FROM silences WHERE until < ?1 OR until <= ?2
                    AND id <= (SELECT id FROM silences WHERE until <= ?2 ORDER BY id DESC LIMIT 1 OFFSET ?3)
                """, now.advanced(by: .zero - SilenceTable.keptFor), now, SilenceTable.maxEnded)
            let (count, own) =
                try connection.first(
                    "SELECT count(*), count(*) FILTER (WHERE uid = ?2) FROM silences WHERE until > ?1", now, silence.uid
                ) { ($0.int64(0), $0.int64(1)) } ?? (0, 0)
            guard count < IssueSilence.maxCount, own < IssueSilence.maxCountOfUser else { return nil }
            try connection.run(
                """
                INSERT INTO silences (apps, environments, units, groups, until, reason, uid, at)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
                """, Self.list(silence.apps), Self.list(silence.environments), Self.list(silence.units),
                Self.list(silence.groups), silence.until, silence.reason, silence.uid, now)
            var stored = silence
            (stored.id, stored.at, stored.count) = (SilenceTable.id(connection.lastInsertedRowID), now, 0)
            return stored
        }
    }

    /// Ends a silence. Returns `false` if no silence with this id is in effect.
    package func endSilence(_ id: String, by uid: UInt32, at now: IssueTimestamp) throws(StoreFailure) -> Bool {
        guard let number = SilenceTable.number(id) else { return false }
        return try transaction { () throws(SQLiteError) in
            try connection.run(
                "UPDATE silences SET until = ?2, ended_by = ?3 WHERE id = ?1 AND until > ?2", number, now, uid)
            return connection.changes > 0
        }
    }
}

extension StoreReader {
    /// Returns the silences in effect with their row ids, the oldest first.
    package func silences(at now: IssueTimestamp) throws -> [(number: Int64, silence: IssueSilence)] {
        try snapshot {
            try connection.all(
                """
                SELECT id, apps, environments, units, groups, until, reason, uid, at, count FROM silences
                WHERE until > ?1 ORDER BY id
                """, now
            ) {
                (
                    $0.int64(0),
                    IssueSilence(
                        id: SilenceTable.id($0.int64(0)), apps: SilenceTable.list($0.text(1)),
                        environments: SilenceTable.list($0.text(2)), units: SilenceTable.list($0.text(3)),
                        groups: SilenceTable.list($0.text(4)), until: $0.time(5), reason: $0.text(6),
                        uid: $0.int64(7), at: $0.time(8), count: $0.int64(9)
                    )
                )
            }
        }
    }
}

/// The stored form of silences.
enum SilenceTable {
    /// The time for which a silence is kept after its end.
    static let keptFor: Duration = .seconds(30 * 86_400)
    /// The maximum number of silences kept after their end, because operators can add and end any number of them.
    static let maxEnded: Int64 = 1000

    /// Returns the id of a silence as clients see it, such as `s12`.
    static func id(_ number: Int64) -> String { "s\(number)" }

    /// Returns the row id for an id; nil if the text is not an id.
    static func number(_ id: String) -> Int64? {
        // Other forms, such as "s+5" and "s05", are not ids.
        Int64(id.dropFirst()).flatMap { Self.id($0) == id ? $0 : nil }
    }

    static func list(_ text: String) -> [String] {
        (try? JSONValue(json: text))?.asArray?.compactMap(\.asString) ?? []
    }
}

extension StoreReader {
    /// Returns the silences in effect with the current ids of their groups. Events must be compared with these ids.
    ///
    /// A group may have been merged into another one after it was silenced. Events then have the id of the other group,
    /// and the silence covers all of that group.
    package func effectiveSilences(at now: IssueTimestamp) throws -> [(number: Int64, silence: IssueSilence)] {
        try snapshot {
            try silences(at: now).map { number, silence in
                var effective = silence
                effective.groups = try silence.groups.map { try currentID(ofGroup: $0) ?? $0 }
                return (number, effective)
            }
        }
    }

    /// Returns the id of the group that now has the records of the group with this id; nil if no group has this id.
    private func currentID(ofGroup id: String) throws -> String? {
        guard let key = GroupKey.key(id), let group = try group(key: key, viewer: .everything) else { return nil }
        return try connection.first("SELECT key FROM groups WHERE id = ?1", group) { GroupKey.text(key: $0.int64(0)) }
    }
}
