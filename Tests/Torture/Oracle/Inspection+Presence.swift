import SQLiteKit

/// Checks that known rows still exist. Only retention may remove rows, only from closed ranges, and it must update
/// their counts.
extension Inspection {
    private struct Holding {
        let id: Int64
        let first: Int64
        let last: Int64
        /// The number of records that the range's row states.
        let records: Int64
        /// The number of records that exist.
        let present: Int64
        /// The number of entries in the posting lists.
        let listed: Int64
    }

    func checkPresence(_ connection: DatabaseConnection) throws {
        let holdings = try Statement(
            """
            SELECT id, first_id, last_id, records,
                   (SELECT count(*) FROM records WHERE records.id BETWEEN first_id AND last_id),
                   (SELECT coalesce(sum(postings.records), 0) FROM postings WHERE range = ranges.id)
            FROM ranges
            """, on: connection
        ).all {
            Holding(
                id: $0.int64(0), first: $0.int64(1), last: $0.int64(2), records: $0.int64(3), present: $0.int64(4),
                listed: $0.int64(5))
        }
        for holding in holdings {
            if holding.present != holding.records {
                complaints.append(
                    "range \(holding.id) claims \(holding.records) records but has \(holding.present)"
                )
            }
            // Lists may still contain rows that retention is removing; they are emptied afterwards.
            guard holding.listed == holding.present, comparedRanges[holding.id] != holding.present else { continue }
            comparedRanges[holding.id] = holding.present
            try compareLists(of: holding, connection)
        }
        let open = try Statement("SELECT count(*) FROM records WHERE id > ?1", on: connection)
        open.bind(lastClosedRow, at: 1)
        let present = try open.first { $0.int64(0) } ?? 0
        if present != Int64(openRows.count) {
            complaints.append("there are \(present) rows above \(lastClosedRow), but \(openRows.count) were seen")
        }
    }

    private func compareLists(of holding: Holding, _ connection: DatabaseConnection) throws {
        let rows = try Statement("SELECT id, series FROM records WHERE id BETWEEN ?1 AND ?2", on: connection)
        rows.bind(holding.first, at: 1)
        rows.bind(holding.last, at: 2)
        var ids: [Int64: [Int64]] = [:]
        try rows.forEach { ids[$0.int64(1), default: []].append($0.int64(0)) }
        let lists = try Statement("SELECT series, ids FROM postings WHERE range = ?1 AND records > 0", on: connection)
        lists.bind(holding.id, at: 1)
        var listed: [Int64: [Int64]] = [:]
        for (series, bytes) in try lists.all({ ($0.int64(0), $0.bytes(1)) }) {
            listed[series] = Self.ids(bytes, after: holding.first)
        }
        if listed != ids {
            complaints.append("the posting lists of range \(holding.id) do not match its remaining rows")
        }
    }
}
