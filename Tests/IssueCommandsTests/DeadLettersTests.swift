import IssueCommands
import IssueProtocol
import Issues
import Testing
import UnixIO

@Suite("issuectl dead-letters")
struct DeadLettersTests {
    private static let reply = """
        {"dead_letters":[{"record":"r1","destination":"logzio","reason":"refused","answer":"400: 1 malformed",\
        "attempts":2,"at":"2026-11-21T11:00:00.000Z","line":"{\\"a\\":1}"},\
        {"record":"summary-7","destination":"logzio","reason":"retries_expired","attempts":90,\
        "at":"2026-11-20T12:00:00.000Z","line":"{\\"b\\":2}"}]}
        """

    @Test("list shows dead letters with reason and answer, and does not request the lines")
    func list() {
        let outcome = issuectl(["dead-letters"], .reply(Self.reply))
        #expect(outcome.code == .success)
        #expect(outcome.calls == [#"DeadLetters {"limit":50}"#])
        let rows = outcome.output.split(separator: "\n").dropFirst()
        #expect(rows.count == 2)
        #expect(rows.contains { $0.contains("r1 ") && $0.contains(" refused ") && $0.contains("400: 1 malformed") })
        #expect(rows.contains { $0.contains("summary-7 ") && $0.contains(" retries_expired ") })
        let empty = issuectl(["dead-letters", "list"], .reply(#"{"dead_letters":[]}"#))
        #expect(empty.output == lines("No dead letters."))
    }

    @Test("list and show mark the dead letter of a correction")
    func corrections() {
        let reply = Self.reply.replacing("\"summary-7\",", with: "\"summary-7\",\"correction\":true,")
        let list = issuectl(["dead-letters"], .reply(reply)).output
        #expect(list.contains("retries_expired (correction)") && !list.contains("refused (correction)"))
        let show = issuectl(["dead-letters", "show", "summary-7"], .reply(reply)).output
        #expect(show.split(separator: "correction of the grouping").count == 2)
    }

    @Test("show prints all details of a dead letter, and fails if there is none")
    func show() {
        let outcome = issuectl(["dead-letters", "show", "r1"], .reply(Self.reply))
        #expect(outcome.calls == [#"DeadLetters {"records":["r1"],"lines":true,"limit":500}"#])
        let page = outcome.output.split(separator: "\n").joined(separator: " ")
        for detail in ["r1 for logzio", "2026-11-21", "refused", "400: 1 malformed", "2", #"{"a":1}"#] {
            #expect(page.contains(detail), "\(detail)")
        }
        #expect(issuectl(["dead-letters", "show", "r2"], .reply(#"{"dead_letters":[]}"#)).code == .refused)
        #expect(issuectl(["dead-letters", "show"]).code == .usage)
    }

    @Test("show reads all pages, and names the ids without a dead letter")
    func pages() {
        let pages = [
            Self.reply.dropLast() + #","next":"p"}"#, Self.reply.replacing("\"r1\"", with: "\"r3\""),
        ]
        let arguments = ["dead-letters", "show", "r1", "r3", "R4", "summary-7"]
        let outcome = issuectl(arguments, .reply(String(pages[0])), .reply(pages[1]))
        #expect(outcome.calls.count == 2 && outcome.calls.last?.contains(#""after":"p""#) == true)
        #expect(outcome.output.contains("r1 for logzio") && outcome.output.contains("r3 for logzio"))
        #expect(outcome.code == .refused)
        #expect(outcome.errors == lines("issuectl: no dead letter for R4: see issuectl dead-letters"))
        let json = issuectl(arguments + ["--json"], .reply(String(pages[0])), .reply(pages[1])).output
        #expect((try? JSONValue(json: Array(json.utf8)))?["dead_letters"]?.asArray?.count == 4)
    }

    @Test(
        "Options that an action would ignore are refused",
        arguments: [
            ["requeue", "--all", "--limit", "10"], ["requeue", "r1", "--limit", "1"], ["show", "r1", "--all"],
            ["show", "r1", "--limit", "1"], ["export", "--all"], ["list", "--all", "--limit", "5"],
        ])
    func ignoredOptions(_ arguments: [String]) {
        let outcome = issuectl(["dead-letters"] + arguments)
        #expect(outcome.code == .usage && outcome.calls.isEmpty)
    }

    @Test("requeue requires either ids or --all, and prints how many dead letters cannot be requeued")
    func requeue() {
        #expect(issuectl(["dead-letters", "requeue"]).code == .usage)
        #expect(issuectl(["dead-letters", "requeue", "r1", "--all"]).code == .usage)
        let outcome = issuectl(
            ["dead-letters", "requeue", "--all", "--destination", "logzio"],
            .parts([#"{"count":3,"left":0}"#, #"{"count":5,"left":1}"#], nil))
        #expect(outcome.calls == [#"Requeue {"destination":"logzio"}"#])
        #expect(
            outcome.output
                == lines(
                    """
                    5 dead letters are pending again.
                    1 can only be exported: the record or summary cannot be read, or the destination is not configured.
                    """))
    }

    @Test("export writes the lines that were to be sent, page by page")
    func export() {
        let first = Self.reply.dropLast() + #","next":"0.9"}"#
        let outcome = issuectl(
            ["dead-letters", "export"], .reply(String(first)), .reply(#"{"dead_letters":[]}"#))
        #expect(outcome.output == lines("{\"a\":1}\n{\"b\":2}"))
        #expect(
            outcome.calls == [
                #"DeadLetters {"lines":true,"limit":500}"#, #"DeadLetters {"lines":true,"limit":500,"after":"0.9"}"#,
            ])
    }

    @Test(
        "A missing dead letter is an error of show, export and requeue", arguments: ["show", "export", "requeue"])
    func noneOfThese(action: String) {
        let outcome =
            action == "requeue"
            ? issuectl(["dead-letters", action, "r9"], .failure(.refused(.notFound(id: "r9"))))
            : issuectl(["dead-letters", action, "r9"], .reply(#"{"dead_letters":[]}"#))
        #expect(outcome.code == .refused)
        #expect(outcome.errors == lines("issuectl: no dead letter for r9: see issuectl dead-letters"))
    }

    @Test("requeue makes the existing dead letters pending, and names the ids without a dead letter")
    func partialRequeue() {
        let outcome = issuectl(
            ["dead-letters", "requeue", "r1", "nope", "summary-7"], .reply(Self.reply),
            .parts([#"{"count":2,"left":0}"#], nil))
        #expect(
            outcome.calls == [
                #"DeadLetters {"records":["r1","nope","summary-7"],"limit":500}"#,
                #"Requeue {"records":["r1","summary-7"]}"#,
            ])
        #expect(outcome.output == lines("2 dead letters are pending again."))
        #expect(outcome.errors == lines("issuectl: no dead letter for nope: see issuectl dead-letters"))
        #expect(outcome.code == .refused)
        let none = issuectl(["dead-letters", "requeue", "r8", "r9"], .reply(#"{"dead_letters":[]}"#))
        #expect(none.calls.count == 1 && none.code == .refused)
        #expect(none.errors == lines("issuectl: no dead letter for r8, r9: see issuectl dead-letters"))
    }

    @Test("export writes the lines that exist, and names the ids without a dead letter")
    func partialExport() {
        let outcome = issuectl(["dead-letters", "export", "r1", "summary-7", "nope"], .reply(Self.reply))
        #expect(outcome.output == lines("{\"a\":1}\n{\"b\":2}"))
        #expect(outcome.errors == lines("issuectl: no dead letter for nope: see issuectl dead-letters"))
        #expect(outcome.code == .refused)
    }

    @Test("The usage line lists the actions and the optional ids")
    func help() {
        let help = issuectl(["dead-letters", "--help"]).output
        #expect(help.contains("[list|show|requeue|export] [ID...]"))
    }

    @Test("A fate is accepted as printed in tables and as on the wire", arguments: ["dead_lettered", "dead-lettered"])
    func fate(word: String) {
        let outcome = issuectl(["records", "--fate", word], .reply(#"{"records":[]}"#))
        #expect(outcome.calls.first?.contains(#""fates":["dead_lettered"]"#) == true)
    }

    @Test("An unknown action is an error that lists the known ones")
    func usage() {
        let outcome = issuectl(["dead-letters", "resend"])
        #expect(outcome.code == .usage)
        #expect(outcome.errors.contains("requeue"))
    }
}
