import IssueCommands
import IssueProtocol
import Issues
import Testing
import UnixIO

@Suite("issuectl report")
struct ReportTests {
    private static let one = #"{"receipts":[{"id":"r1"}]}"#

    private static func receipts(_ count: Int, from first: Int = 1) -> String {
        "{\"receipts\":[\((first..<(first + count)).map { "{\"id\":\"r\($0)\"}" }.joined(separator: ","))]}"
    }

    @Test("Without a message and without input, a line on standard error says that nothing was reported")
    func nothing() {
        let outcome = issuectl(["report"], input: ["\n  \n"])
        #expect(outcome.errors == "issuectl: standard input is empty or blank: nothing was reported\n")
        #expect(outcome.code == .success && outcome.calls.isEmpty)
        #expect(issuectl(["report", "--quiet"]).errors.isEmpty)
    }

    @Test("A line on standard error says how to end input from a terminal, or that an empty message is reported")
    func hints() {
        let typed = issuectl(["report"], input: ["boom\n"], isInputTerminal: true, .reply(Self.one))
        #expect(typed.errors == "issuectl: each line is reported as a message; end the input with Ctrl-D\n")
        #expect(typed.output == "r1\n")
        for message in ["", " "] {
            let empty = issuectl(["report", message], .reply(Self.one))
            #expect(empty.errors == "issuectl: the message is empty; reporting it anyway\n")
            #expect(empty.calls == [#"Report {"records":[{"message":"\#(message)"}]}"#])
            #expect(empty.output == "r1\n" && empty.code == .success)
        }
    }

    @Test("The operands form one message, and its id is printed")
    func words() {
        let outcome = issuectl(["report", "No", "space", "left"], .reply(Self.one))
        #expect(outcome.calls == [#"Report {"records":[{"message":"No space left"}]}"#])
        #expect(outcome.output == "r1\n")
        #expect(outcome.errors == "")
        #expect(outcome.code == .success)
    }

    @Test("Every option sets its member of the record")
    func options() throws {
        let outcome = issuectl(
            [
                "report", "-p", "user.err", "--domain", "d", "--code", "-7", "-t", "shop", "--app-version", "2.0",
                "--environment", "production", "-m", "n=3", "-m", "list=[1,2]", "-m", "text=a b",
                "--fingerprint", "f", "--file", "a.sh", "--line", "12", "--function", "main", "--not-reportable",
                "boom",
            ], .reply(Self.one))
        #expect(
            outcome.calls == [
                #"Report {"records":[{"message":"boom","severity":"error","domain":"d","code":-7,"#
                    + #""source":{"file_id":"a.sh","line":12,"function":"main"},"#
                    + #""app":{"name":"shop","version":"2.0","environment":"production"},"fingerprint":"f","#
                    + #""metadata":{"n":3,"list":[1,2],"text":"a b"},"reportable":false}]}"#
            ])
        // Decoding the call gives the same values.
        let expected = IssueRecord(
            message: "boom", severity: .error, domain: "d", code: -7,
            source: SourceLocation(fileID: "a.sh", line: 12, function: "main"),
            app: Application(name: "shop", version: "2.0", environment: "production"), fingerprint: "f",
            metadata: .object([.init("n", 3), .init("list", .array([1, 2])), .init("text", "a b")]), reportable: false)
        let json = outcome.calls[0].dropFirst("Report ".count)
        #expect(try ReportParameters(json: Array(json.utf8)).records == [expected])
    }

    @Test("The environment variables of the client library replace missing options")
    func variables() {
        let environment = ["ISSUED_APP": "cron", "ISSUED_VERSION": "3", "ISSUED_ENVIRONMENT": ""]
        let outcome = issuectl(["report", "--app", "backup", "m"], environment: environment, .reply(Self.one))
        #expect(outcome.calls == [#"Report {"records":[{"message":"m","app":{"name":"backup","version":"3"}}]}"#])
    }

    @Test("Each line of standard input that is not blank is reported as a record")
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

    @Test("Lines are reported when they arrive, not at the end of the input")
    func promptly() {
        let outcome = issuectl(
            ["report"], input: ["one\nt", "wo\n"], .reply(Self.receipts(1)), .reply(Self.receipts(1, from: 2)))
        #expect(outcome.calls.count == 2)
    }

    @Test("A call contains at most 500 records")
    func batches() {
        let input = (1...1001).map { "line \($0)\n" }.joined()
        let outcome = issuectl(
            ["report"], input: [input], .reply(Self.receipts(500)), .reply(Self.receipts(500, from: 501)),
            .reply(Self.receipts(1, from: 1001)))
        #expect(outcome.code == .success)
        #expect(outcome.output == (1...1001).map { "r\($0)\n" }.joined())
        #expect(outcome.calls.count == 3)
    }

    @Test("A call stays far below the maximum message size")
    func batchBytes() {
        let line = String(repeating: "x", count: 200_000) + "\n"
        let outcome = issuectl(
            ["report"], input: [line + line + line], .reply(Self.receipts(2)), .reply(Self.receipts(1, from: 3)))
        #expect(outcome.code == .success)
        #expect(outcome.calls.allSatisfy { $0.utf8.count < 600_000 })
    }

    @Test("A JSON record on a line is sent as a record, completed by the options")
    func jsonRecord() {
        let line =
            #"{"message":"boom","code":7,"future":{"x":1.50},"app":{"name":"own","version":null},"metadata":{"a":1},"severity":null}"#
        let outcome = issuectl(
            ["report", "--app", "shop", "--app-version", "2", "-p", "error", "-m", "a=2", "-m", "b=3"],
            input: [line + "\n"], .reply(Self.one))
        #expect(
            outcome.calls == [
                #"Report {"records":[{"message":"boom","code":7,"future":{"x":1.50},"app":{"name":"own","version":"2"},"#
                    + #""metadata":{"a":1,"b":3},"severity":"error"}]}"#
            ], "A null member counts as missing, and is replaced in place")
    }

    @Test(
        "A line that looks like JSON but is not a record is sent as a message",
        arguments: ["{", "{}", #"{"msg":"x"}"#, #"{"message":1}"#, "{not json}"])
    func looksLikeJSON(line: String) {
        let outcome = issuectl(["report"], input: [line], .reply(Self.one))
        var writer = JSONWriter()
        writer.string(line)
        #expect(outcome.calls == ["Report {\"records\":[{\"message\":\(writer.text)}]}"])
    }

    @Test("With --json-lines, an error names the number of each invalid line, and the other lines are stored")
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
                issuectl: line 2 was rejected: the JSON text ends too early
                issuectl: line 3 was rejected: not a JSON object

                """)
        #expect(outcome.code == .refused)
    }

    @Test("If the daemon rejects a record, the error names the number of its line")
    func rejected() {
        let reply = #"{"receipts":[{"id":"r1"},{"rejected":{"field":"severity","reason":"must be a\u001b word"}}]}"#
        let outcome = issuectl(["report"], input: ["one\n", "two\nthree\n"], .reply(Self.one), .reply(reply))
        #expect(outcome.output == "r1\nr1\n")
        #expect(outcome.errors == "issuectl: line 3 was rejected: severity: must be a\\x1b word\n")
        #expect(outcome.code == .refused)
    }

    @Test("A line that is too long is not sent, and the error names its number")
    func tooLong() {
        let long = String(repeating: "x", count: 300_000)
        let outcome = issuectl(["report"], input: [long, "\nshort\n"], .reply(Self.one))
        #expect(outcome.calls == [#"Report {"records":[{"message":"short"}]}"#])
        #expect(outcome.errors == "issuectl: line 1 was rejected: longer than 256.0 KiB\n")
        #expect(outcome.code == .refused)
    }

    @Test("In a message, a byte that is not UTF-8 is replaced with U+FFFD")
    func invalidUTF8() {
        let outcome = issuectl(["report"], bytes: [[0x61, 0xFF, 0x62, 0x0A]], .reply(Self.one))
        #expect(outcome.calls == ["Report {\"records\":[{\"message\":\"a\u{FFFD}b\"}]}"])
    }

    @Test("JSON output contains a receipt for each line, in the order of the lines")
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

    @Test("With --quiet, only errors are printed")
    func quiet() {
        #expect(issuectl(["report", "-q", "m"], .reply(Self.one)).output == "")
        #expect(issuectl(["report", "-q", "--json", "m"], .reply(Self.one)).output == "")
    }

    @Test("With --stderr, the message is also printed to standard error, escaped")
    func standardError() {
        let outcome = issuectl(["report", "-s", "-t", "cron", "bad \u{1B}[2J"], .reply(Self.one))
        #expect(outcome.errors == "cron: bad \\x1b[2J\n")
    }

    @Test("Reporting continues if the reader of the output has gone")
    func nobodyReads() {
        let outcome = issuectl(
            ["report"], input: ["one\n", "two\n"], writes: 0, .reply(Self.one), .reply(Self.receipts(1, from: 2)))
        #expect(outcome.calls.count == 2)
        #expect(outcome.code == .success)
    }

    @Test("If the daemon disconnects or refuses a call, the error names the lines without a receipt")
    func lost() {
        let outcome = issuectl(
            ["report", "--timeout", "50ms"], input: ["one\n", "two\nthree\n"], .reply(Self.one), .failure(.closed))
        #expect(outcome.output == "r1\n")
        #expect(
            outcome.errors == """
                issuectl: the daemon disconnected and did not return within 50 ms, and may have stored the report: retry with \
                --id \(ScriptedSurroundings.producer) to avoid storing it twice; lines 2 to 3 have no receipt, \
                and all after line 3 are not stored

                """)
        #expect(outcome.code == .tryAgain)
        let refused = issuectl(
            ["report"], input: ["one\n", "two\nthree\n"], .reply(Self.one), .failure(.refused(.denied)))
        #expect(refused.output == "r1\n")
        #expect(refused.errors.hasSuffix("; line 2 and all after it are not stored\n"))
    }

    // MARK: Numbers, timeouts and spooling

    @Test("Records are numbered; a call is repeated with the same numbers if it got no reply or a temporary refusal")
    func again() {
        let outcome = issuectl(
            ["report"], input: ["one\ntwo\n", "three\n"], .failure(.closed), .reply(Self.receipts(2)),
            .failure(.refused(.busy(retryAfter: .seconds(2)))), .failure(.refused(.noSpace)),
            .reply(Self.receipts(1, from: 3)))
        let numbers = { (first: Int) in #"],"producer":"\#(ScriptedSurroundings.producer)","sequence":\#(first)}"# }
        let first = #"Report {"records":[{"message":"one"},{"message":"two"}"# + numbers(1)
        let second = #"Report {"records":[{"message":"three"}"# + numbers(3)
        #expect(outcome.numberedCalls == [first, first, second, second, second])
        #expect(outcome.output == "r1\nr2\nr3\n")
        #expect(outcome.code == .success)
    }

    @Test("For a record that was stored before, its id is printed")
    func duplicate() {
        let outcome = issuectl(["report", "m"], .reply(#"{"receipts":[{"id":"r7","duplicate":true}]}"#))
        #expect(outcome.output == "r7\n")
        #expect(outcome.code == .success)
    }

    @Test("After a timeout, the error explains how to retry without storing a report twice")
    func timeout() {
        let outcome = issuectl(["report", "--timeout", "1ms", "m"], .failure(.timedOut))
        #expect(outcome.code == .tryAgain)
        #expect(outcome.errors.contains("did not reply within 1 ms"))
        #expect(outcome.errors.contains("--id \(ScriptedSurroundings.producer)"))
        let again = issuectl(
            ["report", "--id", ScriptedSurroundings.producer.uppercased(), "m"], .reply(Self.one))
        #expect(again.numberedCalls[0].contains(#""producer":"\#(ScriptedSurroundings.producer)","sequence":1"#))
        let busy = issuectl(["report", "m"], .failure(.refused(.busy(retryAfter: .seconds(60)))))
        #expect(busy.code == .tryAgain)
        #expect(busy.errors == "issuectl: the daemon is busy: try again in 1 min\n")
        #expect(issuectl(["report", "--timeout", "soon", "m"]).code == .usage)
        #expect(issuectl(["report", "--id", "", "m"]).code == .usage)
    }

    @Test("The same --id always gives the same producer, and different ones give different producers")
    func keys() {
        let producers = ["backup-2026-11-22", "backup-2026-11-23", "", "ä"].map { ReportID.producer(for: $0) }
        #expect(Set(producers).count == 4)
        #expect(producers.allSatisfy { ProducerForm.isUUID($0) })
        #expect(ReportID.producer(for: "backup-2026-11-22") == producers[0])
        #expect(producers[0].dropFirst(14).first == "8")
        // The FNV-1a hash of the empty text (draft-eastlake-fnv), except for the version and variant bits.
        #expect(producers[2] == "6c62272e-07bb-8142-a2b8-21756295c58d")
    }

    @Test("With --spool, reports that no daemon accepts are kept with their numbers and times")
    func spool() {
        let outcome = issuectl(
            ["report", "--spool", "--timeout", "1s"], input: ["one\n", "two\nthree\n"], .failure(.timedOut))
        #expect(outcome.code == .success)
        #expect(outcome.output == "")
        #expect(
            outcome.errors == """
                issuectl: saved the reports in /unsent, to be sent by your next issuectl command or reporting program; \
                the cause: \
                the daemon did not reply in time: try again

                """)
        let producer = ScriptedSurroundings.producer
        let time = #""occurred_at":"2026-11-21T12:00:00.000Z""#
        let method = #"{"method":"org.issued.Collector.Report","parameters":{"records":["#
        #expect(
            outcome.kept == [
                "\(producer) 1 \(method)" + #"{"message":"one",\#(time)}],"producer":"\#(producer)","sequence":1}}"#,
                "\(producer) 2 \(method)" + #"{"message":"two",\#(time)},{"message":"three",\#(time)}],"#
                    + #""producer":"\#(producer)","sequence":2}}"#,
            ])
        // A daemon that has timed out once is not waited for again.
        #expect(outcome.calls.count == 1)
    }

    @Test("With --spool, a missing daemon is not a failure, but a refusal is")
    func spoolAway() {
        let away = issuectl(["--socket", "/absent", "report", "--spool", "--json", "m"])
        #expect(away.code == .success)
        #expect(away.kept.count == 1)
        #expect(away.output == #"{"receipts":[{"spooled":true}]}"# + "\n")
        #expect(away.errors.contains("saved the report in /unsent"))
        #expect(issuectl(["--socket", "/absent", "report", "m"]).code == .unavailable)
        let full = issuectl(["--socket", "/absent", "report", "--spool", "m"], keeps: 0)
        #expect(full.code == .unavailable)
        #expect(
            full.errors.hasPrefix(
                "issuectl: the report could not be sent or saved: the folder /unsent is full; cannot reach the daemon"))
        // The first call may have arrived, but the second one was not sent.
        let lines = String(repeating: "m\n", count: 600)
        let half = issuectl(["report", "--spool"], input: [lines], keeps: 1, .failure(.timedOut))
        #expect(half.kept.count == 1 && half.calls.count == 1)
        #expect(half.errors.contains("could not be sent or saved"))
        #expect(half.errors.contains("line 501 and all after it are not stored"), "\(half.errors)")
        let refused = issuectl(["report", "--spool", "m"], .failure(.refused(.tooLarge(limit: 1))))
        #expect(refused.code == .refused)
        #expect(refused.kept.isEmpty)
    }

    @Test("Each command that reaches a daemon sends the spooled reports")
    func sendsSpooled() {
        #expect(issuectl(["report", "m"], .reply(Self.one)).sendings == 1)
        #expect(issuectl(["list"], .reply(#"{"groups":[]}"#)).sendings == 1)
        #expect(issuectl(["--socket", "/absent", "list"]).sendings == 0)
        #expect(issuectl(["--socket", "/absent", "report", "--spool", "m"]).sendings == 0)
        #expect(issuectl(["--help"]).sendings == 0)
    }

    @Test("The caller's name is the default application name")
    func caller() {
        func app(_ arguments: [String], input: [String] = [], environment: [String: String] = [:]) -> String? {
            let outcome = issuectl(
                ["report"] + arguments, environment: environment, input: input, caller: "backup.sh", .reply(Self.one))
            let call = outcome.calls[0].dropFirst("Report ".count)
            return try? ReportParameters(json: Array(call.utf8)).records[0].app?.name
        }
        #expect(app(["m"]) == "backup.sh")
        #expect(app(["--app-version", "2", "m"]) == "backup.sh")
        #expect(app(["--app", "own", "m"]) == "own")
        #expect(app(["m"], environment: ["ISSUED_APP": "variable"]) == "variable")
        #expect(app([], input: [#"{"message":"m","app":{"name":"line"}}"#]) == "line")
        #expect(app([], input: [#"{"message":"m","app":{"version":"1"}}"#]) == "backup.sh")
    }

    @Test("The caller's name is that of a script or another program, otherwise of the service, otherwise issuectl")
    func callerName() {
        #expect(CallerName.name(parent: "backup.sh", unit: "cron.service") == "backup.sh")
        #expect(CallerName.name(parent: "sh", unit: "nightly.service") == "nightly")
        #expect(CallerName.name(parent: "systemd", unit: "nightly.service") == "nightly")
        #expect(CallerName.name(parent: "tmux: server", unit: "session-3.scope") == "issuectl")
        #expect(CallerName.name(parent: "bash", unit: "user@1000.service") == "issuectl")
        #expect(CallerName.name(parent: nil, unit: nil) == "issuectl")
        func script(_ shell: String, _ arguments: String...) -> String {
            CallerName.name(parent: shell, arguments: arguments, unit: nil)
        }
        #expect(script("sh", "sh", "backup.sh") == "backup.sh")
        #expect(script("bash", "/bin/bash", "/opt/backup.sh", "-x") == "backup.sh")
        #expect(script("bash", "bash", "-O", "extglob", "backup.sh") == "backup.sh")
        #expect(script("bash", "bash", "+O", "extglob", "--rcfile", "/etc/rc", "backup.sh") == "backup.sh")
        #expect(script("busybox", "busybox", "sh", "./backup.sh") == "backup.sh")
        #expect(script("busybox", "busybox", "timeout", "60", "issuectl", "report") == "issuectl")
        #expect(script("sh", "sh", "-eu", "backup.sh", "-c") == "backup.sh")
        #expect(script("bash", "bash", "--norc", "+x", "-eo", "pipefail", "--", "backup.sh") == "backup.sh")
        #expect(script("bash", "-bash") == "issuectl" && script("bash", "bash", "-e") == "issuectl")
        #expect(script("bash", "bash", "-ec", "issuectl report x") == "issuectl")
        #expect(script("bash", "bash", "-s", "backup.sh") == "issuectl" && script("sh", "sh", "-o") == "issuectl")
        #expect(script("bash", "bash", "/dev/fd/63") == "issuectl" && script("sh", "sh", "-") == "issuectl")
        #expect(script("sh", "sh", "/opt/") == "issuectl" && script("sh", "sh", "") == "issuectl")
        #expect(script("sh", "sh", ".") == "issuectl" && script("sh", "sh", "../..") == "issuectl")
        #expect(script("sudo", "sudo", "ls") == "issuectl" && script("fish", "fish", "a.fish") == "issuectl")
        #expect(CallerName.name(parent: "sh", arguments: ["sh", "a.sh"], unit: "nightly.service") == "a.sh")
    }

    @Test("A reply with too few or too many receipts is an error")
    func tooFew() {
        let outcome = issuectl(["report"], input: ["one\ntwo\n"], .reply(Self.one))
        #expect(outcome.code == .refused)
        #expect(outcome.errors.contains("1 receipt for 2 records"))
        #expect(issuectl(["report", "m"], .reply(Self.receipts(2))).errors.contains("2 receipts for 1 record"))
    }
}

private enum ProducerForm {
    static func isUUID(_ text: String) -> Bool {
        text.wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil
    }
}
