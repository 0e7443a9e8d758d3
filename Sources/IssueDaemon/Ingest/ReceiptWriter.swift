import IssueCore
import IssueProtocol
import IssueStore

/// Writes the replies to reports without building anything in between.
struct ReceiptWriter {
    private static let start = Array(#"{"parameters":{"receipts":["#.utf8)
    private static let next = Array(#""},"#.utf8)
    private static let lastEnd = Array("\"}]}}\0".utf8)
    private static let end = Array("]}}\0".utf8)

    /// The store whose ids were written last, and what its receipts have in common: all before the row.
    private var store: UInt64?
    private var idStart: [UInt8] = []

    mutating func append(_ receipts: ReceiptList, to output: inout [UInt8]) {
        output.append(contentsOf: Self.start)
        switch receipts {
        case .run(let first, let count):
            if first.store != store { turn(to: first) }
            for row in first.row..<(first.row + Int64(count)) {
                if row > first.row { output.append(contentsOf: Self.next) }
                output.append(contentsOf: idStart)
                RecordID.append(row: row, to: &output)
            }
            output.append(contentsOf: Self.lastEnd)
        case .mixed(let receipts):
            for (index, receipt) in receipts.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                output.append(contentsOf: receipt.json)
            }
            output.append(contentsOf: Self.end)
        }
    }

    private mutating func turn(to id: RecordID) {
        store = id.store
        idStart = Array(#"{"id":""#.utf8)
        id.appendStore(to: &idStart)
    }
}
