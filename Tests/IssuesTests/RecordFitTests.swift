import IssueProtocol
import Issues
import Testing

@Suite("Metadata within a record's limits")
struct RecordFitTests {
    private func nested(_ levels: Int) -> JSONValue {
        (0..<levels).reduce(.integer(1)) { inner, _ in .object([.init("k", inner)]) }
    }

    @Test("Metadata within the limits is unchanged", arguments: [1, 26])
    func fitting(levels: Int) {
        #expect(RecordFit.fitting(nested(levels)) == nested(levels))
    }

    @Test("Values that are nested too deeply become JSON text")
    func depth() throws {
        let fitted = RecordFit.fitting(nested(100))
        #expect(fitted.depth == 26)
        #expect(fitted.keys == 26)
        // Nothing is lost: the text contains the rest.
        var innermost = fitted
        while let inner = innermost.asObject?.first?.value { innermost = inner }
        #expect(innermost.asString?.count == 1 + 74 * 6)
    }

    @Test("With too many keys in nested objects, the last of these objects become JSON text")
    func keys() {
        let object = JSONValue.object((0..<100).map { .init("k\($0)", .integer(1)) })
        let fitted = RecordFit.fitting(.object([.init("a", object), .init("b", object), .init("c", .integer(1))]))
        #expect(fitted.keys <= 160)
        #expect(fitted.asObject?.map(\.key) == ["a", "b", "c"])
        #expect(fitted.asObject?[0].value == object)
        #expect(fitted.asObject?[1].value.asString?.hasPrefix(#"{"k0":1,"#) == true)
    }

    @Test("With too many keys at the top level, the last members are combined in one text")
    func top() {
        let fitted = RecordFit.fitting(.object((0..<300).map { .init("k\($0)", .integer(1)) }))
        #expect(fitted.asObject?.count == 160)
        #expect(fitted.asObject?.last?.key == "more")
        #expect(fitted.asObject?.last?.value.asString?.hasSuffix(#""k299":1}"#) == true)
    }

    @Test("The number of frames is limited, so that a record with its metadata and causes has at most 256 keys")
    func frames() {
        #expect(RecordFit.frames(beside: nil, causes: 0) == (256 - 32) / 3)
        #expect(RecordFit.frames(beside: ["a": 1, "b": ["c": 2]], causes: 2) == (256 - 32 - 6 - 3) / 3)
    }
}

extension JSONValue {
    fileprivate var depth: Int {
        switch self {
        case .null, .bool, .integer, .number, .string: 0
        case .array(let elements): 1 + (elements.map(\.depth).max() ?? 0)
        case .object(let members): 1 + (members.map(\.value.depth).max() ?? 0)
        }
    }

    fileprivate var keys: Int {
        switch self {
        case .null, .bool, .integer, .number, .string: 0
        case .array(let elements): elements.reduce(0) { $0 + $1.keys }
        case .object(let members): members.reduce(members.count) { $0 + $1.value.keys }
        }
    }
}
