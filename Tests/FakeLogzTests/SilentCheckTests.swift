import FakeLogz
import Testing

@Suite("Tags for lines in which the service would find a problem after its 200")
struct SilentCheckTests {
    private static func nested(_ depth: Int) -> String {
        String(repeating: "{\"a\":", count: depth) + "1" + String(repeating: "}", count: depth)
    }

    private static func fields(_ count: Int) -> String {
        "{" + (0..<count).map { "\"f\($0)\":1" }.joined(separator: ",") + "}"
    }

    private static func text(_ count: Int) -> String {
        "{\"a\":\"" + String(repeating: "x", count: count) + "\"}"
    }

    private static func name(_ count: Int) -> String {
        "{\"" + String(repeating: "x", count: count) + "\":1}"
    }

    private static let cases: [(line: String, tags: Set<LineTag>)] = [
        (text(32_700), []),
        (text(32_701), [.fieldTooLong]),
        (name(32_700), []),
        (name(32_701), [.fieldNameTooLong]),
        (fields(1_000), []),
        (fields(1_001), [.tooManyFields]),
        (nested(10), []),
        (nested(11), [.tooDeep]),
        (nested(5_000), [.tooDeep]),
        ("{\"a.b\":1}", [.dottedName]),
        ("{\"swift.metadata\":{}}", [.dottedName]),
        ("{\"@timestamp\":\"2026-11-21T10:00:00.123Z\"}", []),
        ("{\"@timestamp\":\"2023-05-21T12:45:10+00:00\"}", []),
        ("{\"@timestamp\":1684673110}", []),
        ("{\"@timestamp\":\"yesterday\"}", [.timestampUnparsable]),
    ]

    @Test("A line that breaks a rule has the tag of that rule; a line that breaks none has no tag", arguments: cases)
    func rules(line: String, tags: Set<LineTag>) throws {
        try listening { fake throws in
            #expect(try fake.answer(to: line).status == 200)
            #expect(fake.accepted.first?.tags == tags)
        }
    }

    @Test("A line is tagged if one of its fields had another type in the first line that contained the field")
    func typeChanges() throws {
        try listening { fake in
            _ = try fake.answer(to: "{\"a\":1}\n{\"a\":\"1\"}\n{\"a\":2.5}\n{\"a\":null}\n{\"a\":[true]}")

            #expect(fake.accepted.map(\.tags) == [[], [.typeChanged], [], [], [.typeChanged]])
        }
    }

    @Test("A line whose type differs from that of the query is tagged")
    func twoTypes() throws {
        try listening { fake in
            _ = try fake.answer(to: "{\"type\":\"a\"}\n{\"type\":\"b\"}", target: "/?token=good&type=a")

            #expect(fake.accepted.map(\.tags) == [[], [.twoTypes]])
        }
    }

    @Test("A line with a tag makes an expectation fail only in strict mode")
    func strict() throws {
        for isStrict in [false, true] {
            var options = FakeLogzOptions(tokens: ["good"])
            options.isStrict = isStrict
            try listening(options) { fake in
                _ = try fake.answer(to: "{\"event_id\":\"a\",\"b.c\":1}")

                #expect(fake.stats.taggedLines == 1)
                #expect(fake.compare(with: ["a"]).isMet == !isStrict)
            }
        }
    }
}
