package import IssueCore
package import IssueProtocol
import SQLiteKit

extension StoreWriter {
    /// Stores summaries to send, together with the limiter changes from closing their windows.
    package func store(
        _ summaries: [NewSummary], changes: AdmissionChanges, destination: Int64, at now: IssueTimestamp
    ) throws(StoreFailure) {
        try transaction { () throws(SQLiteError) in
            for summary in summaries { try outbox.insert(summary, destination, at: now) }
            try outbox.write(changes, of: destination)
        }
    }

    /// A summary and the exact bytes of the line to send for it.
    package struct NewSummary: Sendable {
        package var draft: SummaryDraft
        package var line: [UInt8]

        package init(draft: SummaryDraft, line: [UInt8]) {
            self.draft = draft
            self.line = line
        }
    }
}

extension ForwardingOutbox {
    func insert(_ summary: StoreWriter.NewSummary, _ destination: Int64, at now: IssueTimestamp) throws(SQLiteError) {
        try connection.run(
            """
            INSERT INTO summaries (destination, "group", account, reason, sequence, state, at, records, occurrences,
                                   line)
            VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6, ?7, ?8, ?9)
            """, destination, summary.draft.group, summary.draft.account, summary.draft.reason.rawValue,
            summary.draft.summarySequence, now, summary.draft.suppressedCount,
            summary.draft.suppressedOccurrences, DatabaseBytes.text(summary.line))
        let id = connection.lastInsertedRowID
        for span in summary.draft.spans { try insert(span, of: id, destination) }
    }

    private func insert(_ span: SummaryRange, of summary: Int64, _ destination: Int64) throws(SQLiteError) {
        try connection.run(
            """
            INSERT OR REPLACE INTO summary_windows (destination, "group", reason, last_id, first_id, summary)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)
            """, destination, span.group, span.reason.rawValue, span.records.upperBound,
            span.records.lowerBound, summary)
    }

    /// Marks a summary as delivered or, if `isDead`, as a dead letter. If it becomes a dead letter, so do the records
    /// that it counts. An erased summary is always marked as delivered.
    func settle(summary: Int64, isDead: Bool, _ destination: Int64) throws(SQLiteError) {
        guard isDead, let counted = try counted(by: summary) else {
            return try setState(of: summary, to: .delivered, nil)
        }
        // Some of its records may have been erased in the meantime.
        let sum = try sum(of: .summarised, counted.account, destination).limited(to: counted.sum)
        var ledger = LedgerChanges()
        ledger.moved(sum, account: counted.account, destination: destination, from: .summarised, to: .deadLettered)
        try ledger.write(on: connection)
        try setState(of: summary, to: .dead, sum)
    }

    /// Returns the account of a summary and the numbers of records and occurrences that it counts; nil if the summary
    /// was deleted or erased.
    func counted(by summary: Int64) throws(SQLiteError) -> NewBatch.Tally? {
        try connection.first(
            "SELECT account, records, occurrences FROM summaries WHERE id = ?1 AND line <> ''", summary
        ) {
            NewBatch.Tally(account: $0.id(0), records: $0.int64(1), occurrences: $0.int64(2))
        }
    }

    /// Subtracts erased records from the counts of a summary.
    func subtract(_ sum: LedgerChanges.Sum, fromSummary summary: Int64) throws(SQLiteError) {
        try connection.run(
            """
            UPDATE summaries SET records = max(records - ?2, 0), occurrences = max(occurrences - ?3, 0) WHERE id = ?1
            """, summary, sum.records, sum.occurrences)
    }

    private func setState(
        of summary: Int64, to state: SummaryDelivery.State, _ sum: LedgerChanges.Sum?
    ) throws(SQLiteError) {
        try connection.run(
            """
            UPDATE summaries SET state = ?2, records = coalesce(?3, records), occurrences = coalesce(?4, occurrences)
            WHERE id = ?1
            """, summary, state.rawValue, sum?.records, sum?.occurrences)
    }
}

extension StoreReader {
    /// What a summary is about: its group, or its application if the summary covers several groups or the group has no
    /// series.
    package struct SummarySubject: Sendable {
        /// The fingerprint of the group; nil for an application.
        package var fingerprint: String?
        package var title: String
        package var domain: String?
        package var code: Int64?
        package var application: Application
        package var app: String
        package var sampleIDs: [String]
    }

