import IssueCore
import IssueProtocol
import IssueStore

/// Writes the replies to reports without building anything in between.
struct ReceiptWriter {
    private static let start = Array(#"{"parameters":{"receipts":["#.utf8)
    private static let next = Array(#""},"#.utf8)
    private static let lastEnd = ByteBuffer("\"}]}}\0".utf8)
    private static let end = Array("]}}\0".utf8)

    /// The store whose ids were written last, and what its receipts have in common: all before the row.
    private var store: UInt64?
    private var idStart = ByteBuffer()
    /// A reply up to the row of its first receipt.
    private var replyStart = ByteBuffer()

    /// Writes the reply to one of the calls that share receipts in equal parts.
    mutating func append(_ receipts: ReceiptList, part: Int, of parts: Int, to output: inout ByteBuffer) {
        switch receipts {
        case .run(let first, let count):
            if first.store != store { turn(to: first) }
            let size = parts == 1 ? count : count / parts
            let row = first.row + Int64(part * size)
            output.append(replyStart)
            RecordID.append(row: row, to: &output)
            for row in (row + 1)..<(row + Int64(size)) {
                output.append(idStart)
                RecordID.append(row: row, to: &output)
            }
            output.append(Self.lastEnd)
        case .mixed(let receipts):
            precondition(parts == 1, "Calls that were not all stored are answered one by one")
            output.append(contentsOf: Self.start)
            for (index, receipt) in receipts.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                output.append(contentsOf: receipt.json)
            }
            output.append(contentsOf: Self.end)
        }
    }

    private mutating func turn(to id: RecordID) {
        store = id.store
        var text = Array(#"{"id":""#.utf8)
        id.appendStore(to: &text)
        replyStart = ByteBuffer(Self.start + text)
        idStart = ByteBuffer(Self.next + text)
    }
}
