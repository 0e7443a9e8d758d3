import IssueCore
import IssueProtocol
import SQLiteKit

/// Marks pending records as `expired` when they are removed or can't be read.
extension ForwardingOutbox {
    /// Marks records as expired at each destination where they are pending, and moves the cursors past them.
    ///
    /// - Returns: The number of fates that became `expired`, over all destinations.
    func expire(_ rows: ClosedRange<RowID>) throws(SQLiteError) -> Int64 {
        let known = try unscannedRows()
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
        // The statements above have read all pending records, so the damaged blocks with such records are known.
        for (row, account) in try accounts(ofUnreadable: blocks.unreadable(in: rows)) {
            for destination in known
            where try isPending(row, at: destination, inFlight: awaiting[destination.id] ?? []) {
                ledger.expiredUnreadable(account: account, destination: destination.id)
                expired += 1
            }
        }
        try ledger.write(on: connection)
        try expireRemainingOccurrences(of: known.map(\.id), after: ledger)
        try moveCursors(to: rows.upperBound)
        return expired
    }

    /// Marks individual records as expired at each destination where they are pending. Records between them remain, so
    /// no cursor moves.
    ///
    /// - Parameter toErase: The records, in ascending order.
    /// - Returns: The number of fates that became `expired`, over all destinations.
    func expire(_ toErase: [RecordToErase]) throws(SQLiteError) -> Int64 {
        guard let first = toErase.first?.row, let last = toErase.last?.row else { return 0 }
        let rows = Set(toErase.map(\.row))
        var ledger = LedgerChanges()
        var expired: Int64 = 0
        let destinations = try unscannedRows()
        for destination in destinations {
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
                let gone = try missing(left)
                // Unreadable records expire when the batch is settled.
                if gone.count == left.count, try unreadable(among: gone).isEmpty { try markAnswered(batch.id) }
            }
        }
        try ledger.write(on: connection)
        try expireRemainingOccurrences(of: destinations.map(\.id), after: ledger)
        return expired
    }

    // MARK: Damaged blocks

    /// Expires the records of damaged blocks that the scan of a batch has passed, except those sent outside the scan.
    func expireUnreadable(
        of batch: NewBatch, _ open: OpenRange, in ledger: inout LedgerChanges
    ) throws(SQLiteError) {
        for (row, account) in try accounts(ofUnreadable: batch.unreadable, open)
        where try singles(in: row...row, batch.destination).isEmpty {
            ledger.expiredUnreadable(account: account, destination: batch.destination)
        }
    }

    /// Expires the pending occurrences of accounts that have no pending records. These occurrences belong to unreadable
    /// records, which have expired with only one occurrence each because their counts are unknown.
    ///
    /// - Parameters:
    ///   - destinations: The ids of the destinations.
    ///   - ledger: The changes of this transaction. Only the accounts in these changes are examined.
    func expireRemainingOccurrences(of destinations: [Int64], after ledger: LedgerChanges) throws(SQLiteError) {
        guard !blocks.damagedBlocks.isEmpty else { return }
        for destination in destinations { try expireRemainingOccurrences(of: destination, after: ledger) }
    }

    private func expireRemainingOccurrences(
        of destination: Int64, after ledger: LedgerChanges
    ) throws(SQLiteError) {
        let pending = Int64(IssueFate.Outcome.pending.databaseValue)
        for account in ledger.accounts(at: destination) {
            try connection.run(
                """
                INSERT INTO ledger (destination, account, fate, records, occurrences)
                SELECT destination, account, ?4, 0, occurrences FROM ledger
                WHERE destination = ?1 AND account = ?2 AND fate = ?3 AND records = 0 AND occurrences > 0
                ON CONFLICT DO UPDATE SET occurrences = min(occurrences, 9223372036854775807 - excluded.occurrences)
                                                            + excluded.occurrences
                """, destination, account, pending, Int64(IssueFate.Outcome.expired.databaseValue))
            try connection.run(
                """
                UPDATE ledger SET occurrences = 0
                WHERE destination = ?1 AND account = ?2 AND fate = ?3 AND records = 0 AND occurrences > 0
                """, destination, account, pending)
        }
    }

    /// After a restart, expires the pending records of damaged blocks in the open range.
    ///
    /// The accounts of these records are unknown, because the open range has no posting lists and is rebuilt from the
    /// blocks that can be read. So all pending records are counted again, and the surplus in the ledger expires. A
    /// second call finds no surplus.
    func expireLost(_ open: OpenRange) throws(SQLiteError) {
        guard open.count > 0 else { return }
        let lost = blocks.unreadable(in: open.firstID...open.lastID).contains { rows in
            rows.contains { open.series(ofRow: $0) == nil }
        }
        guard lost else { return }
        var ledger = LedgerChanges()
        for destination in try unscannedRows() {
            let counted = try pending(at: destination, open)
            let lines = try connection.all(
                "SELECT account, records, occurrences FROM ledger WHERE destination = ?1 AND fate = ?2",
                destination.id, Int64(IssueFate.Outcome.pending.databaseValue)
            ) { (account: $0.id(0, as: AccountID.self), records: $0.int64(1), occurrences: $0.int64(2)) }
            for line in lines {
                let known = counted[line.account] ?? LedgerChanges.Sum()
                guard line.records > known.records else { continue }
                ledger.expiredUnreadable(
                    LedgerChanges.Sum(
                        records: line.records - known.records, occurrences: max(0, line.occurrences - known.occurrences)
                    ), account: line.account, destination: destination.id)
            }
        }
        try ledger.write(on: connection)
    }

    /// Counts the pending records of a destination by account, including unreadable ones whose accounts are known.
    private func pending(
        at destination: UnscannedRows, _ open: OpenRange
    ) throws(SQLiteError) -> [AccountID: LedgerChanges.Sum] {
        let all: ClosedRange<RowID> = 1...open.lastID
        let batches = try unanswered(overlapping: all, of: destination.id)
        var sums: [AccountID: LedgerChanges.Sum] = [:]
        for (account, sum) in try inFlight(all, batches)
            + waiting(destination.above + 1, min(all.upperBound, destination.through), destination.id)
            + requeued(all, destination.id)
        {
            sums[account, default: LedgerChanges.Sum()].records += sum.records
            sums[account, default: LedgerChanges.Sum()].occurrences += sum.occurrences
        }
        // The statements above have read all pending records, so the damaged blocks with such records are known.
        let sent = Set(batches.flatMap(\.sent))
        for (row, account) in try accounts(ofUnreadable: blocks.unreadable(in: all), open)
        where try isPending(row, at: destination, inFlight: sent) {
            sums[account, default: LedgerChanges.Sum()].records += 1
            sums[account, default: LedgerChanges.Sum()].occurrences += 1
        }
        return sums
    }

    /// Returns `true` if a record waits to be sent to a destination, or is in a batch that awaits a response.
    ///
    /// - Parameter inFlight: The records in those batches of the destination that await a response.
    private func isPending(
        _ row: RowID, at destination: UnscannedRows, inFlight: Set<RowID>
    ) throws(SQLiteError) -> Bool {
        let batch = try single(row, destination.id)
        let isWaiting = row > destination.above && row <= destination.through && batch == nil
        return isWaiting || batch == 0 || inFlight.contains(row)
    }

    /// Returns the ids of records in damaged blocks, with their accounts. Leaves out records with an unknown account.
    ///
    /// - Parameters:
    ///   - ranges: The ids to examine. Readable and removed records are ignored.
    ///   - open: The open range, whose records have no posting lists; nil to examine only closed ranges.
    func accounts(
        ofUnreadable ranges: [ClosedRange<RowID>], _ open: OpenRange? = nil
    ) throws(SQLiteError) -> [(row: RowID, account: AccountID)] {
        var found: [(row: RowID, account: AccountID)] = []
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
                found += ids.filter { rows.contains($0) }.map { (row: $0, account: account) }
            }
            if let open { found += try openAccounts(rows, open) }
        }
        guard !found.isEmpty else { return [] }
        let unreadable = try unreadable(among: missing(found.map(\.row)))
        return found.filter { unreadable.contains($0.row) }
    }

    /// Returns the missing records that are in damaged blocks.
    ///
    /// Retention may have removed a block since it was found to be damaged, so the function checks that a block still
    /// covers the id.
    func unreadable(among missing: Set<RowID>) throws(SQLiteError) -> Set<RowID> {
        let candidates = missing.filter { !blocks.unreadable(in: $0...$0).isEmpty }
        guard !candidates.isEmpty else { return [] }
        var found: Set<RowID> = []
        try connection.forEach(
            """
            SELECT value FROM json_each(?1) WHERE value <=
                (SELECT last_id FROM blocks WHERE first_id <= value ORDER BY first_id DESC LIMIT 1)
            """, StoreWriter.list(Array(candidates))
        ) { found.insert($0.id(0)) }
        return found
    }

    /// Returns the ids in `rows` that are in the open range and whose accounts are known, with these accounts.
    private func openAccounts(
        _ rows: ClosedRange<RowID>, _ open: OpenRange
    ) throws(SQLiteError) -> [(row: RowID, account: AccountID)] {
        let (first, last) = (max(rows.lowerBound, open.firstID), min(rows.upperBound, open.lastID))
        guard first <= last else { return [] }
        var accounts: [SeriesID: AccountID] = [:]
        var found: [(row: RowID, account: AccountID)] = []
        for row in first...last {
            guard let series = open.series(ofRow: row) else { continue }
            if accounts[series] == nil {
                accounts[series] = try connection.first("SELECT account FROM series WHERE id = ?1", series) {
                    $0.id(0, as: AccountID.self)
                }
            }
            if let account = accounts[series] { found.append((row: row, account: account)) }
        }
        return found
    }

    // MARK: Pending records

    /// Returns `false` if a destination still has to scan one of the rows, awaits a response to a batch whose span
    /// overlaps them, or has an entry for one of them in `singles`.
    func isSettled(_ rows: ClosedRange<RowID>) throws(SQLiteError) -> Bool {
        for destination in try unscannedRows() {
            guard rows.upperBound <= destination.above || rows.lowerBound > destination.through,
                try unanswered(overlapping: rows, of: destination.id).isEmpty,
                try singles(in: rows, destination.id).isEmpty
            else { return false }
        }
        return true
    }

    /// The rows that a destination still has to scan: those above `above`, up to `through`.
    private typealias UnscannedRows = (id: Int64, above: RowID, through: RowID)

    /// Returns the rows that each destination still has to scan.
    private func unscannedRows() throws(SQLiteError) -> [UnscannedRows] {
        try connection.all("SELECT id, first_id, cursor, active, given_id FROM destinations") { row in
            // Records that arrive while a destination is not configured are queued only when it is configured again.
            (
                id: row.int64(0), above: max(row.id(1) - 1, row.id(2)),
                through: row.int64(3) != 0 ? .max : row.id(4)
            )
        }
    }

    func moveCursors(to row: RowID) throws(SQLiteError) {
        try connection.run("UPDATE destinations SET cursor = ?1 WHERE cursor < ?1", row)
    }

    /// The numbers of records and occurrences of an account.
    private typealias AccountSum = (account: AccountID, sum: LedgerChanges.Sum)

    private static func accountSum(_ row: borrowing Row) -> AccountSum {
        (row.id(0), LedgerChanges.Sum(records: row.int64(1), occurrences: row.int64(2)))
    }

    /// Returns, per account, the number of records from row `first` to row `last` that the scan is to send, that is,
    /// without those in `singles`.
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
        ) { Self.accountSum($0) }
    }

    /// Returns, per account, the number of requeued records in `rows` that wait to be sent.
    private func requeued(_ rows: ClosedRange<RowID>, _ destination: Int64) throws(SQLiteError) -> [AccountSum] {
        try connection.all(
            """
            SELECT series.account, count(*), sum(records.count)
            FROM singles JOIN records ON records.id = singles.record JOIN series ON series.id = records.series
            WHERE singles.destination = ?1 AND singles.batch = 0 AND singles.record BETWEEN ?2 AND ?3
            GROUP BY series.account
            """, destination, rows.lowerBound, rows.upperBound
        ) { Self.accountSum($0) }
    }

    /// Returns, per account, the number of records in `rows` whose batches await a response. Marks a batch as answered
    /// if it has neither summaries nor records after `rows`.
    private func unanswered(_ rows: ClosedRange<RowID>, of destination: Int64) throws(SQLiteError) -> [AccountSum] {
        let batches = try unanswered(overlapping: rows, of: destination)
        for batch in batches where batch.summaries == 0 && batch.sent.allSatisfy({ $0 <= rows.upperBound }) {
            try markAnswered(batch.id)
        }
        return try inFlight(rows, batches)
    }

    /// Returns, per account, the number of records in `rows` that the batches contain.
    private func inFlight(_ rows: ClosedRange<RowID>, _ batches: [Unanswered]) throws(SQLiteError) -> [AccountSum] {
        let sent = batches.flatMap(\.sent).filter { rows.contains($0) }
        guard !sent.isEmpty else { return [] }
        return try connection.all(
            """
            SELECT series.account, count(*), sum(records.count)
            FROM json_each(?1) AS sent JOIN records ON records.id = sent.value
            JOIN series ON series.id = records.series GROUP BY series.account
            """, StoreWriter.list(sent)
        ) { Self.accountSum($0) }
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

    private func markAnswered(_ batch: BatchID) throws(SQLiteError) {
        try connection.run("UPDATE batches SET state = 1 WHERE id = ?1", batch)
    }
}
