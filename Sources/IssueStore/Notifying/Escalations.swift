package import IssueCore
import SQLiteKit

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

    /// Begins or ends counting occurrences for a notifier. Counting begins with the next record.
    ///
    /// - Parameters:
    ///   - rate: The number of occurrences in a period that makes an issue escalate; nil to end counting. Counts with
    ///     another slot length are removed.
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
    ///   - rate: The number of occurrences in a period that makes an issue escalate.
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
