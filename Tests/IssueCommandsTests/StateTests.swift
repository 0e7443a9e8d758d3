import IssueCommands
import IssueProtocol
import Issues
import Testing
import UnixIO

@Suite("issuectl resolve, mute and reopen")
struct StateTests {
    private func reply(_ state: String, until: String? = nil, title: String = "Decoding failed") -> ScriptedLink.Reply {
        let end = until.map { "\"muted_until\":\"\($0)\"," } ?? ""
        let group = Fixtures.group("g7", title, state: state)
        return .reply("{\"group\":\(group.replacing("\"regressed\"", with: "\(end)\"regressed\""))}")
    }

    @Test("Each command sets the state and prints the group")
    func said() {
        let resolved = issuectl(["resolve", "g7"], reply("resolved"))
        #expect(resolved.output == lines("g7 is resolved: Decoding failed"))
        #expect(resolved.calls == [#"SetState {"group":"g7","state":"resolved"}"#])
        let reopened = issuectl(["reopen", "g7"], reply("open"))
        #expect(reopened.output == lines("g7 is open: Decoding failed"))
        #expect(reopened.calls == [#"SetState {"group":"g7","state":"open"}"#])
        let muted = issuectl(["mute", "g7"], reply("muted"))
        #expect(muted.output == lines("g7 is muted: Decoding failed"))
        #expect(muted.calls == [#"SetState {"group":"g7","state":"muted"}"#])
    }

    @Test("For the id of a record, the error names its issue")
    func recordID() {
        let outcome = issuectl(
            ["resolve", "bb6m-h"], .failure(.refused(.notFound(id: "bb6m-h"))), .reply(Fixtures.shown))
        #expect(outcome.errors == "issuectl: 'bb6m-h' is a record, not an issue: use issuectl resolve g7\n")
        #expect(outcome.code == .refused)
        let unknown = issuectl(
            ["resolve", "g8"], .failure(.refused(.notFound(id: "g8"))))
        #expect(unknown.errors == lines("issuectl: 'g8' is too short: give at least 4 digits after the g"))
    }

    @Test(
        "Commands with --group except purge, and group, accept the beginning of an issue's id",
        arguments: [
            (["group", "merge", "g0123456789abcdef", "gab12"], "MergeGroups "),
            (["group", "split", "gab12"], "SplitGroup "),
            (["group", "rule", "list", "gab12"], "Corrections "), (["list", "--group", "gab12"], "List "),
            (["records", "--group", "gab12"], "Records "),
            (["histogram", "--group", "gab12"], "Histogram "), (["follow", "--group", "gab12"], "Records "),
            (["silence", "add", "--group", "gab12", "--for", "1h", "--reason", "r"], "AddSilence "),
        ])
    func abbreviationsElsewhere(words: [String], call: String) {
        let found = Fixtures.groups(Fixtures.group("gab12000000000007"))
        let outcome = issuectl(words, .reply(found), .failure(.malformed("")))
        #expect(outcome.calls.count == 2 && outcome.calls.last?.hasPrefix(call) == true)
        #expect(outcome.calls.last?.contains("\"gab12000000000007\"") == true)
        let none = issuectl(words, .reply(Fixtures.groups()))
        #expect(none.code == .refused && none.errors.hasPrefix("issuectl: no record or group 'gab12'"))
    }

    @Test("explain accepts the beginning of an issue's id, and says if it is too short")
    func explainAbbreviated() {
        let found = Fixtures.groups(Fixtures.group("gab12000000000007"))
        let outcome = issuectl(
            ["explain", "gab12"], .failure(.refused(.notFound(id: "gab12"))), .reply(found), .failure(.timedOut))
        #expect(outcome.calls.last == #"Explain {"id":"gab12000000000007"}"#)
        let short = issuectl(["explain", "g33a"], .failure(.refused(.notFound(id: "g33a"))))
        #expect(short.errors == lines("issuectl: 'g33a' is too short: give at least 4 digits after the g"))
    }

    @Test("The beginning of an issue's id is enough if no other issue's id begins with it")
    func abbreviations() {
        let absent = ScriptedLink.Reply.failure(.refused(.notFound(id: "gab12")))
        let muted = issuectl(
            ["mute", "gab12"], absent, .reply(Fixtures.groups(Fixtures.group("gcd12000000000000"), next: "c1")),
            .reply(Fixtures.groups(Fixtures.group("gab12000000000007"))), reply("muted"))
        #expect(muted.output == lines("g7 is muted: Decoding failed"))
        #expect(
            muted.calls == [
                #"SetState {"group":"gab12","state":"muted"}"#, #"List {"limit":500}"#,
                #"List {"limit":500,"after":"c1"}"#, #"SetState {"group":"gab12000000000007","state":"muted"}"#,
            ])
        let several = issuectl(
            ["mute", "gab12"], absent,
            .reply(Fixtures.groups(Fixtures.group("gab12000000000007"), Fixtures.group("gab12000000000008"))))
        #expect(
            several.errors.hasPrefix(
                "issuectl: the ids of 2 issues begin with 'gab12': gab12000000000007, gab12000000000008"))
        #expect(several.code == .refused)
        let none = issuectl(["mute", "gab12"], absent, .reply(Fixtures.groups()))
        #expect(none.errors.hasPrefix("issuectl: no record or group 'gab12'"))
        let shown = issuectl(
            ["show", "gab12"], absent, .reply(Fixtures.groups(Fixtures.group("gab12000000000007"))),
            .reply(Fixtures.shown))
        #expect(shown.calls.last == #"Show {"id":"gab12000000000007","count_fates":true}"#)
    }

    @Test("--until-newer-version is sent to the daemon and printed")
    func versions() {
        let resolved = issuectl(["resolve", "g7", "--until-newer-version"], reply("resolved"))
        #expect(resolved.output == lines("g7 is resolved until a newer version reports it: Decoding failed"))
        #expect(resolved.calls == [#"SetState {"group":"g7","state":"resolved","until_newer_version":true}"#])
        let muted = issuectl(
            ["mute", "g7", "--until", "2026-11-22", "--until-newer-version"],
            reply("muted", until: "2026-11-22T00:00:00.000Z"))
        #expect(
            muted.output
                == lines(
                    "g7 is muted until 2026-11-22T00:00:00.000Z (in 12 h), or until a newer version reports it: "
                        + "Decoding failed"))
    }

    @Test("resolve --in and --in-next say which version has the fix, and exclude --until-newer-version")
    func fixes() {
        func resolved(_ members: String) -> ScriptedLink.Reply {
            guard case .reply(let json) = reply("resolved") else { return reply("resolved") }
            return .reply(json.replacing(#""regressed":false"#, with: #""regressed":false\#(members)"#))
        }
        let named = issuectl(["resolve", "g7", "--in", "2.4.0"], resolved(#","resolved_in":"2.4.0""#))
        #expect(named.output == lines("g7 is resolved in 2.4.0: Decoding failed"))
        #expect(named.calls == [#"SetState {"group":"g7","state":"resolved","resolved_in":"2.4.0"}"#])
        #expect(named.errors.isEmpty)
        for wrong in ["", String(repeating: "1", count: 129)] {
            let refused = issuectl(["resolve", "g7", "--in", wrong])
            #expect(refused.code == .usage && refused.calls.isEmpty)
            #expect(refused.errors.contains("for --in; expected a version of 1 to 128 bytes"))
        }
        let next = issuectl(["resolve", "g7", "--in-next"], resolved(#","resolved_in_next":true"#))
        #expect(next.output == lines("g7 is resolved in the next deployment: Decoding failed"))
        #expect(next.calls == [#"SetState {"group":"g7","state":"resolved","resolved_in_next":true}"#])
        for option in [["--in", "2.4.0"], ["--in-next"]] {
            #expect(issuectl(["resolve", "g7", "--until-newer-version"] + option).code == .usage)
        }
    }

    @Test("mute --until-count sends a number of occurrences, and prints how many are left")
    func counts() {
        func muted(_ members: String) -> ScriptedLink.Reply {
            guard case .reply(let json) = reply("muted") else { return reply("muted") }
            return .reply(json.replacing(#""regressed":false"#, with: #""regressed":false\#(members)"#))
        }
        let counted = issuectl(["mute", "g7", "--until-count", "100"], muted(#","muted_until_count":100"#))
        #expect(counted.calls == [#"SetState {"group":"g7","state":"muted","until_count":100}"#])
        #expect(counted.output == lines("g7 is muted until 100 further occurrences: Decoding failed"))
        #expect(counted.errors.isEmpty)
        let both = issuectl(
            ["mute", "g7", "--until-count", "1", "--until-newer-version"], muted(#","muted_until_count":1"#))
        #expect(
            both.output
                == lines("g7 is muted until 1 further occurrence, or until a newer version reports it: Decoding failed")
        )
        for wrong in ["0", "-1", "many", "1000000001"] {
            #expect(issuectl(["mute", "g7", "--until-count", wrong]).code == .usage)
        }
    }

    @Test("--note sends a text of at most 1024 bytes")
    func notes() {
        func answer(_ state: String, _ members: String) -> ScriptedLink.Reply {
            guard case .reply(let json) = reply(state) else { return reply(state) }
            return .reply(json.replacing(#""regressed":false"#, with: #""regressed":false\#(members)"#))
        }
        let changed = #","changed":{"uid":7,"at":"2026-11-21T10:00:00.000Z","note":"Vendor"}"#
        for (command, state) in [("mute", "muted"), ("resolve", "resolved"), ("reopen", "open")] {
            let noted = issuectl([command, "g7", "--note", "Vendor"], answer(state, changed))
            #expect(noted.calls == [#"SetState {"group":"g7","state":"\#(state)","note":"Vendor"}"#])
            #expect(noted.output == lines("g7 is \(state): Decoding failed"))
            #expect(noted.errors.isEmpty)
            for (wrong, reason) in [
                ("", "is blank"), (" ", "is blank"), ("\n", "is blank"),
                (String(repeating: "n", count: 1025), "has 1025 bytes"),
            ] {
                let refused = issuectl([command, "g7", "--note", wrong])
                #expect(refused.code == .usage)
                #expect(
                    refused.errors
                        == "issuectl: --note \(reason); expected a text of 1 to 1024 bytes. "
                        + "See issuectl \(command) --help\n")
            }
        }
    }

    @Test("show prints who has set the state and when, and their note as one line without control characters")
    func shown() {
        let group = Fixtures.diskGroup.replacing(
            #""regressed":false"#,
            with: #""regressed":false,"changed":{"uid":7,"at":"2026-11-21T10:00:00.000Z","note":"A\nb\u001b[2J"}"#)
        let page = issuectl(["show", "g9"], .reply(#"{"group":\#(group),"fates":[]}"#)).output
        #expect(page.contains("  Set by      user 7, 2026-11-21T10:00:00.000Z (2 h ago)\n"))
        #expect(page.contains("  Note        A"))
        #expect(!page.contains("\u{1b}") && !page.contains("A\nb"))
    }

    @Test("show prints who set the state before a regression, and their note")
    func shownAfterRegression() {
        let group = Fixtures.diskGroup.replacing(
            #""regressed":false"#,
            with: #""regressed":true,"changed":{"uid":7,"at":"2026-11-21T10:00:00.000Z","note":"fixed"}"#)
        let page = issuectl(["show", "g9"], .reply(#"{"group":\#(group),"fates":[]}"#)).output
        #expect(page.contains("  Set by      user 7, 2026-11-21T10:00:00.000Z (2 h ago); regressed since\n"))
        #expect(page.contains("  Note        fixed\n"))
    }

    @Test("A mute ends after a time span or at a future time")
    func times() {
        let json = #"SetState {"group":"g7","state":"muted","until":"2026-11-21T14:00:00.000Z"}"#
        #expect(issuectl(["mute", "g7", "--for", "2h"], reply("muted")).calls == [json])
        for text in ["2026-11-21T14:00:00Z", "2026-11-21 15:00+01:00", "14:00", "2h"] {
            #expect(issuectl(["mute", "g7", "-U", text], reply("muted")).calls == [json])
        }
        for wrong in [
            ["--for", "soon"], ["--for", "0s"], ["--for", "8"], ["--until", "11:00:61"], ["--until", "never"],
            ["--until", "now"],
        ] {
            let outcome = issuectl(["mute", "g7"] + wrong)
            #expect(outcome.code == .usage)
            #expect(outcome.errors.contains(wrong[1]))
            #expect(outcome.calls.isEmpty)
        }
        for (span, expected) in [
            ("8", "a time span with a unit"), ("h", "a time span with a unit"), ("100y", "a unit of s, min, h, d or w"),
            ("1h 2lightyears", "a unit of s, min, h, d or w instead of 'lightyears'"),
            ("99999w", "at most a thousand years"),
            ("1.5h", "whole numbers"), ("-2h", "a time span above 0"), ("0s", "a time span above 0"),
        ] {
            let outcome = issuectl(["mute", "g7", "--for", span])
            #expect(outcome.code == .usage)
            #expect(outcome.errors.contains("invalid value '\(span)' for --for; expected \(expected)"), "\(span)")
        }
        let both = issuectl(["mute", "g7", "--for", "2h", "--until", "2026-11-22"])
        #expect(both.code == .usage)
        #expect(both.errors == lines("issuectl: --for and --until cannot be used together. See issuectl mute --help"))
    }

    @Test("JSON is the daemon's reply, and text for the terminal is escaped")
    func forms() {
        let json = issuectl(["resolve", "g7", "--json"], reply("resolved")).output
        #expect(json.contains(#""unheard_of":"#))
        let hostile = issuectl(["resolve", "g7"], reply("resolved", title: #"\u001b[2J\n"#)).output
        #expect(!hostile.contains("\u{1B}"))
        #expect(hostile.split(separator: "\n").count == 1)
    }

    @Test("Several groups can be given, and those that exist are changed even if others do not exist")
    func several() throws {
        let replies: [ScriptedLink.Reply] = [
            reply("muted"), .failure(.refused(.notFound(id: "g8"))), reply("muted", title: "Disk full"),
        ]
        func run(_ options: String...) -> Outcome {
            issuectl(["mute", "g7", "g8", "g9", "--for", "1h"] + options, replies[0], replies[1], replies[2])
        }
        let text = run()
        #expect(text.calls.count == 3)
        #expect(text.output == lines("g7 is muted: Decoding failed\ng7 is muted: Disk full"))
        #expect(text.errors.contains("g8"))
        #expect(text.code == .refused)
        let groups = try JSONValue(json: run("--json").output)["groups"]?.asArray
        #expect(groups?.compactMap { $0["title"]?.asString } == ["Decoding failed", "Disk full"])
        #expect(run("--ndjson").output.split(separator: "\n").count == 2)
    }

    @Test("If the daemon stops answering, the groups that have been changed by then are printed as JSON")
    func halfway() throws {
        let outcome = issuectl(
            ["mute", "g7", "g8", "--for", "1h", "--json"], reply("muted"), .failure(.timedOut))
        #expect(outcome.code != .success)
        #expect(try JSONValue(json: outcome.output)["groups"]?.asArray?.count == 1)
    }

    @Test("A missing or unknown group is an error")
    func failures() {
        for command in ["resolve", "mute", "reopen"] {
            #expect(issuectl([command]).code == .usage)
            let absent = issuectl([command, "g7"], .failure(.refused(.notFound(id: "g7"))))
            #expect(absent.code == .refused)
            #expect(absent.errors.contains("g7"))
        }
    }
}
