import IssueCore
package import IssueProtocol
import SQLiteKit

extension StoreReader {
    /// Some rows that a filter matches, in ascending order, and up to which row all were looked at.
    package struct MatchingRows: Sendable {
        package var rows: [Int64] = []
        /// Nothing where there is nothing more to look at.
        package var edge: Int64?
    }

    /// How many rows one snapshot looks at, so that none is held for long.
    private static let mostLooked = 20_000

    /// Rows that a filter matches, above one row and up to another.
    package func rows(
        _ filter: IssueFilter, above row: Int64, through last: Int64, limit: Int
    ) throws -> MatchingRows {
        let selection = try SeriesSelection(filter, viewer: .everything)
        return try snapshot {
            var walk = try walk(
                selection, RecordQuery(filter: filter, isAscending: true, limit: limit, after: nil), from: row)
            var found = MatchingRows()
            var looked = 0
            while let next = try walk.next(on: self), next <= last {
                looked += 1
                if try matches(row: next, filter) { found.rows.append(next) }
                if found.rows.count == limit || looked == Self.mostLooked {
                    found.edge = next
                    break
                }
            }
            return found
        }
    }

    private func matches(row: Int64, _ filter: IssueFilter) throws -> Bool {
        if filter.since != nil || filter.until != nil {
            let at = try connection.withStatement("SELECT received_at FROM records WHERE id = ?1") { statement in
                statement.bind(row, at: 1)
                return try statement.first { Timestamp(milliseconds: $0.int64(0)) }
            }
            guard let at, at >= filter.since ?? at, at <= filter.until ?? at else { return false }
        }
        return try matches(fatesOf: row, filter)
    }

    /// How many dead letters there are of records that are gone, of which nobody can say what a filter thinks of them.
    package func orphanedDeadLetters() throws -> Int64 {
        try snapshot {
            try connection.withStatement(
                "SELECT count(*) FROM dead_letters WHERE summary IS NULL AND record NOT IN (SELECT id FROM records)"
            ) { try $0.first { $0.int64(0) } ?? 0 }
        }
    }
}
