package import IssueCore
package import IssueProtocol
import SQLiteKit

extension StoreWriter {
    /// Stores a batch and the decisions of its scan in one transaction, before any of its records is sent. Also moves
    /// the cursor, and updates the limiter and the ledger.
    ///
    /// - Returns: The stored batch. Its id is 0 if it has no lines and does not come from the scan.
    /// - Throws: `StoreFailure.outdated` if some of its records have been removed or scanned in the meantime, or if its
    ///   span has ids that are not assigned yet. May also throw it if some records have become unreadable. Otherwise
    ///   throws the failure of the transaction.
    package func store(_ batch: NewBatch) throws(StoreFailure) -> StoredBatch {
        let stored = try transaction { () throws(SQLiteError) in try outbox.store(batch, &memory) }
        guard let stored else { throw .outdated }
        return stored
    }

    /// Stores the result of a batch, or of its finished lines.
    ///
    /// - Returns: A new batch with the remaining lines; nil if none remain, or if their records have been removed.
    @discardableResult
    package func settle(_ settlement: BatchSettlement, destination: Int64) throws(StoreFailure) -> StoredBatch? {
        try transaction { () throws(SQLiteError) in try outbox.settle(settlement, destination: destination, &memory) }
    }

    /// Stores unfinished batches as one.
    ///
    /// - Parameters:
    ///   - batches: The unfinished batches.
    ///   - merged: Their summaries, and their records in ascending order.
    ///   - unacknowledged: The lines of the new batch that may have been delivered; nil if that is unknown.
    ///   - destination: The id of the destination.
    ///   - state: The state of the destination, to be stored with the batch.
    ///   - now: The current time.
    /// - Returns: The new batch; nil if it would have no lines because its records have been removed.
    package func merge(
        _ batches: [BatchID], into merged: StoredBatch, unacknowledged: LineSet?, destination: Int64,
        _ state: DestinationRow.State, at now: IssueTimestamp
    ) throws(StoreFailure) -> StoredBatch? {
        try transaction { () throws(SQLiteError) in
            try outbox.merge(batches, into: merged, unacknowledged, destination, state, at: now, &memory)
        }
    }

    /// Stores the state of a destination, so that a restart continues from it.
    package func save(_ state: DestinationRow.State, destination: Int64) throws(StoreFailure) {
        try transaction { () throws(SQLiteError) in try outbox.write(state, of: destination) }
    }

    var outbox: ForwardingOutbox { ForwardingOutbox(connection: connection, blocks: blocks.reader) }
}

/// Reads and changes the tables about destinations: batches, summaries, limits, dead letters, and the fates of records
/// in the ledger. Changes need a transaction.
struct ForwardingOutbox {
    let connection: DatabaseConnection
    let blocks: BlockReader

    /// Stores a batch. Returns nil in the cases in which `StoreWriter.store(_:)` throws `StoreFailure.outdated`.
    func store(_ batch: NewBatch, _ memory: inout WriterMemory) throws(SQLiteError) -> StoredBatch? {
        guard try isCurrent(batch, memory) else { return nil }
        let id = batch.isEmpty ? 0 : try insert(batch, lines: batch.lineCount, nextID: memory.open.nextID)
        try storeSingles(of: batch, in: id)
        var ledger = LedgerChanges()
        for tally in batch.withheldTally { ledger.move(tally, in: batch.destination, to: .withheld) }
        for tally in batch.summarised { ledger.move(tally, in: batch.destination, to: .summarised) }
        if !batch.unreadable.isEmpty { try expireUnreadable(of: batch, memory.open, in: &ledger) }
        try ledger.write(on: connection)
        try expireRemainingOccurrences(of: [batch.destination], after: ledger)
        for summary in batch.newSummaries { try insert(summary, batch.destination, at: batch.at) }
        try write(batch.changes, of: batch.destination)
        try write(batch.fieldTypes, of: batch.destination)
        if let span = batch.span { try moveCursor(of: batch.destination, to: span.upperBound) }
        if batch.lineCount > 0 { memory.values.removals.stored(batch: id) }
        return StoredBatch(id: id, kind: batch.storedKind, summaries: batch.summaries, sent: batch.sent)
    }

