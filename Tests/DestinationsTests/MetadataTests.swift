import Destinations
import IssueCore
import IssueProtocol
import Testing

@Suite struct MetadataTests {
    private func fit(
        _ metadata: JSONValue, types: inout FieldTypes
    ) throws -> (metadata: JSONValue?, context: JSONValue?) {
        let line = Golden.payload.line(of: Samples.outbound(metadata: metadata), types: &types)
        expectWithinLimits(line)
        let value = try parsed(line)
        let context = value["context_json"]?.asString.flatMap { try? JSONValue(json: $0) }
        return (value["linux.metadata"], context)
    }

    private func fit(_ metadata: JSONValue) throws -> (metadata: JSONValue?, context: JSONValue?) {
        var types = FieldTypes()
        return try fit(metadata, types: &types)
    }

    @Test("A value whose type differs from that of the field's first value is sent as text, and the others stay")
    func conflict() throws {
        var types = FieldTypes()
        _ = try fit(["a": 1, "b": "x", "c": true, "d": 0.5, "e": ["f": 1]], types: &types)
        let second = try fit(["a": "1", "b": 2, "c": 1, "d": 3, "e": "text", "g": "new"], types: &types)
        #expect(second.metadata == ["d": 3, "g": "new"])
        #expect(second.context == ["a": "1", "b": 2, "c": 1, "e": "text"])
    }

    @Test(
        "Metadata in stored form gives the same line and types as parsed metadata",
        arguments: [
            #"{}"#, #"{"a":1}"#, #"{"a":1,"b":"text","c":true,"d":null}"#, #"{"a":"1"}"#, #"{"b":"é\u00e9\n\"q\""}"#,
            #"{"a":1,"a":2}"#, #"{"e":0.5,"a":-0}"#, #"{"e":3}"#, #"{"a":1e2}"#, #"{"message":"m"}"#, #"{"x.y":1}"#,
            #"{"":1}"#, #"{"f":[1,2]}"#, #"{"g":{"h":1}}"#, #"{"c":"true"}"#, #" { "a" : 7 , "new" : "n" } "#, "[1]",
            "7", "null", #"{"é":1}"#, #"{"a":9223372036854775807,"b":""}"#, #"{"a":9223372036854775808}"#,
            #"{"b":"\#(String(repeating: "x", count: 40_000))"}"#,
            "{" + (0..<20).map { "\"k\($0)\":1" }.joined(separator: ",") + "}",
        ])
    func asStored(text: String) throws {
        var (read, stored) = (FieldTypes(), FieldTypes())
        for metadata in [#"{"a":1,"b":"text","c":true,"e":0.5,"g":{"h":2}}"#, text, text] {
            let one = Golden.payload.line(
                of: Samples.outbound(metadata: try JSONValue(json: metadata)), types: &read)
            var outbound = Samples.outbound(metadata: nil)
            outbound.storedMetadata = metadata
            let other = Golden.payload.line(of: outbound, types: &stored)
            #expect(String(decoding: one, as: UTF8.self) == String(decoding: other, as: UTF8.self))
            #expect(read == stored)
        }
    }

    @Test("A fraction does not fit an integer field, but an integer fits a floating-point field")
    func numbers() throws {
        var types = FieldTypes()
        _ = try fit(["a": 1, "b": 0.5], types: &types)
        let second = try fit(["a": 0.5, "b": 1], types: &types)
        #expect(second.metadata == ["b": 1])
        #expect(second.context == ["a": 0.5])
    }

    @Test("A user's new fields beyond 400 are sent as text, and known fields are kept")
    func manyKeys() throws {
        var types = FieldTypes()
        var new = 0
        for _ in 0..<6 {
            let members = (0..<100).map { JSONValue.Member("key\(new + $0)", .integer(1)) }
            new += 100
            _ = try fit(.object(members), types: &types)
        }
        let last = try fit(["key0": 7, "key599": 7, "new": true], types: &types)
        #expect(last.metadata == ["key0": 7])
        #expect(last.context == ["key599": 7, "new": true])
        #expect(types.takeAdded().count == 400)
    }

    @Test("A key with dots means nested objects; if it contradicts another key, its value is sent as text")
    func dots() throws {
        let result = try fit(["a": "text", "a.b": 1, "c": ["d": 1], "c.d": "text", "c.e": 2])
        #expect(result.metadata == ["a": "text", "c": ["d": 1], "c.e": 2])
        #expect(result.context == ["a.b": 1, "c.d": "text"])
    }

