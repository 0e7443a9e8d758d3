import IssueCore
import SQLiteKit

/// The counts of a range that closes, as the database reads them from memory.
struct MinuteBuffer: RowSource {
    static let columns: [StaticString] = ["minute", "series", "records", "occurrences"]

    private let rows: [(series: Int64, minute: OpenRange.Minute)]

    init(_ postings: [OpenRange.Posting]) {
        rows = postings.flatMap { posting in posting.minutes.map { (posting.series, $0) } }
    }

    var rowCount: Int { rows.count }

    func write(row: Int, column: Int, to result: borrowing ResultContext) {
        switch column {
        case 0: result.int64(rows[row].minute.minute)
        case 1: result.int64(rows[row].series)
        case 2: result.int64(rows[row].minute.records)
        default: result.int64(rows[row].minute.occurrences)
        }
    }
}
