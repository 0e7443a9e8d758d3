package import IssueCore
package import IssueProtocol

/// A batch that is stored before its request: the decisions of a scan over a span of rows.
package struct NewBatch: Sendable {
    /// The number of records of one account that got the same fate in the scan.
    package struct Tally: Equatable, Sendable {
        package var account: AccountID
        package var records: Int64
        package var occurrences: Int64

        package init(account: AccountID, records: Int64, occurrences: Int64) {
            self.account = account
            self.records = records
            self.occurrences = occurrences
        }

        var sum: LedgerChanges.Sum { LedgerChanges.Sum(records: records, occurrences: occurrences) }
    }

    /// The id of the destination.
    package var destination: Int64
    package var kind: BatchKind
    /// The scanned rows. The cursor moves to the last one. Nil if the scan was not involved, for example in a batch of
    /// summaries.
    package var span: ClosedRange<RowID>?
    /// The records to send, in order.
    package var sent: [SentRecord] = []
    /// Rows of records that are not forwarded, in ascending order.
    package var withheld: [RowID] = []
    /// The numbers of withheld records, per account.
    package var withheldTally: [Tally] = []
    /// The numbers of suppressed records that summaries count, per account.
    package var summarised: [Tally] = []
    /// The suppressed records by reason.
    package var held: [SuppressionReason: [RowID]] = [:]
    /// The number of scanned records that had already been sent ahead of the scan.
    package var gone: Int64 = 0
    /// The scanned ids that are in damaged blocks.
    package var unreadable: [ClosedRange<RowID>] = []
    /// The row up to which priority records have been examined, or nil if unchanged.
    package var priorityThrough: RowID?
    /// Ids of the summaries in the batch. Their lines precede the records.
    package var summaries: [Int64] = []
    /// Summaries whose windows closed during the scan. A later batch sends them.
    package var newSummaries: [StoreWriter.NewSummary] = []
    package var changes = AdmissionChanges()
    /// The types of fields that this batch sends for the first time, keyed by their path.
    package var fieldTypes: [String: FieldTypes.Kind] = [:]
    package var at: IssueTimestamp

    package init(destination: Int64, kind: BatchKind = .walk, at: IssueTimestamp) {
        self.destination = destination
        self.kind = kind
        self.at = at
    }

    /// The number of lines: one per summary and per record.
    package var lineCount: Int { summaries.count + sent.count }

    /// `true` if the batch has nothing to send and does not move the cursor.
    var isEmpty: Bool { span == nil && lineCount == 0 }

    var storedKind: BatchKind { span == nil && sent.isEmpty ? .summaries : kind }
}

/// The result of a batch.
package struct BatchSettlement: Sendable {
    package var batch: StoredBatch
    package var outcome: BatchOutcome
    /// The number of requests that were made for the batch or parts of it.
    package var attempts: Int64
    /// The destination's response to the accepted lines.
    package var answer: String?
    /// The destination's response to the refused lines.
    package var refusal: String?
    /// The lines that become dead letters, keyed by their index in the batch.
    package var deadLines: [Int: [UInt8]]
    /// Indices of lines that were not sent completely because their records were gone.
    package var left: Set<Int>
    package var at: IssueTimestamp
    package var state: DestinationRow.State

    /// Indices in `rest` of the lines that may have been delivered.
    package var unacknowledgedOfRest = LineSet()

    /// The remaining lines as a batch, or nil if there are none.
    package var rest: StoredBatch? {
        guard !outcome.left.isEmpty else { return nil }
        let summaries = batch.summaries.indices.filter { outcome.left.contains($0) }.map { batch.summaries[$0] }
        let sent = batch.sent.enumerated().filter { outcome.left.contains(batch.summaries.count + $0.offset) }
        return StoredBatch(id: 0, kind: .requeued, summaries: summaries, sent: sent.map(\.element))
    }

    package init(
        batch: StoredBatch, outcome: BatchOutcome, attempts: Int64, answer: String?, refusal: String? = nil,
        deadLines: [Int: [UInt8]], left: Set<Int> = [], at: IssueTimestamp, state: DestinationRow.State
    ) {
        self.batch = batch
        self.outcome = outcome
        self.attempts = attempts
        self.answer = answer
        self.refusal = refusal
        self.deadLines = deadLines
        self.left = left
        self.at = at
        self.state = state
    }

    /// Returns the destination's response to a line that was given up for `reason`.
    func answer(to reason: DeadLetterReason) -> String? {
        switch reason {
        case .refused, .tooLarge: refusal ?? answer
        // Earlier refusals concerned other lines.
        case .retriesExpired: state.lastAnswer ?? answer
        }
    }
}

/// The parts of a batch's lines that are not in its records, so that the lines can be rebuilt byte for byte.
struct BatchManifest {
    var summaries: [Int64]
    /// For each sent record, in order: how many records were suppressed before it, and the occurrences of its group.
    var sent: [(suppressedBefore: Int64, occurrences: Int64)]
    var held: SuppressionReasons

    init(_ batch: NewBatch) {
        summaries = batch.summaries
        sent = batch.sent.map { ($0.suppressedBefore, $0.occurrences) }
        held = SuppressionReasons(batch.held)
    }

    init(json: String) {
        let value = try? JSONValue(json: json)
        summaries = value?["summaries"]?.asArray?.compactMap(\.asInteger) ?? []
        let numbers = value?["sent"]?.asArray?.compactMap(\.asInteger) ?? []
        sent = stride(from: 0, to: numbers.count - 1, by: 2).map { (numbers[$0], numbers[$0 + 1]) }
        held = SuppressionReasons(value?["held"])
    }

    var json: String {
        var writer = JSONWriter()
        writer.object { object in
            object.key("summaries")
            object.array { for id in summaries { $0.integer(id) } }
            object.key("sent")
            object.array { list in
                for note in sent {
                    list.integer(note.suppressedBefore)
                    list.integer(note.occurrences)
                }
            }
            held.write(to: &object)
        }
        return writer.text
    }
}

/// A stored batch that awaits a response.
package struct StoredBatch: Equatable, Sendable {
    /// The id of the batch. 0 if it was not stored because it has no lines.
    package var id: BatchID
    package var kind = BatchKind.walk
    package var summaries: [Int64]
    package var sent: [SentRecord]
}
