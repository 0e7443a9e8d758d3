package import IssueCore
package import IssueProtocol
import SQLiteKit

extension StoreWriter {
    /// Stores summaries that are to be sent, and what closing their windows changes in the limiter.
    package func store(
        _ summaries: [NewSummary], changes: AdmissionChanges, destination: Int64, at now: Timestamp
    ) throws(StoreFailure) {
        try transaction {
            for summary in summaries { try insert(summary, destination, at: now) }
            try write(changes, of: destination)
        }
    }

    /// A summary and the line that is sent for it, byte for byte.
    package struct NewSummary: Sendable {
        package var draft: SummaryDraft
        package var line: [UInt8]

        package init(draft: SummaryDraft, line: [UInt8]) {
            self.draft = draft
            self.line = line
        }
    }

    func insert(_ summary: NewSummary, _ destination: Int64, at now: Timestamp) throws {
        try connection.withStatement(
            """
            INSERT INTO summaries (destination, "group", account, reason, sequence, state, at, records, occurrences,
                                   line)
            VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6, ?7, ?8, ?9)
            """
        ) { statement in
            statement.bind(destination, at: 1)
            statement.bind(summary.draft.group, at: 2)
            statement.bind(summary.draft.account, at: 3)
            statement.bind(summary.draft.reason.rawValue, at: 4)
            statement.bind(summary.draft.summarySequence, at: 5)
            statement.bind(now.milliseconds, at: 6)
            statement.bind(summary.draft.suppressedCount, at: 7)
            statement.bind(summary.draft.suppressedOccurrences, at: 8)
            statement.bind(text: summary.line, at: 9)
            try statement.run()
        }
        let id = connection.lastInsertedRowID
        for stretch in summary.draft.stretches { try insert(stretch, of: id, destination) }
    }

    private func insert(_ stretch: SummaryStretch, of summary: Int64, _ destination: Int64) throws {
        try connection.withStatement(
            """
            INSERT OR REPLACE INTO summary_windows (destination, "group", reason, last_id, first_id, summary)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)
            """
        ) { statement in
            statement.bind(destination, at: 1)
            statement.bind(stretch.group, at: 2)
            statement.bind(stretch.reason.rawValue, at: 3)
            statement.bind(stretch.records.upperBound, at: 4)
            statement.bind(stretch.records.lowerBound, at: 5)
            statement.bind(summary, at: 6)
            try statement.run()
        }
    }

    /// A summary that could not be delivered takes the records that it counted with it.
    func settle(summary: Int64, isDead: Bool, _ destination: Int64) throws {
        guard isDead, let counted = try counted(by: summary) else {
            return try note(summary, .told, nil)
        }
        // Some of them may have been erased since.
        let left = try sum(of: .summarised, counted.account, destination)
        let sum = LedgerChanges.Sum(
            records: min(counted.records, left.records), occurrences: min(counted.occurrences, left.occurrences))
        var ledger = LedgerChanges()
        ledger.moved(sum, account: counted.account, destination: destination, from: .summarised, to: .deadLettered)
        try ledger.write(on: connection)
        try note(summary, .dead, sum)
    }

    /// How much a summary stands for.
    func counted(by summary: Int64) throws -> NewBatch.Tally? {
        try connection.withStatement("SELECT account, records, occurrences FROM summaries WHERE id = ?1") {
            statement in
            statement.bind(summary, at: 1)
            return try statement.first {
                NewBatch.Tally(account: $0.int64(0), records: $0.int64(1), occurrences: $0.int64(2))
            }
        }
    }

    /// Some of what a summary counts is erased.
    func take(_ sum: LedgerChanges.Sum, off summary: Int64) throws {
        try connection.withStatement(
            """
            UPDATE summaries SET records = max(records - ?2, 0), occurrences = max(occurrences - ?3, 0) WHERE id = ?1
            """
        ) { statement in
            statement.bind(summary, at: 1)
            statement.bind(sum.records, at: 2)
            statement.bind(sum.occurrences, at: 3)
            try statement.run()
        }
    }

    private func note(_ summary: Int64, _ state: TellingSummary.State, _ sum: LedgerChanges.Sum?) throws {
        try connection.withStatement(
            """
            UPDATE summaries SET state = ?2, records = coalesce(?3, records), occurrences = coalesce(?4, occurrences)
            WHERE id = ?1
            """
        ) { statement in
            statement.bind(summary, at: 1)
            statement.bind(state.rawValue, at: 2)
            statement.bind(sum?.records, at: 3)
            statement.bind(sum?.occurrences, at: 4)
            try statement.run()
        }
    }
}
