import IssueProtocol

@testable import IssueCore
@testable import IssueStore

/// Forwards records as a destination's thread does, but makes random decisions and reports the fate of every record.
final class OutboxDriver {
    let store: TemporaryStore
    let writer: StoreWriter
    let reader: StoreReader
    let destination: Int64
    private(set) var ids: [RecordID] = []
    private var samples: SampleRecords
    private var unanswered: StoredBatch?
    /// Suppressed records without a summary, by group and reason.
    private var open:
        [WindowRow.Key: (account: AccountID, count: Int64, occurrences: Int64, rows: ClosedRange<RowID>)] =
            [:]
    private var sequence: Int64 = 0

    init(_ store: TemporaryStore, seed: UInt64) throws {
        self.store = store
        writer = try store.writer()
        destination = try writer.configure([.init(name: "d", kind: "k", takesBacklog: false)], at: store.wall)[0].id
        reader = try store.reader()
        samples = SampleRecords(seed: seed)
    }

    func chance(_ bound: Int64) -> Int64 { samples.below(bound) }

    func report(_ count: Int) throws {
        ids += try store.store(samples.records(count), to: writer)
    }

    var row: DestinationRow {
        get throws {
            guard let row = try reader.destination(destination) else { throw Missing() }
            return row
        }
    }

    struct Missing: Error {}

    /// Processes the next priority records: some are sent, the others are left to the scan, as if limits refused them.
    func priority() throws {
        guard unanswered == nil else { return }
        let row = try row
        var batch = NewBatch(destination: destination, kind: .priority, at: store.wall)
        for record in try reader.priority(for: row.id, above: max(row.cursor, row.priority), limit: 4) {
            batch.priorityThrough = record.candidate.record
            if chance(3) > 0 { batch.sent.append(Self.sent(record.candidate)) }
        }
        guard batch.priorityThrough != nil else { return }
        try keep(batch)
    }

    /// Sends requeued records again.
    func resend() throws {
        guard unanswered == nil else { return }
        var batch = NewBatch(destination: destination, kind: .requeued, at: store.wall)
        batch.sent = try reader.requeued(for: destination, limit: 3).map { Self.sent($0.candidate) }
        if !batch.sent.isEmpty { try keep(batch) }
    }

    /// Continues the scan: each record is sent, withheld, or suppressed for one of two reasons.
    func walk(_ limit: Int) throws {
        guard unanswered == nil else { return }
        let row = try row
        let records = try reader.walk(after: row.cursor, limit: limit)
        guard let last = records.last?.candidate.record, let first = records.first?.candidate.record else { return }
        let ahead = try reader.sentAhead(of: destination, in: first...last, priority: row.priority)
        var batch = NewBatch(destination: destination, at: store.wall)
        batch.span = (row.cursor + 1)...last
        for record in records {
            let candidate = record.candidate
            let tally = NewBatch.Tally(account: candidate.account, records: 1, occurrences: candidate.count)
            if ahead.singles.contains(candidate.record) {
                batch.exempt += 1
                continue
            }
            switch chance(4) {
            case 0: batch.sent.append(Self.sent(candidate))
            case 1:
                batch.withheld.append(candidate.record)
                batch.withheldTally.append(tally)
            default:
                let reason: SuppressionReason = chance(4) == 0 ? .globalRate : .groupRate
                batch.summarised.append(tally)
                batch.held[reason, default: []].append(candidate.record)
                let key = WindowRow.Key(group: candidate.group, reason: reason)
                let known = open[key]
                open[key] = (
                    candidate.account, (known?.count ?? 0) + 1, (known?.occurrences ?? 0) + candidate.count,
                    (known?.rows.lowerBound ?? candidate.record)...candidate.record
                )
            }
        }
        try keep(batch)
    }

    private func keep(_ batch: NewBatch) throws {
        let stored = try writer.store(batch)
        if batch.lineCount > 0 { unanswered = stored }
    }

