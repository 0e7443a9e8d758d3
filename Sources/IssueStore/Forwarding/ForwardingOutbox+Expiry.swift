import IssueCore
import IssueProtocol
import SQLiteKit

/// The ledger's part of retention: pending records that are removed become `expired`.
extension ForwardingOutbox {
    /// Marks records as expired wherever they are pending, and moves the cursors past them.
    ///
    /// - Returns: The number of fates that became `expired`, over all destinations.
    func expire(_ rows: ClosedRange<RowID>) throws(SQLiteError) -> Int64 {
        let known = try given()
        var ledger = LedgerChanges()
        var expired: Int64 = 0
        var awaiting: [Int64: Set<RowID>] = [:]
        for destination in known {
            let first = max(rows.lowerBound, destination.above + 1)
            awaiting[destination.id] = Set(try unanswered(overlapping: rows, of: destination.id).flatMap(\.sent))
            for (account, sum) in try unanswered(rows, of: destination.id)
                + waiting(first, min(rows.upperBound, destination.through), destination.id)
                + requeued(rows, destination.id)
            {
                ledger.moved(sum, account: account, destination: destination.id, from: .pending, to: .expired)
                expired += sum.records
            }
        }
        // The statements above have read all pending records, so the damaged blocks among them are known.
        for (row, account) in try accounts(ofUnreadable: blocks.unreadable(in: rows)) {
            for destination in known {
                let batch = try singles(in: row...row, destination.id)[row]
                let isWaiting = row > destination.above && row <= destination.through && batch == nil
                guard isWaiting || batch == 0 || awaiting[destination.id]?.contains(row) == true else { continue }
                ledger.expiredUnreadable(account: account, destination: destination.id)
                expired += 1
            }
        }
        try ledger.write(on: connection)
        try moveCursors(to: rows.upperBound)
        return expired
    }

    /// Marks single records as expired wherever they are pending. Records between them remain, so no cursor moves.
    func expire(_ toErase: [RecordToErase]) throws(SQLiteError) -> Int64 {
        guard let first = toErase.first?.row, let last = toErase.last?.row else { return 0 }
        let rows = Set(toErase.map(\.row))
        var ledger = LedgerChanges()
        var expired: Int64 = 0
        for destination in try given() {
            let batches = try unanswered(overlapping: first...last, of: destination.id)
            let sent = Set(batches.flatMap(\.sent))
            let singles = try singles(in: first...last, destination.id)
            for record in toErase {
                let carrier = singles[record.row]
                let isWaiting =
                    carrier == 0
                    || (carrier == nil && record.row > destination.above && record.row <= destination.through)
                guard isWaiting || sent.contains(record.row) else { continue }
                let sum = LedgerChanges.Sum(records: 1, occurrences: record.count)
                ledger.moved(
                    sum, account: record.account, destination: destination.id, from: .pending, to: .expired)
                expired += 1
            }
            for batch in batches where batch.summaries == 0 {
                let left = batch.sent.filter { !rows.contains($0) }
                if try missing(left).count == left.count { try endWait(for: batch.id) }
            }
        }
        try ledger.write(on: connection)
        return expired
    }

    /// Moves the pending records of damaged blocks that a scan has passed to `expired`, since they can't be sent.
    func expireUnreadable(of batch: NewBatch, in ledger: inout LedgerChanges) throws(SQLiteError) {
        for (row, account) in try accounts(ofUnreadable: batch.unreadable)
        where try singles(in: row...row, batch.destination).isEmpty {
            ledger.expiredUnreadable(account: account, destination: batch.destination)
        }
    }

    /// Returns the ids in some ranges of ids with their accounts, from the posting lists. Those of the open range are
    /// omitted, since it has no posting lists.
    private func accounts(ofUnreadable ranges: [ClosedRange<RowID>]) throws(SQLiteError) -> [(RowID, AccountID)] {
        var found: [(RowID, AccountID)] = []
        for rows in ranges {
            try connection.forEach(
                """
                SELECT series.account, ranges.first_id, postings.ids
                FROM ranges JOIN postings ON postings.range = ranges.id JOIN series ON series.id = postings.series
                WHERE ranges.first_id <= ?2 AND ranges.last_id >= ?1
                """, rows.lowerBound, rows.upperBound
            ) { row in
                let account: AccountID = row.id(0)
                let ids = PostingList.decode(row.bytes(2), base: row.id(1)) ?? []
                found += ids.filter { rows.contains($0) }.map { ($0, account) }
            }
        }
        return found
    }