    /// Returns `true` if all records of the batch still exist, none was scanned before, and all ids in the span of the
    /// batch are assigned.
    private func isCurrent(_ batch: NewBatch, _ memory: WriterMemory) throws(SQLiteError) -> Bool {
        if let span = batch.span {
            // If the last id of the newest block is damaged and too high, ids that are not assigned yet look like its
            // records. Records that get these ids later must be scanned.
            guard span.upperBound < memory.open.nextID else { return false }
            guard try cursor(of: batch.destination) < span.lowerBound,
                try allRecordsExist(batch, in: span, removedAhead: memory.values.removals.ahead)
            else {
                return false
            }
        }
        guard batch.kind == .priority || batch.kind == .requeued else { return true }
        return try missing(batch.sent.map(\.row)).isEmpty
    }

    /// Stores the result of a batch. See `StoreWriter.settle`.
    func settle(
        _ settlement: BatchSettlement, destination: Int64, _ memory: inout WriterMemory
    ) throws(SQLiteError) -> StoredBatch? {
        // Summaries come first, because settling them reads the ledger.
        for (line, summary) in settlement.batch.summaries.enumerated()
        where !settlement.outcome.unfinished.contains(line) {
            let dead = settlement.outcome.dead.first { $0.line == line }
            try settle(summary: summary, isDead: dead != nil, destination)
            if let dead, try counted(by: summary) != nil {
                try addDeadLetter(summary: summary, dead.reason, settlement, line: line, destination: destination)
            }
        }
        let batch = settlement.batch
        let dead = Dictionary(settlement.outcome.dead.map { ($0.line, $0.reason) }) { first, _ in first }
        var ledger = LedgerChanges()
        var deadRows: [RowID] = []
        var run = FateRun()
        // Records are looked up only if some may be gone, because the lookups would double the cost of this function.
        let isWhole = memory.values.removals.isWhole(batch: batch.id)
        let gone = try isWhole && settlement.unsendable.isEmpty ? [] : missing(batch.sent.map(\.row))
        let unreadable = try unreadable(among: gone)
        for (index, record) in batch.sent.enumerated()
        where !memory.values.removals.erasedInFlight.contains(record.row) {
            let line = batch.summaries.count + index
            if settlement.outcome.unfinished.contains(line) { continue }
            // If the record was removed before it was sent, its fate was set when it was removed.
            let isUnreadable = unreadable.contains(record.row)
            if gone.contains(record.row), settlement.unsendable.contains(line) {
                guard isUnreadable else { continue }
                ledger.expiredUnreadable(
                    LedgerChanges.Sum(records: 1, occurrences: record.count), account: record.account,
                    destination: destination)
                continue
            }
            let arrived: IssueFate.Outcome = settlement.outcome.isConfirmed ? .delivered : .unconfirmed
            let fate = dead[line] == nil ? arrived : .deadLettered
            // If retention removed the record while the request was in flight, it marked the record as expired.
            let before: IssueFate.Outcome = gone.contains(record.row) && !isUnreadable ? .expired : .pending
            if !run.add(record, from: before, to: fate) {
                ledger.move(run, in: destination)
                run = FateRun(record, from: before, to: fate)
            }
            guard let reason = dead[line] else { continue }
            deadRows.append(record.row)
            // A removed record gets no dead letter, because dead letters are removed with their records.
            guard before == .pending else { continue }
            try addDeadLetter(record: record.row, reason, settlement, line: line, destination: destination)
        }
        ledger.move(run, in: destination)
        try ledger.write(on: connection)
        try expireRemainingOccurrences(of: [destination], after: ledger)
        try storeAnswer(settlement, dead: deadRows)
        var rest: StoredBatch?
        if let unfinished = settlement.rest {
            rest = try store(
                rest: unfinished, without: gone.subtracting(unreadable), destination, memory, at: settlement.at)
        }
        var state = settlement.state
        if let rest { state.unacknowledged[rest.id] = settlement.unacknowledgedOfRest }
        try write(state, of: destination)
        memory.values.removals.settled(batch: batch.id)
        if let rest, isWhole { memory.values.removals.stored(batch: rest.id) }
        return rest
    }

    /// Stores unfinished batches as one. Returns nil if the new batch would have no lines because its records have been
    /// removed.
    func merge(
        _ batches: [BatchID], into all: StoredBatch, _ unacknowledged: LineSet?, _ destination: Int64,
        _ state: DestinationRow.State, at now: IssueTimestamp, _ memory: inout WriterMemory
    ) throws(SQLiteError) -> StoredBatch? {
        let gone = try missing(all.sent.map(\.row))
        let merged = try store(
            rest: all, without: gone.subtracting(unreadable(among: gone)), destination, memory, at: now)
        var state = state
        for batch in batches {
            try connection.run(
                "UPDATE batches SET state = 1, at = ?2, notes = json_remove(notes, '$.sent') WHERE id = ?1", batch,
                now.millisecondsSince1970)
            state.unacknowledged[batch] = nil
            memory.values.removals.settled(batch: batch)
        }
        if let merged {
            state.unacknowledged[merged.id] = unacknowledged
            if gone.isEmpty { memory.values.removals.stored(batch: merged.id) }
        }
        try write(state, of: destination)
        return merged
    }

