import IssueCore
import IssueProtocol
import SQLiteKit

extension StoreWriter {
    /// Stores the decisions of a scan before any of its records is sent: batch, cursor, limiter and ledger in one
    /// transaction.
    ///
    /// - Returns: The stored batch. Its id is 0 if there is nothing to send.
    /// - Throws: `StoreFailure.outdated` if some of its records have been removed in the meantime; otherwise the
    ///   failure of the transaction.
    package func store(_ batch: NewBatch) throws(StoreFailure) -> StoredBatch {
        let stored = try transaction { () throws(SQLiteError) in try outbox.store(batch, &memory) }
        guard let stored else { throw .outdated }
        return stored
    }

    /// Stores the result of a batch, or of its finished lines.
    ///
    /// - Returns: A new batch with the remaining lines, or nil if none remain.
    @discardableResult
    package func settle(_ settlement: BatchSettlement, destination: Int64) throws(StoreFailure) -> StoredBatch? {
        try transaction { () throws(SQLiteError) in try outbox.settle(settlement, destination: destination, &memory) }
    }

    /// Stores the state of a destination, so that a restart continues from it.
    package func save(_ state: DestinationRow.State, destination: Int64) throws(StoreFailure) {
        try transaction { () throws(SQLiteError) in try outbox.write(state, of: destination) }
    }

    var outbox: ForwardingOutbox { ForwardingOutbox(connection: connection, blocks: blocks.reader) }
}

/// Everything in the database that concerns destinations: batches, summaries, limits, dead letters, and the fates of
/// records in the ledger. Its functions run inside a transaction.
struct ForwardingOutbox {
    let connection: DatabaseConnection
    let blocks: BlockReader

