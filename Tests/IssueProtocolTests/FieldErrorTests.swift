import IssueProtocol
import Testing

@Suite("Errors of JSON members")
struct FieldErrorTests {
    @Test(
        "An error in a record names the path of the member",
        arguments: [
            (#"{}"#, "message: is required"),
            (#"{"message":null}"#, "message: is required"),
            (#"{"message":1}"#, "message: must be a string"),
            (#"[]"#, "the value must be an object"),
            (#"{"message":"m","code":"1"}"#, "code: must be an integer"),
            (#"{"message":"m","code":1.5}"#, "code: must be a 64-bit integer"),
            (#"{"message":"m","code":9223372036854775808}"#, "code: must be a 64-bit integer"),
            (#"{"message":"m","source":{"line":"x"}}"#, "source.line: must be an integer"),
            (#"{"message":"m","backtrace":[{},{"offset":true}]}"#, "backtrace.1.offset: must be an integer"),
            (#"{"message":"m","causes":{}}"#, "causes: must be a list"),
            (#"{"message":"m","causes":[null]}"#, "causes.0: must be an object"),
            (#"{"message":"m","metadata":[]}"#, "metadata: must be an object"),
            (#"{"message":"m","reportable":1}"#, "reportable: must be true or false"),
            (#"{"message":"m"} x"#, "the value is malformed JSON"),
            (#"{"message":"m","x":[}"#, "x: is malformed JSON"),
        ])
    func records(json: String, expected: String) {
        do {
            let record = try IssueRecord(json: json)
            Issue.record("\(record) was accepted")
        } catch {
            #expect(error.description == expected)
        }
    }

    @Test("The last of several members with the same key counts, even if it is null")
    func lastWins() throws {
        #expect(try IssueRecord(json: #"{"message":"a","message":"b"}"#).message == "b")
        #expect(try IssueRecord(json: #"{"message":"a","code":1,"code":null}"#).code == nil)
        #expect(try Application(json: #"{"name":null,"n\u0061me":"x"}"#).name == "x")
    }

    @Test("Null is treated as absent everywhere")
    func null() throws {
        let members = try JSONValue(json: IssueRecord.full.json).asObject ?? []
        let nulls = JSONValue.object(members.map { .init($0.key, $0.key == "message" ? "m" : .null) })

        #expect(try IssueRecord(json: nulls) == IssueRecord(message: "m"))
    }

    @Test("An error about a missing member of a reply names the member")
    func required() throws {
        for (key, value) in try JSONValue(json: Samples.minimalGroup.json).asObject?.map({ ($0.key, $0.value) }) ?? [] {
            let bare = try JSONValue(json: Samples.minimalGroup.json).with(key, .null)
            #expect(throws: FieldError(field: key, reason: "is required"), "\(value)") { try IssueGroup(json: bare) }
        }
    }

    @Test("Durations are whole milliseconds, not negative, and never overflow")
    func durations() throws {
        #expect(try FlushParameters(json: #"{"timeout":1500}"#).timeout == .milliseconds(1500))
        #expect(
            try FlushParameters(json: #"{"timeout":9223372036854775807}"#).timeout == .milliseconds(Int64.max))
        #expect(throws: FieldError(field: "timeout", reason: "must not be negative")) {
            try FlushParameters(json: #"{"timeout":-1}"#)
        }
        #expect(Duration.seconds(Int64.max).wholeMilliseconds == .max)
        #expect(Duration.seconds(Int64.min).wholeMilliseconds == .min)
        #expect(Duration.microseconds(-1500).wholeMilliseconds == -1)
    }
}
