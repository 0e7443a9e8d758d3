package import IssueCore
package import IssueProtocol
import SQLiteKit

extension StoreWriter {
    /// Stores summaries to be sent and the limiter changes of closing their windows.
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
        for stretch in summary.draft.stretches { try insert(stretch, of: id, destination) }
    }

    private func insert(_ stretch: SummaryRange, of summary: Int64, _ destination: Int64) throws(SQLiteError) {
        try connection.run(
            """
            INSERT OR REPLACE INTO summary_windows (destination, "group", reason, last_id, first_id, summary)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)
            """, destination, stretch.group, stretch.reason.rawValue, stretch.records.upperBound,
            stretch.records.lowerBound, summary)
    }

    /// Stores the result of a summary. If it was not delivered, the records it counts become dead letters too.
    func settle(summary: Int64, isDead: Bool, _ destination: Int64) throws(SQLiteError) {
        guard isDead, let counted = try counted(by: summary) else {
            return try note(summary, .told, nil)
        }
        // Some of them may have been erased in the meantime.
        let sum = try sum(of: .summarised, counted.account, destination).limited(to: counted.sum)
        var ledger = LedgerChanges()
        ledger.moved(sum, account: counted.account, destination: destination, from: .summarised, to: .deadLettered)
        try ledger.write(on: connection)
        try note(summary, .dead, sum)
    }

    /// Returns the number of records and occurrences that a summary counts, or nil if the summary was erased.
    func counted(by summary: Int64) throws(SQLiteError) -> NewBatch.Tally? {
        try connection.first(
            "SELECT account, records, occurrences FROM summaries WHERE id = ?1 AND line <> ''", summary
        ) {
            NewBatch.Tally(account: $0.id(0), records: $0.int64(1), occurrences: $0.int64(2))
        }
    }

    /// Subtracts erased records from what a summary counts.
    func take(_ sum: LedgerChanges.Sum, off summary: Int64) throws(SQLiteError) {
        try connection.run(
            """
            UPDATE summaries SET records = max(records - ?2, 0), occurrences = max(occurrences - ?3, 0) WHERE id = ?1
            """, summary, sum.records, sum.occurrences)
    }

    private func note(_ summary: Int64, _ state: SummaryDelivery.State, _ sum: LedgerChanges.Sum?) throws(SQLiteError) {
        try connection.run(
            """
            UPDATE summaries SET state = ?2, records = coalesce(?3, records), occurrences = coalesce(?4, occurrences)
            WHERE id = ?1
            """, summary, state.rawValue, sum?.records, sum?.occurrences)
    }
}

extension StoreReader {
    /// The subject of a summary: its group, or its application if it covers several groups.
    package struct SummarySubject: Sendable {
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

    /// Returns record log time minus wall time at the newest clock entry, in milliseconds. 0 if there is none.
    package func recordLogOffset() throws -> Int64 {
        try snapshot {
            try connection.integer("SELECT offset FROM clock ORDER BY first_id DESC LIMIT 1")
        }
    }
}

/// The summary that counts a suppressed record.
struct SummaryDelivery: Equatable {
    /// As in the `state` column: 0 waits to be sent, 1 was delivered, 2 was given up.
    enum State: Int64 {
        case waiting
        case told
        case dead
    }

    var id: Int64
    var state: State
}

extension DatabaseConnection {
    /// Returns the summary that counts a record suppressed for `reason`, or nil while its window is open.
    func summary(
        tellingOf row: RowID, for reason: SuppressionReason, _ destination: Int64
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
            SummaryDelivery(id: $0.int64(0), state: SummaryDelivery.State(rawValue: $0.int64(1)) ?? .told)
        }
    }
}