    /// Returns the subject of a summary.
    package func subject(of draft: SummaryDraft) throws -> SummarySubject {
        try snapshot {
            let app = try connection.first("SELECT app FROM accounts WHERE id = ?1", draft.account) { $0.text(0) } ?? ""
            var subject = SummarySubject(
                fingerprint: nil, title: "issues of \(app)", application: Application(name: app), app: app,
                sampleIDs: try draft.samples.map { try recordID(row: $0).text })
            guard let group = try draft.group.map({ try root(of: $0) }) else { return subject }
            try connection.forEach(
                """
                SELECT groups.fingerprint, groups.title, groups.domain, groups.code, series.key
                FROM groups JOIN series ON series."group" = groups.id
                WHERE groups.id = ?1 ORDER BY series.id DESC LIMIT 1
                """, group
            ) { row in
                subject.fingerprint = row.text(0)
                subject.title = row.text(1)
                subject.domain = row.optionalText(2)
                subject.code = row.optionalInt64(3)
                if let series = SeriesKey.decode(row.bytes(4)) { subject.application = series.app }
            }
            return subject
        }
    }

    /// Returns log time minus wall time at the newest clock entry, in milliseconds; 0 if there is none.
    package func recordLogOffset() throws -> Int64 {
        try snapshot {
            try connection.integer("SELECT offset FROM clock ORDER BY first_id DESC LIMIT 1")
        }
    }
}

/// The summary that counts a suppressed record.
struct SummaryDelivery: Equatable {
    /// The values of the `state` column.
    enum State: Int64 {
        case waiting
        case delivered
        /// The summary became a dead letter.
        case dead
    }

    var id: Int64
    var state: State
}

extension DatabaseConnection {
    /// Returns the summary that counts a record suppressed for `reason`; nil if no summary has been stored yet, the
    /// summary was deleted, or the record is gone or unreadable.
    func summary(
        counting row: RowID, for reason: SuppressionReason, _ destination: Int64
    ) throws(SQLiteError) -> SummaryDelivery? {
        try first(
            """
            SELECT summaries.id, summaries.state
            FROM summary_windows JOIN summaries ON summaries.id = summary_windows.summary
            WHERE summary_windows.destination = ?1
                AND summary_windows."group" = (
                    SELECT coalesce((
                        SELECT "group" FROM moves WHERE moves.series = series.id AND moves.last_id >= ?2
                        ORDER BY moves.last_id LIMIT 1), series."group")
                    FROM records JOIN series ON series.id = records.series WHERE records.id = ?2
                )
                AND summary_windows.reason = ?3 AND last_id >= ?2 AND first_id <= ?2
            ORDER BY last_id LIMIT 1
            """, destination, row, reason.rawValue
        ) {
            SummaryDelivery(id: $0.int64(0), state: SummaryDelivery.State(rawValue: $0.int64(1)) ?? .delivered)
        }
    }
}

/// A correction that was made or undone, as it is reported to destinations.
package struct CorrectionEvent: Equatable, Sendable {
    /// Higher than the ids of all earlier events.
    package var id: Int64
    /// The correction. If the event is an undo, the author, time and reason are those of the undo.
    package var correction: GroupCorrection
    /// `true` if the event is the undo of the correction, `false` if the correction was made.
    package var isUndone: Bool
    /// The fingerprint of the group to which the correction moves records.
    package var fingerprint: String
    /// The fingerprint of the group from which the correction moves records; nil for the event about a rule itself.
    package var otherFingerprint: String?
    /// Whether destinations get a line for the event. `false` if the correction's groups have series and all of these
    /// are marked as not reportable.
    package var isReportable: Bool
}

/// The line of a correction for one destination.
package struct CorrectionLine: Equatable, Sendable {
    /// The id of the event.
    package var event: Int64
    /// The line in the destination's format.
    package var line: [UInt8]

    package init(event: Int64, line: [UInt8]) {
        self.event = event
        self.line = line
    }
}

