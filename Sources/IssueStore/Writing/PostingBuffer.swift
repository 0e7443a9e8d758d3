import IssueCore
import IssueProtocol
import SQLiteKit

/// The posting lists of a range that closes, as the database reads them from memory.
struct PostingBuffer: RowSource {
    static let columns: [StaticString] = ["series", "records", "occurrences", "first_at", "last_at", "bytes", "ids"]

    private let postings: [OpenRange.Posting]
    private var ids: [ByteRange] = []
    private(set) var bytes: [UInt8] = []

    init(_ postings: [OpenRange.Posting]) {
        self.postings = postings
        ids.reserveCapacity(postings.count)
        for posting in postings {
            let start = bytes.count
            bytes.append(contentsOf: posting.ids)
            ids.append(ByteRange(from: start, to: bytes.count))
        }
    }

    var rowCount: Int { postings.count }

    func write(row: Int, column: Int, to result: borrowing ResultContext) {
        switch column {
        case 0: result.int64(postings[row].series)
        case 1: result.int64(postings[row].records)
        case 2: result.int64(postings[row].occurrences)
        case 3: result.int64(postings[row].firstAt)
        case 4: result.int64(postings[row].lastAt)
        case 5: result.int64(postings[row].bytes)
        default: result.blob(ids[row].lower..<ids[row].upper)
        }
    }
}
