import IssueCore
import IssueProtocol
import Testing

@Suite("Decoding the ids of a record's context")
struct ContextDecodingTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"

    private func details(_ members: String) throws -> String {
        let decoding = try Decoding(#"[{"message":"m",\#(members)}]"#)
        try #require(decoding.rejections == [nil])
        return decoding.batch.string(decoding.batch.records[0].details)
    }

    @Test("Ids are stored with the causes and the backtrace, in lower case if they are hexadecimal")
    func stored() throws {
        let ids = #""user":"anna","trace_id":"\#(Self.trace.uppercased())","request_id":"r \"7\" \u00e9""#
        #expect(
            try details(ids)
                == #"{"trace_id":"\#(Self.trace)","request_id":"r \"7\" \u00e9","user":"anna"}"#)
        #expect(
            try details(#""causes":[{}],\#(ids),"backtrace":[{}]"#)
                == #"{"causes":[{}],"backtrace":[{}],"trace_id":"\#(Self.trace)","request_id":"r \"7\" \u00e9","user":"anna"}"#
        )
        #expect(try details(#""span_id":"00F067AA0BA902B\u0037""#) == #"{"span_id":"00f067aa0ba902b7"}"#)
    }

    @Test("Absent and invalid ids are not stored")
    func absent() throws {
        for members in [
            #""code":1"#, #""trace_id":null"#, #""trace_id":"4bf92f35""#, #""user":"""#, #""user":7"#,
            #""user":{"id":"a","user":"b"}"#, #""request_id":"r","request_id":[1]"#, #""user":"u","user":null"#,
            #""user":"\#(String(repeating: "u", count: 257))""#,
        ] {
            #expect(try details(members) == "", "\(members)")
        }
        #expect(try details(#""user":"\#(String(repeating: "\\u0075", count: 256))""#).utf8.count == 256 * 6 + 11)
    }

    @Test("Ids do not distinguish series, so that they make no new group")
    func series() throws {
        let decoding = try Decoding(
            #"[{"message":"m","user":"a"},{"message":"m","user":"b","trace_id":"\#(Self.trace)"},{"message":"m"}]"#)
        #expect(Set(decoding.batch.records.map(\.series)).count == 1)
    }

    @Test("Malformed JSON in an id makes decoding fail")
    func malformed() throws {
        #expect(throws: JSONError.self) { try Decoding(#"[{"message":"m","user":"\q"}]"#) }
        #expect(throws: JSONError.self) { try Decoding(#"[{"message":"m","user":[1,}]"#) }
    }
}
