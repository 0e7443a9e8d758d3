import IssueCommands
import IssueProtocol
import Issues
import Testing
import UnixIO

@Suite("issuectl notify")
struct NotifyTests {
    @Test("Without notifiers, the list says so, and in JSON it is an empty array")
    func none() throws {
        let text = issuectl(["notify"], .reply(Fixtures.status()))
        #expect(text.code == .success && text.output == "No notifier configured.\n")
        let json = issuectl(["notify", "--json"], .reply(Fixtures.status()))
        #expect(try JSONValue(json: json.output)["notifiers"] == .array([]))
        #expect(json.code == .success)
    }

    @Test("Several silences can be ended at once, even if one of the ids does not exist")
    func endSilences() {
        let outcome = issuectl(
            ["silence", "end", "s3", "s4", "s5"], .reply(#"{"silences":[]}"#),
            .failure(.refused(.notFound(id: "s4"))), .reply(#"{"silences":[]}"#))
        #expect(outcome.calls.count == 3 && outcome.code == .refused)
        #expect(outcome.output == lines("s3 has ended.\ns5 has ended."))
        #expect(
            outcome.errors
                == lines(
                    "issuectl: no silence 's4' is in effect: issuectl silence list shows the ids, such as s1"))
        #expect(
            issuectl(["silence", "end"]).errors
                == lines("issuectl: missing argument ID. See issuectl silence --help"))
    }

    @Test("If ending a silence fails, the silences that remained after the last success are printed as JSON")
    func halfEnded() {
        let remaining =
            #"{"silences":[{"id":"s4","until":"2026-11-21T13:00:00.000Z","reason":"Migration","uid":0,"count":0}]}"#
        let outcome = issuectl(
            ["silence", "end", "s3", "s4", "--json"], .reply(remaining), .failure(.timedOut))
        #expect(outcome.code == .tryAgain)
        #expect(outcome.output == lines(remaining))
    }

    @Test("The list in JSON has only the notifiers, and with --ndjson a line for each")
    func list() throws {
        func notifier(_ name: String) -> String {
            """
            {"name":"\(name)","format":"slack","state":"idle","received":0,"pending":0,"delivered":0,"given_up":0,\
            "silenced":0,"messages":0,"repeated":0}
            """
        }
        let both = String(Fixtures.status().dropLast()) + #","notifiers":[\#(notifier("a")),\#(notifier("b"))]}"#
        let json = try JSONValue(json: issuectl(["notify", "--json"], .reply(both)).output)
        #expect(json["notifiers"]?.asArray?.compactMap { $0["name"]?.asString } == ["a", "b"])
        #expect(json["store"] == nil)
        #expect(issuectl(["notify", "--ndjson"], .reply(both)).output == lines(notifier("a") + "\n" + notifier("b")))
    }

    @Test("If an unknown notifier is tested, the error lists the names of the configured notifiers")
    func unknown() {
        let notifier = """
            {"name":"webhook","format":"slack","state":"idle","received":0,"pending":0,"delivered":0,"given_up":0,\
            "silenced":0,"messages":0,"repeated":0}
            """
        let reply = String(Fixtures.status().dropLast()) + #","notifiers":[\#(notifier)]}"#
        let outcome = issuectl(["notify", "test", "a"], .failure(.refused(.notFound(id: "a"))), .reply(reply))
        #expect(
            outcome.errors
                == "issuectl: no notifier named 'a' is running (configured: webhook): "
                + "see issuectl status and issued --check\n")
        let none = issuectl(["notify", "test", "a"], .failure(.refused(.notFound(id: "a"))), .reply(Fixtures.status()))
        #expect(none.errors == "issuectl: no notifier named 'a' is running: see issuectl status and issued --check\n")
    }

    @Test(
        "A user who may not see notifiers is told so, and the exit code is 1",
        arguments: [["notify"], ["notify", "--json"]])
    func denied(words: [String]) {
        let own = Fixtures.status().replacing("\"bytes\":15728640,", with: "")
        let outcome = issuectl(words, .reply(own))
        #expect(outcome.code == .refused && outcome.output.isEmpty)
        #expect(outcome.errors.hasPrefix("issuectl: permission denied: only root, the daemon's user"))
    }
}
