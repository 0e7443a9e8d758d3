import IssueCore
import IssueProtocol
import SQLiteKit

/// The ledger's side of erasing: each record is subtracted from its own fate.
extension StoreWriter {
    /// One batch of the log, as far as fates need it.
    private struct Span {
        var id: Int64
        var rows: ClosedRange<Int64>
        var state: Int64
        var sent: [Int64]
        var sentRows: Set<Int64>
        var withheld: Set<Int64>
        var dead: Set<Int64>
        var notes: BatchNotes

        func fate(of row: Int64) -> Fate {
            if withheld.contains(row) { return .withheld }
            if dead.contains(row) { return .deadLettered }
            return sentRows.contains(row) ? Fate(ofSentByState: state) : .summarised
        }
    }

    private struct Key: Hashable {
        var account: Int64
        var fate: Fate
    }

    /// Takes records off the ledger, and out of batches that have no answer yet.
    ///
    /// - Returns: how many each destination has or is being given, and which of them are under way.
    func subtractFates(of doomed: [DoomedRecord]) throws -> (delivered: [String: Int64], inFlight: Set<Int64>) {
        var ledger = LedgerChanges()
        for (account, records) in Dictionary(grouping: doomed, by: \.account) {
            let occurrences = records.reduce(0) { $0 + $1.count }
            ledger.erased(
                .init(records: Int64(records.count), occurrences: occurrences), account: account, destination: 0,
                fate: nil)
        }
        let destinations = try connection.withStatement(
            "SELECT id, name, first_id, CASE active WHEN 1 THEN ?1 ELSE given_id END, cursor FROM destinations"
        ) { statement in
            statement.bind(Int64.max, at: 1)
            return try statement.all {
                (id: $0.int64(0), name: $0.text(1), first: $0.int64(2), last: $0.int64(3), cursor: $0.int64(4))
            }
        }
        var delivered: [String: Int64] = [:]
        var inFlight: Set<Int64> = []
        for destination in destinations {
            var sums: [Key: LedgerChanges.Sum] = [:]
            var span: Span?
            var sending: Set<Int64> = []
            for record in doomed where record.row >= destination.first && record.row <= destination.last {
                var fate = Fate.pending
                var holder: Span?
                if let carrier = try single(record.row, destination.id) {
                    if carrier > 0, let batch = try self.span(batch: carrier) {
                        fate = batch.fate(of: record.row)
                        if fate == .pending { sending.insert(record.row) }
                    }
                } else if record.row <= destination.cursor {
                    if span?.rows.contains(record.row) != true { span = try self.span(record.row, destination.id) }
                    if let span {
                        fate = span.fate(of: record.row)
                        holder = span
                        if fate == .pending { sending.insert(record.row) }
                    }
                }
                if fate == .summarised, let reason = holder?.notes.held.reason(of: record.row),
                    let summary = try connection.summary(tellingOf: record.row, for: reason, destination.id)
                {
                    try take(.init(records: 1, occurrences: record.count), off: summary.id)
                    if summary.state == .dead { fate = .deadLettered }
                }
                sums[Key(account: record.account, fate: fate), default: .init()].records += 1
                sums[Key(account: record.account, fate: fate), default: .init()].occurrences += record.count
                if fate == .delivered || sending.contains(record.row) { delivered[destination.name, default: 0] += 1 }
            }
            if !sending.isEmpty { try takeOut(sending, of: destination.id) }
            inFlight.formUnion(sending)
            for (key, sum) in sums { try subtract(sum, key, destination.id, &ledger) }
        }
        try ledger.write(on: connection)
        return (delivered, inFlight)
    }