extension GroupTable {
    /// Stores an event about a correction, for all destinations. Stores none if no destination is configured, because
    /// old events are deleted only while a destination is configured.
    ///
    /// Must run in the transaction that makes or undoes the correction.
    ///
    /// - Parameters:
    ///   - correction: The number of the correction.
    ///   - kind: The kind of the correction.
    ///   - isUndone: `true` if the correction is undone.
    ///   - source: The group from which the correction moves records; nil for the event about a rule itself.
    ///   - target: The group to which it moves them.
    ///   - pattern: The pattern as it is stored in `corrections`; nil for a merge.
    ///   - author: The user who made or undid the correction, the time and the reason.
    func addEvent(
        _ correction: Int64, _ kind: GroupCorrection.Kind, isUndone: Bool = false, from source: GroupID?,
        to target: GroupID, pattern: String?, _ author: StoreWriter.CorrectionAuthor
    ) throws(SQLiteError) {
        try connection.run(
            """
            INSERT INTO correction_events (account, correction, kind, undone, source, target, pattern, author, at, reason)
            SELECT account, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9 FROM groups
            WHERE id = ?5 AND EXISTS (SELECT 1 FROM destinations WHERE active = 1)
            """, correction, kind.databaseValue, isUndone, source, target, pattern, author.uid,
            author.at, author.reason)
    }

    /// Returns `true` if the user of a group may cause `count` more lines about corrections.
    ///
    /// The limit covers the events of the last 24 hours, and older ones that were not yet examined for every configured
    /// destination. Undoing is always allowed, because each correction can be undone only once.
    func allowsEvents(_ count: Int, ofUserOf group: GroupID, at now: IssueTimestamp) throws(SQLiteError) -> Bool {
        let found =
            try connection.first(
                """
                SELECT count(*) FROM correction_events WHERE account IN (
                    SELECT id FROM accounts WHERE uid = (
                        SELECT uid FROM accounts JOIN groups ON groups.account = accounts.id WHERE groups.id = ?1))
                    AND (at > ?2 OR id > (SELECT min(corrections_id) FROM destinations WHERE active = 1))
                """, group, now.advanced(by: .zero - StoreWriter.correctionEventAge)
            ) { $0.int(0) } ?? 0
        return found + count <= StoreWriter.maxCorrectionLines
    }
}

extension StoreWriter {
    /// An event counts towards the limit of its user for at least this time.
    static let correctionEventAge: Duration = .seconds(86_400)
    /// The maximum number of a user's events that are younger than `correctionEventAge` or were not yet examined for
    /// every configured destination. Undoing may exceed the maximum.
    static let maxCorrectionLines = 4096

    /// Stores the lines of some corrections for a destination, and deletes old events. The lines are sent like
    /// summaries that count no records.
    ///
    /// Skips events that were erased in the meantime and events that were already examined for the destination.
    ///
    /// - Parameters:
    ///   - lines: The lines of the reportable events up to `id`.
    ///   - id: The last event that was examined. The destination's `corrections_id` becomes at least this id.
    ///   - destination: The id of the destination.
    ///   - now: The wall time.
    /// - Throws: `StoreFailure`; nothing is stored then.
    package func store(
        _ lines: [CorrectionLine], through id: Int64, destination: Int64, at now: IssueTimestamp
    ) throws(StoreFailure) {
        try transaction { () throws(SQLiteError) in
            for line in lines { try outbox.insert(line, destination, at: now) }
            try outbox.moveCorrectionCursor(of: destination, to: id)
            try outbox.deleteCorrectionEvents(before: now.advanced(by: .zero - Self.correctionEventAge))
        }
    }
}

extension ForwardingOutbox {
    fileprivate func insert(_ line: CorrectionLine, _ destination: Int64, at now: IssueTimestamp) throws(SQLiteError) {
        try connection.run(
            """
            INSERT INTO summaries (destination, "group", other, account, reason, sequence, state, at, records,
                                   occurrences, line)
            SELECT ?1, target, source, account, 'correction', id, 0, ?2, 0, 0, ?3 FROM correction_events
            WHERE id = ?4 AND id > (SELECT corrections_id FROM destinations WHERE id = ?1)
            """, destination, now, DatabaseBytes.text(line.line), line.event)
    }

