import IssueCore
import SQLiteKit

/// The posting lists of a range that closes, as the database reads them from memory.
struct PostingBuffer {
    static let columns: [StaticString] = ["series", "records", "occurrences", "first_at", "last_at", "bytes", "ids"]

    private(set) var cells: [BatchCell] = []

    init(_ postings: [RangePostings.Posting]) {
        cells.reserveCapacity(postings.count * Self.columns.count)
        for posting in postings {
            cells.append(.int64(posting.series))
            cells.append(.int64(posting.records))
            cells.append(.int64(posting.occurrences))
            cells.append(.int64(posting.firstAt))
            cells.append(.int64(posting.lastAt))
            cells.append(.int64(posting.bytes))
            cells.append(.blob(posting.ids))
        }
    }
}
