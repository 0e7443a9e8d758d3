import IssueCore
import SQLiteKit

/// Finds the blocks on all leaf pages of a database, so that damage to the interior pages of `blocks` loses no records.
///
/// Searches the file in parts, usually in one, and returns the blocks of each part in ascending order of their ids.
struct BlockScan {
    /// The result of a step.
    enum Step {
        /// No block was found in this step.
        case searched
        /// A block, and the ids of its records that were not read before.
        case found(RecordBlock, rows: [RowID])
        case ended
    }

    /// The position of a row that may be a block.
    private struct Candidate {
        var firstID: RowID
        var page: UInt32
        var index: UInt32
    }

    private var leaves: LeafScan
    /// The page that was parsed last, and its rows.
    private var lastPage: (number: UInt32, rows: [LeafScan.Row]) = (0, [])
    /// The number of pages that may still be parsed, counting repetitions. In an intact table, consecutive blocks are
    /// mostly on the same page; in a manipulated file, each block could require parsing its page again.
    private var parsesLeft: Int64
    /// The next page to search.
    private var nextPage: UInt32 = 2
    /// The rows that may be blocks and have not been decoded yet.
    private var candidates: [Candidate] = []
    private var isSearching = true
    /// The rows that were read, including adjacent rows of the same block that have no record.
    private var readRows = RangeSet<RowID>()
    /// The rows that could not be read with a query.
    private var failedRows = RangeSet<RowID>()

    /// The number of candidates at which the search pauses until they have been decoded. Only very large databases have
    /// that many.
    private static let maxCandidates = 1 << 18
    private static let pagesPerStep: UInt32 = 64
    /// The maximum number of ranges in each set of rows. Usually there are few. At this limit, further rows are not
    /// marked, so the counts become inexact, and records may be returned again.
    private static let maxRanges = 1 << 17

    /// Creates a scan of the file that a connection has open. Returns nil if the page size is unknown.
    init?(_ connection: DatabaseConnection) {
        guard let leaves = LeafScan(connection) else { return nil }
        self.leaves = leaves
        parsesLeft = 1024 + 16 * Int64(leaves.lastPage)
    }

    /// Returns those rows on a page that may be blocks; none if too many pages were parsed.
    private mutating func rows(onPage number: UInt32) -> [LeafScan.Row] {
        if lastPage.number == number { return lastPage.rows }
        parsesLeft -= 1
        guard parsesLeft >= 0 else { return [] }
        lastPage = (number, leaves.rows(onPage: number, integers: 4))
        return lastPage.rows
    }

    /// Returns `true` if all rows of a range were read.
    private func areRead(_ rows: ClosedRange<RowID>) -> Bool {
        let ranges = readRows.ranges
        var (low, high) = (0, ranges.count)
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].upperBound <= rows.lowerBound { low = middle + 1 } else { high = middle }
        }
        return low < ranges.count && ranges[low].lowerBound <= rows.lowerBound
            && rows.upperBound < ranges[low].upperBound
    }

    /// Marks a record as read, so that the scan does not return it.
    ///
    /// - Parameters:
    ///   - row: The row of the record.
    ///   - block: Its block; nil if unknown. Rows without a record that directly precede this row in the block are
    ///     marked, too. If the record is the last of the block, so are the rows after it.
    mutating func setRead(_ row: RowID, of block: RecordBlock?) {
        guard let block, let index = block.index(of: row) else { return setRead(row...row) }
        let first = index == 0 ? block.firstID : block.rows[index - 1].id + 1
        setRead(first...(index == block.rows.count - 1 ? block.lastID : row))
    }

    private mutating func setRead(_ rows: ClosedRange<RowID>) {
        guard readRows.ranges.count < Self.maxRanges else { return }
        readRows.insert(contentsOf: rows.lowerBound..<rows.upperBound + 1)
    }

    /// Marks a row as not readable with a query. Does nothing and returns `false` if the row was read, or if
    /// `maxRanges` is reached.
    mutating func setFailed(_ row: RowID) -> Bool {
        guard !readRows.contains(row), failedRows.ranges.count < Self.maxRanges else { return false }
        failedRows.insert(contentsOf: row..<row + 1)
        return true
    }

    /// Returns the number of rows from `first` on that could not be read and were not found so far.
    func missing(from first: RowID = 0) -> Int64 {
        failedRows.subtracting(readRows).ranges.reduce(0) { count, rows in
            count + Int64(max(rows.upperBound - max(rows.lowerBound, first), 0))
        }
    }

    /// Searches a few pages, or decodes a block.
    mutating func step() -> Step {
        guard isSearching else {
            if let candidate = candidates.popLast() { return read(candidate) }
            guard nextPage <= leaves.lastPage else { return .ended }
            isSearching = true
            return .searched
        }
        let end = min(UInt64(nextPage) + UInt64(Self.pagesPerStep), UInt64(leaves.lastPage) + 1)
        while nextPage < end {
            for row in rows(onPage: nextPage) {
                guard let header = unreadHeader(row) else { continue }
                candidates.append(Candidate(firstID: header.firstID, page: nextPage, index: UInt32(row.index)))
            }
            nextPage += 1
        }
        if nextPage > leaves.lastPage || candidates.count >= Self.maxCandidates {
            isSearching = false
            // The last candidate is decoded first. So it must have the lowest id and, of several with this id, be the
            // first one in the file.
            candidates.sort { ($1.firstID, $1.page, $1.index) < ($0.firstID, $0.page, $0.index) }
        }
        return .searched
    }

    /// Returns the header of a row that may be a block; nil if it cannot be one, or if its records were read before.
    private func unreadHeader(_ row: LeafScan.Row) -> BlockHeader? {
        // The column `first_id` is the rowid, so NULL is stored in its place.
        guard row.integers[0] == nil, let last = row.integers[1], let records = row.integers[2],
            let checksum = row.integers[3]
        else { return nil }
        let header = BlockHeader(
            firstID: RowID(rawValue: row.rowID), lastID: RowID(rawValue: last), records: Int(clamping: records),
            checksum: checksum)
        guard header.isValid, !areRead(header.firstID...header.lastID) else { return nil }
        return header
    }

    /// Decodes a block, unless it is damaged.
    private mutating func read(_ candidate: Candidate) -> Step {
        let row = rows(onPage: candidate.page).first { $0.index == Int(candidate.index) }
        guard let row, let header = unreadHeader(row), let body = leaves.blob(of: row),
            let block = RecordBlock(header, body: body.span)
        else { return .searched }
        let rows = block.rows.map(\.id).filter { !readRows.contains($0) }
        setRead(header.firstID...header.lastID)
        return .found(block, rows: rows)
    }
}