    fileprivate func moveCorrectionCursor(of destination: Int64, to id: Int64) throws(SQLiteError) {
        try connection.run(
            "UPDATE destinations SET corrections_id = max(corrections_id, ?2) WHERE id = ?1", destination, id)
    }

    /// Deletes up to 1,024 old events that were examined for all configured destinations. Events of the correction with
    /// the highest number are kept, so that the number is not assigned again.
    ///
    /// - Parameter time: Newer events are kept.
    func deleteCorrectionEvents(before time: IssueTimestamp) throws(SQLiteError) {
        try connection.run(
            """
            DELETE FROM correction_events WHERE id IN (
                SELECT id FROM correction_events
                WHERE id <= (SELECT min(corrections_id) FROM destinations WHERE active = 1) AND at <= ?1
                    AND correction < (SELECT max(correction) FROM correction_events)
                ORDER BY id LIMIT 1024)
            """, time)
    }

    /// Returns the id of the newest event that was ever stored; 0 if there was none. A new destination starts after it.
    func newestCorrectionEvent() throws(SQLiteError) -> Int64 {
        try connection.integer("SELECT seq FROM sqlite_sequence WHERE name = 'correction_events'")
    }
}

extension StoreReader {
    /// Some of the events that were not yet examined for a destination.
    package struct CorrectionEvents: Equatable, Sendable {
        package var events: [CorrectionEvent] = []
        /// The id of the last event that was read, including events left out of `events`; nil if there was none.
        package var last: Int64?
    }

    /// Returns the oldest events that were not yet examined for a destination. Leaves out events with a group that no
    /// longer exists.
    ///
    /// - Parameters:
    ///   - destination: The id of the destination.
    ///   - limit: The maximum number of events to examine.
    package func correctionEvents(for destination: Int64, limit: Int) throws -> CorrectionEvents {
        try snapshot {
            var found = CorrectionEvents()
            var groups: [[GroupID]] = []
            try connection.forEach(
                """
                SELECT correction, kind, target.key, source.key, coalesce(accounts.app, ''), coalesce(accounts.uid, 0),
                       pattern, author, at, reason, 0,
                       correction_events.id, undone, target.fingerprint, source.fingerprint, target.id, source.id,
                       correction_events.source
                FROM correction_events LEFT JOIN groups AS target ON target.id = correction_events.target
                LEFT JOIN groups AS source ON source.id = correction_events.source
                LEFT JOIN accounts ON accounts.id = correction_events.account
                WHERE correction_events.id > (SELECT corrections_id FROM destinations WHERE id = ?1)
                ORDER BY correction_events.id LIMIT ?2
                """, destination, limit
            ) { row in
                found.last = row.int64(11)
                guard let target = row.optionalID(15, as: GroupID.self) else { return }
                let source = row.optionalID(16, as: GroupID.self)
                guard source != nil || row.optionalInt64(17) == nil else { return }
                var correction = Self.correction(row)
                correction.other = source == nil ? nil : GroupKey.text(key: row.int64(3))
                found.events.append(
                    CorrectionEvent(
                        id: row.int64(11), correction: correction, isUndone: row.int64(12) != 0,
                        fingerprint: row.text(13), otherFingerprint: source == nil ? nil : row.optionalText(14),
                        isReportable: true))
                groups.append([target, source].compactMap(\.self))
            }
            var known: [GroupID: Reportability] = [:]
            for (index, both) in groups.enumerated() {
                var states: [Reportability] = []
                for group in both {
                    let root = try root(of: group)
                    let state = try known[root] ?? reportability(of: root)
                    known[root] = state
                    states.append(state)
                }
                found.events[index].isReportable = !states.contains(.none) || states.contains(.some)
            }
            return found
        }
    }

    private enum Reportability {
        /// At least one series may be forwarded.
        case some
        /// There are series, but none may be forwarded.
        case none
        /// There are no series.
        case empty
    }

    private func reportability(of group: GroupID) throws -> Reportability {
        try connection.first(
            """
            SELECT EXISTS (SELECT 1 FROM series WHERE "group" = ?1 AND reportable <> 0),
                   EXISTS (SELECT 1 FROM series WHERE "group" = ?1)
            """, group
        ) { $0.int64(0) != 0 ? .some : $0.int64(1) != 0 ? .none : .empty } ?? .empty
    }
}
