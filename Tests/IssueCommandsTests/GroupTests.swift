import IssueCommands
import IssueProtocol
import Issues
import Testing
import UnixIO

@Suite("issuectl group and explain")
struct GroupTests {
    private static let merge = """
        {"id":7,"kind":"merge","group":"g1","other":"g2","app":"shop","uid":1000,"author":0,\
        "at":"2026-11-21T11:57:00.000Z","reason":"same \\u001bcause","hits":2}
        """

    private func merged(_ count: Int) -> ScriptedLink.Reply {
        .reply(#"{"group":\#(Fixtures.group()),"count":\#(count)}"#)
    }

    @Test("group merge merges the named issues with a reason")
    func merge() {
        let outcome = issuectl(["group", "merge", "g7", "g8", "g9", "--reason", "same cause"], merged(2))
        #expect(outcome.calls == [#"MergeGroups {"into":"g7","groups":["g8","g9"],"reason":"same cause"}"#])
        #expect(outcome.output == lines("Merged 2 issues into g7 (8 records): Decoding failed"))
    }

    @Test("merge, split and rule add print how to undo their corrections; JSON has the numbers of the corrections")
    func undoing() {
        func merged(_ numbers: String) -> ScriptedLink.Reply {
            .reply(#"{"group":\#(Fixtures.group()),"count":2,"corrections":[\#(numbers)]}"#)
        }
        let undo = "\nTo undo: issuectl group undo 7 8\n"
        #expect(issuectl(["group", "merge", "g7", "g8", "g9"], merged("7,8")).output.hasSuffix(undo))
        #expect(
            issuectl(["group", "rule", "add", "g7", "--template", "a*"], self.merged(2), merged("7,8")).output
                .hasSuffix(undo))
        let split = ScriptedLink.Reply.reply(#"{"groups":[\#(Fixtures.group())],"values":["a"],"corrections":[7,8]}"#)
        #expect(issuectl(["group", "split", "g7", "--template", "a*"], split).output.hasSuffix(undo))
        #expect(issuectl(["group", "split", "g7", "--by", "file"], plan(["a", "b"]), split).output.hasSuffix(undo))
        // Nothing was merged.
        #expect(!issuectl(["group", "merge", "g7", "g8"], merged("")).output.contains("undo"))
        let numbers = (1...256).map { "\($0)" }.joined(separator: ",")
        let words = ["group", "merge", "g7", "--app", "shop", "--yes"]
        let many = issuectl(words, shown, list(300), merged(numbers), merged("257"))
        #expect(
            many.output.hasSuffix(
                "\nTo undo the 257 corrections, see: issuectl group rule list g7\n"
                    + "To undo all merges into it, also earlier ones: issuectl group split g7\n"))
        // Splits can only be undone by their numbers.
        let parts = ScriptedLink.Reply.reply(
            #"{"groups":[\#(Fixtures.group())],"values":["a"],"corrections":[\#(numbers)]}"#)
        #expect(
            issuectl(["group", "split", "g7", "--by", "file"], plan(["a", "b"]), parts).output.hasSuffix(
                "\nTo undo the 256 corrections, see: issuectl group rule list g7\n"))
        let json = issuectl(words + ["--ndjson"], shown, list(300), merged("7"), merged("8"))
        #expect(json.output.hasSuffix(#""corrections":[7,8]}"# + "\n"))
    }

    @Test("A merge of many issues that fails halfway says how to undo what was merged")
    func halfMerged() {
        let first = ScriptedLink.Reply.reply(#"{"group":\#(Fixtures.group()),"count":256,"corrections":[7]}"#)
        let outcome = issuectl(
            ["group", "merge", "g7", "--app", "shop", "--yes"], shown, list(300), first, .failure(.timedOut))
        #expect(outcome.code != .success)
        let warnings =
            "issuectl: merged 256 issues before the following error\nissuectl: To undo: issuectl group undo 7\n"
        #expect(outcome.errors.hasPrefix(warnings) && outcome.errors.count > warnings.count, "\(outcome.errors)")
        let json = issuectl(
            ["group", "merge", "g7", "--app", "shop", "--yes", "--json"], shown, list(300), first, .failure(.timedOut))
        #expect(json.output.contains(#""corrections":[7]"#) && json.code == outcome.code, "\(json.output)")
    }

    private func list(_ count: Int) -> ScriptedLink.Reply {
        let groups = (0..<count).map { Fixtures.group("g\(100 + $0)") } + [Fixtures.group()]
        return .reply(#"{"groups":[\#(groups.joined(separator: ","))]}"#)
    }

    private var shown: ScriptedLink.Reply { .reply(#"{"group":\#(Fixtures.group()),"fates":[]}"#) }

    @Test("A merge by filter first prints the number of matching issues, not counting the target issue")
    func filter() {
        let outcome = issuectl(["group", "merge", "g7", "--app", "shop"], shown, list(2), merged(2))
        #expect(
            outcome.output
                == lines("Matches 2 issues.\nMerged 2 issues into g7 (8 records): Decoding failed"))
        #expect(outcome.calls.last == #"MergeGroups {"into":"g7","groups":["g100","g101"]}"#)
        let dry = issuectl(["group", "merge", "g7", "--app", "shop", "--dry-run"], shown, list(2))
        #expect(dry.output == lines("Matches 2 issues."))
        #expect(dry.calls.count == 2)
        #expect(
            issuectl(["group", "merge", "g7", "--app", "shop"], shown, list(0)).output == lines("Matches 0 issues."))
    }

    @Test("A filter does not merge more than 50 issues without --yes")
    func tooMany() {
        #expect(issuectl(["group", "merge", "g7", "--app", "shop"], shown, list(50), merged(50)).code == .success)
        let refused = issuectl(["group", "merge", "g7", "--app", "shop"], shown, list(51))
        #expect(refused.code == .refused)
        #expect(refused.errors == lines("issuectl: 51 issues match: use --yes to merge more than 50"))
        #expect(refused.calls.count == 2)
        let sure = issuectl(["group", "merge", "g7", "--app", "shop", "--yes"], shown, list(51), merged(51))
        #expect(sure.code == .success)
        #expect(sure.calls.count == 3)
    }

    @Test("merge and undo print the state of an issue that is not open")
    func states() {
        let muted = Fixtures.group().replacing(#""state":"open""#, with: #""state":"muted""#)
        let merged = issuectl(["group", "merge", "g7", "g8"], .reply(#"{"group":\#(muted),"count":1}"#))
        #expect(merged.output == lines("Merged 1 issue into g7 (8 records): [muted] Decoding failed"))
        let undone = issuectl(["group", "undo", "7"], .reply(#"{"groups":[\#(muted)]}"#))
        #expect(undone.output == lines("g7 has 8 records: [muted] Decoding failed"))
    }

    @Test("group split splits by a pattern; without a pattern, it undoes merges")
    func split() {
        let reply = ScriptedLink.Reply.reply(#"{"groups":[\#(Fixtures.group()),\#(Fixtures.group("g8", "Other"))]}"#)
        let split = issuectl(["group", "split", "g7", "--template", "Write *"], reply)
        #expect(split.calls == [#"SplitGroup {"group":"g7","template":"Write *"}"#])
        #expect(split.output == lines("g7 has 8 records: Decoding failed\ng8 has 8 records: Other"))
        #expect(issuectl(["group", "split", "g7"], reply).calls == [#"SplitGroup {"group":"g7"}"#])
    }

    private func plan(_ values: [String]) -> ScriptedLink.Reply {
        let list = values.map { #""\#($0)""# }.joined(separator: ",")
        return .reply(#"{"groups":[],"values":[\#(list)]}"#)
    }

    @Test("A split by a field first prints the values, and needs --yes for more than 50 issues")
    func splitByField() {
        let reply = ScriptedLink.Reply.reply(
            #"{"groups":[\#(Fixtures.group()),\#(Fixtures.group("g8", "Other"))],"values":["disk",""]}"#)
        let split = issuectl(
            ["group", "split", "g7", "--by", "domain", "--reason", "two teams"], plan(["disk", ""]), reply)
        #expect(
            split.calls == [
                #"SplitByField {"group":"g7","field":"domain","dry_run":true}"#,
                #"SplitByField {"group":"g7","field":"domain","reason":"two teams"}"#,
            ])
        #expect(
            split.output
                == lines(
                    """
                    Splits into 2 issues by domain: disk, (none)
                    g7 has 8 records: Decoding failed
                    g8 has 8 records: Other
                    """))
        let dry = issuectl(["group", "split", "g7", "--by", "severity", "--dry-run"], plan(["error", "info"]))
        #expect(dry.output == lines("Splits into 2 issues by severity: error, info"))
        let json = issuectl(["group", "split", "g7", "--by", "file", "--dry-run", "--json"], plan(["a", "b"]))
        #expect(json.output.contains("\"values\""))
        let many = (0..<51).map { "v\($0)" }
        let refused = issuectl(["group", "split", "g7", "--by", "version"], plan(many))
        #expect(refused.code == .refused)
        #expect(refused.errors == lines("issuectl: the split would result in 51 issues: use --yes for more than 50"))
        #expect(refused.output.contains("v49, ..."))
        #expect(issuectl(["group", "split", "g7", "--by", "version", "--yes"], plan(many), reply).code == .success)
    }

    @Test("With --ndjson, a dry run prints the number of issues, and a merge in several calls prints the total")
    func json() {
        let words = ["group", "merge", "g7", "--dry-run", "--ndjson"]
        for dry in [
            issuectl(words + ["g8", "g9"], shown), issuectl(words + ["--app", "shop"], shown, list(2), shown),
        ] {
            #expect(dry.output.hasPrefix(#"{"group":{"id":"g7","#))
            #expect(dry.output.hasSuffix("\"count\":2}\n"))
        }
        let none = issuectl(["group", "merge", "g7", "--app", "shop", "--ndjson"], shown, list(0), shown)
        #expect(none.output.hasSuffix("\"count\":0}\n"))
        let rule = issuectl(["group", "rule", "add", "g7", "--template", "a*", "--dry-run", "--ndjson"], merged(3))
        #expect(rule.output.hasSuffix("\"count\":3}\n"))
        let many = issuectl(
            ["group", "merge", "g7", "--app", "shop", "--yes", "--ndjson"], shown, list(300), merged(256), merged(44))
        #expect(many.calls.count == 4)
        #expect(many.output.hasSuffix("\"count\":300}\n"))
        #expect(many.output.split(separator: "\n").count == 1)
    }

    @Test("group rule lists, adds and removes rules")
    func rules() {
        let listed = issuectl(["group", "rule"], .reply(#"{"corrections":[\#(Self.merge)]}"#))
        #expect(listed.calls == ["Corrections {}"])
        #expect(listed.output.hasPrefix("7  merged g2 into g1 in shop, by user 0 "))
        #expect(listed.output.contains("2 hits: same"))
        #expect(!listed.output.contains("\u{1B}"))
        #expect(
            issuectl(["group", "rule", "list", "g7"], .reply(#"{"corrections":[]}"#)).output == lines("No corrections.")
        )
        let added = issuectl(["group", "rule", "add", "g7", "--template", "a*"], merged(1), merged(1))
        #expect(
            added.calls == [
                #"AddGroupRule {"group":"g7","template":"a*","dry_run":true}"#,
                #"AddGroupRule {"group":"g7","template":"a*"}"#,
            ])
        #expect(issuectl(["group", "rule", "add", "g7", "--template", "a*"], merged(51)).code == .refused)
        for words in [["undo", "7"], ["rule", "remove", "7"]] {
            let undone = issuectl(["group"] + words, .reply(#"{"groups":[\#(Fixtures.group())]}"#))
            #expect(undone.calls == [#"UndoCorrection {"id":7}"#])
            #expect(undone.output == lines("g7 has 8 records: Decoding failed"))
        }
        let both = issuectl(
            ["group", "undo", "7", "8"], .reply(#"{"groups":[\#(Fixtures.group())]}"#), .reply(#"{"groups":[]}"#))
        #expect(both.calls == [#"UndoCorrection {"id":7}"#, #"UndoCorrection {"id":8}"#])
        let absent = issuectl(["group", "undo", "7"], .failure(.refused(.notFound(id: "7"))))
        #expect(absent.errors == lines("issuectl: no correction 7: see issuectl group rule"))
    }

    @Test(
        "rule add says if the pattern does not match the title of the issue itself",
        arguments: [
            ("Decoding failed", true), ("Dec*", true), ("*failed", true), ("D*d*g*led", true),
            ("zzz*", false), ("Decoding", false), ("ecoding*", false), ("Decoding failed*d", false),
            ("*led*failed", false), ("*zz*", false),
        ])
    func ownTitle(pattern: String, isMatching: Bool) {
        let words = ["group", "rule", "add", "g7", "--template", pattern, "--dry-run"]
        let note = isMatching ? "" : "\nThe pattern does not match the title of g7 itself: Decoding failed"
        #expect(issuectl(words, merged(0)).output == lines("Matches 0 issues." + note))
        #expect(!issuectl(words + ["--ndjson"], merged(0)).output.contains("does not match the title"))
    }

    @Test("rule add says if the pattern matches no other issue")
    func unmatchedRule() {
        let outcome = issuectl(["group", "rule", "add", "g7", "--template", "Decoding*"], merged(0), merged(0))
        #expect(
            outcome.output
                == lines(
                    "Matches 0 issues.\nAdded a rule for g7; it matches no other issue so far: Decoding failed"))
    }

    @Test("undo tries every number, reports each that does not exist, and then exits with 1")
    func undoAbsent() {
        let absent = { ScriptedLink.Reply.failure(.refused(.notFound(id: $0))) }
        let undone = ScriptedLink.Reply.reply(#"{"groups":[\#(Fixtures.group())]}"#)
        for words in [["undo"], ["rule", "remove"]] {
            let outcome = issuectl(["group"] + words + ["4", "5", "6"], absent("4"), undone, absent("6"))
            #expect(outcome.calls.count == 3)
            #expect(outcome.output == lines("g7 has 8 records: Decoding failed"))
            #expect(
                outcome.errors
                    == lines(
                        "issuectl: no correction 4: see issuectl group rule\n"
                            + "issuectl: no correction 6: see issuectl group rule"))
            #expect(outcome.code == .refused)
        }
        // Without a reply, the next call would get none either.
        let ended = issuectl(["group", "undo", "4", "5"], .failure(.closed), undone)
        #expect(ended.calls.count == 1 && ended.code == .tryAgain)
    }

    @Test("With --json, undo of several corrections prints each issue once, even if a later correction does not exist")
    func undoSeveral() {
        func undone(_ ids: String...) -> ScriptedLink.Reply {
            .reply(#"{"groups":[\#(ids.map { Fixtures.group($0) }.joined(separator: ","))]}"#)
        }
        let words = ["group", "undo", "4", "5", "--json"]
        let both = issuectl(words, undone("g7", "g8"), undone("g7", "g9"))
        #expect((try? JSONValue(json: Array(both.output.utf8)))?["groups"]?.asArray?.count == 3)
        let second = issuectl(words, undone("g7"), .failure(.refused(.notFound(id: "5"))))
        #expect(second.code == .refused)
        #expect((try? JSONValue(json: Array(second.output.utf8)))?["groups"]?.asArray?.count == 1)
        #expect(issuectl(words, .failure(.closed)).output == "")
        let each = issuectl(["group", "undo", "4", "5", "--ndjson"], undone("g7"), undone("g8"))
        #expect(each.output.split(separator: "\n").count == 2)
    }

    @Test("The id of a record is refused, and the error names the issue of the record")
    func record() {
        let absent = ScriptedLink.Reply.failure(.refused(.notFound(id: "gk6vbspq3av7-6")))
        let record = ScriptedLink.Reply.reply(Fixtures.shown)
        let merge = issuectl(["group", "merge", "g1", "gk6vbspq3av7-6"], absent, record)
        #expect(merge.errors == lines("issuectl: 'gk6vbspq3av7-6' is a record, not an issue: use g7 instead"))
        #expect(issuectl(["group", "split", "gk6vbspq3av7-6"], absent, record).errors == merge.errors)
    }

    @Test("A reason has 1 to 1,024 bytes")
    func reason() {
        for text in ["", String(repeating: "a", count: 1025)] {
            let outcome = issuectl(["group", "merge", "g7", "g8", "--reason", text])
            #expect(outcome.code == .usage)
            #expect(outcome.errors.contains("1 to 1024 bytes"))
            #expect(outcome.calls.isEmpty)
        }
        let longest = String(repeating: "a", count: 1024)
        #expect(issuectl(["group", "merge", "g7", "g8", "--reason", longest], merged(1)).code == .success)
    }

    @Test("Suggestions are printed as commands that can be run")
    func suggest() {
        let reply = """
            {"suggestions":[{"groups":["g1","g2"],"titles":["User ann is gone","User bob is gone"],\
            "words":["ann","bob"],"app":"shop"}]}
            """
        let outcome = issuectl(["group", "suggest", "--app", "shop", "--limit", "5"], .reply(reply))
        #expect(outcome.calls == [#"SuggestMerges {"app":"shop","limit":5}"#])
        #expect(
            outcome.output
                == lines(
                    """
                    issuectl group merge g1 g2
                      App        shop
                      g1         User ann is gone
                      g2         User bob is gone
                      Differ in  ann / bob
                    """))
        #expect(issuectl(["group", "suggest"], .reply(#"{"suggestions":[]}"#)).output == lines("No suggestions."))
        let hostile = reply.replacing("g2", with: #"g2\u001b[2J\n"#)
        let shown = issuectl(["group", "suggest"], .reply(hostile)).output
        #expect(shown.contains("  g2\\x1b[2J\\n  User bob is gone\n"))
    }

    @Test("explain shows where the fingerprint comes from, and lists other ids and corrections")
    func explain() {
        let outcome = issuectl(
            ["explain", "g1"],
            .reply(
                """
                {"group":\(Fixtures.group()),"fingerprint":"f00d","chosen":false,"rule":2,"template":"Decoding failed",\
                "ids":["g7","g8"],"corrections":[\(Self.merge)]}
                """))
        #expect(outcome.calls == [#"Explain {"id":"g1"}"#])
        #expect(outcome.output.contains("  Origin       hash of application, "))
        #expect(outcome.output.contains("  Other ids    g8\n"))
        #expect(outcome.output.contains("  7  merged g2 into g1"))
        let chosen = issuectl(
            ["explain", "g1"],
            .reply(#"{"group":\#(Fixtures.group()),"fingerprint":"x","chosen":true,"ids":["g7"],"corrections":[]}"#))
        #expect(chosen.output.contains("chosen by the sender"))
        #expect(!chosen.output.contains("Other ids"))
    }

    @Test("explain shows the record separately if its fingerprint differs from the issue's or was chosen by the sender")
    func explainOther() {
        func explained(_ id: String, _ fingerprint: String, _ template: String, isChosen: Bool = false) -> String {
            issuectl(
                ["explain", id],
                .reply(
                    """
                    {"group":\(Fixtures.group()),"fingerprint":"\(fingerprint)","chosen":\(isChosen),"rule":2,\
                    "template":"\(template)","ids":["g7"],"corrections":[]}
                    """)
            ).output
        }
        #expect(!explained("g1", "f00d", "Decoding failed").contains(" record\n"))
        let parts = explained("g1", "other", "Other error").split(separator: "Newest record\n")
        #expect(parts.count == 2)
        #expect(parts.first?.contains("  Fingerprint  f00d\n") == true && parts.first?.contains("Template") == false)
        #expect(parts.last?.contains("  Fingerprint  other\n") == true)
        #expect(parts.last?.contains("  Template     Other error\n") == true)
        #expect(explained("she6zsjknpxv-24c4", "other", "Decoding failed").contains("This record\n"))
        #expect(explained("g1", "f00d", "Other error", isChosen: true).contains("Newest record\n"))
        #expect(explained("g1", "overflow", "too many issues").contains("  Origin       the overflow issue, "))
    }

    @Test(
        "Wrong arguments are usage errors, and nothing is sent",
        arguments: [
            [], ["join"], ["merge"], ["merge", "g1"], ["merge", "g1", "g2", "--app", "a"], ["split"],
            ["split", "g1", "g2"], ["undo"], ["undo", "x"], ["rule", "drop"], ["rule", "add", "g1"],
            ["rule", "add", "g1", "--template", "*"], ["split", "g1", "--template", ""], ["merge", "g1", ""],
            ["rule", "remove", "x"], ["suggest", "g1"], ["merge", "g1", "g2", "--template", "a"],
            ["split", "g1", "--dry-run"], ["split", "g1", "--by", "type"], ["merge", "g1", "g2", "--by", "domain"],
            ["split", "g1", "--by", "domain", "--template", "a"], ["undo", "7", "x"], ["undo", "7", "--app", "a"],
            ["suggest", "--text", "a"],
        ])
    func usage(words: [String]) {
        let outcome = issuectl(["group"] + words)
        #expect(outcome.code == .usage)
        #expect(outcome.calls.isEmpty)
    }
}
