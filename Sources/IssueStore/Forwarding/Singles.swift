package import IssueCore
import IssueProtocol
import SQLiteKit

extension StoreWriter {
    /// Deletes the entries in `singles` of requeued records that wait to be sent but are gone or can't be read. Marks
    /// those that can't be read as expired, except those that the scan has not reached. Examines only the first 1,024
    /// waiting records of each destination.
    ///
    /// - Returns: The number of deleted entries.
    @discardableResult
    package func expireUnreadableSingles() throws(StoreFailure) -> Int {
        let singles = try Self.convertingErrors { () throws(SQLiteError) in try outbox.unreadableSingles() }
        guard !singles.isEmpty else { return 0 }
        try transaction { () throws(SQLiteError) in try outbox.expire(singles, memory.open) }
        return singles.count
    }
}

/// Records that are sent outside the scan: priority records and requeued ones.
extension ForwardingOutbox {
    /// Stores which batch contains each priority or requeued record, and how far the priority records have been
    /// examined.
    func storeSingles(of batch: NewBatch, in id: BatchID) throws(SQLiteError) {
        if batch.kind == .priority || batch.kind == .requeued {
            for record in batch.sent { try put(single: record.row, in: id, batch.destination) }
        }
        guard let priority = batch.priorityThrough else { return }
        try connection.run(
            "UPDATE destinations SET express_id = max(express_id, ?2) WHERE id = ?1", batch.destination, priority)
    }

    /// Stores the batch of a record that is sent outside the scan.
    ///
    /// - Parameter batch: Nil if the record waits for a batch.
    func put(single row: RowID, in batch: BatchID?, _ destination: Int64) throws(SQLiteError) {
        try connection.run(
            """
            INSERT INTO singles (destination, record, batch) VALUES (?1, ?2, ?3)
            ON CONFLICT DO UPDATE SET batch = excluded.batch
            """, destination, row, batch ?? 0)
    }

    /// Returns the records in `rows` that are sent outside the scan, and their batches.
    func singles(in rows: ClosedRange<RowID>, _ destination: Int64) throws(SQLiteError) -> [RowID: BatchID] {
        let found = try connection.all(
            "SELECT record, batch FROM singles WHERE destination = ?1 AND record BETWEEN ?2 AND ?3", destination,
            rows.lowerBound, rows.upperBound
        ) { ($0.id(0, as: RowID.self), $0.id(1, as: BatchID.self)) }
        return Dictionary(found) { first, _ in first }
    }

    /// A record that waits to be sent outside the scan of a destination.
    typealias WaitingSingle = (destination: Int64, record: RowID)

    /// The maximum number of waiting records that are examined per destination.
    private static let maxExaminedSingles = 1024

    /// Returns waiting records that are gone or can't be read. Examines only the first ones of each destination.
    func unreadableSingles() throws(SQLiteError) -> [WaitingSingle] {
        var found: [WaitingSingle] = []
        let destinations = try connection.all("SELECT id FROM destinations ORDER BY id") { $0.int64(0) }
        for destination in destinations {
            let waiting = try connection.all(
                "SELECT record FROM singles WHERE destination = ?1 AND batch = 0 ORDER BY record LIMIT ?2", destination,
                Self.maxExaminedSingles
            ) { $0.id(0, as: RowID.self) }
            guard !waiting.isEmpty else { continue }
            found += try missing(waiting).sorted().map { (destination: destination, record: $0) }
        }
        return found
    }

    /// Deletes the entries of waiting records that are gone or can't be read. Marks those that can't be read as
    /// expired, except those that the scan has not reached.
    func expire(_ unreadable: [WaitingSingle], _ open: OpenRange) throws(SQLiteError) {
        var ledger = LedgerChanges()
        for (destination, row) in unreadable {
            try connection.run(
                "DELETE FROM singles WHERE destination = ?1 AND record = ?2 AND batch = 0", destination, row)
            // If the scan has not passed the record yet, the scan expires it.
            let isPassed = try connection.exists(
                "SELECT 1 FROM destinations WHERE id = ?1 AND cursor >= ?2", destination, row)
            guard isPassed, let account = try accounts(ofUnreadable: [row...row], open).first?.account else { continue }
            ledger.expiredUnreadable(account: account, destination: destination)
        }
        try ledger.write(on: connection)
        try expireRemainingOccurrences(of: Array(Set(unreadable.map(\.destination))), after: ledger)
    }

