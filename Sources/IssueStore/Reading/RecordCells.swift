import IssueProtocol
import SQLiteKit

/// What stands in a record's own row.
struct RecordCells {
    enum Message {
        case whole(String)
        /// What the template of its series leaves open.
        case parts([UInt8])
    }

    var row: Int64
    var series: Int64
    var process: Int64
    var receivedAt: Timestamp
    var occurred: Int64?
    var firstOccurred: Int64?
    var count: Int64
    var message: Message
    var metadata: String?
    var details: String?

    static let sql: StaticString = """
        SELECT id, series, process, received_at, occurred, first_occurred, count, message, metadata, details
        FROM records WHERE id = ?1
        """

    /// Reads a row of the query above.
    init(_ row: borrowing Row) {
        self.row = row.int64(0)
        series = row.int64(1)
        process = row.int64(2)
        receivedAt = Timestamp(milliseconds: row.int64(3))
        occurred = row.optionalInt64(4)
        firstOccurred = row.optionalInt64(5)
        count = row.int64(6)
        switch row.type(7) {
        case .text: message = .whole(row.text(7))
        case .null, .blob, .integer, .real: message = .parts(row.bytes(7))
        }
        metadata = row.optionalText(8)
        details = row.optionalText(9)
    }
}
