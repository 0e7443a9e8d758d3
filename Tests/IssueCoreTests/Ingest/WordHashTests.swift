import IssueCore
import Testing

@Suite("The fast hash for tables in memory")
struct WordHashTests {
    @Test(
        "The hash for tables in memory depends on each byte, the length and the seed, not on the position"
    )
    func depends() {
        var bytes = [UInt8](0..<64)
        let hash = WordHash(seed: 42)
        for length in 0...24 {
            let first = hash(bytes.span, from: 8, to: 8 + length)
            #expect(first != hash(bytes.span, from: 8, to: 9 + length))
            #expect(first != WordHash(seed: 44)(bytes.span, from: 8, to: 8 + length))
            let moved = [0xFF] + Array(bytes[8..<(8 + length)])
            #expect(first == hash(moved.span, from: 1, to: moved.count))
            for index in 8..<(8 + length) {
                bytes[index] ^= 0x10
                #expect(first != hash(bytes.span, from: 8, to: 8 + length))
                bytes[index] ^= 0x10
            }
        }
    }

    @Test("The hash for tables in memory spreads similar keys over the low bits that a table uses")
    func spreads() {
        let hash = WordHash(seed: 7)
        var slots: Set<UInt64> = []
        for number in 0..<4096 {
            let key = Array("com.example.shop.error.\(number)".utf8)
            slots.insert(hash(key.span, from: 0, to: key.count) & 0xFFFF)
        }
        // Placed at random, 4,096 keys use about 3,970 of 65,536 slots.
        #expect(slots.count > 3800)
    }
}