    /// Closes all windows, stores their summaries, and sends up to five that have not been sent.
    func summarise() throws {
        guard unanswered == nil else { return }
        let at = RecordLogInstant(milliseconds: 1)
        let drafts = open.map { key, window -> SummaryDraft in
            sequence += 1
            return SummaryDraft(
                group: key.group, account: window.account, reason: key.reason, windowStart: at, windowEnd: at,
                suppressedCount: window.count, suppressedOccurrences: window.occurrences, forwardedCount: 0,
                occurrences: window.occurrences, summarySequence: sequence, firstSeen: at, lastSeen: at, samples: [],
                maxSeverity: .error, stillSuppressing: false, distinctGroups: 1,
                spans: [SummaryRange(group: key.group, reason: key.reason, records: window.rows)])
        }
        open = [:]
        try writer.store(
            drafts.map { StoreWriter.NewSummary(draft: $0, line: Array("{}".utf8)) }, changes: AdmissionChanges(),
            destination: destination, at: store.wall)
        var batch = NewBatch(destination: destination, at: store.wall)
        batch.summaries = try reader.unsentSummaries(of: destination, limit: 5)
        if !batch.summaries.isEmpty { try keep(batch) }
    }

    /// Settles the batch in flight. Some lines may be dead letters.
    func answer(isConfirmed: Bool = true) throws {
        guard let batch = unanswered else { return }
        unanswered = nil
        let count = batch.summaries.count + batch.sent.count
        let dead = (0..<count).filter { _ in chance(4) == 0 }
        try writer.settle(
            BatchSettlement(of: batch, dead: dead, isConfirmed: isConfirmed, at: store.wall), destination: destination)
    }

    /// Requeues some dead letters, and returns how many.
    func requeue() throws -> Int64 {
        let letters = try store.shell().numbers("SELECT id FROM dead_letters ORDER BY id")
        return try writer.requeue(letters.filter { _ in chance(2) == 0 })
    }

    var ledger: Ledger {
        get throws { try reader.figures(viewer: .everything).ledgers[0].ledger }
    }

    /// Returns the number of records per fate, queried by their ids.
    func fates() throws -> [IssueFate.Outcome: Int64] {
        var sums: [IssueFate.Outcome: Int64] = [:]
        for id in ids {
            guard let fate = try? reader.fates(of: id.text, viewer: .everything).first?.outcome else { continue }
            sums[fate, default: 0] += 1
        }
        return sums
    }

    static func sent(_ candidate: AdmissionCandidate) -> SentRecord {
        SentRecord(
            row: candidate.record, account: candidate.account, count: candidate.count, suppressedBefore: 0,
            occurrences: 1)
    }
}

extension BatchSettlement {
    /// Creates the settlement of a batch of which some lines were refused, and the others accepted.
    init(
        of batch: StoredBatch, dead: [Int] = [], isConfirmed: Bool = true, line: String = "line",
        at time: IssueTimestamp
    ) {
        self.init(
            batch: batch,
            outcome: BatchOutcome(
                delivered: [], dead: dead.map { .init(line: $0, reason: .refused) }, isConfirmed: isConfirmed),
            attempts: 1, answer: "answer", deadLines: dead.reduce(into: [:]) { $0[$1] = Array(line.utf8) }, at: time,
            state: DestinationRow.State())
    }
}

extension StoreReader {
    /// Returns a batch that sends the next records of a destination.
    func nextBatch(_ limit: Int, for destination: Int64, at time: IssueTimestamp) throws -> NewBatch {
        let cursor = try self.destination(destination)?.cursor ?? 0
        var batch = NewBatch(destination: destination, at: time)
        batch.sent = try walk(after: cursor, limit: limit).map { OutboxDriver.sent($0.candidate) }
        batch.span = (cursor + 1)...(batch.sent.last?.row ?? cursor + 1)
        return batch
    }

    /// Returns the same records as `page`, with the attributes of their series, except those whose series is lost.
    func walk(after cursor: RowID, limit: Int) throws -> [OutboxRecord] {
        try snapshot {
            let page = try page(after: cursor, limit: limit)
            return try page.steps.compactMap {
                try info(ofSeries: $0.series, at: $0.row)?.record($0, offset: page.offset)
            }
        }
    }
}
