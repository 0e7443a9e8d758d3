package import IssueCore
package import IssueProtocol
import SQLiteKit

extension StoreWriter {
    /// Stores a silence. Removes silences that ended more than 30 days ago. Of the other ended silences, keeps the
    /// newest 1,000.
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
    /// The maximum number of silences kept after their end. The limit is needed because operators can add and end any
    /// number of silences.
    static let maxEnded: Int64 = 1000

    /// Returns the id of a silence as clients see it, such as `s12`.
    static func id(_ number: Int64) -> String { "s\(number)" }

    /// Returns the row id of the silence with an id such as `s12`; nil if the text is not an id.
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

/// The result of counting occurrences up to a record. It is stored in one transaction.
package struct EscalationProgress: Sendable {
    /// The last record whose occurrences were counted.
    package var through: RowID
    /// The length of a slot, in milliseconds.
    package var slotLength: Int64
    package var changes: EscalationCounter.Changes

    package init(through: RowID, slotLength: Int64, changes: EscalationCounter.Changes) {
        self.through = through
        self.slotLength = slotLength
        self.changes = changes
    }
}

extension StoreWriter {
    /// Stores counts of occurrences, together with the events that they have caused.
    ///
    /// - Parameters:
    ///   - progress: The changed counts.
    ///   - notices: The events, as for `add(_:silenced:cursor:notifier:)`.
    ///   - silences: The number of events that each silence covered, keyed by the silence's row id.
    ///   - id: The id of the notifier.
    /// - Returns: The new state of the notifier; nil if it does not exist.
    package func store(
        _ progress: EscalationProgress, notices: [Notice], silenced silences: [Int64: Int64], notifier id: Int64
    ) throws(StoreFailure) -> NotifierRow? {
        try transaction { () throws(SQLiteError) in
            let table = EscalationTable(connection: connection)
            for entry in progress.changes.entries {
                try table.store(entry, slotLength: progress.slotLength, notifier: id)
            }
            for group in progress.changes.removed { try table.remove(group, notifier: id) }
            try table.set(counted: progress.through, notifier: id)
            return try addNotices(notices, silenced: silences, cursor: nil, notifier: id)
        }
    }

    /// Begins or ends counting occurrences for a notifier. Counting that has not begun yet begins with the next record.
    ///
    /// - Parameters:
    ///   - rate: The number of occurrences in a period that makes an issue escalate; nil to end counting. Counts with
    ///     a slot length other than that for this rate are removed.
    ///   - id: The id of the notifier.
    package func count(_ rate: Rate?, notifier id: Int64) throws(StoreFailure) {
        try transaction { () throws(SQLiteError) in
            let table = EscalationTable(connection: connection)
            let isCounting = try table.counted(notifier: id) != nil
            // An unchanged row is not written, because startup must not need free disk space.
            if isCounting != (rate != nil) {
                try table.set(counted: rate == nil ? nil : memory.open.lastID, notifier: id)
            }
            try table.removeAll(but: rate.map(EscalationCounter.slotLength(of:)), notifier: id)
        }
    }
}

extension StoreReader {
    /// Returns the stored counts of occurrences, and the last record that they include.
    ///
    /// - Parameters:
    ///   - notifier: The id of the notifier.
    ///   - rate: The number of occurrences in a period that makes an issue escalate. Only counts with the slot
    ///     length for this rate are returned.
    /// - Returns: Nil if the notifier counts no occurrences.
    package func escalations(
        of notifier: Int64, _ rate: Rate
    ) throws -> (counted: RowID, entries: [EscalationCounter.Entry])? {
        try snapshot {
            let table = EscalationTable(connection: connection)
            guard let counted = try table.counted(notifier: notifier) else { return nil }
            return (counted, try table.entries(notifier, slotLength: EscalationCounter.slotLength(of: rate)))
        }
    }
}

/// Reads and changes the table `escalations`, and the record up to which a notifier has counted.
struct EscalationTable {
    let connection: DatabaseConnection

    func counted(notifier id: Int64) throws(SQLiteError) -> RowID? {
        try connection.first("SELECT counted FROM notifiers WHERE id = ?1", id) {
            $0.optionalInt64(0).map { RowID(rawValue: $0) }
        } ?? nil
    }

    func set(counted: RowID?, notifier id: Int64) throws(SQLiteError) {
        try connection.run("UPDATE notifiers SET counted = ?2 WHERE id = ?1", id, counted)
    }

    func entries(_ notifier: Int64, slotLength: Int64) throws(SQLiteError) -> [EscalationCounter.Entry] {
        try connection.all(
            """
            SELECT "group", uid, slot, counts, reported_at FROM escalations WHERE notifier = ?1 AND slot_length = ?2
            """, notifier, slotLength
        ) {
            let counts = $0.text(3).split(separator: " ").compactMap { Int64($0) }
            return EscalationCounter.Entry(
                group: $0.id(0), uid: UInt32(clamping: $0.int64(1)), slot: $0.int64(2),
                counts: counts.isEmpty ? [0] : counts,
                reportedAt: $0.optionalInt64(4).map { RecordLogInstant(milliseconds: $0) })
        }
    }

    func store(_ entry: EscalationCounter.Entry, slotLength: Int64, notifier: Int64) throws(SQLiteError) {
        try connection.run(
            """
            INSERT OR REPLACE INTO escalations (notifier, "group", uid, slot_length, slot, counts, reported_at)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
            """, notifier, entry.group, entry.uid, slotLength, entry.slot,
            entry.counts.map { "\($0)" }.joined(separator: " "), entry.reportedAt?.milliseconds)
    }

    func remove(_ group: GroupID, notifier: Int64) throws(SQLiteError) {
        try connection.run("DELETE FROM escalations WHERE notifier = ?1 AND \"group\" = ?2", notifier, group)
    }

    /// Removes the counts of a notifier, except those with slots of this length in milliseconds; nil removes all.
    func removeAll(but slotLength: Int64?, notifier: Int64) throws(SQLiteError) {
        try connection.run(
            "DELETE FROM escalations WHERE notifier = ?1 AND slot_length IS NOT ?2", notifier, slotLength)
    }

    /// Ends counting for a notifier.
    func end(notifier: Int64) throws(SQLiteError) {
        try removeAll(but: nil, notifier: notifier)
        if try counted(notifier: notifier) != nil { try set(counted: nil, notifier: notifier) }
    }
}
