import IssueCore
import IssueProtocol
import IssueStore

/// Writes the reply to a report without building anything in between.
enum ReceiptWriter {
    private static let head = Array(#"{"parameters":{"receipts":["#.utf8)
    private static let id = Array(#"{"id":""#.utf8)
    private static let idEnd = Array("\"}".utf8)
    private static let tail = Array("]}}".utf8)

    static func append(_ receipts: ReceiptList, to output: inout [UInt8]) {
        output.append(contentsOf: head)
        switch receipts {
        case .run(let first, let count):
            var id = first
            for index in 0..<count {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                output.append(contentsOf: Self.id)
                id.append(to: &output)
                output.append(contentsOf: idEnd)
                id.row += 1
            }
        case .mixed(let receipts):
            for (index, receipt) in receipts.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                output.append(contentsOf: receipt.json)
            }
        }
        output.append(contentsOf: tail)
        output.append(0)
    }
}
