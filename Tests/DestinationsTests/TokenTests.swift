import Destinations
import Foundation
import HTTPTransfer
import IssueCore
import IssueProtocol
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
        dump(ResponseClassifier(origin: "h", token: token), to: &dumped)
        let texts = [
            "\(token)", String(reflecting: token), String(describing: Optional(token)), "\([token])", dumped,
            "\(ResponseClassifier(origin: "h", token: token))",
        ]
        for text in texts { #expect(!text.contains("MARKED"), "\(text)") }
    }

    @Test(
        "A token that a response repeats is removed from the summary",
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
            let answer = ResponseClassifier(origin: "h:1", token: token).meaning(
                of: response, to: RequestLines([[]]), in: LogzFormat.self, at: moment)
            #expect(!answer.summary.text.contains("MARKED"), "\(answer.summary)")
            #expect(!"\(answer)".contains("MARKED"))
        }
    }

    @Test("The rest of the response is kept")
    func rest() throws {
        let token = try #require(ShippingToken(Array("MARKED".utf8)))
        let response = HTTPResponse(status: 401, body: Array("bad MARKED at /?token=other&type=x, sorry".utf8))
        let answer = ResponseClassifier(origin: "h:1", token: token).meaning(
            of: response, to: RequestLines([]), in: LogzFormat.self, at: moment)
        #expect(answer.summary.text == "401 from h:1: bad [token] at /?token=[token]&type=x, sorry")
    }

    /// Returns the summary of a response with this body, for a reader with a token.
    private func told(_ body: String, _ token: String) throws -> String {
        let token = try #require(ShippingToken(Array(token.utf8)))
        return ResponseClassifier(origin: "h:1", token: token).meaning(
            of: HTTPResponse(status: 401, body: Array(body.utf8)), to: RequestLines([]), in: LogzFormat.self, at: moment
        ).summary.text
    }

    private func percent(_ text: String, _ isUppercase: Bool) -> String {
        text.utf8.map { "%" + String(UInt32($0) + 0x100, radix: 16, uppercase: isUppercase).suffix(2) }.joined()
    }

    private func escaped(_ text: String, _ isUppercase: Bool) -> String {
        text.utf16.map { "\\u" + String(UInt32($0) + 0x10000, radix: 16, uppercase: isUppercase).suffix(4) }.joined()
    }

    @Test("No eight consecutive bytes of a token are shown, in any encoding, whole or in part", arguments: 0..<60)
    func anyForm(seed: Int) throws {
        var generator = SeededGenerator(UInt64(seed))
        let letters = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/=-_.~!*%\\\"&é🙂")
        let count = Int.random(in: 12...40, using: &generator)
        let token = String((0..<count).map { _ in letters[Int.random(in: letters.indices, using: &generator)] })
        let user = String(repeating: "u", count: seed % 4)
        let pair = Data("\(user):\(token)".utf8).base64EncodedString()
        let first = (user.utf8.count + 1) * 4 / 3 + 1
        let urlSafe = pair.replacing("+", with: "-").replacing("/", with: "_")
        let tail = String(pair.dropFirst(Int.random(in: 0...8, using: &generator)))
        for text in [token, pair, urlSafe, pair.replacing("=", with: ""), tail, "\(user):\(token)"] {
            let json = String(decoding: try JSONEncoder().encode(text).dropFirst().dropLast(), as: UTF8.self)
            let plainJSON = json.replacing("\\/", with: "/")
            for form in [
                text, percent(text, true), percent(text, false), escaped(text, true), escaped(text, false), json,
                plainJSON, percent(json, true), escaped(percent(text, false), true), escaped(json, false),
                PercentEncoding.encode(text),
            ] {
                let answer = Array(try told("before \(form) behind", token).utf8)
                for secret in [
                    Array(token.utf8), Array(pair.utf8.dropFirst(first)), Array(urlSafe.utf8.dropFirst(first)),
                ] {
                    for start in 0...max(0, secret.count - 8) where secret.count >= 8 {
                        let piece = secret[start..<start + 8]
                        #expect(
                            !answer.indices.contains { answer[$0...].starts(with: piece) },
                            "\(form) of \(token): \(String(decoding: answer, as: UTF8.self))")
                    }
                }
            }
        }
    }

    @Test(
        "Text after a keyword that introduces a credential is removed, whatever it is",
        arguments: [
            ("Authorization: Basic b3RoZXI6c2VjcmV0\r\nHost: h", "Authorization: [token] Host: h"),
            ("got basic b3RoZXI6 from you", "got basic [token] from you"),
            ("Bearer abc.def, sorry", "Bearer [token] sorry"),
            ("ApiKey QUJD", "ApiKey [token]"),
            (#"{"authorization":"ApiKey QUJD","a":1}"#, #"{"authorization":"[token]","a":1}"#),
            (#"{\"Authorization\":\"Bearer QUJD\"}"#, #"{\"Authorization\":\"[token]\"}"#),
            ("%41uthorization%3A%20Basic%20QUJD", "%41uthorization%3A%20[token]"),
            ("Proxy-Authorization: Basic QUJD", "Proxy-Authorization: [token]"),
            ("X-ClickHouse-Key: abc", "X-ClickHouse-Key: [token]"),
            ("?TOKEN=abc&x=1", "?TOKEN=[token]&x=1"), (#"{"token":"abc"}"#, #"{"token":"[token]"}"#),
            ("invalid token: it has expired", "invalid token: it has expired"),
            ("a basically wrong request", "a basically wrong request"),
        ])
    func introduced(body: String, rest: String) throws {
        #expect(try told(body, "unrelated-token") == "401 from h:1: \(rest)")
    }
}
