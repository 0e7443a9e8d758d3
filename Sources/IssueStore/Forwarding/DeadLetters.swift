import IssueCore
package import IssueProtocol
import SQLiteKit

extension StoreWriter {
    /// Makes dead letters pending again.
    ///
    /// A dead letter is not changed if its record is gone or unreadable, its summary was erased, or its destination is
    /// no longer configured.
    ///
    /// - Parameter letters: Ids in the `dead_letters` table.
    /// - Returns: The number of requeued dead letters, including those of summaries and corrections.
    package func requeue(_ letters: [Int64]) throws(StoreFailure) -> Int64 {
        try transaction { () throws(SQLiteError) in try outbox.requeue(letters) }
    }
}

/// Stores and requeues dead letters.
extension ForwardingOutbox {
    /// Stores the dead letter of a record, or of a summary or correction.
    func addDeadLetter(
        record: RowID = 0, summary: Int64? = nil, _ reason: DeadLetterReason, _ settlement: BatchSettlement, line: Int,
        destination: Int64
    ) throws(SQLiteError) {
        try connection.run(
            """
            INSERT INTO dead_letters (destination, record, batch, reason, answer, attempts, at, line, summary)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
            """, destination, record, settlement.batch.id, reason.rawValue, settlement.answer(to: reason),
            settlement.attempts, settlement.at, DatabaseBytes.text(settlement.deadLines[line] ?? []), summary)
    }

    /// Makes dead letters pending again. Returns their number.
    func requeue(_ letters: [Int64]) throws(SQLiteError) -> Int64 {
        var count: Int64 = 0
        var ledger = LedgerChanges()
        for letter in try lettersToRequeue(letters) {
            let isRequeued =
                if let summary = letter.summary {
                    try requeue(summary: summary, letter.destination)
                } else {
                    try requeue(letter, &ledger)
                }
            guard isRequeued else { continue }
            count += 1
            try connection.run("DELETE FROM dead_letters WHERE id = ?1", letter.id)
        }
        try ledger.write(on: connection)
        return count
    }

    private typealias Letter = (id: Int64, destination: Int64, record: RowID, summary: Int64?)

    private func lettersToRequeue(_ letters: [Int64]) throws(SQLiteError) -> [Letter] {
        try connection.all(
            """
            SELECT dead_letters.id, destination, record, summary
            FROM dead_letters JOIN destinations ON destinations.id = destination AND active = 1
            WHERE dead_letters.id IN (SELECT value FROM json_each(?1)) ORDER BY dead_letters.id
            """, StoreWriter.list(letters)
        ) { ($0.int64(0), $0.int64(1), $0.id(2), $0.optionalInt64(3)) }
    }

    private func requeue(_ letter: Letter, _ ledger: inout LedgerChanges) throws(SQLiteError) -> Bool {
        let found = try connection.first(
            "SELECT account, count FROM records JOIN series ON series.id = records.series WHERE records.id = ?1",
            letter.record
        ) { (account: $0.id(0, as: AccountID.self), count: $0.int64(1)) }
        guard let found else { return false }
        ledger.moved(
            .init(records: 1, occurrences: found.count), account: found.account, destination: letter.destination,
            from: .deadLettered, to: .pending)
        try put(single: letter.record, in: nil, letter.destination)
        return true
    }

    /// Requeues a summary. The records that it counts become summarised again.
    private func requeue(summary: Int64, _ destination: Int64) throws(SQLiteError) -> Bool {
        guard let counted = try counted(by: summary) else { return false }
        let sum = try sum(of: .deadLettered, counted.account, destination).limited(to: counted.sum)
        var ledger = LedgerChanges()
        ledger.moved(sum, account: counted.account, destination: destination, from: .deadLettered, to: .summarised)
        try ledger.write(on: connection)
        try connection.run("UPDATE summaries SET state = 0 WHERE id = ?1", summary)
        return true
    }
}

