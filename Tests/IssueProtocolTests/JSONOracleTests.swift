import IssueProtocol
import Testing

@Suite("JSON compared with Foundation")
struct JSONOracleTests {
    @Test("A value is read the same in any spelling, and as by Foundation", arguments: 0..<8)
    func generated(seed: UInt64) throws {
        var generator = JSONGenerator(seed: seed)
        for _ in 0..<500 {
            let value = generator.value()
            let text = generator.spelling(of: value)

            let ours = try JSONValue(json: text)
            let theirs = try #require(FoundationOracle.parse(Array(text.utf8)), "Foundation refuses \(text)")

            #expect(ours == value, "\(text)")
            #expect(FoundationOracle.agrees(ours, theirs), "\(text)")
        }
    }

    @Test("Written JSON is read back as the same value, also by Foundation", arguments: 0..<4)
    func written(seed: UInt64) throws {
        var generator = JSONGenerator(seed: 1000 + seed)
        for _ in 0..<500 {
            let value = generator.value()

            let json = value.json

            #expect(try JSONValue(json: json) == value)
            let theirs = try #require(FoundationOracle.parse(json))
            #expect(FoundationOracle.agrees(value, theirs), "\(String(decoding: json, as: UTF8.self))")
        }
    }

    @Test(
        "A text with a byte changed, removed or doubled is read as by Foundation, except for known differences",
        arguments: 0..<8)
    func damaged(seed: UInt64) {
        var generator = JSONGenerator(seed: 2000 + seed)
        for _ in 0..<500 {
            var bytes = Array(generator.spelling(of: generator.value()).utf8)
            let index = Int.random(in: bytes.indices, using: &generator.chance)
            switch Int.random(in: 0..<4, using: &generator.chance) {
            case 0: bytes.remove(at: index)
            case 1: bytes.insert(bytes[index], at: index)
            case 2: bytes[index] = UInt8.random(in: 1...255, using: &generator.chance)
            default: bytes[index] = generator.chance.pick(Array("{}[],:\"\\0e-+.ntf \n".utf8))
            }
            compare(bytes)
        }
    }

    @Test("Every truncated text is read as by Foundation, except for known differences")
    func truncated() {
        var generator = JSONGenerator(seed: 3000)
        for _ in 0..<60 {
            let bytes = Array(generator.spelling(of: .array([generator.value(), generator.value()])).utf8)
            for end in bytes.indices { compare(Array(bytes[..<end])) }
        }
    }

    private func compare(_ bytes: [UInt8], sourceLocation: Testing.SourceLocation = #_sourceLocation) {
        let text = String(decoding: bytes, as: UTF8.self)
        let theirs = FoundationOracle.parse(bytes)
        do {
            let ours = try JSONValue(json: bytes)
            if let theirs {
                #expect(FoundationOracle.agrees(ours, theirs), "\(text)", sourceLocation: sourceLocation)
            } else {
                // A number too large for Foundation keeps its spelling.
                #expect(
                    FoundationOracle.exceedsNumbers(ours), "Only our parser accepts \(text)",
                    sourceLocation: sourceLocation)
            }
        } catch {
            // Foundation on Linux accepts a comma after the last element; RFC 8259 does not.
            #expect(
                theirs == nil || isTrailingComma(error, in: bytes), "Only Foundation accepts \(text)",
                sourceLocation: sourceLocation)
        }
    }

    private func isTrailingComma(_ error: JSONError, in bytes: [UInt8]) -> Bool {
        guard case .unexpectedByte(let position) = error,
            [UInt8(ascii: "]"), UInt8(ascii: "}")].contains(bytes[position])
        else { return false }
        return bytes[..<position].last { $0 > 0x20 } == UInt8(ascii: ",")
    }
}