    /// Stores unfinished lines as a new batch, from which they can be rebuilt byte for byte. Returns nil if the batch
    /// would have no lines because its records have been removed.
    ///
    /// - Parameter gone: The records that were removed. Unreadable records are not in this set: they stay in the batch
    ///   and expire when it is settled.
    private func store(
        rest: StoredBatch, without gone: Set<RowID>, _ destination: Int64, _ memory: WriterMemory,
        at now: IssueTimestamp
    ) throws(SQLiteError) -> StoredBatch? {
        var batch = NewBatch(destination: destination, kind: .requeued, at: now)
        batch.summaries = rest.summaries
        let erased = memory.values.removals.erasedInFlight
        batch.sent = rest.sent.filter { !gone.contains($0.row) && !erased.contains($0.row) }
        guard batch.lineCount > 0 else { return nil }
        // In memory, the batch keeps all lines, so that their indices do not change.
        let id = try insert(batch, lines: rest.summaries.count + rest.sent.count, nextID: memory.open.nextID)
        try storeSingles(of: batch, in: id)
        return StoredBatch(id: id, kind: batch.storedKind, summaries: rest.summaries, sent: rest.sent)
    }

    /// - Parameter lines: The number of lines that the batch has in memory.
    private func insert(_ batch: NewBatch, lines: Int, nextID: RowID) throws(SQLiteError) -> BatchID {
        let rows = batch.sent.map(\.row)
        let first = batch.span?.lowerBound ?? rows.min() ?? nextID
        try connection.run(
            """
            INSERT INTO batches (destination, kind, first_id, last_id, state, at, sent, withheld, dead, notes)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, x'', ?9)
            """, batch.destination, batch.storedKind.rawValue, first, batch.span?.upperBound ?? rows.max() ?? first,
            batch.lineCount == 0, batch.at, DatabaseBytes.blob(PostingList.encode(batch.sent.map(\.row), base: first)),
            DatabaseBytes.blob(PostingList.encode(batch.withheld, base: first)), BatchManifest(batch, lines: lines).json
        )
        return BatchID(rawValue: connection.lastInsertedRowID)
    }

    private func cursor(of destination: Int64) throws(SQLiteError) -> RowID {
        try connection.first("SELECT cursor FROM destinations WHERE id = ?1", destination) { $0.id(0) } ?? 0
    }

    /// Returns `true` if all records that a batch covers still exist. The readable ones are counted only if records
    /// in the span may have been removed ahead of the cursor.
    private func allRecordsExist(
        _ batch: NewBatch, in span: ClosedRange<RowID>, removedAhead: ClosedRange<RowID>?
    ) throws(SQLiteError) -> Bool {
        guard let removed = removedAhead, removed.overlaps(span) else { return true }
        let count = try connection.integer(
            "SELECT count(*) FROM records WHERE id BETWEEN ?1 AND ?2", span.lowerBound, span.upperBound)
        let decided = (batch.withheldTally + batch.summarised).reduce(Int64(batch.sent.count) + batch.exempt) {
            $0 + $1.records
        }
        return count == decided
    }

    /// Returns the rows that no longer exist or can't be read.
    func missing(_ rows: [RowID]) throws(SQLiteError) -> Set<RowID> {
        var gone: Set<RowID> = []
        try connection.forEach(
            "SELECT value FROM json_each(?1) WHERE NOT EXISTS (SELECT 1 FROM records WHERE id = value)",
            StoreWriter.list(rows)
        ) { gone.insert($0.id(0)) }
        return gone
    }

    private func moveCursor(of destination: Int64, to row: RowID) throws(SQLiteError) {
        try connection.run("UPDATE destinations SET cursor = ?2 WHERE id = ?1", destination, row)
        // A record has priority only until every configured destination has scanned it.
        try connection.run(
            "DELETE FROM express WHERE record <= (SELECT min(cursor) FROM destinations WHERE active = 1)")
    }

