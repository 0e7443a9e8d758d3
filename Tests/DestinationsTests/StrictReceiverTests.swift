import Destinations
import IssueCore
import IssueProtocol
import Testing

/// A receiver may refuse a whole request because of one record, so each line must be acceptable to the strictest.
@Suite("Strict receivers")
struct StrictReceiverTests {
    private static let settings = HTTPSettings(address: HTTPAddress(scheme: .https, host: "h", port: 443))

    private static let digits = String(repeating: "7", count: 5_000)

    private static let hostile: JSONValue = [
        "infinite": .number("1e999"), "negative": .number("-1E400"), "digits": .number(digits),
        "fraction": .number("0.\(digits)"), "beyond": .number("9223372036854775808"), "tiny": .number("1e-99999999999"),
        "zero": .number("-0.0"), "half": 0.5, "max": .integer(.max), "nul": "a\u{0}b", "nothing": nil, "": 1,
        "twice": 1, "twice": ["a": 1, "a": .number("1e999")], "list": [.number("1e999"), [.number("2.5")]],
    ]

    private func otlp(_ metadata: JSONValue) throws -> [JSONValue.Member] {
        var types = FieldTypes()
        let line = OTLPFormat(Self.settings, [:]).line(of: Samples.outbound(metadata: metadata), types: &types)
        let value = try parsed(line)
        #expect(try foundationObject(line).count == 2)
        let log = try #require(value["scopeLogs"]?.asArray?.first?["logRecords"]?.asArray?.first)
        let attributes = try #require(log["attributes"]?.asArray)
        return attributes.compactMap { one in
            guard let key = one["key"]?.asString, key.hasPrefix("issue.metadata.") else { return nil }
            return JSONValue.Member(String(key.dropFirst("issue.metadata.".utf8.count)), one["value"] ?? .null)
        }
    }

    @Test("OTLP: a number that some receivers can't read as a double is sent as text, and keys are unique")
    func numbers() throws {
        let attributes = try otlp(Self.hostile)
        #expect(Set(attributes.map(\.key)).count == attributes.count)
        let values = JSONValue.object(attributes)
        #expect(values["infinite"] == ["stringValue": "1e999"])
        #expect(values["negative"] == ["stringValue": "-1E400"])
        #expect(values["digits"] == ["stringValue": .string(Self.digits)])
        #expect(values["fraction"] == ["stringValue": .string("0.\(Self.digits)")])
        #expect(values["beyond"] == ["stringValue": "9223372036854775808"])
        #expect(values["tiny"] == ["stringValue": "1e-99999999999"])
        #expect(values["zero"] == ["doubleValue": .number("-0.0")])
        #expect(values["half"] == ["doubleValue": 0.5])
        #expect(values["max"] == ["intValue": "9223372036854775807"])
        #expect(values["nul"] == ["stringValue": "a\u{0}b"])
        #expect(values["nothing"] == .object([]))
        #expect(values["twice"]?["kvlistValue"]?["values"] == [["key": "a", "value": ["stringValue": "1e999"]]])
        let list = values["list"]?["arrayValue"]?["values"]
        #expect(
            list == [["stringValue": "1e999"], ["arrayValue": ["values": [["doubleValue": .number("2.5")]]]]])
    }

    @Test("OTLP: deep metadata is sent as text, so that a request is nested at most 100 levels deep")
    func depth() throws {
        var (objects, arrays): (JSONValue, JSONValue) = (["bottom": 1], [1])
        for _ in 0..<28 { (objects, arrays) = (["a": objects], [arrays]) }
        for metadata in [["deep": objects], ["deep": arrays]] as [JSONValue] {
            var types = FieldTypes()
            let line = OTLPFormat(Self.settings, [:]).line(of: Samples.outbound(metadata: metadata), types: &types)
            // The body of a request adds two levels.
            #expect(throws: Never.self) { _ = try JSONValue(json: line, maximumDepth: 98) }
            #expect(String(decoding: line, as: UTF8.self).contains(#"{"stringValue":"#))
        }
    }

    @Test("Elasticsearch: the metadata has no duplicate keys, and no number that some receivers can't read")
    func search() throws {
        var types = FieldTypes()
        let line = ElasticsearchFormat(Self.settings, [:]).line(
            of: Samples.outbound(metadata: Self.hostile), types: &types)
        let document = Array(line.split(separator: UInt8(ascii: "\n"))[1])
        let metadata = try #require(try parsed(document)["metadata"])
        #expect(metadata["infinite"] == "1e999")
        #expect(metadata["digits"] == .string(Self.digits))
        #expect(metadata["beyond"] == "9223372036854775808")
        #expect(metadata["half"] == 0.5)
        #expect(metadata["zero"] == .number("-0.0"))
        #expect(metadata["max"] == .integer(.max))
        #expect(metadata["twice"] == ["a": "1e999"])
        #expect(metadata["list"] == ["1e999", [.number("2.5")]])
        #expect(metadata.asObject?.count { $0.key == "twice" } == 1)
    }

    @Test("ClickHouse: the metadata is one text, in its original form")
    func clickHouse() throws {
        var types = FieldTypes()
        let line = ClickHouseFormat(Self.settings, [:]).line(
            of: Samples.outbound(metadata: Self.hostile), types: &types)
        let text = try #require(try parsed(line)["metadata"]?.asString)
        #expect(text.utf8.elementsEqual(Self.hostile.json))
    }

    @Test("No destination gets a number that is infinite or longer than 64 bytes", arguments: 0..<12 as Range<UInt64>)
    func anything(seed: UInt64) throws {
        var random = SeededGenerator(seed)
        let record = Samples.outbound(metadata: .object(random.members(depth: 6, width: 12)))
        let formats: [any HTTPFormat] = [
            Golden.payload, OTLPFormat(Self.settings, [:]), ClickHouseFormat(Self.settings, [:]),
            ElasticsearchFormat(Self.settings, [:]),
        ]
        for format in formats {
            var types = FieldTypes()
            let line = format.line(of: record, types: &types)
            for part in line.split(separator: UInt8(ascii: "\n")) {
                #expect(Self.unreadable(in: try JSONValue(json: Array(part), maximumDepth: 100)).isEmpty)
            }
        }
    }

    /// Returns the numbers that a strict receiver refuses.
    private static func unreadable(in value: JSONValue) -> [String] {
        switch value {
        case .null, .bool, .integer, .string: []
        case .number(let spelling):
            spelling.utf8.count <= 64 && Double(spelling)?.isFinite == true ? [] : [spelling]
        case .array(let elements): elements.flatMap { unreadable(in: $0) }
        case .object(let members): members.flatMap { unreadable(in: $0.value) }
        }
    }
}
