import IssueTestSupport
import UnixIO

extension TortureRun {
    /// A row that is deleted without the bookkeeping of the daemon.
    package enum DeletedRow {
        case ofOpenRange
        case ofThinnedRange

        /// The SQL condition for a block that holds such rows. It reads only small tables, because a long query would
        /// keep the WAL from being reset.
        fileprivate var isInBlock: String {
            switch self {
            case .ofOpenRange: "first_id > (SELECT coalesce(max(last_id), 0) FROM ranges)"
            case .ofThinnedRange:
                """
                EXISTS (SELECT 1 FROM ranges WHERE blocks.first_id BETWEEN ranges.first_id AND ranges.last_id
                    AND ranges.records BETWEEN 1 AND ranges.last_id - ranges.first_id)
                """
            }
        }
    }

    /// Deletes a row, and returns the contradiction that the oracle finds, or "nothing" if it finds none. A row of the
    /// open range is read by the oracle before it is deleted; a row of a range that retention has thinned out is not.
    /// The run cannot be continued afterwards.
    package func hideRow(_ row: DeletedRow) throws -> String {
        let hidden = try rowAfterExit(row, by: MonotonicClock.now.advanced(by: .seconds(300)))
        try DatabaseFile(daemon.database, writable: true).hideRecord(hidden)
        do {
            try inspection.inspect()
        } catch let contradiction as Oracle.Contradiction {
            return contradiction.description
        }
        return "nothing"
    }

    /// Sends reports until such a row exists, stops the daemon, and returns the row's id.
    private func rowAfterExit(_ row: DeletedRow, by deadline: KernelInstant) throws -> Int64 {
        // A block must keep at least one record, so it must have several.
        let block = "SELECT first_id FROM blocks WHERE records > 1 AND \(row.isInBlock) LIMIT 1"
        pool.report(fillingRanges: row == .ofThinnedRange)
        while try daemon.file.rows(block, columns: 1).isEmpty {
            guard MonotonicClock.now < deadline else { throw GuaranteeViolation(description: "No such row was found.") }
            pool.pause(.milliseconds(50))
        }
        try pool.settle()
        try daemon.terminate()
        if row == .ofOpenRange { try inspection.inspect() }
        let id = try daemon.file.rows("SELECT id FROM records WHERE id >= (\(block)) LIMIT 1", columns: 1).first?[0]
        if let id = id.flatMap(Int64.init) { return id }
        // The daemon closed, thinned out or removed the range before it exited.
        try daemon.start()
        return try rowAfterExit(row, by: deadline)
    }
}
