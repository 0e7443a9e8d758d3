import Destinations
import HTTPTransfer
import IssueCore
import Testing

@Suite("Text of the request repeated in a response")
struct EchoTests {
    private func words(_ body: String, to lines: [String]) -> String {
        ResponseClassifier(origin: "a:1", token: ShippingToken(Array("SECRET".utf8))).meaning(
            of: HTTPResponse(status: 404, body: Array(body.utf8)), to: RequestLines(lines.map { Array($0.utf8) }),
            in: LogzFormat.self, at: moment
        ).summary.text
    }

    private static let line = #"{"@timestamp":"2026-11-21","message":"Card 4111 1111 1111 1111 refused","code":7}"#

    @Test(
        "Repeated text is removed from its first byte to its last",
        arguments: [
            (#"{"message":"Card 4111 1111 1111 1111 refused","code":7}"#, "{…"),
            ("bad: Card 4111 1111 1111 1111 refused, sorry", "bad: …, sorry"),
            ("token=SECRET and Card 4111 1111 1111 1111", "token=[token] and …"),
        ])
    func leftOut(body: String, rest: String) {
        #expect(words(body, to: ["{}", Self.line]) == "404 from a:1: \(rest)")
    }

    @Test("Short matches are kept, and so is text of other requests")
    func stays() {
        #expect(words("message: unknown path", to: [Self.line]) == "404 from a:1: message: unknown path")
        #expect(words("Card 4111 1111 1111 1111", to: ["{}"]) == "404 from a:1: Card 4111 1111 1111 1111")
    }

    @Test("No sixteen consecutive bytes of a line remain", arguments: 0..<40 as Range<UInt64>)
    func any(seed: UInt64) {
        var generator = SeededGenerator(seed)
        let letters = Array("abcdé \"\\".unicodeScalars).map(Character.init)
        func text(_ count: Int) -> String {
            String((0..<count).map { _ in letters[Int.random(in: letters.indices, using: &generator)] })
        }
        let line = text(200)
        let start = Int.random(in: 0..<150, using: &generator)
        let echo = String(Array(line)[start..<start + 50])
        let told = Array(words("\(text(20))\(echo)\(text(20))", to: [text(50), line]).utf8)
        let sent = Array(line.utf8)
        for place in 0...max(0, told.count - 16) where told.count >= 16 {
            #expect(!sent.contains(told[place..<place + 16]))
        }
    }

    @Test("A response and lines of a single repeated character take no longer than others")
    func repeated() {
        // Each of a million positions in the lines matches each of 2,400 in the response.
        let lines = [String](repeating: String(repeating: "a", count: 1 << 16), count: 16)
        let clock = ContinuousClock()
        let duration = clock.measure {
            #expect(words(String(repeating: "a", count: 5000), to: lines) == "404 from a:1: …")
        }
        #expect(duration < .seconds(10))
    }
}