    /// What an account has of a fate.
    func sum(of fate: Fate, _ account: Int64, _ destination: Int64) throws -> LedgerChanges.Sum {
        try connection.withStatement(
            "SELECT records, occurrences FROM ledger WHERE destination = ?1 AND account = ?2 AND fate = ?3"
        ) { statement in
            statement.bind(destination, at: 1)
            statement.bind(account, at: 2)
            statement.bind(Int64(fate.rawValue), at: 3)
            return try statement.first { LedgerChanges.Sum(records: $0.int64(0), occurrences: $0.int64(1)) } ?? .init()
        }
    }

    /// A summary that could not be delivered has made its records dead letters; of old ones nobody knows which those
    /// were.
    private func subtract(
        _ sum: LedgerChanges.Sum, _ key: Key, _ destination: Int64, _ ledger: inout LedgerChanges
    ) throws {
        guard key.fate == .summarised else {
            return ledger.erased(sum, account: key.account, destination: destination, fate: key.fate)
        }
        let left = try self.sum(of: .summarised, key.account, destination)
        let own = LedgerChanges.Sum(
            records: min(sum.records, left.records), occurrences: min(sum.occurrences, left.occurrences))
        ledger.erased(own, account: key.account, destination: destination, fate: .summarised)
        ledger.erased(
            .init(records: sum.records - own.records, occurrences: sum.occurrences - own.occurrences),
            account: key.account, destination: destination, fate: .deadLettered)
    }

    private func span(_ row: Int64, _ destination: Int64) throws -> Span? {
        try connection.withStatement(
            """
            SELECT id, first_id, last_id, state, sent, withheld, dead, notes FROM batches
            WHERE destination = ?1 AND last_id >= ?2 AND kind = 0 ORDER BY last_id LIMIT 1
            """
        ) { statement in
            statement.bind(destination, at: 1)
            statement.bind(row, at: 2)
            return try statement.first { Self.span($0) }
        }.flatMap { $0.rows.contains(row) ? $0 : nil }
    }

    private func span(batch id: Int64) throws -> Span? {
        try connection.withStatement(
            "SELECT id, first_id, last_id, state, sent, withheld, dead, notes FROM batches WHERE id = ?1"
        ) { statement in
            statement.bind(id, at: 1)
            return try statement.first { Self.span($0) }
        }
    }

    private static func span(_ row: borrowing Row) -> Span {
        let first = row.int64(1)
        let sent = PostingList.decode(row.bytes(4), base: first) ?? []
        return Span(
            id: row.int64(0), rows: first...max(first, row.int64(2)), state: row.int64(3), sent: sent,
            sentRows: Set(sent), withheld: Set(PostingList.decode(row.bytes(5), base: first) ?? []),
            dead: Set(PostingList.decode(row.bytes(6), base: first) ?? []), notes: BatchNotes(json: row.text(7)))
    }

    /// A batch that is sent again after a restart must not ask for what is gone.
    private func takeOut(_ rows: Set<Int64>, of destination: Int64) throws {
        let batches = try connection.withStatement(
            """
            SELECT id, first_id, last_id, state, sent, withheld, dead, notes FROM batches
            WHERE destination = ?1 AND state = 0 AND kind <> 1
            """
        ) { statement in
            statement.bind(destination, at: 1)
            return try statement.all { Self.span($0) }
        }
        for batch in batches {
            var notes = batch.notes
            let left = zip(batch.sent, batch.notes.sent).filter { !rows.contains($0.0) }
            guard left.count < batch.sent.count else { continue }
            notes.sent = left.map(\.1)
            try connection.withStatement("UPDATE batches SET sent = ?2, notes = ?3, state = ?4 WHERE id = ?1") {
                statement in
                statement.bind(batch.id, at: 1)
                statement.bind(blob: PostingList.encode(left.map(\.0), base: batch.rows.lowerBound), at: 2)
                statement.bind(notes.json, at: 3)
                // Of a batch of which nothing is left no answer is awaited.
                statement.bind(left.isEmpty && notes.summaries.isEmpty ? 1 : 0, at: 4)
                try statement.run()
            }
        }
    }
}
