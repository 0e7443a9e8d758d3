import IssueProtocol
import Testing

@Suite("The ids of the trace, the request and the user")
struct IssueContextTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let span = "00f067aa0ba902b7"

    private func read(_ members: String) throws -> IssueContext {
        try IssueRecord(json: #"{"message":"m",\#(members)}"#).context
    }

    @Test("Ids are members of the record, in lower case if they are hexadecimal")
    func members() throws {
        let context = try read(
            #""trace_id":"\#(Self.trace.uppercased())","span_id":"\#(Self.span)","request_id":"R 7","user":"Ännä\n""#)
        #expect(context == IssueContext(traceID: Self.trace, spanID: Self.span, requestID: "R 7", user: "Ännä\n"))
        #expect(context.values.map(\.field) == [.traceID, .spanID, .requestID, .user])
        #expect(IssueContext().isEmpty && IssueContext().values.isEmpty && !context.isEmpty)
        #expect(try read(#""code":1"#).isEmpty)
    }

    @Test(
        "An id of another form or type is left out, and the record remains valid",
        arguments: [
            (IssueContext.Field.traceID, #""""#), (.traceID, #""4bf92f3577b34da6a3ce929d0e0e473""#),
            (.traceID, #""4bf92f3577b34da6a3ce929d0e0e47360""#), (.traceID, #""4bf92f3577b34da6a3ce929d0e0e473g""#),
            (.traceID, #""00000000000000000000000000000000""#), (.traceID, #""4bf92f35-77b3-4da6-a3ce-929d0e0e4736""#),
            (.traceID, "7"), (.traceID, "null"), (.traceID, #"["4bf92f3577b34da6a3ce929d0e0e4736"]"#),
            (.spanID, #""0000000000000000""#), (.spanID, #""00f067aa0ba902b""#), (.spanID, #""00f067aa0ba902b ""#),
            (.spanID, "true"), (.requestID, #""""#), (.requestID, "17"), (.requestID, #"{"id":"r"}"#),
            (.user, #""""#), (.user, "[]"), (.user, #"{"user":"u"}"#),
        ])
    func invalid(field: IssueContext.Field, value: String) throws {
        #expect(try read(#""\#(field.name)":\#(value)"#).isEmpty)
        #expect(try read(#""\#(field.name)":"valid","\#(field.name)":\#(value)"#).isEmpty)
    }

    @Test("An opaque id has at most 256 bytes", arguments: [IssueContext.Field.requestID, .user])
    func size(field: IssueContext.Field) throws {
        let longest = String(repeating: "é", count: 128)
        #expect(try read(#""\#(field.name)":"\#(longest)""#)[field] == longest)
        #expect(try read(#""\#(field.name)":"\#(longest)x""#).isEmpty)
    }

    @Test("Invalid ids are not written")
    func writing() {
        let invalid = IssueContext(
            traceID: "trace", spanID: "", requestID: String(repeating: "r", count: 257), user: "")
        #expect(IssueRecord(message: "m", context: invalid).json == IssueRecord(message: "m").json)
        var writer = JSONWriter()
        IssueRecord(message: "m", context: invalid).writeObject(to: &writer)
        #expect(writer.text == #"{"message":"m"}"#)
    }
}
