import IssueCore
import IssueProtocol
import SQLiteKit

/// The records of a closed range after a given row, as the posting lists of its series.
package struct RangeLists: Sendable {
    /// The records of one series.
    package struct List: Sendable {
        package let series: Int64
        /// In ascending order, never empty.
        package let rows: [Int64]
        /// The rows of records with more than one occurrence, in ascending order, and the number of their further
        /// occurrences.
        package fileprivate(set) var more: [(row: Int64, occurrences: Int64)] = []

        init(series: Int64, rows: [Int64]) {
            self.series = series
            self.rows = rows
        }
    }

    /// The lists, ordered by their first records.
    package private(set) var lists: [List]
    /// The first and the last record of all lists.
    package let rows: ClosedRange<Int64>
    /// Record log time minus wall time, in milliseconds.
    package let offset: Int64
    /// The number of records.
    package let count: Int

    /// Returns nil if there are no records.
    init?(_ lists: [List], offset: Int64) {
        self.lists = lists.filter { !$0.rows.isEmpty }.sorted { $0.rows[0] < $1.rows[0] }
        guard let first = self.lists.first?.rows.first, let last = self.lists.compactMap(\.rows.last).max() else {
            return nil
        }
        rows = first...last
        self.offset = offset
        count = self.lists.reduce(0) { $0 + $1.rows.count }
    }

    /// Adds the rows of records with more than one occurrence, in ascending order.
    mutating func note(_ more: [(series: Int64, row: Int64, occurrences: Int64)]) {
        let places = Dictionary(lists.indices.map { (lists[$0].series, $0) }) { first, _ in first }
        for record in more {
            guard let place = places[record.series] else { continue }
            lists[place].more.append((record.row, record.occurrences))
        }
    }
}

extension StoreReader {
    /// Returns the posting lists of the range that contains the next record after `row`.
    ///
    /// - Returns: The records of the range after `row`, or nil if no range contains a later record or if reading row by
    ///   row is better.
    /// - Throws: The error of the query.
    package func lists(after row: Int64) throws -> RangeLists? {
        try snapshot {
            let found = try connection.withStatement(
                "SELECT id, first_id, last_id, records FROM ranges WHERE last_id > ?1 ORDER BY id LIMIT 1"
            ) { statement in
                statement.bind(row, at: 1)
                return try statement.first {
                    (id: $0.int64(0), first: $0.int64(1), last: $0.int64(2), records: $0.int64(3))
                }
            }
            guard let range = found else { return nil }
            let clock = try offset(after: row)
            // With half of the range or less left, decoding the lists costs more than reading the rows.
            guard clock.end >= range.last, range.last &- row > range.records / 2,
                let lists = try lists(ofRange: range.id, range.first, range.last, records: range.records, after: row),
                var left = RangeLists(lists, offset: clock.offset)
            else { return nil }
            if try isCoalesced(range.id) { left.note(try coalesced(in: left.rows)) }
            return left
        }
    }

    /// Returns the first record with `row <= id <= last`, or nil if there is none.
    ///
    /// - Throws: The error of the query.
    package func step(from row: Int64, through last: Int64) throws -> ScanRow? {
        try steps(above: row &- 1, through: last, limit: 1).first
    }

    /// Returns the lists of a range, or nil if they do not match its records exactly because some are being removed.
    private func lists(
        ofRange range: Int64, _ first: Int64, _ last: Int64, records: Int64, after row: Int64
    ) throws -> [RangeLists.List]? {
        var count: Int64 = 0
        var isSound = true
        let lists = try connection.withStatement(
            "SELECT series, records, ids FROM postings WHERE range = ?1 AND records > 0"
        ) { statement in
            statement.bind(range, at: 1)
            return try statement.all { posting in
                let rows = posting.withBytes(2) { PostingList.decode($0, base: first) } ?? []
                isSound = isSound && rows.count == posting.int(1) && Self.isAscending(rows, from: first, through: last)
                count += Int64(rows.count)
                let left = rows.first.map { $0 > row } ?? true ? rows : rows.filter { $0 > row }
                return RangeLists.List(series: posting.int64(0), rows: left)
            }
        }
        return isSound && count == records ? lists : nil
    }

    private static func isAscending(_ rows: [Int64], from first: Int64, through last: Int64) -> Bool {
        guard let lowest = rows.first, let highest = rows.last, lowest >= first, highest <= last else {
            return rows.isEmpty
        }
        for place in rows.indices.dropFirst() where rows[place] <= rows[place - 1] { return false }
        return true
    }

    /// Returns whether any series of a range has ever had a record with more than one occurrence.
    private func isCoalesced(_ range: Int64) throws -> Bool {
        try connection.withStatement(
            """
            SELECT 1 FROM postings LEFT JOIN totals ON totals.series = postings.series
            WHERE range = ?1 AND totals.records IS NOT totals.occurrences LIMIT 1
            """
        ) { statement in
            statement.bind(range, at: 1)
            return try statement.first { _ in true } ?? false
        }
    }

    private func coalesced(
        in rows: ClosedRange<Int64>
    ) throws -> [(series: Int64, row: Int64, occurrences: Int64)] {
        try connection.withStatement(
            "SELECT series, id, count - 1 FROM records WHERE id BETWEEN ?1 AND ?2 AND count <> 1 ORDER BY id"
        ) { statement in
            statement.bind(rows.lowerBound, at: 1)
            statement.bind(rows.upperBound, at: 2)
            return try statement.all { ($0.int64(0), $0.int64(1), $0.int64(2)) }
        }
    }
}
