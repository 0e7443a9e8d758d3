import HTTPShipping
import HTTPTransfer
import IssueCore
import IssueProtocol
import LogzShipping
import Testing

@Suite struct TokenTests {
    @Test("A token may not be empty, hold white space or control characters, or be longer than 4,096 bytes")
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

    @Test("A token prints itself in no way")
    func printing() throws {
        let token = try #require(ShippingToken(Array("MARKEDTOKEN".utf8)))
        var dumped = ""
        dump(token, to: &dumped)
        dump(AnswerReader(origin: "h", token: token), to: &dumped)
        let texts = [
            "\(token)", String(reflecting: token), String(describing: Optional(token)), "\([token])", dumped,
            "\(AnswerReader(origin: "h", token: token))",
        ]
        for text in texts { #expect(!text.contains("MARKED"), "\(text)") }
    }

    @Test(
        "A token that an answer repeats is taken out of what is said of it",
        arguments: [
            "MARKED+TOKEN/1", "the token MARKED+TOKEN/1 is unknown", "/?token=MARKED%2BTOKEN%2F1&type=x",
            "MARKED%2bTOKEN%2f1", "TOKEN=MARKED", "https://h:1/?token=MARKED\u{301}", "MARKED+TOKEN/1\u{301}",
            "xMARKED+TOKEN/1MARKED+TOKEN/1", "{\"url\":\"/?token=MARKED\"}",
        ],
        [300, 400, 401, 403, 404, 405, 408, 413, 418, 429, 500, 503])
    func scrubbing(body: String, status: Int) throws {
        let token = try #require(ShippingToken(Array("MARKED+TOKEN/1".utf8)))
        for filler in [0, 270, 290, 100_000] {
            let text = String(repeating: "x", count: filler) + " " + body
            let response = HTTPResponse(status: status, body: Array(text.utf8))
            let answer = AnswerReader(origin: "h:1", token: token).meaning(
                of: response, to: SentLines([[]]), in: LogzFormat.self, at: moment)
            #expect(!answer.summary.text.contains("MARKED"), "\(answer.summary)")
            #expect(!"\(answer)".contains("MARKED"))
        }
    }

    @Test("What else stood in the answer stays")
    func rest() throws {
        let token = try #require(ShippingToken(Array("MARKED".utf8)))
        let response = HTTPResponse(status: 401, body: Array("bad MARKED at /?token=other&type=x, sorry".utf8))
        let answer = AnswerReader(origin: "h:1", token: token).meaning(
            of: response, to: SentLines([]), in: LogzFormat.self, at: moment)
        #expect(answer.summary.text == "401 from h:1: bad [token] at /?token=[token]&type=x, sorry")
    }
}