    @Test("An array of one type stays; an array of several types is sent as text, and the type of its field stays open")
    func arrays() throws {
        var types = FieldTypes()
        let result = try fit(
            ["a": [1, 2, nil], "b": [1, "x"], "c": [], "d": [["e": 1], ["e": true]]], types: &types)
        #expect(result.metadata == ["a": [1, 2, nil], "c": []])
        #expect(result.context == ["b": [1, "x"], "d": [["e": 1], ["e": true]]])
        #expect(try fit(["b": "x", "d": ["e": true]], types: &types).metadata == ["b": "x", "d": ["e": true]])
    }

    @Test("A number that no field can hold is sent as text in its original spelling")
    func extremeNumbers() throws {
        let result = try fit([
            "beyond": .number("9223372036854775808"), "infinite": .number("1e400"), "double": .number("3.5e38"),
            "fits": .number("3.4e38"), "max": .integer(.max),
        ])
        #expect(result.metadata == ["fits": .number("3.4e38"), "max": .integer(.max)])
        #expect(
            result.context == [
                "beyond": .number("9223372036854775808"), "infinite": .number("1e400"), "double": .number("3.5e38"),
            ])
    }

    @Test(
        "A number that some receivers can't read is sent as text, even if it is finite",
        arguments: [
            "0.\(String(repeating: "1", count: 5_000))", "1e-999", "1e-99999999999", "0e99999999999",
            "1.5e\(String(repeating: "0", count: 70))1",
        ])
    func unreadableNumbers(spelling: String) throws {
        let result = try fit(["a": .number(spelling), "b": .number("-0.0"), "c": .number("1E5")])
        #expect(result.metadata == ["b": .number("-0.0"), "c": .number("1E5")])
        #expect(result.context == ["a": .number(spelling)])
    }

    @Test("New fields are counted per accountable user, so a user's subordinate ids can't take the reserved fields")
    func subordinateIDs() throws {
        var types = FieldTypes()
        for id in UInt32(0)..<30 {
            let members = (0..<20).map { JSONValue.Member("key\(id)_\($0)", .integer(1)) }
            var outbound = Samples.outbound(metadata: .object(members))
            outbound.own.sender.uid = 600_000 + id
            outbound.user = 1001
            _ = Golden.payload.line(of: outbound, types: &types)
        }
        #expect(types.takeAdded().count == FieldTypes.maxFields - FieldTypes.reservedFields)
        var other = Samples.outbound(metadata: ["mine": 1])
        other.user = 1002
        let line = try parsed(Golden.payload.line(of: other, types: &types))
        #expect(line["linux.metadata"] == ["mine": 1])
    }

    @Test("The part of the metadata that is nested too deeply is sent as text")
    func depth() throws {
        for depth in 1...30 {
            var value: JSONValue = 1
            for _ in 0..<depth { value = ["x": value] }
            let objects = try fit(value)
            // The line is the first level, and the dot in `linux.metadata` makes it two levels.
            #expect((objects.context == nil) == (depth <= 8), "\(depth)")
            for _ in 0..<depth { value = [value] }
            _ = try fit(["list": value])
        }
        let dotted = try fit(["a.b.c.d.e.f.g.h.i.j.k": 1, "a.b": ["c.d.e.f.g.h.i.j": ["k": 1]]])
        #expect(dotted.metadata == ["a.b": [:]])
    }

    @Test("A reserved key is renamed, and does not replace another key")
    func reserved() throws {
        let result = try fit(["domain": 1, "metadata_domain": 2, "inner": ["domain": 3]])
        #expect(
            result.metadata == ["metadata_metadata_domain": 1, "metadata_domain": 2, "inner": ["domain": 3]])
    }

    @Test("Reserved keys that would be renamed alike get different names")
    func renamedAlike() throws {
        let keys = ["x.metadata", "metadata_x.metadata", "metadata_x.metadata_"]
        let result = try fit(JSONValue.object(keys.enumerated().map { .init($1, .integer(Int64($0))) }))
        let values = (result.metadata?.asObject ?? []) + (result.context?.asObject ?? [])
        #expect(Set(values.map(\.key)).count == 3)
        #expect(values.compactMap(\.value.asInteger).sorted() == [0, 1, 2])
    }

    @Test("A line is within the limits for any metadata", arguments: 0..<24)
    func anything(seed: UInt64) throws {
        var random = SeededGenerator(seed)
        var types = FieldTypes()
        for _ in 0..<3 {
            let metadata = JSONValue.object(random.members(depth: 6, width: 12))
            _ = try fit(metadata, types: &types)
        }
    }
}
