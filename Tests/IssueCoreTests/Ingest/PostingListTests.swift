import IssueCore
import Testing

@Suite("A posting list")
struct PostingListTests {
    @Test("A posting list decodes to the ids it was made from", arguments: 0..<4)
    func givesBack(seed: UInt64) {
        var traffic = SeededGenerator(seed: seed)
        for _ in 0..<300 {
            let base = RowID(traffic.number(below: 1 << 40))
            var id = base
            let ids = (0..<traffic.number(below: 60)).map { _ -> RowID in
                id = id + Int(1 + traffic.number(below: traffic.happens(oneIn: 9) ? 1 << 36 : 200))
                return id
            }
            #expect(PostingList.decode(PostingList.encode(ids, base: base), base: base) == ids)
        }
    }

    @Test(
        "A posting list accepts any numbers", arguments: [[.max], [.min, 0, .max], [0, 0, 0], [5, 3]] as [[RowID]])
    func takesAny(ids: [RowID]) {
        #expect(PostingList.decode(PostingList.encode(ids, base: 7), base: 7) == ids)
    }

    @Test("A posting list takes one byte for an id close to the previous one")
    func isSmall() {
        #expect(PostingList.encode(1...100, base: 0).count == 100)
        #expect(PostingList.encode([127, 255], base: 0) == [127, 0x80, 1])
    }

    @Test("A posting list decodes to nil if its bytes end within a number or a number never ends")
    func isNone() {
        let bytes = PostingList.encode([300, 100_000, 100_001], base: 0)
        #expect(PostingList.decode(Array(bytes.prefix(1)), base: 0) == nil)
        #expect(PostingList.decode(Array(bytes.prefix(3)), base: 0) == nil)
        #expect(PostingList.decode([UInt8](repeating: 0x80, count: 20), base: 0) == nil)
        #expect(PostingList.decode([UInt8](repeating: 0xFF, count: 9) + [0x02], base: 0) == nil)
        #expect(PostingList.decode([], base: 0) == [])
    }

    @Test("A posting list is decoded from any bytes without trapping")
    func survives() {
        var traffic = SeededGenerator(seed: 9)
        for _ in 0..<2000 {
            let bytes = (0..<Int(traffic.number(below: 40))).map { _ in UInt8(truncatingIfNeeded: traffic.next()) }
            _ = PostingList.decode(bytes, base: RowID(Int64(bitPattern: traffic.next())))
        }
    }
}
