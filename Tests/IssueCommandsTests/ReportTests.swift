import IssueCommands
import IssueProtocol
import Issues
import Testing

@Suite("issuectl report")
struct ReportTests {
    private static let one = #"{"receipts":[{"id":"r1"}]}"#

    private static func receipts(_ count: Int, from first: Int = 1) -> String {
        "{\"receipts\":[\((first..<(first + count)).map { "{\"id\":\"r\($0)\"}" }.joined(separator: ","))]}"
    }

    @Test("The words of the command line are one message, and its id is printed")
    func words() {
        let outcome = issuectl(["report", "No", "space", "left"], .reply(Self.one))
        #expect(outcome.calls == [#"Report {"records":[{"message":"No space left"}]}"#])
        #expect(outcome.output == "r1\n")
        #expect(outcome.errors == "")
        #expect(outcome.code == .success)
    }

    @Test("Every option becomes its member of the record")
    func options() {
        let outcome = issuectl(
            [
                "report", "-p", "user.err", "--domain", "d", "--code", "-7", "-t", "shop", "--app-version", "2.0",
                "--environment", "production", "-m", "n=3", "-m", "list=[1,2]", "-m", "text=a b", "-m", "n=4",
                "--fingerprint", "f", "--file", "a.sh", "--line", "12", "--function", "main", "--not-reportable",
                "boom",
            ], .reply(Self.one))
        #expect(
            outcome.calls == [
                #"Report {"records":[{"message":"boom","severity":"error","domain":"d","code":-7,"#
                    + #""source":{"file_id":"a.sh","line":12,"function":"main"},"#
                    + #""app":{"name":"shop","version":"2.0","environment":"production"},"fingerprint":"f","#
                    + #""metadata":{"list":[1,2],"text":"a b","n":4},"reportable":false}]}"#
            ])
    }

    @Test("What the options can say is what the daemon understands")
    func understood() throws {
        let outcome = issuectl(["report", "-p", "warn", "-m", "a=1", "--line", "3", "boom"], .reply(Self.one))
        let json = outcome.calls[0].dropFirst("Report ".count)
        let record = try ReportParameters(json: Array(json.utf8)).records[0]
        #expect(record.severity == .warning)
        #expect(record.source?.line == 3)
        #expect(record.metadata == .object([.init("a", 1)]))
    }

    @Test("The variables of the client library stand in for missing options")
    func variables() {
        let environment = ["ISSUED_APP": "cron", "ISSUED_VERSION": "3", "ISSUED_ENVIRONMENT": ""]
        let outcome = issuectl(["report", "--app", "backup", "m"], environment: environment, .reply(Self.one))
        #expect(outcome.calls == [#"Report {"records":[{"message":"m","app":{"name":"backup","version":"3"}}]}"#])
    }

    @Test("Each line of standard input is an issue, blank ones are not")
    func lines() {
        let outcome = issuectl(
            ["report"], input: ["one\n\n  \ntwo\r\nthree"], .reply(Self.receipts(2)), .reply(Self.receipts(1, from: 3)))
        #expect(
            outcome.calls == [
                #"Report {"records":[{"message":"one"},{"message":"two"}]}"#,
                #"Report {"records":[{"message":"three"}]}"#,
            ])
        #expect(outcome.output == "r1\nr2\nr3\n")
    }

    @Test("Lines are reported when they come, not when the input ends")
    func promptly() {
        let outcome = issuectl(
            ["report"], input: ["one\nt", "wo\n"], .reply(Self.receipts(1)), .reply(Self.receipts(1, from: 2)))
        #expect(outcome.calls.count == 2)
    }

    @Test("A call carries at most 500 records")
    func batches() {
        let input = (1...1001).map { "line \($0)\n" }.joined()
        let outcome = issuectl(
            ["report"], input: [input], .reply(Self.receipts(500)), .reply(Self.receipts(500, from: 501)),
            .reply(Self.receipts(1, from: 1001)))
        #expect(outcome.code == .success)
        #expect(outcome.output == (1...1001).map { "r\($0)\n" }.joined())
        #expect(outcome.calls.count == 3)
    }

    @Test("A call stays far below the largest message")
    func batchBytes() {
        let line = String(repeating: "x", count: 200_000) + "\n"
        let outcome = issuectl(
            ["report"], input: [line + line + line], .reply(Self.receipts(2)), .reply(Self.receipts(1, from: 3)))
        #expect(outcome.code == .success)
        #expect(outcome.calls.allSatisfy { $0.utf8.count < 600_000 })
    }

    @Test("A line that is a record in JSON is taken as one, and completed by the options")
    func jsonRecord() {
        let line = #"{"message":"boom","code":7,"future":{"x":1.50},"app":{"name":"own"},"metadata":{"a":1}}"#
        let outcome = issuectl(
            ["report", "--app", "shop", "--app-version", "2", "-p", "error", "-m", "a=2", "-m", "b=3"],
            input: [line + "\n"], .reply(Self.one))
        #expect(
            outcome.calls == [
                #"Report {"records":[{"message":"boom","code":7,"future":{"x":1.50},"app":{"name":"own","version":"2"},"#
                    + #""metadata":{"a":1,"b":3},"severity":"error"}]}"#
            ])
    }

    @Test(
        "What only looks like a record is a text",
        arguments: ["{", "{}", #"{"msg":"x"}"#, #"{"message":1}"#, "{not json}"])
    func looksLikeJSON(line: String) {
        let outcome = issuectl(["report"], input: [line], .reply(Self.one))
        var writer = JSONWriter()
        writer.string(line)
        #expect(outcome.calls == ["Report {\"records\":[{\"message\":\(writer.text)}]}"])
    }

    @Test("With --json-lines a bad line is named, and its neighbours are taken")
    func badLines() {
        let input = """
            {"message":"one"}
            {"message":
            [1]

            {"message":"two"}
            """
        let outcome = issuectl(
            ["report", "--json-lines"], input: [input], .reply(Self.receipts(1)), .reply(Self.receipts(1, from: 2)))
        #expect(outcome.output == "r1\nr2\n")
        #expect(
            outcome.errors == """
                issuectl: line 2 was not taken: the JSON text ends too early
                issuectl: line 3 was not taken: not a JSON object

                """)
        #expect(outcome.code == .refused)
    }

    @Test("What the daemon rejects is named by its line")
    func rejected() {
        let reply = #"{"receipts":[{"id":"r1"},{"rejected":{"field":"severity","reason":"must be a\u001b word"}}]}"#
        let outcome = issuectl(["report"], input: ["one\n", "two\nthree\n"], .reply(Self.one), .reply(reply))
        #expect(outcome.output == "r1\nr1\n")
        #expect(outcome.errors == "issuectl: line 3 was not taken: severity: must be a\\x1b word\n")
        #expect(outcome.code == .refused)
    }

    @Test("A line that is too long is named and not sent")
    func tooLong() {
        let long = String(repeating: "x", count: 300_000)
        let outcome = issuectl(["report"], input: [long, "\nshort\n"], .reply(Self.one))
        #expect(outcome.calls == [#"Report {"records":[{"message":"short"}]}"#])
        #expect(outcome.errors == "issuectl: line 1 was not taken: longer than 256.0 KiB\n")
        #expect(outcome.code == .refused)
    }

    @Test("Bytes that are no UTF-8 still make a message")
    func invalidUTF8() {
        let outcome = issuectl(["report"], bytes: [[0x61, 0xFF, 0x62, 0x0A]], .reply(Self.one))
        #expect(outcome.calls == ["Report {\"records\":[{\"message\":\"a\u{FFFD}b\"}]}"])
    }

    @Test("JSON answers hold a receipt for each line, in the order of the lines")
    func json() {
        let outcome = issuectl(
            ["report", "--json", "--json-lines"],
            input: [#"{"message":"one"}"# + "\n[]\n" + #"{"message":"two"}"# + "\n"],
            .reply(Self.receipts(1)), .reply(Self.receipts(1, from: 2)))
        #expect(
            outcome.output == #"{"receipts":[{"id":"r1"},{"rejected":{"reason":"not a JSON object"}},{"id":"r2"}]}"#
                + "\n")
        let ndjson = issuectl(["report", "--ndjson", "m"], .reply(Self.one))
        #expect(ndjson.output == "{\"id\":\"r1\"}\n")
    }

    @Test("Quietly nothing is printed but errors")
    func quiet() {
        #expect(issuectl(["report", "-q", "m"], .reply(Self.one)).output == "")
        #expect(issuectl(["report", "-q", "--json", "m"], .reply(Self.one)).output == "")
    }

    @Test("With --stderr the message is printed as well, made harmless")
    func standardError() {
        let outcome = issuectl(["report", "-s", "-t", "cron", "bad \u{1B}[2J"], .reply(Self.one))
        #expect(outcome.errors == "cron: bad \\x1b[2J\n")
    }

    @Test("When nobody reads the ids, reporting goes on")
    func nobodyReads() {
        let outcome = issuectl(
            ["report"], input: ["one\n", "two\n"], writes: 0, .reply(Self.one), .reply(Self.receipts(1, from: 2)))
        #expect(outcome.calls.count == 2)
        #expect(outcome.code == .success)
    }

    @Test("Lines without a receipt are named when the daemon goes away")
    func lost() {
        let outcome = issuectl(["report"], input: ["one\n", "two\nthree\n"], .reply(Self.one), .failure(.closed))
        #expect(outcome.output == "r1\n")
        #expect(
            outcome.errors
                == "issuectl: the daemon has closed the connection: see journalctl -u issued; lines 2 to 3 have no receipt\n"
        )
        #expect(outcome.code == .unavailable)
    }

    @Test("An answer with too few receipts is not taken for success")
    func tooFew() {
        let outcome = issuectl(["report"], input: ["one\ntwo\n"], .reply(Self.one))
        #expect(outcome.code == .refused)
        #expect(outcome.errors.contains("1 receipts for 2 records"))
    }
}
