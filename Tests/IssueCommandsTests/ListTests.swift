import IssueCommands
import Issues
import Testing
import UnixIO

@Suite("issuectl list")
struct ListTests {
    private static let all = Fixtures.groups(
        Fixtures.decodingGroup, Fixtures.diskGroup, Fixtures.japaneseGroup, Fixtures.hostileGroup)

    @Test("On 80 columns, the title is cut")
    func eighty() {
        let outcome = issuectl(["list"], width: 80, .reply(Self.all))
        #expect(
            outcome.output == #"""
                ID   SEVERITY  COUNT  LAST SEEN      APP     USER  TITLE
                g7   error     1,234  3 min ago      shop    1000  Decoding failed: keyNotFound…
                g9   critical      1  1 day 1 h ago  backup  0     [muted] No space left on /sr…
                g11  warning       2  30 s ago       -       1000  [regressed] データベースに接…
                g13  info          1  1 h ago        e\tvil  1000  \x1b]0;owned\x07\x1b[2J\nlin…

                """#)
        #expect(outcome.code == .success)
        #expect(outcome.calls == [#"List {"limit":50}"#])
    }

    @Test("The users are shown, with their names after the ids, if the issues belong to more than one user")
    func users() {
        var tools = HostTools.withoutRelativePaths
        tools.userName = { $0 == 0 ? "root" : nil }
        let several = issuectl(
            ["list"], tools: tools, .reply(Fixtures.groups(Fixtures.decodingGroup, Fixtures.diskGroup)))
        #expect(several.output.contains("  APP     USER      TITLE\n"))
        #expect(several.output.contains("  shop    1000      Decoding failed"))
        #expect(several.output.contains("  backup  0 (root)  [muted] No space"))
        let one = issuectl(
            ["list"], tools: tools, .reply(Fixtures.groups(Fixtures.decodingGroup, Fixtures.hostileGroup)))
        #expect(!one.output.contains("USER") && !one.output.contains("1000  "))
    }

    @Test("While the daemon is busy, a page is requested again up to three times")
    func busy() {
        let busy = ScriptedLink.Reply.failure(.refused(.busy(retryAfter: .milliseconds(1500))))
        let list = issuectl(["list"], busy, busy, busy, .reply(Self.all))
        #expect(list.code == .success && list.calls.count == 4)
        #expect(list.errors == "issuectl: the daemon is busy; trying again\n")
        // The first wait is as long as the daemon asks. The minimums of the second and third wait are longer than that.
        #expect(list.slept == .milliseconds(1500 + 2000 + 4000))
        let failed = issuectl(["list"], busy, busy, busy, busy)
        #expect(failed.code == .tryAgain && failed.calls.count == 4)
        #expect(failed.errors.hasSuffix("issuectl: the daemon is busy: try again in 2 s\n"))
        #expect(issuectl(["list", "--timeout", "1s"], busy).calls.count == 1)
        let slow = issuectl(["list"], .failure(.refused(.tooSlow(retryAfter: .seconds(1)))))
        #expect(slow.code == .tryAgain && slow.calls.count == 1)
    }

    @Test("Lists of muted or resolved issues show the note and who set the state; of muted ones, the end, too")
    func states() {
        let change = #""regressed":false,"changed":{"uid":7,"at":"2026-11-21T10:00:00.000Z","note":"Ticket\n4711"}"#
        let noted = Fixtures.diskGroup.replacing(#""regressed":false"#, with: change)
        let plain = Fixtures.diskGroup.replacing(
            #""muted_until":"2026-11-22T00:00:00.000Z","#, with: #""muted_until_count":5,"#)
        let muted = issuectl(
            ["list", "--state", "muted"], width: 140, .reply(Fixtures.groups(noted, plain)))
        let rows = muted.output.split(separator: "\n")
        #expect(rows.first?.contains("  ENDS          BY      NOTE          TITLE") == true, "\(rows)")
        #expect(rows.dropFirst().first?.contains(#"  in 12 h       user 7  Ticket\n4711  [muted] No space"#) == true)
        #expect(rows.last?.contains("  after 5 more  -       -             [muted] No space") == true)
        let resolved = issuectl(["list", "--state", "resolved"], width: 100, .reply(Fixtures.groups(noted)))
        #expect(resolved.output.contains("  BY      NOTE          TITLE\n") && !resolved.output.contains("ENDS"))
        for width in 1...130 {
            let lines = issuectl(["list", "--state", "muted"], width: width, .reply(Fixtures.groups(noted, plain)))
            for line in lines.output.split(separator: "\n") { #expect(DisplayWidth.of(line) <= width) }
        }
    }

    @Test("On 40 columns, the least important columns are removed")
    func forty() {
        let outcome = issuectl(["list"], width: 40, .reply(Self.all))
        #expect(
            outcome.output == #"""
                ID   SEVERITY  TITLE
                g7   error     Decoding failed: keyNotF…
                g9   critical  [muted] No space left on…
                g11  warning   [regressed] データベース…
                g13  info      \x1b]0;owned\x07\x1b[2J\…

                """#)
    }

    @Test("On 40 columns, the severity remains next to an id of usual length")
    func fortyWithSeverity() {
        let group = Fixtures.decodingGroup.replacing(#""id":"g7""#, with: #""id":"g92c9da597585468b""#)
        let output = issuectl(["list"], width: 40, .reply(Fixtures.groups(group))).output
        #expect(output.hasPrefix("ID                 SEVERITY  TITLE\ng92c9da597585468b  error     Decoding"))
    }

    @Test("On 200 columns, the activity of the last 24 hours is shown")
    func twoHundred() {
        let outcome = issuectl(["list"], width: 200, .reply(Self.all))
        #expect(
            outcome.output == #"""
                ID   SEVERITY  COUNT  LAST SEEN      APP     USER  LAST 24 HOURS             TITLE
                g7   error     1,234  3 min ago      shop    1000  ···▁·▂··▂▃▄▄▅▆▆▇███▆▄▂▁·  Decoding failed: keyNotFound(price)
                g9   critical      1  1 day 1 h ago  backup  0     ·······················█  [muted] No space left on /srv while writing the nightly backup of the customer database
                g11  warning       2  30 s ago       -       1000                            [regressed] データベースに接続できません 👨‍👩‍👧 café
                g13  info          1  1 h ago        e\tvil  1000                            \x1b]0;owned\x07\x1b[2J\nline two\x9b31m\u{202e}gnp.exe\x7f

                """#)
        #expect(outcome.calls == [#"List {"limit":50,"sparkline":24}"#])
    }

    @Test("--new-since-deploy and --gone-since-deploy are sent as a filter, and exclude each other")
    func deployments() {
        for (option, word) in [("--new-since-deploy", "new"), ("--gone-since-deploy", "gone")] {
            let outcome = issuectl(["list", option, "--app", "shop"], .reply(Self.all))
            #expect(
                outcome.calls == [#"List {"filter":{"apps":["shop"],"since_deploy":"\#(word)"},"limit":50}"#])
        }
        #expect(issuectl(["list", "--new-since-deploy", "--gone-since-deploy"]).code == .usage)
    }

    @Test("No line is ever wider than the terminal", arguments: Array(1...130))
    func widths(width: Int) {
        let outcome = issuectl(["list", "--sparkline"], width: width, .reply(Self.all))
        for line in outcome.output.split(separator: "\n") { #expect(DisplayWidth.of(line) <= width) }
    }

    @Test("In a pipe, titles are complete unless COLUMNS is set")
    func pipe() {
        let full = issuectl(["list"], .reply(Self.all)).output
        #expect(
            full.contains("[muted] No space left on /srv while writing the nightly backup of the customer database\n"))
        let cut = issuectl(["list"], environment: ["COLUMNS": "60"], .reply(Self.all)).output
        #expect(cut.split(separator: "\n").allSatisfy { DisplayWidth.of($0) <= 60 })
    }

    @Test("Severities and the heading are coloured if colours are enabled")
    func colors() {
        let group = Fixtures.groups(Fixtures.decodingGroup)
        let colored = issuectl(["list"], width: 80, environment: ["TERM": "xterm"], .reply(group)).output
        #expect(colored.hasPrefix("\u{1B}[1mID\u{1B}[0m  \u{1B}[1mSEVERITY\u{1B}[0m"))
        #expect(colored.contains("  \u{1B}[31merror\u{1B}[0m  "))
        let plain = issuectl(["list"], width: 80, .reply(group)).output
        #expect(!plain.contains("\u{1B}"))
        #expect(
            issuectl(["list"], width: 80, environment: ["TERM": "xterm", "NO_COLOR": "1"], .reply(group)).output
                == plain)
        #expect(
            issuectl(["list", "--color=never"], width: 80, environment: ["TERM": "xterm"], .reply(group)).output
                == plain)
        #expect(issuectl(["list", "--color=always"], environment: ["COLUMNS": "80"], .reply(group)).output == colored)
    }

    @Test("Every filter option is sent to the daemon")
    func filter() {
        let outcome = issuectl(
            [
                "list", "--app", "shop", "--app=till", "--version", "2.0.0", "--environment", "production", "-p",
                "warn",
                "--domain", "d", "--code", "-7", "--file", "a.swift", "--text", "boom",
                "--metadata", "a=b", "--metadata=c=", "--group", "g0123456789abcdef", "--user",
                "1000",
                "--unit", "shop.service", "--trace", "4BF92F3577B34DA6A3CE929D0E0E4736", "--request", "r-7",
                "--end-user", "anna", "--end-user=7", "--state", "open", "--state", "muted", "--since", "2d", "--until",
                "1h",
                "--order", "worst", "--limit", "3",
            ], .reply(Fixtures.groups()))
        #expect(
            outcome.calls == [
                #"List {"filter":{"apps":["shop","till"],"versions":["2.0.0"],"environments":["production"],"#
                    + #""severity":"warning","domains":["d"],"codes":[-7],"files":["a.swift"],"text":"boom","#
                    + #""metadata":["a=b","c="],"groups":["g0123456789abcdef"],"#
                    + #""users":[1000],"units":["shop.service"],"states":["open","muted"],"#
                    + #""since":"2026-11-19T12:00:00.000Z","until":"2026-11-21T11:00:00.000Z","#
                    + #""trace_ids":["4bf92f3577b34da6a3ce929d0e0e4736"],"request_ids":["r-7"],"#
                    + #""end_users":["anna","7"]},"order":"worst","limit":3}"#,
                "Status {}",
            ])
        #expect(outcome.output == "No issues match.\n")
    }

    @Test(
        "An invalid group id is refused before the daemon is asked",
        arguments: [("x", "\"x\" is not a group id"), ("g1", "'g1' is too short: give at least 4 digits after the g")])
    func invalidGroup(id: String, reason: String) {
        let outcome = issuectl(["list", "--group", id])
        #expect(outcome.code == .usage)
        #expect(outcome.errors.hasPrefix("issuectl: \(reason). See"))
        #expect(outcome.calls.isEmpty)
    }

    @Test("The default limit is the number of rows that fit on the screen")
    func rows() {
        let outcome = issuectl(
            ["list"], width: 80, rows: 24, .reply(Fixtures.groups(Fixtures.decodingGroup, next: "c1")))
        #expect(outcome.calls.first == #"List {"limit":21}"#)
    }

    @Test("If the limit is larger than a page, the results are fetched page by page")
    func limit() {
        let outcome = issuectl(
            ["list", "-n", "501"], width: 80,
            .reply(Fixtures.groups(Fixtures.decodingGroup, Fixtures.diskGroup, next: "c1")),
            .reply(Fixtures.groups(Fixtures.japaneseGroup)))
        #expect(outcome.calls == [#"List {"limit":500}"#, #"List {"limit":499,"after":"c1"}"#])
        #expect(outcome.output.split(separator: "\n").count == 4)
    }

    @Test("With --all, all pages are fetched and printed under one heading")
    func all() {
        let outcome = issuectl(
            ["list", "--all"], width: 80,
            .reply(Fixtures.groups(Fixtures.decodingGroup, next: "c1")),
            .reply(Fixtures.groups(Fixtures.hostileGroup, next: "c2")), .reply(Fixtures.groups()))
        #expect(
            outcome.calls == [
                #"List {"limit":500}"#, #"List {"limit":500,"after":"c1"}"#, #"List {"limit":500,"after":"c2"}"#,
            ])
        #expect(outcome.output.split(separator: "\n").count == 3)
        #expect(outcome.output.split(separator: "\n").filter { $0.hasPrefix("ID") }.count == 1)
    }

    @Test("A long name in a pipe is complete, and does not widen the other lines")
    func longName() {
        let long = Fixtures.decodingGroup.replacing(
            #""app":"shop""#, with: "\"app\":\"\(String(repeating: "a", count: 300))\"")
        let output = issuectl(["list"], .reply(Fixtures.groups(long, Fixtures.diskGroup))).output
        let lines = output.split(separator: "\n").map(\.count)
        #expect(output.contains(String(repeating: "a", count: 300)))
        #expect(lines.count == 3 && lines[1] > 300 && lines[0] < 200 && lines[2] < 200)
    }

    @Test("A range of time that is empty or begins in the future is an error")
    func emptyRanges() {
        for words in [["--since", "2026-11-22"], ["--since", "now", "--until", "yesterday"]] {
            let outcome = issuectl(["list"] + words)
            #expect(outcome.code == .usage)
            #expect(outcome.errors.contains("--since"))
            #expect(words.count > 2 || outcome.errors.contains("times are UTC unless they have an offset"))
            #expect(outcome.calls.isEmpty)
        }
    }

    @Test("A user can be named, and a unit without a suffix is a service")
    func names() {
        let outcome = issuectl(
            ["list", "--user", "root", "-u", "shop-web", "-u", "a.timer", "-u", "b@1.x"], .reply(Fixtures.groups()))
        #expect(
            outcome.calls.first?.contains(
                #""users":[0],"units":["shop-web.service","a.timer","b@1.x.service"]"#) == true)
        #expect(issuectl(["list", "--user", "no such user"]).code == .usage)
    }

    @Test("If there are more results than the default limit, a note is printed on standard error")
    func more() {
        // As many as the default limit.
        let full = String(
            Fixtures.groups(Fixtures.decodingGroup).dropFirst(#"{"groups":["#.count).dropLast("]}".count))
        let page = #"{"groups":[\#(Array(repeating: full, count: 50).joined(separator: ","))],"next":"c1"}"#
        let hint = lines("issuectl: more results: use --limit or --all")
        for words in [["list"], ["list", "--json"], ["list", "--ndjson"]] {
            let pipe = issuectl(words, .reply(page))
            #expect(pipe.errors == hint && pipe.code == .success)
            #expect(!pipe.output.contains("more results"))
        }
        #expect(issuectl(["list"], width: 80, rows: 53, .reply(page)).errors == hint)
        #expect(issuectl(["list", "--json"], .reply(page)).output.hasSuffix("],\"more\":true}\n"))
        let one = Fixtures.groups(Fixtures.decodingGroup, next: "c1")
        #expect(issuectl(["list", "-n", "1"], .reply(one)).errors.isEmpty)
        #expect(issuectl(["list", "-n", "1", "--json"], .reply(one)).output.hasSuffix("],\"more\":true}\n"))
    }

    @Test("JSON is one document and preserves members unknown to issuectl")
    func json() {
        let outcome = issuectl(
            ["list", "--json", "--all"], .reply(Fixtures.groups(Fixtures.decodingGroup, next: "c1")),
            .reply(Fixtures.groups(Fixtures.diskGroup)))
        #expect(outcome.output == "{\"groups\":[\(Fixtures.decodingGroup),\(Fixtures.diskGroup)]}\n")
    }

    @Test("A JSON document is printed completely or not at all")
    func brokenDocument() {
        let outcome = issuectl(
            ["list", "--json", "--all"], .reply(Fixtures.groups(Fixtures.decodingGroup, next: "c1")), .failure(.closed))
        #expect(outcome.output == "")
        #expect(outcome.code == .tryAgain)
    }

    @Test("NDJSON is one line per group, as received")
    func ndjson() {
        let outcome = issuectl(
            ["list", "--ndjson", "--all"], .reply(Fixtures.groups(Fixtures.decodingGroup, next: "c1")),
            .reply(Fixtures.groups(Fixtures.diskGroup)))
        #expect(outcome.output == "\(Fixtures.decodingGroup)\n\(Fixtures.diskGroup)\n")
        #expect(issuectl(["list", "--ndjson"], .reply(Fixtures.groups())).output == "")
    }

    @Test("If the reader of the output has gone, fetching stops without an error")
    func nobodyReads() {
        let outcome = issuectl(
            ["list", "--ndjson", "--all"], writes: 0, .reply(Fixtures.groups(Fixtures.decodingGroup, next: "c1")))
        #expect(outcome.code == .success)
        #expect(outcome.calls.count == 1)
        #expect(outcome.errors == "")
    }

    @Test("Without issues, a message is printed instead of the list")
    func empty() {
        #expect(issuectl(["list"], width: 80, .reply(Fixtures.groups())).output == "No issues.\n")
        let all = issuectl(["list"], .reply(Fixtures.groups()), .reply(Fixtures.status()))
        #expect(all.output == "No issues.\n" && all.errors == "")
    }

    @Test("Without issues, users who see only their own records are told so")
    func emptyByRights() {
        let status = Fixtures.status().replacing("\"bytes\":15728640,", with: "")
        let outcome = issuectl(["list"], .reply(Fixtures.groups()), .reply(status))
        #expect(outcome.code == .success && outcome.output == "No issues.\n")
        #expect(outcome.errors.hasPrefix("issuectl: you see only the records of your own user (none for the"))
        #expect(issuectl(["list", "--json"], .reply(Fixtures.groups())).calls.count == 1)
    }
}
