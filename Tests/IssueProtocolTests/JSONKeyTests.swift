import IssueProtocol
import Testing

@Suite("JSONKey")
struct JSONKeyTests {
    @Test("Two keys of at most 16 bytes are equal if and only if their texts are, wherever they are in a message")
    func equality() {
        var chance = SeededGenerator(seed: 1)
        for length in 0...20 {
            for _ in 0..<50 {
                let key = (0..<length).map { _ in chance.pick([UInt8(ascii: "a"), UInt8(ascii: "b"), 0, 0xFF]) }
                #expect(Self.key(key, paddedBy: 0, 0) == Self.key(key, paddedBy: 3, 0))
                #expect(Self.key(key, paddedBy: 0, 9) == Self.key(key, paddedBy: 9, 2))
                #expect(Self.key(key, paddedBy: 0, 0) != Self.key(key + [0], paddedBy: 0, 0))
                guard length > 0, length <= 16 else { continue }
                var other = key
                other[Int.random(in: 0..<length, using: &chance)] ^= 1
                #expect(Self.key(key, paddedBy: 2, 5) != Self.key(other, paddedBy: 2, 5))
            }
        }
    }

    @Test("A key with escapes equals the resolved key")
    func escapes() throws {
        for (spelling, key) in [
            (#""message""#, JSONKey("message")), (#""m\u0065ssage""#, JSONKey("message")),
            (#""\u006d\u0065\u0073\u0073\u0061\u0067\u0065""#, JSONKey("message")), (#""a\/b""#, JSONKey("a/b")),
            (#""first_\u006fccurred_at""#, JSONKey("first_occurred_at")), (#""\ud83d\ude00""#, JSONKey("😀")),
            (#""\"\\\b\f\n\r\t""#, JSONKey("\"\\\u{8}\u{C}\n\r\t")), (#""""#, JSONKey("")),
        ] {
            let bytes = Array(spelling.utf8)
            var scanner = JSONScanner(bytes.span)
            let text = try scanner.text()
            #expect(scanner.key(text) == key, "\(spelling)")
        }
    }

    private static func key(_ key: [UInt8], paddedBy before: Int, _ after: Int) -> JSONKey {
        let bytes = [UInt8](repeating: 0x61, count: before) + key + [UInt8](repeating: 0x62, count: after)
        return JSONKey(bytes.span, from: before, to: before + key.count)
    }
}