    /// Stores a batch. Returns nil if some of its records have been removed in the meantime.
    func store(_ batch: NewBatch, _ memory: inout WriterMemory) throws(SQLiteError) -> StoredBatch? {
        guard try isCurrent(batch, memory) else { return nil }
        let id = batch.isEmpty ? 0 : try insert(batch, nextID: memory.open.nextID)
        try carry(batch, in: id)
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

    /// Returns `true` if all records of the batch still exist and were not scanned before.
    private func isCurrent(_ batch: NewBatch, _ memory: WriterMemory) throws(SQLiteError) -> Bool {
        if let span = batch.span {
            guard try cursor(of: batch.destination) < span.lowerBound,
                try allRecordsExist(batch, in: span, removedAhead: memory.values.removals.ahead)
            else {
                return false
            }
        }
        guard batch.kind == .priority || batch.kind == .requeued else { return true }
        return try missing(batch.sent.map(\.row)).isEmpty
    }

    /// Stores the result of a batch. Returns a new batch with the remaining lines, or nil if none remain.
    func settle(
        _ settlement: BatchSettlement, destination: Int64, _ memory: inout WriterMemory
    ) throws(SQLiteError) -> StoredBatch? {
        // Summaries come first, because settling them reads the ledger.
        for (line, summary) in settlement.batch.summaries.enumerated() where !settlement.outcome.left.contains(line) {
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
        // Looking up each record would double the cost of this function.
        let isWhole = memory.values.removals.isWhole(batch: batch.id)
        let gone = try isWhole && settlement.left.isEmpty ? [] : missing(batch.sent.map(\.row))
        let unreadable = try unreadable(among: gone)
        for (index, record) in batch.sent.enumerated()
        where !memory.values.removals.erasedInFlight.contains(record.row) {
            let line = batch.summaries.count + index
            if settlement.outcome.left.contains(line) { continue }
            // If the record was removed before it was sent, its fate was set then.
            let isUnreadable = unreadable.contains(record.row)
            if gone.contains(record.row), settlement.left.contains(line) {
                guard isUnreadable else { continue }
                ledger.moved(
                    LedgerChanges.Sum(records: 1, occurrences: record.count), account: record.account,
                    destination: destination, from: .pending, to: .expired)
                continue
            }
            let arrived: IssueFate.Outcome = settlement.outcome.isConfirmed ? .delivered : .unconfirmed
            let fate = dead[line] == nil ? arrived : .deadLettered
            // Retention may have removed it while the request was in flight. Now it is known to have been delivered.
            let before: IssueFate.Outcome = gone.contains(record.row) && !isUnreadable ? .expired : .pending
            if !run.add(record, from: before, to: fate) {
                ledger.move(run, in: destination)
                run = FateRun(record, from: before, to: fate)
            }
            guard let reason = dead[line] else { continue }
            deadRows.append(record.row)
            // Retention has removed the record, and a dead letter is removed with it.
            guard before == .pending else { continue }
            try addDeadLetter(record: record.row, reason, settlement, line: line, destination: destination)
        }
        ledger.move(run, in: destination)
        try ledger.write(on: connection)
        try expireRemainingOccurrences(of: [destination], after: ledger)
        try answer(settlement, dead: deadRows)
        let rest = try storeRest(of: settlement, without: gone.subtracting(unreadable), destination, memory)
        var state = settlement.state
        if let rest { state.unacknowledged[rest.id] = settlement.unacknowledgedOfRest }
        try write(state, of: destination)
        memory.values.removals.settled(batch: batch.id)
        if let rest, isWhole { memory.values.removals.stored(batch: rest.id) }
        return rest
    }

    /// Stores the unfinished lines as a new batch. They are rebuilt identically.
    ///
    /// - Parameter gone: The records that were removed, without unreadable ones. Those stay in the batch and expire when
    ///   it is settled.
    private func storeRest(
        of settlement: BatchSettlement, without gone: Set<RowID>, _ destination: Int64, _ memory: WriterMemory
    ) throws(SQLiteError) -> StoredBatch? {
        guard let rest = settlement.rest else { return nil }
        var batch = NewBatch(destination: destination, kind: .requeued, at: settlement.at)
        batch.summaries = rest.summaries
        let erased = memory.values.removals.erasedInFlight
        batch.sent = rest.sent.filter { !gone.contains($0.row) && !erased.contains($0.row) }
        guard batch.lineCount > 0 else { return nil }
        let id = try insert(batch, nextID: memory.open.nextID)
        try carry(batch, in: id)
        // In memory the batch keeps all its lines at their indices.
        return StoredBatch(id: id, kind: batch.storedKind, summaries: rest.summaries, sent: rest.sent)
    }

    private func insert(_ batch: NewBatch, nextID: RowID) throws(SQLiteError) -> BatchID {
        let rows = batch.sent.map(\.row)
        let first = batch.span?.lowerBound ?? rows.min() ?? nextID
        try connection.run(
            """
            INSERT INTO batches (destination, kind, first_id, last_id, state, at, sent, withheld, dead, notes)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, x'', ?9)
            """, batch.destination, batch.storedKind.rawValue, first, batch.span?.upperBound ?? rows.max() ?? first,
            batch.lineCount == 0, batch.at, DatabaseBytes.blob(PostingList.encode(batch.sent.map(\.row), base: first)),
            DatabaseBytes.blob(PostingList.encode(batch.withheld, base: first)), BatchManifest(batch).json)
        return BatchID(rawValue: connection.lastInsertedRowID)
    }

    private func cursor(of destination: Int64) throws(SQLiteError) -> RowID {
        try connection.first("SELECT cursor FROM destinations WHERE id = ?1", destination) { $0.id(0) } ?? 0
    }

    /// Returns `true` if all records that a batch covers still exist. Counts them only if some were removed ahead of
    /// the cursor.
    private func allRecordsExist(
        _ batch: NewBatch, in span: ClosedRange<RowID>, removedAhead: ClosedRange<RowID>?
    ) throws(SQLiteError) -> Bool {
        guard let removed = removedAhead, removed.overlaps(span) else { return true }
        let count = try connection.integer(
            "SELECT count(*) FROM records WHERE id BETWEEN ?1 AND ?2", span.lowerBound, span.upperBound)
        let decided = (batch.withheldTally + batch.summarised).reduce(Int64(batch.sent.count) + batch.gone) {
            $0 + $1.records
        }
        return count == decided
    }

    /// Returns those rows that no longer exist.
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
        // A record has priority only until every destination has scanned it.
        try connection.run(
            "DELETE FROM express WHERE record <= (SELECT min(cursor) FROM destinations WHERE active = 1)")
    }

    private func answer(_ settlement: BatchSettlement, dead: [RowID]) throws(SQLiteError) {
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
        try connection.run("UPDATE destinations SET state = ?2 WHERE id = ?1", destination, state.json)
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

extension IssueFate.Outcome {
    /// Creates the fate of the accepted records of a batch from its `state`: 0 awaits a response, 1 is delivered, 2 was
    /// sent to a destination that does not confirm.
    init(ofSentByState state: Int64) {
        switch state {
        case 0: self = .pending
        case 2: self = .unconfirmed
        default: self = .delivered
        }
    }
}
