import IssueProtocol
import Testing

@Suite("Hostile JSON")
struct JSONHostileTests {
    /// A text, whether it must be accepted, and the reason for a difference between our result and Foundation's.
    struct Case: CustomTestStringConvertible, Sendable {
        var bytes: [UInt8]
        var isTaken: Bool
        var difference: String?

        init(_ text: String, taken: Bool, difference: String? = nil) {
            self.init(bytes: Array(text.utf8), taken: taken, difference: difference)
        }

        init(bytes: [UInt8], taken: Bool, difference: String? = nil) {
            self.bytes = bytes
            isTaken = taken
            self.difference = difference
        }

        var testDescription: String { String(String(decoding: bytes, as: UTF8.self).prefix(40)) }
    }

    static let cases: [Case] = structure + numbers + strings + encoding

    @Test(
        "Texts are accepted as in RFC 8259, except half surrogate pairs, and as by Foundation, with known differences",
        arguments: cases
    )
    func verdict(_ hostile: Case) {
        let ours = try? JSONValue(json: hostile.bytes)
        let theirs = FoundationOracle.parse(hostile.bytes)

        #expect((ours != nil) == hostile.isTaken)
        #expect(((ours != nil) == (theirs != nil)) == (hostile.difference == nil))
        if let ours, let theirs { #expect(FoundationOracle.agrees(ours, theirs)) }
    }

    @Test("Skipping a value rejects the same texts as reading it", arguments: cases)
    func skipping(_ hostile: Case) {
        #expect(skips(hostile.bytes, atAnySize: false) == hostile.isTaken)
        #expect(skips(hostile.bytes, atAnySize: true) == hostile.isTaken)
    }

    @Test("The depth is limited", arguments: ["[", "{\"a\":", "[{\"a\":"])
    func depth(opening: String) throws {
        let perOpening = opening.filter { $0 == "[" || $0 == "{" }.count
        let limit = JSONScanner.defaultDepth
        for levels in [limit - 1, limit, limit + 1, limit + 2, 100_000] {
            let count = levels / perOpening
            let closing = opening.reversed().compactMap { $0 == "[" ? "]" : $0 == "{" ? "}" : nil }.joined()
            let text =
                String(repeating: opening, count: count) + "1" + String(repeating: closing, count: count)
            let bytes = Array(text.utf8)

            if count * perOpening <= limit {
                #expect(try JSONValue(json: bytes).json == bytes)
            } else {
                #expect(throws: JSONError.tooDeep(limit: limit)) { try JSONValue(json: bytes) }
                #expect(!skips(bytes, atAnySize: false))
            }
            #expect(skips(bytes, atAnySize: true))
            #expect(!skips(Array(bytes.dropLast()), atAnySize: true))
            #expect(!skips(bytes + Array("]".utf8), atAnySize: true))
        }
    }

    @Test("The number of keys is limited at any depth")
    func keys() {
        let bytes = Array(#"{"a":{"b":1,"c":[{"d":2}]},"e":3}"#.utf8)

        for limit in 0...6 {
            var scanner = JSONScanner(bytes.span, maximumKeys: limit)
            do {
                _ = try scanner.skipValue()
                #expect(limit >= 5)
            } catch {
                #expect(limit < 5)
                #expect(error == .tooManyKeys(limit: limit))
            }
        }
    }

    @Test("Both of two members with the same key are returned, and the last one counts")
    func duplicateKeys() throws {
        let value = try JSONValue(json: #"{"a":1,"\u0061":2}"#)

        #expect(value.asObject?.count == 2)
        #expect(value["a"] == 2)
    }

    private func skips(_ bytes: [UInt8], atAnySize: Bool) -> Bool {
        var scanner = JSONScanner(bytes.span)
        do {
            if atAnySize { try scanner.skipValueOfAnySize() } else { _ = try scanner.skipValue() }
            try scanner.end()
            return true
        } catch {
            return false
        }
    }
}
