import SQLiteKit

/// Rows that came and went between two looks.
///
/// Retention may take the noisiest issues from a range as soon as it is closed. What
/// such a row said nobody knows, but how many there were, and that only a
/// closed range may lack any.
extension Inspection {
    /// Takes note of the ids that were passed, and complains of those that retention can't have taken.
    func noteOverlooked(_ connection: Connection) throws {
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
                complaints.append("the rows \(gap) are not there, and retention has not taken them")
            }
            overlooked += Int64(gap.count)
            oracle.overlooked(gap)
        }
        gaps = []
    }

    /// Compares sums of the store with what was seen, which lacks the rows that were overlooked since the last look.
    func compare<Key>(_ name: String, _ stored: [Key: Tally], with seen: inout [Key: Tally]) {
        var more: Int64 = 0
        for (key, tally) in seen {
            let says = stored[key] ?? Tally()
            more -= tally.records
            let isWell = overlooked > 0 ? says.holds(tally) : says == tally
            if !isWell { complaints.append("\(name) says of \(key): \(says), and the rows were \(tally)") }
        }
        for (key, tally) in stored {
            more += tally.records
            if seen[key] == nil, overlooked == 0 { complaints.append("\(name) has \(key), and no row had") }
        }
        if more != overlooked {
            complaints.append("\(name) has \(more) records more than were seen, and \(overlooked) were overlooked")
        }
        seen = stored
    }
}
