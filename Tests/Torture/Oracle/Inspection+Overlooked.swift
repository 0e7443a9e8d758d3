import SQLiteKit

/// Rows that were stored and removed between two looks.
///
/// Retention may remove records from a range immediately after it was closed. The content of such rows is
/// unknown, but their number is known, and only closed ranges may lack rows.
extension Inspection {
    /// Stores the ids that were skipped, and complains about those that retention cannot have removed.
    func noteOverlooked(_ connection: DatabaseConnection) throws {
        let end = try Statement("SELECT coalesce(max(last_id), 0) FROM ranges", on: connection).first { $0.int64(0) }
        if let end, end > lastRow {
            gaps.append(lastRow + 1...end)
            lastRow = end
        }
        for gap in gaps {
            let statement = try Statement(
                """
                SELECT coalesce(sum(min(last_id, ?2) - max(first_id, ?1) + 1), 0) FROM ranges
                WHERE first_id <= ?2 AND last_id >= ?1 AND records < last_id - first_id + 1
                """, on: connection)
            statement.bind(gap.lowerBound, at: 1)
            statement.bind(gap.upperBound, at: 2)
            if try statement.first({ $0.int64(0) }) != Int64(gap.count) {
                complaints.append("the rows \(gap) are missing, and retention has not removed them")
            }
            overlooked += Int64(gap.count)
            oracle.overlooked(gap)
        }
        gaps = []
    }

    /// Compares sums of the store with what was seen, except for the rows overlooked since the last look.
    ///
    /// - Parameters:
    ///   - name: The name of the sums in complaints.
    ///   - stored: The sums of the store.
    ///   - seen: The sums of the rows that were seen. Replaced with `stored`.
    ///   - isComplete: `false` if the sums of overlooked rows may have been removed, too.
    func compare<Key>(
        _ name: String, _ stored: [Key: RecordTotals], with seen: inout [Key: RecordTotals], isComplete: Bool = true
    ) {
        var more: Int64 = 0
        for (key, tally) in seen {
            let totals = stored[key] ?? RecordTotals()
            more -= tally.records
            let isWell = overlooked > 0 ? totals.holds(tally) : totals == tally
            if !isWell { complaints.append("\(name) has \(totals) for \(key), but the rows were \(tally)") }
        }
        for (key, tally) in stored {
            more += tally.records
            if seen[key] == nil, overlooked == 0 { complaints.append("\(name) has \(key), but no row had it") }
        }
        if isComplete ? more != overlooked : more > overlooked {
            complaints.append("\(name) has \(more) more records than were seen, but \(overlooked) were overlooked")
        }
        seen = stored
    }
}
