import IssueProtocol
import Testing

@Suite("JSONKeyLiteral")
struct JSONKeyLiteralTests {
    private func passes(_ key: StaticString, in json: String, after members: Int = 0) throws -> Bool {
        let bytes = Array(json.utf8)
        var scanner = JSONScanner(bytes.span)
        try scanner.openObject()
        for _ in 0..<members {
            _ = try #require(try scanner.nextMember())
            _ = try scanner.skipValue()
        }
        let literal = try #require(JSONKeyLiteral(key))
        let before = scanner.position
        guard scanner.skipKey(literal) else {
            #expect(scanner.position == before)
            return false
        }
        #expect(try scanner.integer() == 7)
        return true
    }

    @Test("A literal is skipped as the first or a later key")
    func found() throws {
        #expect(try passes("code", in: #"{"code":7,"other":"and more"}"#))
        #expect(try passes("code", in: #"{"line":1,"code":7,"other":"and more"}"#, after: 1))
        #expect(try passes("thirteenbytes", in: #"{"thirteenbytes":7}            "#))
    }

    @Test(
        "A literal is not skipped if another key, another spelling or too few bytes follow",
        arguments: [
            #"{"codes":7,"other":"and more"}"#, #"{"cod":7,"other":"and more"}"#, #"{ "code":7,"other":"and more"}"#,
            #"{"code" :7,"other":"and more"}"#, #"{"c\u006fde":7,"other":"and more"}"#, #"{"code":7}"#, "{}", "{",
            #"{,"code":7,"other":"and more"}"#, #"{'code':7,"other":"and more"}"#,
        ])
    func notFound(json: String) throws {
        #expect(try !passes("code", in: json))
    }

    @Test("A literal is not skipped after a value without a comma")
    func noComma() throws {
        #expect(try !passes("code", in: #"{"line":1"code":7,"other":"and more"}"#, after: 1))
    }

    @Test("A skipped literal counts as a key, and no literal is skipped beyond the maximum number of keys")
    func counts() throws {
        let bytes = Array(#"{"code":7,"code":7,"other":"and more"}"#.utf8)
        var scanner = JSONScanner(bytes.span, maximumKeys: 1)
        try scanner.openObject()
        let literal = try #require(JSONKeyLiteral("code"))
        let isFirst = scanner.skipKey(literal)
        #expect(isFirst)
        _ = try scanner.integer()
        let isSecond = scanner.skipKey(literal)
        #expect(!isSecond)
        #expect(throws: JSONError.tooManyKeys(limit: 1)) { _ = try scanner.nextMember() }
    }

    @Test("A literal has at most thirteen bytes")
    func length() {
        #expect(JSONKeyLiteral("first_occurred_at") == nil)
    }
}
