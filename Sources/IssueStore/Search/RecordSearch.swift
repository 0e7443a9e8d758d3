import IssueCore
import IssueProtocol
import SQLiteKit

/// Goes through the records of a query in the order of their ids, to find those that match its filter.
struct RecordSearch {
    private var walk: RecordWalk
    /// `false` if the last row that `next` returned has been examined already and does not match.
    private(set) var isCandidate = true

    /// Starts a search.
    ///
    /// - Parameters:
    ///   - selection: Selects the series.
    ///   - query: The filter and the order. The limits are up to the caller.
    ///   - row: The row after which to start, or nil to start at the beginning.
    init(
        _ selection: SeriesSelection, _ query: StoreReader.RecordQuery, from row: RowID?, on reader: StoreReader
    ) throws {
        walk = try RecordWalk(
            series: try reader.series(selection)?.map(\.series), isAscending: query.isAscending, from: row,
            since: query.filter.since, until: query.filter.until, on: reader)
    }

    /// Returns the next row, or nil at the end.
    ///
    /// The row need not match, and it may be outside the requested time. Rows before it have been examined.
    mutating func next(on reader: StoreReader) throws -> RowID? {
        try walk.next(on: reader)
    }
}

extension StoreReader {
    /// Returns the groups that match the conditions of a filter on the content of records.
    ///
    /// A group matches if one of its stored records does. It also matches if the words and phrases of the text occur in
    /// its title and domain, provided that the filter has no conditions on metadata.
    ///
    /// - Parameters:
    ///   - filter: The filter.
    ///   - selection: The series that match the other parts of the filter.
    /// - Returns: Nil if the filter has no such conditions.
    func groups(with filter: IssueFilter, in selection: SeriesSelection) throws -> [GroupID]? {
        guard let content = RecordMatcher(filter) else { return nil }
        var (matching, others) = try groupsByTitle(content, in: selection)
        let query = RecordQuery(filter: filter, isAscending: false, limit: 1, after: nil)
        var search = try RecordSearch(selection, query, from: nil, on: self)
        while !others.isEmpty, let row = try search.next(on: self) {
            guard search.isCandidate, let record = try record(row: row), others.contains(record.group),
                try matches(record, filter, content)
            else { continue }
            others.remove(record.group)
            matching.append(record.group)
        }
        return matching
    }

    /// Divides the groups of a selection into those whose titles match, and the others.
    private func groupsByTitle(
        _ content: RecordMatcher, in selection: SeriesSelection
    ) throws -> (matching: [GroupID], others: Set<GroupID>) {
        let statement = try Statement(
            composedSQL: """
                SELECT id, title, domain FROM groups WHERE id IN (SELECT "group" FROM (\(SeriesSelection.sql)))
                """, on: connection)
        selection.bind(to: statement)
        var matching: [GroupID] = []
        var others: Set<GroupID> = []
        try statement.forEach { row in
            var record = IssueRecord(message: row.text(1))
            record.domain = row.optionalText(2)
            if content.matches(record) { matching.append(row.id(0)) } else { others.insert(row.id(0)) }
        }
        return (matching, others)
    }
}