    private func storeAnswer(_ settlement: BatchSettlement, dead: [RowID]) throws(SQLiteError) {
        // The lines of the batch are not rebuilt again, so the notes about them are removed.
        let first = try firstID(ofBatch: settlement.batch.id)
        try connection.run(
            """
            UPDATE batches SET state = ?7, at = ?2, attempts = ?3, answer = ?4, maybe_duplicate = ?5, dead = ?6,
                notes = json_remove(notes, '$.sent')
            WHERE id = ?1
            """, settlement.batch.id, settlement.at.millisecondsSince1970, settlement.attempts, settlement.answer,
            settlement.outcome.maybeDuplicate ? 1 : 0, DatabaseBytes.blob(PostingList.encode(dead, base: first)),
            settlement.outcome.isConfirmed ? 1 : 2)
    }

    private func firstID(ofBatch id: BatchID) throws(SQLiteError) -> RowID {
        try connection.first("SELECT first_id FROM batches WHERE id = ?1", id) { $0.id(0) } ?? 0
    }

    func write(_ state: DestinationRow.State, of destination: Int64) throws(SQLiteError) {
        // `last_expired` is not part of `state`: see `LedgerChanges`.
        try connection.run(
            """
            UPDATE destinations SET state = CASE
                WHEN json_extract(iif(json_valid(state), state, '{}'), '$.last_expired') IS NULL THEN ?2
                ELSE json_set(?2, '$.last_expired', json_extract(state, '$.last_expired')) END
            WHERE id = ?1
            """, destination, state.json)
    }

    private func write(_ types: [String: FieldTypes.Kind], of destination: Int64) throws(SQLiteError) {
        for (path, kind) in types {
            try connection.run(
                "INSERT OR IGNORE INTO field_types (destination, path, type) VALUES (?1, ?2, ?3)", destination, path,
                kind.rawValue)
        }
    }
}

extension LedgerChanges {
    fileprivate mutating func move(_ run: FateRun, in destination: Int64) {
        guard run.sum.records > 0 else { return }
        moved(run.sum, account: run.account, destination: destination, from: run.before, to: run.fate)
    }

    fileprivate mutating func move(_ tally: NewBatch.Tally, in destination: Int64, to fate: IssueFate.Outcome) {
        moved(tally.sum, account: tally.account, destination: destination, from: .pending, to: fate)
    }
}

/// Consecutive records of one account with the same change of fate.
struct FateRun {
    private(set) var account: AccountID = 0
    private(set) var before = IssueFate.Outcome.pending
    private(set) var fate = IssueFate.Outcome.pending
    private(set) var sum = LedgerChanges.Sum()

    init() {}

    init(_ record: SentRecord, from before: IssueFate.Outcome, to fate: IssueFate.Outcome) {
        account = record.account
        self.before = before
        self.fate = fate
        sum = LedgerChanges.Sum(records: 1, occurrences: record.count)
    }

    /// Adds a record to the run. Returns `false` if it does not belong to this run.
    mutating func add(_ record: SentRecord, from before: IssueFate.Outcome, to fate: IssueFate.Outcome) -> Bool {
        guard record.account == account, before == self.before, fate == self.fate else { return false }
        sum.records += 1
        sum.occurrences += record.count
        return true
    }
}

/// A batch to store before its request is sent, with the decisions of the scan that it comes from, if any.
package struct NewBatch: Sendable {
    /// The number of records of one account with the same fate, and of their occurrences.
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
    /// The scanned rows. The cursor moves to the last one. Nil if the batch does not come from the scan, for example if
    /// it contains only summaries.
    package var span: ClosedRange<RowID>?
    /// The records to send, in order.
    package var sent: [SentRecord] = []
    /// Rows of the records that get the fate `withheld`, in ascending order.
    package var withheld: [RowID] = []
    /// The number of withheld records per account.
    package var withheldTally: [Tally] = []
    /// The number of suppressed records per account. Summaries count these.
    package var summarised: [Tally] = []
    /// The suppressed records by reason.
    package var held: [SuppressionReason: [RowID]] = [:]
    /// The number of scanned records that need no decision, because they are sent outside the scan or their series is
    /// lost.
    package var exempt: Int64 = 0
    /// The scanned ids that are in damaged blocks.
    package var unreadable: [ClosedRange<RowID>] = []
    /// The row up to which priority records have been examined, or nil if unchanged.
    package var priorityThrough: RowID?
    /// Ids of the summaries in the batch. Their lines precede those of the records.
    package var summaries: [Int64] = []
    /// Summaries whose windows closed during the scan. A later batch sends them.
    package var newSummaries: [StoreWriter.NewSummary] = []
    package var changes = AdmissionChanges()
    /// The types of fields that this batch sends for the first time, keyed by field path.
    package var fieldTypes: [String: FieldTypes.Kind] = [:]
    package var at: IssueTimestamp

    package init(destination: Int64, kind: BatchKind = .walk, at: IssueTimestamp) {
        self.destination = destination
        self.kind = kind
        self.at = at
    }

    /// The number of lines: one per summary and per record.
    package var lineCount: Int { summaries.count + sent.count }

    /// Whether the batch has nothing to send and does not move the cursor.
    var isEmpty: Bool { span == nil && lineCount == 0 }

    var storedKind: BatchKind { span == nil && sent.isEmpty ? .summaries : kind }
}

