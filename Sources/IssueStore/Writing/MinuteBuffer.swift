import IssueCore
import SQLiteKit

/// The counts of a range that closes, as the database reads them from memory.
struct MinuteBuffer {
    static let columns: [StaticString] = ["minute", "series", "records", "occurrences"]

    private(set) var cells: [BatchCell] = []

    init(_ postings: [OpenRange.Posting]) {
        for posting in postings {
            for minute in posting.minutes {
                cells.append(.int64(minute.minute))
                cells.append(.int64(posting.series))
                cells.append(.int64(minute.records))
                cells.append(.int64(minute.occurrences))
            }
        }
    }
}
