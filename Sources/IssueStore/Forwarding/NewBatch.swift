package import IssueCore
package import IssueProtocol

/// A batch to be stored before its request: what the walk of a span has decided.
package struct NewBatch: Sendable {
    /// Records of one account that met the same fate in the walk.
    package struct Tally: Equatable, Sendable {
        package var account: Int64
        package var records: Int64
        package var occurrences: Int64

        package init(account: Int64, records: Int64, occurrences: Int64) {
            self.account = account
            self.records = records
            self.occurrences = occurrences
        }
    }

    package var destination: Int64
    package var kind: BatchKind
    /// The rows that were walked, the last one being where the cursor stands then; empty for summaries alone.
    package var span: ClosedRange<Int64>?
    package var sent: [SentRecord] = []
    package var withheld: [Int64] = []
    package var withheldTally: [Tally] = []
    package var summarised: [Tally] = []
    /// Which records were held back for which reason.
    package var held: [SuppressionReason: [Int64]] = [:]
    /// How many the walk met that had gone ahead of it.
    package var gone: Int64 = 0
    /// Up to which record those that are express have been looked at now.
    package var expressThrough: Int64?
    /// Summaries that travel in it, before the records.
    package var summaries: [Int64] = []
    /// Summaries whose windows closed in the walk; they travel in a later batch.
    package var newSummaries: [StoreWriter.NewSummary] = []
    package var changes = AdmissionChanges()
    package var fieldTypes: [String: FieldTypes.Kind] = [:]
    package var at: Timestamp

    package init(destination: Int64, kind: BatchKind = .walk, at: Timestamp) {
        self.destination = destination
        self.kind = kind
        self.at = at
    }

    package var lineCount: Int { summaries.count + sent.count }

    /// It has nothing to send and moves no cursor.
    var isEmpty: Bool { span == nil && lineCount == 0 }

    var storedKind: BatchKind { span == nil && sent.isEmpty ? .summaries : kind }
}
