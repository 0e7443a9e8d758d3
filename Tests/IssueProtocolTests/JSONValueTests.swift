import IssueProtocol
import Testing

@Suite("JSON values")
struct JSONValueTests {
    static let value: JSONValue = ["a": 1, "b": "two", "c": [nil, true, 2.5], "d": ["e": nil]]

    @Test("Members, elements and scalars of a value can be read; they are nil if missing or of another type")
    func access() throws {
        #expect(Self.value["a"]?.asInteger == 1)
        #expect(Self.value["a"]?.asDouble == 1)
        #expect(Self.value["b"]?.asString == "two")
        #expect(Self.value["c"]?.asArray?[0].isNull == true)
        #expect(Self.value["c"]?.asArray?[1].asBool == true)
        #expect(Self.value["c"]?.asArray?[2].asDouble == 2.5)
        #expect(Self.value["d"]?["e"] == .null)
        #expect(Self.value["x"] == nil)
        #expect(Self.value["a"]?["b"] == nil)
        #expect(Self.value["b"]?.asInteger == nil)
        #expect(Self.value["c"]?.asArray?[2].asInteger == nil)
    }

    @Test("Parsing preserves the order of members and the spelling of numbers")
    func text() throws {
        let text = #"{"b":1.50e+3,"a":[123456789012345678901234567890,-0.0],"":{"c":null}}"#

        #expect(String(decoding: try JSONValue(json: text).json, as: UTF8.self) == text)
    }

    @Test("A number that JSON cannot represent becomes a string")
    func numbers() {
        #expect(JSONValue(Double.nan) == .string("nan"))
        #expect(JSONValue(-Double.infinity) == .string("-inf"))
        for number in [0.1, -1e300, .leastNonzeroMagnitude, 1e16, 100] {
            #expect((try? JSONValue(json: JSONValue(number).json))?.asDouble == number)
        }
    }

    @Test("Strings are escaped only where necessary")
    func escapes() {
        var writer = JSONWriter()
        writer.string("\"\\/\n\r\t\u{0}\u{8}\u{1F}\u{7F}é😀")
        #expect(writer.text == "\"\\\"\\\\/\\n\\r\\t\\u0000\\u0008\\u001f\u{7F}é😀\"")
    }

    @Test("Integers of every length are written", arguments: [0, 9, 10, -1, 99_999, .max, .min] as [Int64])
    func integers(value: Int64) {
        #expect(String(decoding: value.json, as: UTF8.self) == String(value))
    }

    @Test("Reading a value as the wrong type is an error and never traps")
    func mismatches() {
        for text in ["null", "true", "1", "-1", "\"a\"", "[]", "{}", "", "x"] {
            let bytes = Array(text.utf8)
            let isTaken = [
                (try? Int64(json: bytes)) != nil, (try? Bool(json: bytes)) != nil, (try? String(json: bytes)) != nil,
                (try? [Bool](json: bytes)) != nil, (try? Application(json: bytes)) != nil,
            ]
            let first = text.first.map(String.init) ?? ""
            #expect(isTaken == ["1-", "t", "\"", "[", "{"].map { !first.isEmpty && $0.contains(first) })
        }
        let empty: [UInt8] = []
        var scanner = JSONScanner(empty.span)
        #expect((try? scanner.number()) == nil)
        #expect((try? scanner.null()) == nil)
        #expect((try? scanner.nextElement()) == nil)
    }
}
