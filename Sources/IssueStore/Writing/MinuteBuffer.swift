import IssueCore
import SQLiteKit

/// The counts of a range that closes, as the database reads them from memory.
struct MinuteBuffer {
    static let columns: [StaticString] = ["minute", "series", "records", "occurrences"]

    private(set) var cells: [BatchCell] = []

    init(_ minutes: [RangePostings.Minute]) {
        cells.reserveCapacity(minutes.count * Self.columns.count)
        for minute in minutes {
            cells.append(.int64(minute.minute))
            cells.append(.int64(minute.series))
            cells.append(.int64(minute.records))
            cells.append(.int64(minute.occurrences))
        }
    }
}