extension StoreReader {
    /// Returns a page of dead letters, newest first.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of dead letters. The page ends earlier when it reaches the page size in bytes.
    ///   - viewer: The client that asks. Only dead letters and responses that it may see are returned.
    /// - Returns: The dead letters, and the cursor of the next page if there may be one.
    /// - Throws: `QueryFailure` if a parameter is invalid or the destination is unknown, or the error of the query.
    package func deadLetters(
        _ parameters: DeadLettersParameters, limit: Int, viewer: Viewer
    ) throws -> DeadLettersReply {
        let cursor = try parameters.after.map { try PageCursor($0) }
        return try snapshot {
            try expectDestination(parameters.destination)
            var reply = DeadLettersReply(deadLetters: [])
            var bytes = 0
            let found = try letters(
                parameters.destination, parameters.records, below: cursor?.row ?? .max, viewer, limit)
            for letter in found {
                var entry = letter.entry
                if letter.summary == nil { entry.record = try recordID(row: letter.record).text }
                // The lines are read one at a time, because those of `limit` dead letters could take hundreds of MiB.
                entry.line = parameters.lines == true ? try line(ofLetter: letter.id) : nil
                entry.answer = viewer.shown(answer: entry.answer)
                bytes += entry.json.count
                reply.deadLetters.append(entry)
                if reply.deadLetters.count == limit || bytes >= Self.pageBytes {
                    reply.next = PageCursor(value: 0, row: letter.id).text
                    break
                }
            }
            return reply
        }
    }

    /// Returns the ids of the matching dead letters, oldest first.
    ///
    /// - Throws: `QueryFailure` if a parameter is invalid, if the destination is unknown, or if one of the records or
    ///   summaries has no matching dead letter; or the error of the query.
    package func deadLetterIDs(_ parameters: RequeueParameters) throws -> [Int64] {
        try snapshot {
            try expectDestination(parameters.destination)
            let found = try letters(parameters.destination, parameters.records, below: .max, .everything, .max)
            let summaries = Set(found.compactMap(\.summary))
            let records = Set(found.lazy.filter { $0.summary == nil }.map(\.record))
            for id in parameters.records ?? [] {
                if let summary = Self.summary(id), summaries.contains(summary) { continue }
                if let row = try row(ofID: id), records.contains(row) { continue }
                throw QueryFailure.notFound(id: id)
            }
            return found.map(\.id).reversed()
        }
    }

    private struct Letter {
        var id: Int64
        var record: RowID
        var summary: Int64?
        var entry: DeadLetter
    }

    private func letters(
        _ destination: String?, _ records: [String]?, below number: Int64, _ viewer: Viewer, _ limit: Int
    ) throws -> [Letter] {
        do throws(QueryLimits.Excess) {
            try QueryLimits.check("records", count: records?.count)
        } catch {
            throw QueryFailure(error)
        }
        let rows = try (records ?? []).compactMap { try row(ofID: $0) }
        return try connection.all(
            composedSQL: """
                SELECT dead_letters.id, dead_letters.record, dead_letters.summary, destinations.name,
                       dead_letters.reason, dead_letters.answer, dead_letters.attempts, dead_letters.at,
                       summaries.reason = 'correction'
                FROM dead_letters
                JOIN destinations ON destinations.id = dead_letters.destination
                LEFT JOIN records ON records.id = dead_letters.record
                LEFT JOIN series ON series.id = records.series
                LEFT JOIN summaries ON summaries.id = dead_letters.summary
                LEFT JOIN accounts ON accounts.id = coalesce(series.account, summaries.account)
                WHERE dead_letters.id < ?1 AND (?2 IS NULL OR destinations.name = ?2)
                    AND (?3 IS NULL OR dead_letters.summary IN (SELECT value FROM json_each(?3))
                        OR (dead_letters.summary IS NULL AND dead_letters.record IN (SELECT value FROM json_each(?4))))
                    AND \(Viewer.condition(parameter: 5))
                ORDER BY dead_letters.id DESC LIMIT ?6
                """, number, destination, records.map { StoreWriter.list($0.compactMap(Self.summary)) },
            StoreWriter.list(rows), viewer, limit
        ) { row in
            let summary = row.optionalInt64(2)
            return Letter(
                id: row.int64(0), record: row.id(1), summary: summary,
                entry: DeadLetter(
                    record: summary.map { Self.summaryPrefix + String($0) } ?? "",
                    isCorrection: row.int64(8) != 0 ? true : nil, destination: row.text(3),
                    reason: row.text(4), answer: row.optionalText(5), attempts: row.int(6),
                    timestamp: row.time(7), line: nil))
        }
    }

    private func line(ofLetter id: Int64) throws -> String? {
        try connection.first("SELECT line FROM dead_letters WHERE id = ?1", id) { $0.text(0) }
    }

    private static let summaryPrefix = "summary-"

    private static func summary(_ text: String) -> Int64? {
        // Accepts only the canonical form, so that each summary has one id.
        text.hasPrefix(summaryPrefix)
            ? Int64(text.dropFirst(summaryPrefix.count)).flatMap { text == "\(summaryPrefix)\($0)" ? $0 : nil } : nil
    }

    private func row(ofID text: String) throws -> RowID? {
        guard let id = RecordID(text), try recordID(row: id.row) == id else { return nil }
        return id.row
    }
}
