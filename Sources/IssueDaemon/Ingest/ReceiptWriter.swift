import IssueCore
import IssueProtocol
import IssueStore

/// Writes the replies to reports without building anything in between.
struct ReceiptWriter {
    private static let start = Array(#"{"parameters":{"receipts":["#.utf8)
    private static let next = Array(#""},"#.utf8)
    private static let end = Array("]}}\0".utf8)

    /// The rows whose ids differ in their last digit alone, and the store, of the receipts that were written last.
    private var block: (store: UInt64, number: Int64)?
    /// What such receipts have in common, with any last digit: a reply up to its first one, and what stands before the
    /// digit of any other.
    private var replyStart = ByteBuffer()
    private var idStart = ByteBuffer()
    /// How much of both is the store's.
    private var storeEnds = (reply: 0, id: 0)
    private let digits: [UInt8]
    private let lastEnd = ByteBuffer(Array("\"}]}}\0".utf8))

    init() {
        digits = (0..<RecordID.rowsAlike).map { row in
            var digit = ByteBuffer()
            RecordID.append(row: row, to: &digit)
            return digit.span[0]
        }
    }

    /// Writes the reply to one of the calls that share receipts in equal parts.
    mutating func append(_ receipts: ReceiptList, part: Int, of parts: Int, to output: inout ByteBuffer) {
        switch receipts {
        case .run(let first, let count):
            let size = parts == 1 ? count : count / parts
            let row = first.row + Int64(part * size)
            turn(to: row, of: first)
            output.append(replyStart)
            output.replaceLast(with: digit(row))
            for row in (row + 1)..<(row + Int64(size)) {
                turn(to: row, of: first)
                output.append(idStart)
                output.replaceLast(with: digit(row))
            }
            output.append(lastEnd)
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

    @inline(__always)
    private mutating func digit(_ row: Int64) -> UInt8 { digits[Int(row & (RecordID.rowsAlike - 1))] }

    @inline(__always)
    private mutating func turn(to row: Int64, of id: RecordID) {
        let number = row / RecordID.rowsAlike
        if let block, block.number == number, block.store == id.store { return }
        begin(number, of: id)
    }

    private mutating func begin(_ number: Int64, of id: RecordID) {
        if block?.store != id.store { begin(storeOf: id) }
        block = (id.store, number)
        replyStart.truncate(to: storeEnds.reply)
        idStart.truncate(to: storeEnds.id)
        // The first rows have no digit but the last.
        if number > 0 {
            RecordID.append(row: number, to: &replyStart)
            RecordID.append(row: number, to: &idStart)
        }
        replyStart.append(0)
        idStart.append(0)
    }

    private mutating func begin(storeOf id: RecordID) {
        var text = Array(#"{"id":""#.utf8)
        id.appendStore(to: &text)
        replyStart = ByteBuffer(Self.start + text)
        idStart = ByteBuffer(Self.next + text)
        storeEnds = (replyStart.count, idStart.count)
    }
}
