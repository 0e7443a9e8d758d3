import Foundation
import IssueProtocol
import Issues
import Testing
import UnixIO

@Suite("issuectl explain")
struct ExplainTests {
    private static let forecast = """
        {"message":"Login of [@email] failed","metadata":{"password":"[@password]"},\
        "redactions":[{"rule":"password","action":"mask","count":1},{"rule":"email","action":"hash","count":2}],\
        "app":"shop","user":1000,"other_users":[1001],"template":"Login of <address> failed","fingerprint":"f00d",\
        "chosen":false,"rule":2,"group_id":"g7","new":true,"corrections":[],"events":["critical","new"],\
        "limits":[{"limit":"new_groups","available":12,"burst":100,"refill":100,"period":900000}],\
        "destinations":[{"destination":"logzio","outcome":"summarised","reason":"application_rate",\
        "limits":[{"limit":"application_rate","available":0,"burst":100,"refill":60,"period":60000},\
        {"limit":"daily_bytes","available":1048576,"burst":2097152,"refill":2097152,"period":86400000}]},\
        {"destination":"otlp","outcome":"forwarded","limits":[]}],\
        "notifiers":[{"notifier":"oncall","notified":true},{"notifier":"chat","notified":false,"reason":"Severity"},\
        {"notifier":"mail","notified":false,"reason":"silenced","silence":"s3"}]}
        """

    @Test("An identifier of the log is explained without a daemon")
    func event() {
        let outcome = issuectl(["explain", "store.no-space"])
        #expect(outcome.calls.isEmpty)
        #expect(outcome.output.hasPrefix("store.no-space: No space left; refusing reports until there is\n\nThe file"))
        #expect(outcome.output.contains("\nWhat to do: Free space"))
        // The links and marks of Markdown are only in the page.
        #expect(!outcome.output.contains("`") && !outcome.output.contains("]("))
        let json = issuectl(["explain", "store.no-space", "--json"]).output
        #expect(json.hasPrefix(#"{"name":"store.no-space","message":"No space left"#))
    }

