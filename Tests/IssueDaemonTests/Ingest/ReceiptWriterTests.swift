import IssueCore
import IssueProtocol
import IssueStore
import Testing

@testable import IssueDaemon

@Suite("Replies to reports")
struct ReceiptWriterTests {
    private func receipts(_ reply: ByteBuffer) throws -> [RecordReceipt] {
        var bytes = reply[0..<reply.count]
        #expect(bytes.popLast() == 0)
        let parameters = try #require(JSONValue(json: bytes)["parameters"])
        return try ReportReply(json: parameters.json).receipts
    }

    @Test("Receipts contain the ids of the records, regardless of earlier replies and of how many calls were merged")
    func ids() throws {
        var writer = ReceiptWriter()
        let stores: [UInt64] = [0x0123_4567_89AB_CDE, 7]
        var first: RowID = 1
        for (index, count) in [1, 1, 30, 1, 1, 2, 64, 33, 1, 960, 1, 40_000, 3].enumerated() {
            let id = RecordID(store: stores[index / 4 % 2], row: first)
            for parts in [1, count] {
                var named: [RecordReceipt] = []
                for part in 0..<parts {
                    var reply = ByteBuffer()
                    writer.append(.run(first: id, count: count), part: part, of: parts, to: &reply)
                    named += try receipts(reply)
                }
                let rows = first..<(first + count)
                #expect(named == rows.map { .stored(id: RecordID(store: id.store, row: $0).text) })
            }
            first = first + count
        }
    }
}
