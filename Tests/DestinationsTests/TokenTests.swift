import Destinations
import Foundation
import HTTPTransfer
import Testing

@Suite struct TokenTests {
    @Test("Without surrounding white space, a token has 1 to 4,096 bytes and no white space or control characters")
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

    @Test("A password for basic authentication may contain spaces, but nothing that could add a header")
    func passwords() throws {
        for text in ["", " ", "a\u{0}", "a\nb", "a\r\nX-A: b", "a\tb", "\u{7F}", String(repeating: "a", count: 4097)] {
            #expect(ShippingToken(Array(text.utf8), isPassword: true) == nil)
        }
        let password = try #require(ShippingToken(Array("p@ss: wörd\n".utf8), isPassword: true))
        let http = HTTPSettings(address: HTTPAddress(scheme: .http, host: "h", port: 9200))
        var request = HTTPRequest(url: "http://h:9200/")
        ElasticsearchFormat(http, ["User": "ops@example.com"]).complete(&request, token: password)
        let expected = Data("ops@example.com:p@ss: wörd".utf8).base64EncodedString()
        #expect(request.headers["Authorization"] == "Basic \(expected)")
        let user = try #require(ElasticsearchFormat.options.first { $0.name == "User" })
        for text in ["ops@example.com", "Jörg Müller"] { #expect(user.accepts(text)) }
        for text in ["", "a:b", "a\r\nX-A: b", "a\u{7F}", String(repeating: "a", count: 257)] {
            #expect(!user.accepts(text))
        }
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
