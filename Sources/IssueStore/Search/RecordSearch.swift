import IssueCore
import IssueProtocol
import SQLiteKit

/// Iterates over the records of a query in the order of their ids, and rules out those that cannot match its filter.
///
/// If the filter has conditions on the content of records, blocks are searched one after the other. If its other
/// conditions select few records, only the blocks that contain these are searched.
struct RecordSearch {
    /// `false` if the last row that `next` returned has been examined already and does not match.
    private(set) var isCandidate = true
    private let isAscending: Bool

    /// Nil if blocks are searched one after the other.
    private var walk: RecordWalk?
    /// Nil if there are no conditions on the content of records.
    private var scan: ContentScan?

    /// The ids that are left to search, the next ones last.
    private var spans: [ClosedRange<RowID>] = []
    /// The candidates of the current block that have not been returned, the next one last.
    private var ready: [RowID] = []
    /// The row up to which the current block was searched, if it has not been returned.
    private var edge: RowID?
    /// The current block of a walk, and the ids of its candidates.
    private var current: (ids: ClosedRange<RowID>, candidates: Set<RowID>)?

    /// Starts a search.
    ///
    /// - Parameters:
    ///   - selection: Selects the series.
    ///   - query: The filter and the order. The caller applies the limits.
    ///   - row: The row after which to start, or nil to start at the beginning.
    init(
        _ selection: SeriesSelection, _ query: StoreReader.RecordQuery, from row: RowID?, on reader: StoreReader
    ) throws {
        let series = try reader.series(selection)?.map(\.series)
        isAscending = query.isAscending
        scan = RecordMatcher(query.filter).map { ContentScan($0, wanted: series.map { Set($0) }) }
        if try scan == nil || series.map({ try reader.areFew($0) }) == true {
            walk = try RecordWalk(
                series: series, isAscending: query.isAscending, from: row, since: query.filter.since,
                until: query.filter.until, on: reader)
        } else {
            spans = try reader.spans(since: query.filter.since, until: query.filter.until)
            if let row {
                spans = spans.compactMap { span in
                    let (low, high) = isAscending ? (row, RowID.max) : (RowID.min, row)
                    guard span.upperBound > low, span.lowerBound < high else { return nil }
                    return max(
                        span.lowerBound, isAscending ? low + 1 : low)...min(
                            span.upperBound, isAscending ? high : high - 1)
                }
            }
            if isAscending { spans.reverse() }
        }
    }

    /// Returns the next row, or nil at the end.
    ///
    /// The row need not match, and it may be outside the requested time. Rows before it have been examined. At most one
    /// block is searched.
    mutating func next(on reader: StoreReader) throws -> RowID? {
        guard walk == nil else { return try nextOfWalk(on: reader) }
        while true {
            isCandidate = true
            if let row = ready.popLast() { return row }
            isCandidate = false
            if let row = edge {
                edge = nil
                return row
            }
            guard try searchBlock(on: reader) else { return nil }
        }
    }

    /// Leaves out the other records of these series.
    mutating func leaveOut(_ series: [SeriesID]) {
        scan?.leaveOut(series)
    }

    /// Searches the next block. Returns `false` if there is none.
    private mutating func searchBlock(on reader: StoreReader) throws -> Bool {
        while let span = spans.popLast() {
            let block =
                try isAscending
                ? reader.blocks.block(from: span.lowerBound) : reader.blocks.block(upTo: span.upperBound)
            guard let block, block.firstID <= span.upperBound, block.lastID >= span.lowerBound else { continue }
            let found = try scan?.candidates(in: block, on: reader) ?? []
            ready = found.map { block.rows[$0].id }.filter { span.contains($0) }
            if isAscending {
                ready.reverse()
                edge = min(block.lastID, span.upperBound)
                if block.lastID < span.upperBound { spans.append(block.lastID + 1...span.upperBound) }
            } else {
                edge = max(block.firstID, span.lowerBound)
                if block.firstID > span.lowerBound { spans.append(span.lowerBound...block.firstID - 1) }
            }
            return true
        }
        return false
    }

    private mutating func nextOfWalk(on reader: StoreReader) throws -> RowID? {
        isCandidate = true
        guard let row = try walk?.next(on: reader) else { return nil }
        guard scan != nil else { return row }
        if current?.ids.contains(row) != true {
            current = nil
            if let block = try reader.blocks.find(row)?.block {
                let found = try scan?.candidates(in: block, on: reader) ?? []
                current = (block.firstID...block.lastID, Set(found.map { block.rows[$0].id }))
            }
        }
        isCandidate = current?.candidates.contains(row) == true
        return row
    }
}

extension StoreReader {
    /// Returns the groups that match the conditions of a filter on the content of records.
    ///
    /// A group matches if one of its stored records does. It also matches if all terms of the text occur in its title
    /// and domain, provided that the filter has no conditions on metadata.
    ///
    /// - Parameters:
    ///   - filter: The filter.
    ///   - selection: The series that match the other parts of the filter.
    /// - Returns: Nil if the filter has no such conditions.
    func groups(with filter: IssueFilter, in selection: SeriesSelection) throws -> [GroupID]? {
        guard let content = RecordMatcher(filter) else { return nil }
        var (matching, others) = try groupsByTitle(content, in: selection)
        guard !others.isEmpty else { return matching }
        let query = RecordQuery(filter: filter, isAscending: false, limit: 1, after: nil)
        var rest = selection
        rest.groups = Array(others)
        let series = Dictionary(grouping: try self.series(rest) ?? [], by: \.group)
        var search = try RecordSearch(rest, query, from: nil, on: self)
        while !others.isEmpty, let row = try search.next(on: self) {
            guard search.isCandidate, let record = try record(row: row), others.contains(record.group),
                try matches(record, filter, content)
            else { continue }
            others.remove(record.group)
            matching.append(record.group)
            search.leaveOut((series[record.group] ?? []).map(\.series))
        }
        return matching
    }

    /// Returns `true` if going through the posting lists of some series is faster than searching all blocks.
    func areFew(_ series: [SeriesID]) throws -> Bool {
        let (own, all) =
            try connection.first(
                """
                SELECT (SELECT coalesce(sum(records), 0) FROM totals WHERE series IN (SELECT value FROM json_each(?1))),
                       (SELECT coalesce(sum(records), 0) FROM ranges)
                """, StoreWriter.list(series)
            ) { ($0.int64(0), $0.int64(1)) } ?? (0, 0)
        return own < all / 64
    }

    /// Returns the ids to search for a period: from the first to the last closed range that overlaps it, and the open
    /// range.
    func spans(since: IssueTimestamp?, until: IssueTimestamp?) throws -> [ClosedRange<RowID>] {
        let closed =
            try connection.first(
                "SELECT min(first_id), max(last_id) FROM ranges WHERE last_at >= ?1 AND first_at <= ?2",
                since?.millisecondsSince1970 ?? Int64.min, until?.millisecondsSince1970 ?? Int64.max
            ) { row -> ClosedRange<RowID>? in
                guard let first = row.optionalID(0, as: RowID.self), let last = row.optionalID(1, as: RowID.self),
                    first <= last
                else { return nil }
                return first...last
            } ?? nil
        let open = try lastClosedID() + 1...RowID.max
        return (closed.map { [$0] } ?? []) + [open]
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
