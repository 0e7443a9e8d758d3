import IssueCore
import Testing

@Suite("The id of a record")
struct RecordIDTests {
    @Test("The id of a record is parsed back to the same value")
    func readsBack() {
        var traffic = SeededGenerator(seed: 1)
        var rows: [RowID] = [1, 31, 32, 33, 1023, 1024, .max]
        rows += (0..<2000).map { _ in RowID(1 + traffic.number(below: .max - 1) >> traffic.number(below: 62)) }
        for row in rows {
            let id = RecordID(store: traffic.next(), row: row)
            #expect(RecordID(id.text) == id)
            #expect(RecordID(id.text.uppercased()) == id)
        }
    }

    @Test("The id of a record is written as twelve characters for the store, a hyphen and the row")
    func isWritten() {
        #expect(RecordID(store: 0, row: 1).text == "000000000000-1")
        #expect(RecordID(store: .max, row: 32).text == "zzzzzzzzzzzz-10")
        #expect(RecordID(store: 0x0123_4567_89AB_CDEF, row: .max).text == "28t5cy4tqkff-7zzzzzzzzzzzz")
    }

    @Test(
        "The id of a record is not parsed from invalid text",
        arguments: [
            "", "-", "000000000000", "000000000000-", "000000000000-0", "00000000000-1", "0000000000000-1",
            "000000000000_1", "000000000000-i", "000000000000-L", "00000000000o-1", "00000000000u-1", "000000000000--1",
            "000000000000-8000000000000", "000000000000-zzzzzzzzzzzzz", "000000000000-00000000000001",
            "000000000000-1 ", " 000000000000-1", "000000000000-é", "0000000000\u{0}0-1", "g0123456789abcdef",
        ])
    func isNothing(text: String) {
        #expect(RecordID(text) == nil)
    }

    @Test("Arithmetic with row ids near the largest and the smallest integer does not trap")
    func extremes() {
        let (lowest, highest, one) = (RowID.min, RowID.max, 1)
        #expect(highest + one == RowID.max)
        #expect(highest - one == RowID(rawValue: Int64.max - 1))
        #expect(lowest - one == RowID.min)
        #expect(highest.advanced(by: Int.max) == RowID.max)
        #expect(lowest.advanced(by: -5) == RowID.min)
        #expect(lowest.distance(to: highest) == Int.max)
        #expect(highest.distance(to: lowest) == Int.min)
        #expect(RowID(rawValue: 5).distance(to: RowID(rawValue: 7)) == 2)
        let last = RowID(rawValue: Int64.max - 2)...highest
        #expect(last.map(\.rawValue).count == 3)
    }
}
