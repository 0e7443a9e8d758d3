import Destinations
import Testing

@Suite struct TokenTests {
    @Test("A token must not be empty, contain white space or control characters, or exceed 4,096 bytes")
    func validity() {
        for text in ["", "\n", "a b", "a\tb", "a\u{0}", "a\nb", "\u{7F}", String(repeating: "a", count: 4097)] {
            #expect(ShippingToken(Array(text.utf8)) == nil)
        }
        #expect(ShippingToken([0x61, 0xFF]) == nil)
        for text in ["a", "a\n", " a\r\n", "ü+&=%", String(repeating: "a", count: 4096)] {
            #expect(ShippingToken(Array(text.utf8)) != nil)
        }
        #expect(ShippingToken(Array("a".utf8)) == ShippingToken(Array("a\n".utf8)))
    }

    @Test("A token is never printed")
    func printing() throws {
        let token = try #require(ShippingToken(Array("MARKEDTOKEN".utf8)))
        var dumped = ""
        dump(token, to: &dumped)
        dump(Credential { token }, to: &dumped)
        let texts = [
            "\(token)", String(reflecting: token), String(describing: Optional(token)), "\([token])", dumped,
            "\(Credential { token })",
        ]
        for text in texts { #expect(!text.contains("MARKED"), "\(text)") }
    }
}