    /// Deletes the entries of all records up to a row. The records must have been removed.
    func deleteSingles(through row: RowID) throws(SQLiteError) {
        try connection.run(
            "DELETE FROM singles WHERE destination IN (SELECT id FROM destinations) AND record <= ?1", row)
    }

    /// Deletes the entries of the records in `rows` that were removed or can't be read.
    func deleteSingles(in rows: ClosedRange<RowID>) throws(SQLiteError) {
        try connection.run(
            """
            DELETE FROM singles WHERE destination IN (SELECT id FROM destinations) AND record BETWEEN ?1 AND ?2
                AND NOT EXISTS (SELECT 1 FROM records WHERE records.id = record)
            """, rows.lowerBound, rows.upperBound)
    }
}

extension StoreReader {
    /// Returns the priority records after a row, oldest first. Leaves out those that have an entry in `singles` for the
    /// destination, can't be read, or belong to a lost series.
    ///
    /// - Parameter limit: The maximum number of records.
    package func priority(for destination: Int64, above row: RowID, limit: Int) throws -> [OutboxRecord] {
        try snapshot {
            let steps = try connection.all(
                """
                SELECT records.id, received_at, count, series FROM express JOIN records ON records.id = express.record
                WHERE record > ?1 AND NOT EXISTS (
                    SELECT 1 FROM singles WHERE singles.destination = ?2 AND singles.record = express.record
                )
                ORDER BY record LIMIT ?3
                """, row, destination, limit
            ) { step in
                ScanRow(
                    row: step.id(0), receivedAt: step.time(1), count: step.int64(2), series: step.id(3))
            }
            var known: [SeriesID: SeriesInfo] = [:]
            var move: RowID = 0
            var clock: (offset: Int64, end: RowID)?
            return try steps.compactMap { step in
                if step.row > move {
                    known = [:]
                    move = try nextMove(after: step.row - 1)
                }
                let facts = try known[step.series] ?? info(ofSeries: step.series, at: step.row)
                known[step.series] = facts
                if clock.map({ $0.end < step.row }) ?? true { clock = try offset(after: step.row - 1) }
                return facts?.record(step, offset: clock?.offset ?? 0)
            }
        }
    }

    /// Returns the row of the newest record in `express`, whether it was sent or not; 0 if there is none.
    package func newestPriority() throws -> RowID {
        try snapshot {
            try connection.first("SELECT max(record) FROM express") { $0.id(0) } ?? 0
        }
    }

    /// Returns requeued records that wait to be sent, oldest first, without those that can't be read or whose series
    /// is lost.
    ///
    /// - Parameter limit: The maximum number of records.
    package func requeued(for destination: Int64, limit: Int) throws -> [OutboxRecord] {
        try snapshot {
            var found: [OutboxRecord] = []
            var above: RowID = 0
            while found.count < limit {
                let rows = try connection.all(
                    """
                    SELECT record FROM singles WHERE destination = ?1 AND batch = 0 AND record > ?2
                    ORDER BY record LIMIT ?3
                    """, destination, above, limit - found.count
                ) { $0.id(0, as: RowID.self) }
                guard !rows.isEmpty else { break }
                for row in rows where row > above {
                    above = row
                    if let record = try outboxRecord(row: row) {
                        found.append(record)
                        continue
                    }
                    // Unreadable records must not keep later ones from being sent. Skipping to the next readable one
                    // avoids reading a damaged block once for each of its records.
                    guard let next = try steps(above: row, through: .max, limit: 1).first else { return found }
                    above = next.row - 1
                }
            }
            return found
        }
    }
}
