import IssueCore
import IssueProtocol
import SQLiteKit

/// What was given up, and how it gets another chance.
extension StoreWriter {
    func bury(
        _ row: Int64, _ reason: DeadLetterReason, _ settlement: BatchSettlement, line: Int, destination: Int64
    ) throws {
        try insertDeadLetter(record: row, summary: nil, reason, settlement, line: line, destination)
    }

    func bury(
        summary: Int64, _ reason: DeadLetterReason, _ settlement: BatchSettlement, line: Int, destination: Int64
    ) throws {
        try insertDeadLetter(record: 0, summary: summary, reason, settlement, line: line, destination)
    }

    private func insertDeadLetter(
        record: Int64, summary: Int64?, _ reason: DeadLetterReason, _ settlement: BatchSettlement, line: Int,
        _ destination: Int64
    ) throws {
        try connection.withStatement(
            """
            INSERT INTO dead_letters (destination, record, batch, reason, answer, attempts, at, line, summary)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
            """
        ) { statement in
            statement.bind(destination, at: 1)
            statement.bind(record, at: 2)
            statement.bind(settlement.batch.id, at: 3)
            statement.bind(reason.rawValue, at: 4)
            statement.bind(settlement.answer(to: reason), at: 5)
            statement.bind(settlement.attempts, at: 6)
            statement.bind(settlement.at.milliseconds, at: 7)
            statement.bind(text: settlement.deadLines[line] ?? [], at: 8)
            statement.bind(summary, at: 9)
            try statement.run()
        }
    }

    /// Makes dead letters pending again, by their own numbers.
    ///
    /// Those whose record is gone stay what they are, and so do those of a
    /// destination that is not configured any more.
    ///
    /// - Returns: how many will go once more, summaries among them.
    package func requeue(_ letters: [Int64]) throws(StoreFailure) -> Int64 {
        try transaction {
            var count: Int64 = 0
            var ledger = LedgerChanges()
            for letter in try lettersToRequeue(letters) {
                let isAgain =
                    try letter.summary.map { try requeue(summary: $0, letter.destination) }
                    ?? requeue(letter, &ledger)
                guard isAgain else { continue }
                count += 1
                try connection.withStatement("DELETE FROM dead_letters WHERE id = ?1") { statement in
                    statement.bind(letter.id, at: 1)
                    try statement.run()
                }
            }
            try ledger.write(on: connection)
            return count
        }
    }

    private typealias Letter = (id: Int64, destination: Int64, record: Int64, summary: Int64?)

    private func lettersToRequeue(_ letters: [Int64]) throws -> [Letter] {
        try connection.withStatement(
            """
            SELECT dead_letters.id, destination, record, summary
            FROM dead_letters JOIN destinations ON destinations.id = destination AND active = 1
            WHERE dead_letters.id IN (SELECT value FROM json_each(?1)) ORDER BY dead_letters.id
            """
        ) { statement in
            statement.bind(Self.list(letters), at: 1)
            return try statement.all { ($0.int64(0), $0.int64(1), $0.int64(2), $0.optionalInt64(3)) }
        }
    }

    private func requeue(_ letter: Letter, _ ledger: inout LedgerChanges) throws -> Bool {
        let found = try connection.withStatement(
            "SELECT account, count FROM records JOIN series ON series.id = records.series WHERE records.id = ?1"
        ) { statement in
            statement.bind(letter.record, at: 1)
            return try statement.first { (account: $0.int64(0), count: $0.int64(1)) }
        }
        guard let found else { return false }
        ledger.moved(
            .init(records: 1, occurrences: found.count), account: found.account, destination: letter.destination,
            from: .deadLettered, to: .pending)
        try put(single: letter.record, in: nil, letter.destination)
        return true
    }

    /// What it counted is told of after all.
    private func requeue(summary: Int64, _ destination: Int64) throws -> Bool {
        guard let counted = try counted(by: summary) else { return false }
        let left = try sum(of: .deadLettered, counted.account, destination)
        let sum = LedgerChanges.Sum(
            records: min(counted.records, left.records), occurrences: min(counted.occurrences, left.occurrences))
        var ledger = LedgerChanges()
        ledger.moved(sum, account: counted.account, destination: destination, from: .deadLettered, to: .summarised)
        try ledger.write(on: connection)
        try connection.withStatement("UPDATE summaries SET state = 0 WHERE id = ?1") { statement in
            statement.bind(summary, at: 1)
            try statement.run()
        }
        return true
    }
}
