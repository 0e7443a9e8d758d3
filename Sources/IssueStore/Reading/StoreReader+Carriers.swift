import IssueCore
import IssueProtocol
import SQLiteKit

/// What became of one record for one destination.
extension StoreReader {
    func fate(
        ofRow row: Int64, _ destination: Int64, _ name: String, cursor: Int64
    ) throws -> DestinationFate {
        var fate = DestinationFate(
            destination: name, fate: .pending, attempts: 0, at: nil, answer: nil, maybeDuplicate: false)
        guard let batch = try batch(of: row, destination, cursor: cursor) else { return fate }
        let list: (BatchList) -> Bool = { batch.lists[$0]?.contains(row) == true }
        fate.at = batch.at
        if list(.withheld) {
            // It was never in a request, so the batch's answer is none to it.
            fate.fate = .withheld
            return fate
        } else if list(.dead) {
            fate.fate = .deadLettered
            fate.maybeDuplicate = batch.maybeDuplicate
            try bringUp(&fate, letterOf: row, destination)
        } else if list(.sent) {
            fate.fate = Fate(ofSentByState: batch.state)
            fate.attempts = batch.attempts
            fate.answer = batch.answer
            fate.maybeDuplicate = batch.maybeDuplicate
            if fate.fate == .pending { try bringUp(&fate, sending: destination) }
        } else {
            fate.fate = .summarised
            try bringUp(&fate, held: batch.held.reason(of: row), row, destination)
        }
        return fate
    }

    private enum BatchList: Hashable { case sent, withheld, dead }

    private struct BatchRow {
        var state: Int64
        var at: Timestamp
        var attempts: Int64
        var answer: String?
        var maybeDuplicate: Bool
        var held: HeldReasons
        var lists: [BatchList: [Int64]]

        init(_ row: borrowing Row) {
            let first = row.int64(0)
            state = row.int64(1)
            at = Timestamp(milliseconds: row.int64(2))
            attempts = row.int64(3)
            answer = row.optionalText(4)
            maybeDuplicate = row.int64(5) != 0
            held = BatchNotes(json: row.text(9)).held
            lists = [
                .sent: PostingList.decode(row.bytes(6), base: first) ?? [],
                .withheld: PostingList.decode(row.bytes(7), base: first) ?? [],
                .dead: PostingList.decode(row.bytes(8), base: first) ?? [],
            ]
        }
    }

    /// The batch that says what became of a record: its own if it went outside the walk, or else that of its span.
    private func batch(of row: Int64, _ destination: Int64, cursor: Int64) throws -> BatchRow? {
        let single = try connection.withStatement(
            "SELECT batch FROM singles WHERE destination = ?1 AND record = ?2"
        ) { statement in
            statement.bind(destination, at: 1)
            statement.bind(row, at: 2)
            return try statement.first { $0.int64(0) }
        }
        guard let single else { return row <= cursor ? try batch(holding: row, destination) : nil }
        return try connection.withStatement(
            """
            SELECT first_id, state, at, attempts, answer, maybe_duplicate, sent, withheld, dead, notes
            FROM batches WHERE id = ?1
            """
        ) { statement in
            statement.bind(single, at: 1)
            return try statement.first { BatchRow($0) }
        }
    }

    /// A record that was held back is dead with the summary that told of it.
    private func bringUp(
        _ fate: inout DestinationFate, held reason: SuppressionReason?, _ row: Int64, _ destination: Int64
    ) throws {
        guard let reason, let summary = try connection.summary(tellingOf: row, for: reason, destination),
            summary.state == .dead
        else { return }
        fate.fate = .deadLettered
        try bringUp(&fate, letterOfSummary: summary.id)
    }

    private func bringUp(_ fate: inout DestinationFate, letterOfSummary summary: Int64) throws {
        try connection.withStatement("SELECT attempts, at, answer FROM dead_letters WHERE summary = ?1") { statement in
            statement.bind(summary, at: 1)
            _ = try statement.first { fate.takes(letter: $0) }
        }
    }

    /// What was said of a record that was given up stands with it alone.
    private func bringUp(_ fate: inout DestinationFate, letterOf row: Int64, _ destination: Int64) throws {
        try connection.withStatement(
            "SELECT attempts, at, answer FROM dead_letters WHERE record = ?1 AND destination = ?2"
        ) { statement in
            statement.bind(row, at: 1)
            statement.bind(destination, at: 2)
            _ = try statement.first { fate.takes(letter: $0) }
        }
    }

    /// How often the batch under way was tried stands with the destination; one that it has overtaken shows the same.
    private func bringUp(_ fate: inout DestinationFate, sending destination: Int64) throws {
        let state = try connection.withStatement("SELECT state FROM destinations WHERE id = ?1") { statement in
            statement.bind(destination, at: 1)
            return try statement.first { DestinationRow.State(json: $0.text(0)) }
        }
        guard let state, state.batchAttempts > 0 else { return }
        fate.attempts = state.batchAttempts
        fate.answer = state.lastAnswer
    }

    private func batch(holding row: Int64, _ destination: Int64) throws -> BatchRow? {
        try connection.withStatement(
            """
            SELECT first_id, state, at, attempts, answer, maybe_duplicate, sent, withheld, dead, notes
            FROM batches WHERE destination = ?1 AND last_id >= ?2 AND kind = 0 ORDER BY last_id LIMIT 1
            """
        ) { statement in
            statement.bind(destination, at: 1)
            statement.bind(row, at: 2)
            return try statement.first { found -> BatchRow? in
                found.int64(0) <= row ? BatchRow(found) : nil
            } ?? nil
        }
    }
}

extension DestinationFate {
    fileprivate mutating func takes(letter row: borrowing Row) {
        attempts = row.int64(0)
        at = Timestamp(milliseconds: row.int64(1))
        answer = row.optionalText(2)
    }
}