    @Test("The reason of a destination's state, as in status, is explained", arguments: ["no_answer", "timeout"])
    func reason(word: String) {
        let outcome = issuectl(["explain", word])
        #expect(outcome.code == .success && outcome.calls.isEmpty)
        #expect(outcome.output.hasPrefix("\(word)\n\n"))
        #expect(outcome.output.contains("\nWhat to do: "))
        #expect(
            issuectl(["explain", "--app", "shop", word], .reply("{}")).calls.first?.contains("ExplainRecord") == true)
    }

    @Test(
        "An error is found by its full name, or by the last part of the name in upper or lower case",
        arguments: ["NoSpace", "nospace"])
    func error(word: String) {
        let outcome = issuectl(["explain", word])
        #expect(outcome.output.hasPrefix("org.issued.Collector.NoSpace\n\nThe disk is full"))
        #expect(issuectl(["explain", "org.issued.Collector.NoSpace"]).output == outcome.output)
    }

    @Test("Everything in Documentation/Messages.md can be explained, and is listed")
    func complete() throws {
        let page = try ShippedText.of("Documentation/Messages.md")
        let names = page.split(separator: "\n").filter { $0.hasPrefix("| `") }
            .compactMap { $0.split(separator: "`").dropFirst().first.map { String($0) } }
        #expect(names.count > 100)
        let list = issuectl(["explain", "--list", "--ndjson"]).output
        #expect(list.split(separator: "\n").count == names.count)
        for name in names {
            let outcome = issuectl(["explain", name])
            #expect(outcome.code == .success && outcome.calls.isEmpty, "\(name)")
            #expect(list.contains(#""name":"\#(name)""#))
        }
        #expect(issuectl(["explain", "--list"]).output.contains("store.no-space"))
        #expect(issuectl(["explain", "--list", "--json"]).output.hasPrefix(#"{"entries":[{"name":"#))
    }

    @Test("A misspelt name is a usage error with a suggestion, and is not treated as a message")
    func misspelt() {
        let outcome = issuectl(["explain", "store.no-spac"])
        #expect(outcome.code == .usage)
        #expect(outcome.errors.contains("did you mean store.no-space?"))
        #expect(issuectl(["explain", "org.issued.Collector.Nope"]).code == .usage)
        #expect(issuectl(["explain"]).code == .usage)
        #expect(issuectl(["explain", "--list", "x"]).code == .usage)
        #expect(issuectl(["explain", "--user", "ann", "x y"]).code == .usage)
        for empty in [[""], [" "], ["", "--app", "shop"]] {
            #expect(issuectl(["explain"] + empty).code == .usage)
        }
    }

    @Test("An identifier is also accepted with the key id= before it, as in the log")
    func key() {
        #expect(
            issuectl(["explain", "id=store.no-space"]).output == issuectl(["explain", "store.no-space"]).output)
        #expect(issuectl(["explain", "id=store.no-spac"]).errors.contains("did you mean store.no-space?"))
        #expect(issuectl(["explain", "id=7"], .reply("{}")).calls.first?.hasPrefix("ExplainRecord ") == true)
    }

    @Test("A word that is similar to the name of an error is treated as a message, and a note says so")
    func note() {
        let outcome = issuectl(["explain", "NoSpce"], .reply("{}"))
        #expect(outcome.calls.first?.hasPrefix("ExplainRecord ") == true)
        #expect(
            outcome.errors.hasPrefix("issuectl: 'NoSpce' is treated as a message (did you mean the error NoSpace?)\n"))
        for other in ["Timeout", "nospce", "OrderFailed"] {
            #expect(!issuectl(["explain", other], .reply("{}")).errors.contains("did you mean"))
        }
    }

    @Test(
        "Ids are looked up, and anything else is a message",
        arguments: [
            (["g92c9da597585468b"], "Explain"), (["she6zsjknpxv-24c4"], "Explain"), (["g1"], "Explain"),
            (["gone"], "ExplainRecord"), (["Timeout"], "ExplainRecord"), (["Disk", "full"], "ExplainRecord"),
            (["user-name"], "ExplainRecord"), (["g1", "--app", "shop"], "ExplainRecord"),
            (["store.no-space", "--severity", "error"], "ExplainRecord"), (["NoSpace", "left"], "ExplainRecord"),
            (["example.com"], "ExplainRecord"),
        ])
    func kinds(words: [String], method: String) {
        let outcome = issuectl(["explain"] + words, .reply("{}"))
        #expect(outcome.calls.first?.hasPrefix("\(method) ") == true, "\(outcome.calls)")
    }

    @Test("The options describe the record as in report, and defaults come from the environment")
    func record() {
        let outcome = issuectl(
            [
                "explain", "--severity", "critical", "--file", "Sources/Shop/Cart.swift", "--domain", "d", "-m", "a=1",
                "--user", "1001", "--unit", "shop.service", "Disk", "full",
            ], environment: ["ISSUED_ENVIRONMENT": "production"], caller: "backup.sh", .reply(Self.forecast))
        #expect(
            outcome.calls == [
                #"ExplainRecord {"record":{"message":"Disk full","severity":"critical","domain":"d","#
                    + #""source":{"file_id":"Sources/Shop/Cart.swift"},"app":{"name":"backup.sh","environment":"production"},"#
                    + #""metadata":{"a":1}},"user":1001,"unit":"shop.service"}"#
            ])
        let json = issuectl(
            ["explain", "--app", "shop", #"{"message":"m","code":7}"#], .reply(Self.forecast))
        #expect(
            json.calls == [#"ExplainRecord {"record":{"message":"m","code":7,"app":{"name":"shop"}}}"#])
    }

    @Test("A period is shown in one unit", arguments: [(5_400_000, "90min"), (3_600_000, "h"), (172_800_000, "2d")])
    func period(milliseconds: Int, text: String) {
        let reply = Self.forecast.replacingOccurrences(of: "\"period\":60000}", with: "\"period\":\(milliseconds)}")
        let outcome = issuectl(["explain", "Login of ann failed"], .reply(reply))
        #expect(outcome.output.contains("0 of 100 left, 60 more every \(text)\n"))
    }

    @Test("The part of a limit that is reserved for other records is named, so that it does not seem to be used")
    func reserved() {
        let reply = Self.forecast.replacingOccurrences(
            of: "\"period\":60000}", with: "\"period\":60000,\"reserved\":40}")
        let outcome = issuectl(["explain", "Login of ann failed"], .reply(reply))
        #expect(outcome.output.contains("0 of 100 left (40 reserved for other records), 60 more every min\n"))
    }

    @Test("The explanation of a message shows its issue, its outcome at each destination, and its notifications")
    func text() {
        let outcome = issuectl(["explain", "Login of ann failed"], .reply(Self.forecast))
        #expect(
            outcome.output == """
                g7  Login of <address> failed
                  Issue        new, critical
                  Application  shop of user 1000; also run by 1001 (see --user)
                  Fingerprint  f00d
                  Origin       hash of application, domain, code, module, file, function and template (rule 2)
                  Template     Login of <address> failed
                  Stored as    Login of [@email] failed
                  Metadata     {"password":"[@password]"}
                  Removed      password; email (2 times), hash
                  New issues   12 of 100 left, per 15min

                Destination logzio
                  Outcome           summarised: application rate
                  Application rate  0 of 100 left, 60 more every min
                  Daily bytes       1.0 MiB of 2.0 MiB left, per day

                Destination otlp
                  Outcome  forwarded

                Notifiers
                  oncall  notified
                  chat    not notified because of Severity=
                  mail    silenced by s3

                """)
        #expect(issuectl(["explain", "a b", "--json"], .reply(Self.forecast)).output == Self.forecast + "\n")
    }

    @Test(
        "Line and column are in the fingerprint if the template has the sender's values but no other letters or digits",
        arguments: [
            ("<value>", true), ("<value>: <value>", true), ("Order <value>", false), ("<value> é", false),
            ("<n>", false), ("...", false),
        ])
    func lineAndColumn(template: String, areIncluded: Bool) {
        let reply = Self.forecast.replacingOccurrences(of: "Login of <address> failed", with: template)
        let place = areIncluded ? "function, line, column and template" : "function and template"
        let origin = "  Origin       hash of application, domain, code, module, file, \(place) (rule 2)\n"
        #expect(issuectl(["explain", "a b"], .reply(reply)).output.contains(origin))
    }

    @Test(
        "If a record causes no event for a notifier, the notifier is listed as not notified, with the reason",
        arguments: [
            ("no_event", "the issue would be neither new nor regressed, and the record is not critical"),
            ("muted", "the issue is muted"),
        ])
    func noEvent(reason: String, text: String) {
        let reply = Self.forecast.replacingOccurrences(of: #""reason":"Severity""#, with: "\"reason\":\"\(reason)\"")
        #expect(issuectl(["explain", "a b"], .reply(reply)).output.contains("  chat    not notified: \(text)\n"))
    }

    @Test("A limit that has something left, but not for this user, is said to be used up by the user")
    func share() {
        #expect(issuectl(["explain", "a b"], .reply(Self.forecast)).output.contains("summarised: application rate\n"))
        let left = Self.forecast.replacingOccurrences(
            of: #""limit":"application_rate","available":0"#, with: #""limit":"application_rate","available":7"#)
        let line = "summarised: application rate (the user has used up their share)\n"
        #expect(issuectl(["explain", "a b"], .reply(left)).output.contains(line))
    }

    @Test("If an application has too many new issues, the message is said to join the overflow issue")
    func overflow() {
        let full = Self.forecast.replacingOccurrences(
            of: #""fingerprint":"f00d","chosen":false,"rule":2"#, with: Self.overflowFingerprint)
        let outcome = issuectl(["explain", "a b"], .reply(full))
        #expect(outcome.output.contains("  Issue        the overflow issue, because"))
        let known = full.replacingOccurrences(of: #""new":true"#, with: #""new":false"#)
        let page = issuectl(["explain", "a b"], .reply(known)).output
        #expect(page.hasPrefix("g7  (overflow issue)\n"))
        #expect(page.contains("  Issue        the overflow issue, because"))
        #expect(page.contains("new issues or series; known, without records\n"))
        #expect(page.contains("  Origin       the overflow issue, because the application has too many new issues"))
    }

    private static let overflowFingerprint = #""fingerprint":"overflow","chosen":false"#

    @Test("If a user has too many new applications, the message is said to join the application named overflow")
    func overflowApplication() {
        let reply = Self.forecast.replacingOccurrences(of: #""app":"shop""#, with: #""app":"overflow""#)
        let outcome = issuectl(["explain", "--app", "shop", "a b"], .reply(reply))
        #expect(outcome.output.contains("  Application  overflow of user 1000, who has too many new applications\n"))
        let own = issuectl(["explain", "--app", "overflow", "a b"], .reply(reply))
        #expect(own.output.contains("  Application  overflow of user 1000; also run by 1001 (see --user)\n"))
    }

    @Test("A user without permission is told which groups see the applications of other users")
    func denied() {
        let outcome = issuectl(["explain", "--user", "0", "a b"], .failure(.refused(.denied)))
        #expect(outcome.code == .refused)
        #expect(
            outcome.errors.contains(
                "the groups in Operators= and Readers= (issued.conf) see the applications of other users"))
    }

    @Test("If the daemon does not know the method, the error says that it may be older than issuectl")
    func old() {
        let outcome = issuectl(
            ["explain", "a b"], .failure(.refused(.methodNotFound("org.issued.Collector.ExplainRecord"))))
        #expect(outcome.code == .refused)
        #expect(outcome.errors.contains("older than issuectl"))
    }
}
