import IssueTestSupport
import UnixIO

extension TortureRun {
    /// A row that is deleted without the bookkeeping of the daemon.
    package enum DeletedRow {
        case ofOpenRange
        case ofThinnedRange

        fileprivate var isChosen: String {
            switch self {
            case .ofOpenRange: "id > (SELECT coalesce(max(last_id), 0) FROM ranges)"
            case .ofThinnedRange:
                """
                EXISTS (SELECT 1 FROM ranges WHERE records.id BETWEEN first_id AND last_id
                    AND ranges.records BETWEEN 1 AND last_id - first_id)
                """
            }
        }
    }

    /// Deletes a row before the oracle has read it, if retention has already changed its range. Returns the
    /// contradiction that the oracle finds. The run cannot be continued afterwards.
    package func hideRow(_ row: DeletedRow) throws -> String {
        // A block keeps at least one record.
        let query = """
            SELECT id FROM records WHERE \(row.isChosen)
                AND EXISTS (SELECT 1 FROM blocks WHERE records.id BETWEEN first_id AND last_id AND blocks.records > 1)
            LIMIT 1
            """
        let hidden = try rowAfterExit(query, of: row, by: MonotonicClock.now.advanced(by: .seconds(180)))
        try DatabaseFile(daemon.database, writable: true).hideRecord(hidden)
        do {
            try inspection.inspect()
        } catch let contradiction as Oracle.Contradiction {
            return contradiction.description
        }
        return "nothing"
    }

    /// Reports until such a row exists, ends the daemon, and returns the row's id.
    private func rowAfterExit(_ query: String, of row: DeletedRow, by deadline: KernelInstant) throws -> Int64 {
        pool.report(fillingRanges: row == .ofThinnedRange)
        while try daemon.file.rows(query, columns: 1).isEmpty {
            guard MonotonicClock.now < deadline else { throw GuaranteeViolation(description: "No such row was found.") }
            pool.pause(.milliseconds(10))
        }
        try pool.settle()
        try daemon.terminate()
        if row == .ofOpenRange { try inspection.inspect() }
        if let id = try daemon.file.rows(query, columns: 1).first.flatMap({ Int64($0[0]) }) { return id }
        // The daemon closed or thinned out the range before it exited.
        try daemon.start()
        return try rowAfterExit(query, of: row, by: deadline)
    }
}