/// The result of a batch.
package struct BatchSettlement: Sendable {
    package var batch: StoredBatch
    package var outcome: BatchOutcome
    /// The number of requests that were made for the batch or parts of it.
    package var attempts: Int64
    /// The destination's response to the accepted lines. If none was accepted, the same as `refusal`.
    package var answer: String?
    /// The destination's response to the refused lines, or the last response if none was refused. Nil if it is the same
    /// as `answer`.
    package var refusal: String?
    /// The lines that become dead letters, keyed by their index in the batch.
    package var deadLines: [Int: [UInt8]]
    /// Indices of lines that could not be sent because their records or summaries were gone or unreadable.
    package var unsendable: Set<Int>
    package var at: IssueTimestamp
    package var state: DestinationRow.State

    /// Indices in `rest` of the lines that may have been delivered.
    package var unacknowledgedOfRest = LineSet()

    /// The remaining lines as a batch, or nil if there are none.
    package var rest: StoredBatch? {
        guard !outcome.unfinished.isEmpty else { return nil }
        let summaries = batch.summaries.indices.filter { outcome.unfinished.contains($0) }.map { batch.summaries[$0] }
        let sent = batch.sent.enumerated().filter { outcome.unfinished.contains(batch.summaries.count + $0.offset) }
        return StoredBatch(id: 0, kind: .requeued, summaries: summaries, sent: sent.map(\.element))
    }

    package init(
        batch: StoredBatch, outcome: BatchOutcome, attempts: Int64, answer: String?, refusal: String? = nil,
        deadLines: [Int: [UInt8]], unsendable: Set<Int> = [], at: IssueTimestamp, state: DestinationRow.State
    ) {
        self.batch = batch
        self.outcome = outcome
        self.attempts = attempts
        self.answer = answer
        self.refusal = refusal
        self.deadLines = deadLines
        self.unsendable = unsendable
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

/// The notes of a batch: the values that are needed to rebuild its lines byte for byte but are not part of its records,
/// and the reasons why records were suppressed.
struct BatchManifest {
    var summaries: [Int64]
    /// For each sent record, in order: `suppressedBefore` and `occurrences` of `SentRecord`.
    var sent: [(suppressedBefore: Int64, occurrences: Int64)]
    var held: SuppressionReasons
    /// The number of lines that the batch has in memory, including those of records that were removed in the meantime;
    /// nil if that is unknown.
    private var lines: Int64?

    init(_ batch: NewBatch, lines: Int) {
        self.lines = Int64(lines)
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
        lines = value?["lines"]?.asInteger
    }

    /// Returns `true` if a loaded batch with this number of lines has all lines that the batch has in memory.
    func isWhole(lines: Int) -> Bool { self.lines == Int64(lines) }

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
            object.member("lines", ifPresent: lines)
        }
        return writer.text
    }
}

/// The lines of a batch: those of its summaries, then those of its records.
package struct StoredBatch: Equatable, Sendable {
    /// The id of the batch; 0 if it was not stored.
    package var id: BatchID
    package var kind = BatchKind.walk
    /// The ids of the summaries.
    package var summaries: [Int64]
    package var sent: [SentRecord]
    /// Whether the lines have the indices that `DestinationRow.State.unacknowledged` refers to. `false` if records were
    /// removed before the batch was loaded, or if that is unknown.
    package var isWhole = true

    /// The number of lines.
    package var lineCount: Int { summaries.count + sent.count }

    /// Returns a batch with the lines of this batch and of another one. The result is not stored.
    package func merged(with other: StoredBatch, order: MergedLines) -> StoredBatch {
        let records = order.values(ofFirst: records, ofSecond: other.records)
        return StoredBatch(
            id: 0, kind: .requeued, summaries: summaries + other.summaries, sent: records.compactMap(\.self))
    }

    /// The record of each line; nil for a summary.
    private var records: [SentRecord?] { summaries.map { _ in nil } + sent }
}