    /// Returns `true` if no destination still has to send one of the rows or awaits a response for one.
    func isSettled(_ rows: ClosedRange<RowID>) throws(SQLiteError) -> Bool {
        for destination in try given() {
            guard rows.upperBound <= destination.above || rows.lowerBound > destination.through,
                try unanswered(overlapping: rows, of: destination.id).isEmpty,
                try singles(in: rows, destination.id).isEmpty
            else { return false }
        }
        return true
    }

    /// Returns the rows that each destination still has to scan: those above `above`, up to `through`.
    private func given() throws(SQLiteError) -> [(id: Int64, above: RowID, through: RowID)] {
        try connection.all("SELECT id, first_id, cursor, active, given_id FROM destinations") { row in
            // Records that arrived while a destination was not configured are not queued for it.
            (
                id: row.int64(0), above: max(row.id(1) - 1, row.id(2)),
                through: row.int64(3) != 0 ? .max : row.id(4)
            )
        }
    }

    func moveCursors(to row: RowID) throws(SQLiteError) {
        try connection.run("UPDATE destinations SET cursor = ?1 WHERE cursor < ?1", row)
    }

    private typealias AccountSum = (account: AccountID, sum: LedgerChanges.Sum)

    /// Returns the records after the cursor that were not sent ahead of it, summed up by account.
    private func waiting(_ first: RowID, _ last: RowID, _ destination: Int64) throws(SQLiteError) -> [AccountSum] {
        guard first <= last else { return [] }
        return try connection.all(
            """
            SELECT series.account, count(*), sum(records.count)
            FROM records JOIN series ON series.id = records.series
            WHERE records.id BETWEEN ?1 AND ?2
                AND NOT EXISTS (SELECT 1 FROM singles WHERE destination = ?3 AND record = records.id)
            GROUP BY series.account
            """, first, last, destination
        ) {
            ($0.id(0), LedgerChanges.Sum(records: $0.int64(1), occurrences: $0.int64(2)))
        }
    }

    /// Returns the records that wait to be sent again, summed up by account.
    private func requeued(_ rows: ClosedRange<RowID>, _ destination: Int64) throws(SQLiteError) -> [AccountSum] {
        try connection.all(
            """
            SELECT series.account, count(*), sum(records.count)
            FROM singles JOIN records ON records.id = singles.record JOIN series ON series.id = records.series
            WHERE singles.destination = ?1 AND singles.batch = 0 AND singles.record BETWEEN ?2 AND ?3
            GROUP BY series.account
            """, destination, rows.lowerBound, rows.upperBound
        ) {
            ($0.id(0), LedgerChanges.Sum(records: $0.int64(1), occurrences: $0.int64(2)))
        }
    }

    /// Returns the records of batches that await a response, summed up by account. A batch without remaining records no
    /// longer awaits one.
    private func unanswered(_ rows: ClosedRange<RowID>, of destination: Int64) throws(SQLiteError) -> [AccountSum] {
        let batches = try unanswered(overlapping: rows, of: destination)
        for batch in batches where batch.summaries == 0 && batch.sent.allSatisfy({ $0 <= rows.upperBound }) {
            try endWait(for: batch.id)
        }
        let sent = batches.flatMap(\.sent).filter { rows.contains($0) }
        guard !sent.isEmpty else { return [] }
        return try connection.all(
            """
            SELECT series.account, count(*), sum(records.count)
            FROM json_each(?1) AS sent JOIN records ON records.id = sent.value
            JOIN series ON series.id = records.series GROUP BY series.account
            """, StoreWriter.list(sent)
        ) {
            ($0.id(0), LedgerChanges.Sum(records: $0.int64(1), occurrences: $0.int64(2)))
        }
    }

    private typealias Unanswered = (id: BatchID, sent: [RowID], summaries: Int64)

    private func unanswered(overlapping rows: ClosedRange<RowID>, of destination: Int64) throws(SQLiteError)
        -> [Unanswered]
    {
        try connection.all(
            """
            SELECT id, first_id, sent, json_array_length(notes, '$.summaries') FROM batches
            WHERE destination = ?1 AND state = 0 AND kind <> 1 AND first_id <= ?3 AND last_id >= ?2
            """, destination, rows.lowerBound, rows.upperBound
        ) { row in
            (
                id: row.id(0), sent: PostingList.decode(row.bytes(2), base: row.id(1)) ?? [],
                summaries: row.int64(3)
            )
        }
    }

    private func endWait(for batch: BatchID) throws(SQLiteError) {
        try connection.run("UPDATE batches SET state = 1 WHERE id = ?1", batch)
    }
}
