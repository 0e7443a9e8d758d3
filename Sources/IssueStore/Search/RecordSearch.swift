import IssueCore
import IssueProtocol
import SQLiteKit

/// Iterates over the records of a query in ascending or descending order of their ids, and excludes most of those that
/// do not match its filter.
///
/// If the filter has conditions on the content of records, blocks are searched one after the other or, if its
/// conditions on series select few records, only the blocks with these records.
struct RecordSearch {
    /// Whether the row that `next` returned last may match, so that the caller must compare it.
    private(set) var isCandidate = true
    private let isAscending: Bool

    /// Nil if blocks are searched one after the other.
    private var walk: RecordWalk?
    /// Nil if there are no conditions on the content of records.
    private var scan: ContentScan?

    /// The ids that are left to search, the next range last.
    private var spans: [ClosedRange<RowID>] = []
    /// The candidates of the current block that have not been returned, the next one last.
    private var ready: [RowID] = []
    /// The row up to which the current block was searched; nil once `next` has returned it.
    private var edge: RowID?
    /// The ids of the current block of a walk, and those of its candidates.
    private var current: (ids: ClosedRange<RowID>, candidates: Set<RowID>)?

    /// Starts a search.
    ///
    /// - Parameters:
    ///   - selection: Selects the series.
    ///   - query: The filter and the order. The caller applies the limits.
    ///   - row: The row after which, in the order of the query, the search starts; nil to start at the beginning.
    ///   - reader: The reader, in a snapshot.
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
                let wanted = isAscending ? row + 1...RowID.max : RowID.min...row - 1
                spans = spans.filter { $0.overlaps(wanted) }.map { $0.clamped(to: wanted) }
            }
            if isAscending { spans.reverse() }
        }
    }

    /// Returns the next row; nil at the end.
    ///
    /// The row need not match (`isCandidate`), and it may be outside the requested time. All rows that precede it in
    /// the order of the query have been returned, do not match, or are left out. Each call searches the text of at most
    /// one block, so that the caller can check a time limit.
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

    /// Leaves out the records of these series in blocks that have not been searched yet.
    mutating func leaveOut(_ series: [SeriesID]) {
        scan?.leaveOut(series)
    }

    /// Searches the next block. Returns `false` if there is none.
    private mutating func searchBlock(on reader: StoreReader) throws -> Bool {
        while let span = spans.popLast() {
            let block =
                try isAscending
                ? reader.blocks.block(from: span.lowerBound, limit: span.upperBound)
                : reader.blocks.block(upTo: span.upperBound, limit: span.lowerBound)
            guard let block else { continue }
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
    /// Returns the groups that meet a filter's conditions on the content of records.
    ///
    /// A group does so if one of its stored records matches the filter. If the filter has no conditions on metadata or
    /// on the context, it also suffices that each term of the text occurs in the title or the domain of the group.
    ///
    /// - Parameters:
    ///   - filter: The filter.
    ///   - selection: The series that match the other parts of the filter.
    /// - Returns: The groups; nil if the filter has no conditions on the content of records.
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

    /// Returns `true` if reading the posting lists of some series is probably faster than searching all blocks.
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

    /// Returns the ids to search for a period, in ascending order: those from the first to the last closed range that
    /// overlaps the period, and those of the open range.
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

    /// Divides the groups of a selection into those that match by title and domain, and the others.
    private func groupsByTitle(
        _ content: RecordMatcher, in selection: SeriesSelection
    ) throws -> (matching: [GroupID], others: Set<GroupID>) {
        let statement = try selection.statement(
            """
            SELECT id, title, domain FROM groups WHERE id IN (SELECT "group" FROM (\(SeriesSelection.sql)))
            """, on: connection)
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

/// Iterates over the rows of some series, or of all series, in the order of their ids.
///
/// In descending order, the chain of posting lists of each series is followed, so that a rare series costs no more than
/// a common one. In ascending order, the posting lists are read range by range. Closed ranges that are entirely outside
/// the requested time are skipped. The open range has no posting lists yet, so it is read block by block, as is any
/// range if the rows of all series are requested.
struct RecordWalk {
    /// Ids that are read together: those of a closed range, those of the open range, or all ids.
    private struct IDRange {
        /// The id of the closed range; nil for the open range and for all ids.
        var range: Int64?
        var first: RowID
        var last: RowID
    }

    /// The ids that have been read but not returned, the next one last.
    private var ready: [RowID] = []
    /// The series to read; nil for all series.
    private let series: [SeriesID]?
    /// The same series, as a filter for records of the open range.
    private let filter: SeriesFilter?
    private let isAscending: Bool
    /// The row after which, in the order of the iteration, the first row is returned.
    private let bound: RowID
    /// The ranges that have not been read, the next one last.
    private var pending: [IDRange] = []
    /// Whether closed ranges are read along the chains of posting lists of the series.
    private var isChained: Bool { series != nil && !isAscending }
    /// Whether ranges outside the requested time are skipped.
    private let isTimed: Bool
    /// For each range, the series whose next records in descending order are in it.
    private var chain: [Int64: [SeriesID]] = [:]
    /// The last id or, in descending order, the first id of the last block that was read; initially `bound`.
    private var edge: RowID

    init(
        series: [SeriesID]?, isAscending: Bool, from row: RowID?, since: IssueTimestamp? = nil,
        until: IssueTimestamp? = nil,
        on reader: StoreReader
    ) throws {
        self.series = series
        filter = series.map { SeriesFilter($0) }
        self.isAscending = isAscending
        bound = row ?? (isAscending ? 0 : .max)
        edge = bound
        isTimed = since != nil || until != nil
        let lastClosed = try reader.lastClosedID()
        guard series != nil || isTimed else {
            pending = [IDRange(range: nil, first: 1, last: .max)]
            return
        }
        let open = IDRange(range: nil, first: lastClosed + 1, last: .max)
        if isAscending || isTimed {
            pending = try Self.closed(beyond: bound, isAscending: isAscending, since: since, until: until, on: reader)
        }
        pending = isAscending ? [open] + pending.reversed() : pending + [open]
        if isChained { try startChains(on: reader) }
    }

    /// Returns the next row; nil at the end.
    mutating func next(on reader: StoreReader) throws -> RowID? {
        while ready.isEmpty {
            guard try fetch(on: reader) else { return nil }
        }
        return ready.removeLast()
    }

    /// Reads the next ids into `ready`, which may still be empty then. Returns `false` at the end.
    private mutating func fetch(on reader: StoreReader) throws -> Bool {
        guard let idRange = pending.last else {
            return isChained && !isTimed ? try fetchChain(in: nil, on: reader) : false
        }
        guard let series, let range = idRange.range else {
            let rows = try isAscending ? nextRows(in: idRange, on: reader) : previousRows(in: idRange, on: reader)
            if let rows { ready = rows } else { pending.removeLast() }
            return true
        }
        if isChained { return try fetchChain(in: range, on: reader) }
        pending.removeLast()
        var ids: [RowID] = []
        for series in series {
            guard let found = try posting(range, series, on: reader) else { continue }
            ids += PostingList.decode(found.ids, base: idRange.first) ?? []
        }
        ready = ids.filter { $0 > bound }.sorted(by: >)
        return true
    }

    /// Returns the wanted rows of the next block, the first one last; nil after the last block of the range.
    private mutating func nextRows(in idRange: IDRange, on reader: StoreReader) throws -> [RowID]? {
        guard edge < .max else { return nil }
        let start = max(edge + 1, idRange.first)
        guard start <= idRange.last, let block = try reader.blocks.block(from: start, limit: idRange.last) else {
            return nil
        }
        edge = block.lastID
        return ids(of: block, in: start...idRange.last).reversed()
    }

    /// Returns the wanted rows of the previous block that may have any, in ascending order; nil if none is left in the
    /// range.
    private mutating func previousRows(in idRange: IDRange, on reader: StoreReader) throws -> [RowID]? {
        guard edge > .min else { return nil }
        let end = min(edge - 1, idRange.last)
        guard end >= idRange.first, let block = try reader.blocks.lastBlock(in: idRange.first...end, with: filter)
        else { return nil }
        edge = block.firstID
        return ids(of: block, in: idRange.first...end)
    }

    /// Returns the ids of a block's wanted records in a range, in ascending order.
    private func ids(of block: RecordBlock, in range: ClosedRange<RowID>) -> [RowID] {
        var ids: [RowID] = []
        for row in block.rows where filter?.contains(row.series) != false && range.contains(row.id) {
            ids.append(row.id)
        }
        return ids
    }

    /// Adds the last range of each series to `chain`.
    private mutating func startChains(on reader: StoreReader) throws {
        for series in series ?? [] {
            let last = try reader.connection.first("SELECT last_range FROM totals WHERE series = ?1", series) {
                $0.int64(0)
            }
            if let last { chain[last, default: []].append(series) }
        }
    }

    /// Reads the newest range in `chain`. Returns `false` if none is left.
    ///
    /// - Parameter requested: The range whose rows are requested, which is the newest one in `pending`. Rows of newer
    ///   ranges are skipped. If the newest range in `chain` is older, nothing is read, and `requested` is removed from
    ///   `pending`. Nil to request all rows.
    private mutating func fetchChain(in requested: Int64?, on reader: StoreReader) throws -> Bool {
        guard let range = chain.keys.max() else { return false }
        if let requested, range < requested {
            pending.removeLast()
            return true
        }
        let members = chain.removeValue(forKey: range) ?? []
        let isWanted = requested == nil || requested == range
        var ids: [RowID] = []
        let firstID = try Self.firstID(of: range, on: reader)
        for series in members {
            // If retention has removed this list, it has removed all older ones too.
            guard let found = try posting(range, series, on: reader) else { continue }
            if let previous = found.previous { chain[previous, default: []].append(series) }
            if isWanted, let firstID, firstID < bound { ids += PostingList.decode(found.ids, base: firstID) ?? [] }
        }
        ready = ids.filter { $0 < bound }.sorted()
        return true
    }

    /// Returns the closed ranges with rows beyond the bound, oldest first, without those that are entirely outside the
    /// requested time.
    private static func closed(
        beyond bound: RowID, isAscending: Bool, since: IssueTimestamp?, until: IssueTimestamp?, on reader: StoreReader
    ) throws -> [IDRange] {
        try reader.connection.all(
            """
            SELECT id, first_id, last_id FROM ranges
            WHERE last_id > ?1 AND first_id < ?2 AND last_at >= ?3 AND first_at <= ?4 ORDER BY id
            """, isAscending ? bound : RowID.min, isAscending ? RowID.max : bound,
            since?.millisecondsSince1970 ?? Int64.min,
            until?.millisecondsSince1970 ?? Int64.max
        ) { IDRange(range: $0.int64(0), first: $0.id(1), last: $0.id(2)) }
    }

    /// Returns the posting list of a series in a range, and the range of its previous list; nil if the series has no
    /// posting list in the range.
    private func posting(
        _ range: Int64, _ series: SeriesID, on reader: StoreReader
    ) throws -> (previous: Int64?, ids: [UInt8])? {
        try reader.connection.first(
            "SELECT previous, ids FROM postings WHERE range = ?1 AND series = ?2", range, series
        ) { ($0.optionalInt64(0), $0.bytes(1)) }
    }

    private static func firstID(of range: Int64, on reader: StoreReader) throws -> RowID? {
        try reader.connection.first("SELECT first_id FROM ranges WHERE id = ?1", range) { $0.id(0) }
    }
}

/// A set of series that selects records.
struct SeriesFilter {
    private let ids: Set<SeriesID>
    /// Excludes most other series without hashing their ids.
    let bits: SeriesBits

    init(_ series: [SeriesID]) {
        ids = Set(series)
        bits = SeriesBits(series)
    }

    func contains(_ id: SeriesID) -> Bool { bits.mayContain(id) && ids.contains(id) }
}

/// An approximation of a set of series: one bit for each value of the low ten bits of an id.
struct SeriesBits {
    private var words = InlineArray<16, UInt64>(repeating: 0)

    init(_ series: some Sequence<SeriesID>) {
        for id in series { words[Self.word(id)] |= Self.bit(id) }
    }

    /// Returns `false` if a series is certainly not in the set.
    func mayContain(_ id: SeriesID) -> Bool { words[Self.word(id)] & Self.bit(id) != 0 }

    /// Returns `false` if certainly no series is in both sets.
    func mayOverlap(_ other: Self) -> Bool { words.indices.contains { words[$0] & other.words[$0] != 0 } }

    private static func word(_ id: SeriesID) -> Int { Int(id.rawValue >> 6 & 15) }

    private static func bit(_ id: SeriesID) -> UInt64 { 1 << UInt64(id.rawValue & 63) }
}
