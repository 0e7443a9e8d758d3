import IssueProtocol
import Testing

@Suite("Varlink messages")
struct VarlinkMessageTests {
    static let calls = [
        VarlinkCall(method: "org.issued.Collector.Status"),
        VarlinkCall(method: "a.B", parameters: Array(#"{"x":[1,{"y":"é"}]}"#.utf8), oneway: true),
        VarlinkCall(method: "a.B", more: true),
        VarlinkCall(method: "a.\"B\"\n", upgrade: true),
        VarlinkCall(method: "", oneway: true, more: true, upgrade: true),
    ]

    static let replies = [
        VarlinkReply(),
        VarlinkReply(parameters: Array(#"{"groups":[]}"#.utf8), continues: true),
        VarlinkReply(parameters: Array(#"{"limit":3}"#.utf8), error: "org.issued.Collector.TooLarge"),
    ]

    @Test("A call survives encoding and decoding, and every truncated one is an error", arguments: calls)
    func callRoundTrip(call: VarlinkCall) throws {
        let message = call.message
        #expect(message.last == 0)
        #expect(message.dropLast().allSatisfy { $0 != 0 })

        let bytes = Array(message.dropLast())
        #expect(try VarlinkCall(decoding: bytes) == call)
        for end in bytes.indices {
            let beginning = Array(bytes[..<end])
            #expect(throws: VarlinkError.self) { try VarlinkCall(decoding: beginning) }
        }
    }

    @Test("A reply survives encoding and decoding, and every truncated one is an error", arguments: replies)
    func replyRoundTrip(reply: VarlinkReply) throws {
        let message = reply.message
        #expect(message.last == 0)

        let bytes = Array(message.dropLast())
        #expect(try VarlinkReply(decoding: bytes) == reply)
        for end in bytes.indices {
            let beginning = Array(bytes[..<end])
            #expect(throws: VarlinkError.self) { try VarlinkReply(decoding: beginning) }
        }
    }

    @Test("Parameters written in place give the same message as encoded parameters")
    func inPlace() throws {
        var writer = JSONWriter()
        VarlinkCall.encode("a.B", IDParameters(id: "1"), more: true, to: &writer)
        #expect(
            writer.bytes == VarlinkCall(method: "a.B", parameters: IDParameters(id: "1").json, more: true).message)
    }

    @Test("Absent, null and empty parameters are equal, and unknown members are ignored")
    func parameters() throws {
        for text in [
            #"{"method":"a.B"}"#, #"{"method":"a.B","parameters":null}"#, #"{"method":"a.B","parameters":{}}"#,
            #" { "parameters" : {} , "later" : [ { } ] , "method" : "a.B" , "more" : false } "#,
            #"{"method":"a.C","method":"a.B","parameters":{"a":1},"parameters":null}"#,
            #"{"m\u0065thod":"\u0061.B","oneway":true,"oneway":false}"#,
        ] {
            #expect(try call(text) == VarlinkCall(method: "a.B"))
        }
        for text in ["{}", #"{"parameters":null}"#, #"{"parameters":{},"later":1}"#] {
            let bytes = Array(text.utf8)
            #expect(try VarlinkReply(decoding: bytes) == VarlinkReply())
        }
    }

    @Test("An error about a member of the wrong type names the member")
    func types() {
        for (text, field) in [
            (#"{"method":1}"#, "method"), (#"{"method":null}"#, "method"), (#"{}"#, "method"),
            (#"{"method":"a","parameters":[]}"#, "parameters"), (#"{"method":"a","parameters":""}"#, "parameters"),
            (#"{"method":"a","oneway":1}"#, "oneway"), (#"{"method":"a","oneway":null}"#, "oneway"),
            (#"{"method":"a","more":"true"}"#, "more"), (#"{"method":"a","upgrade":{}}"#, "upgrade"), ("[]", ""),
            ("1", ""),
        ] {
            #expect(Self.invalidField { _ = try call(text) } == field, "\(text)")
        }
        for (text, field) in [
            (#"{"error":1}"#, "error"), (#"{"error":null}"#, "error"), (#"{"continues":0}"#, "continues"),
            (#"{"parameters":1}"#, "parameters"), ("null", ""),
        ] {
            let bytes = Array(text.utf8)
            #expect(Self.invalidField { _ = try VarlinkReply(decoding: bytes) } == field, "\(text)")
        }
    }

    @Test("A message that is not JSON is reported as such")
    func malformed() {
        for text in [
            "", "{", "x", #"{"method":"a"} x"#, #"{"method":"a","parameters":{]}"#, #"{1:2}"#, "{\"method\":\"\u{1}\"}",
        ] {
            do {
                _ = try call(text)
                Issue.record("\(text) was accepted")
            } catch VarlinkError.malformed {
                continue
            } catch {
                Issue.record("\(text): \(error)")
            }
        }
    }

    @Test("The envelope locates the method and the parameters, however deeply the parameters are nested")
    func envelope() throws {
        let deep = #"{"a":"# + String(repeating: "[", count: 500) + String(repeating: "]", count: 500) + "}"
        for parameters in [#"{"a":1}"#, "{ }", deep] {
            let message = Array(#"{"x":[],"parameters": \#(parameters) ,"more":true,"method":"a.B"}"#.utf8)

            let envelope = try VarlinkCall.Envelope(scanning: message.span)

            let range = try #require(envelope.parameters)
            #expect(String(decoding: message[range], as: UTF8.self) == parameters)
            #expect(String(decoding: message[envelope.method.start..<envelope.method.end], as: UTF8.self) == "a.B")
            #expect(envelope.more && !envelope.oneway && !envelope.upgrade)
        }
        let broken = Array(#"{"method":"a.B","parameters":\#(deep.dropLast(2))}}"#.utf8)
        #expect(throws: VarlinkError.self) { try VarlinkCall.Envelope(scanning: broken.span) }
    }

    private func call(_ text: String) throws -> VarlinkCall {
        let bytes = Array(text.utf8)
        return try VarlinkCall(decoding: bytes)
    }

    private static func invalidField(_ body: () throws -> Void) -> String? {
        do {
            try body()
            return nil
        } catch VarlinkError.invalid(let error) {
            return error.field
        } catch {
            return nil
        }
    }
}
