import Foundation
import Testing
import UnixIO

@Suite("Completion in a shell")
struct CompletionTests {
    /// Returns the candidates for the last word, each as `word` or `word: description`.
    private func candidates(_ words: String..., replies: [ScriptedLink.Reply] = []) -> [String] {
        let outcome =
            switch replies.first {
            case let reply?: issuectl(["__complete"] + words, reply)
            case nil: issuectl(["__complete"] + words)
            }
        #expect(outcome.code == .success)
        #expect(outcome.errors == "")
        return outcome.output.split(separator: "\n").map { line in
            let parts = line.split(separator: "\t", maxSplits: 1, omittingEmptySubsequences: false)
            return parts.count == 2 && parts[1].isEmpty ? String(parts[0]) : parts.joined(separator: ": ")
        }
    }

    private func words(_ words: String...) -> [String] {
        issuectl(["__complete"] + words).output.split(separator: "\n").compactMap { $0.split(separator: "\t").first }
            .map(String.init)
    }

    private static let commands = listedCommands.map(\.name)

    /// Returns the options of a command with their placeholders, as the help lists them.
    private static func options(of command: String) -> [(name: String, placeholder: String?)] {
        issuectl([command, "--help"]).output.split(separator: "\n").compactMap { line in
            guard let match = line.wholeMatch(of: /\x20\x20(?:-., |    )(--[a-z-]+)(?: ([A-Z=]+))?(?:  .*)?/) else {
                return nil
            }
            return (String(match.1), match.2.map(String.init))
        }
    }

    @Test("The candidates for the first word are the commands with their summaries")
    func firstWord() {
        #expect(words("") == Self.commands + ["help"])
        #expect(candidates("re").contains("report: Report issues and print their ids"))
        #expect(words("--json", "--color", "never", "--", "rec") == ["records"])
        #expect(words("help", "st") == ["status"])
        #expect(words("help", "status", "") == [])
    }

    @Test("Every command and every option of the help is offered")
    func everything() {
        for command in Self.commands {
            let names = Self.options(of: command).map(\.name)
            #expect(names.count >= 5)
            #expect(words(command, "--") == names)
        }
    }

    @Test("Every offered keyword is accepted")
    func keywords() {
        var count = 0
        for command in Self.commands {
            for option in Self.options(of: command) where option.placeholder != nil {
                for word in words("--socket", "/absent", command, option.name, "") {
                    let tried = issuectl([command, "--socket", "/absent", option.name, word])
                    #expect(!tried.errors.contains("invalid value"), "\(command) \(option.name) \(word)")
                    count += 1
                }
            }
        }
        #expect(count > 100)
    }

    @Test("Every value that is a keyword, a file or the id of an issue is completed")
    func values() {
        let group = Fixtures.groups(Fixtures.decodingGroup)
        for command in Self.commands {
            for option in Self.options(of: command) {
                switch option.placeholder {
                case "LEVEL", "STATE", "FATE", "ORDER", "WHAT", "WHEN", "FILE", "PATH":
                    #expect(candidates(command, option.name, "") != [], "\(command) \(option.name)")
                case "ID":
                    #expect(candidates(command, option.name, "", replies: [.reply(group)]) != [])
                default: break
                }
            }
            let usage = issuectl([command, "--help"]).output.split(separator: "\n").first ?? ""
            if usage.hasSuffix(" GROUP") || usage.hasSuffix(" ID") {
                #expect(
                    candidates(command, "", replies: [.reply(group)]) == ["g7: Decoding failed: keyNotFound(price)"])
            } else if usage.hasSuffix("[FILE]") {
                #expect(candidates(command, "") == [": files"])
            }
        }
    }

    @Test("The candidates for groups, applications, destinations, silences and dead letters come from the daemon")
    func daemon() {
        let groups = [ScriptedLink.Reply.reply(Fixtures.groups(Fixtures.decodingGroup, Fixtures.diskGroup))]
        #expect(
            candidates("list", "--group", "g7", replies: groups) == ["g7: Decoding failed: keyNotFound(price)"])
        #expect(candidates("list", "--app", "", replies: groups) == ["shop", "backup"])
        #expect(candidates("report", "-t", "b", replies: groups) == ["backup"])
        #expect(candidates("records", "-a", "--app=s", replies: groups) == ["--app=shop"])
        let status = [ScriptedLink.Reply.reply(Fixtures.status(Fixtures.logzio, Fixtures.archive))]
        #expect(candidates("flush", "log", replies: status) == ["logzio: paused"])
        #expect(candidates("records", "--destination", "a", replies: status) == ["archive: idle"])
        #expect(words("dead-letters", "") == ["list", "show", "requeue", "export"])
        let silence = #"{"id":"s3","until":"2026-11-21T13:00:00.000Z","reason":"Migration","uid":0,"count":0}"#
        #expect(
            candidates("silence", "end", "", replies: [.reply(#"{"silences":[\#(silence)]}"#)]) == ["s3: Migration"])
        #expect(candidates("resolve", "g1", "g7", replies: groups) == ["g7: Decoding failed: keyNotFound(price)"])
        let letters = """
            {"dead_letters":[{"record":"r1","destination":"logzio","reason":"refused","attempts":1,\
            "at":"2026-11-21T11:00:00.000Z"}]}
            """
        #expect(candidates("dead-letters", "show", "r0", "", replies: [.reply(letters)]) == ["r1: logzio: refused"])
    }

    @Test("After an action, its operands are completed, such as the numbers of corrections after undo")
    func actions() {
        let correction = ScriptedLink.Reply.reply(
            """
            {"corrections":[{"id":7,"kind":"merge","group":"g1","other":"g2","app":"shop","uid":1000,"author":1000,\
            "at":"2026-11-21T11:00:00.000Z","hits":0}]}
            """)
        #expect(candidates("group", "undo", "", replies: [correction]) == ["7: merged g2 into g1"])
        #expect(candidates("group", "rule", "remove", "3", "", replies: [correction]) == ["7: merged g2 into g1"])
        #expect(words("group", "rule", "") == ["list", "add", "remove"])
        #expect(words("group", "suggest", "") == [])
        let groups = [ScriptedLink.Reply.reply(Fixtures.groups(Fixtures.decodingGroup))]
        #expect(candidates("group", "rule", "add", "", replies: groups) == ["g7: Decoding failed: keyNotFound(price)"])
        let damaged = ScriptedLink.Reply.reply(
            #"{"recovered":0,"unreadable":0,"done":true,"files":["issues.db.damaged-A"]}"#)
        #expect(candidates("repair", "", replies: [damaged]) == ["issues.db.damaged-A"])
    }

    @Test("The value of an option is completed in the same word as the option and in the next word")
    func positions() {
        #expect(words("list", "-p", "c") == ["critical"])
        #expect(words("list", "--severity=c") == ["--severity=critical"])
        #expect(words("list", "-ap", "c") == ["critical"])
        #expect(words("list", "-pcritical", "--sp") == ["--sparkline"])
        #expect(words("list", "-p", "critical", "--sp") == ["--sparkline"])
        #expect(words("list", "-p") == ["-p"])
        #expect(candidates("sql", "--database=/va") == [": files"])
        #expect(words("list", "--since", "") == [])
        #expect(words("list", "") == [])
        #expect(words("report", "--", "--se") == [])
        #expect(words("unknown", "--") == [])
        #expect(words("show", "g7", "") == [])
        #expect(words() == Self.commands + ["help"])
    }

    @Test("The daemon at --socket is asked; without a daemon there are no candidates and no error")
    func withoutDaemon() {
        let groups = [ScriptedLink.Reply.reply(Fixtures.groups(Fixtures.decodingGroup))]
        #expect(candidates("--socket", "/x", "list", "--app", "", replies: groups) == ["shop"])
        #expect(candidates("--socket", "/absent", "list", "--app", "", replies: groups) == [])
        #expect(candidates("list", "--socket=/absent", "--app", "", replies: groups) == [])
        #expect(candidates("flush", "", replies: [.reply("{}")]) == [])
    }

    @Test("Names with control characters, and words that would be options, are not offered; titles are escaped")
    func hostile() {
        let group = Fixtures.decodingGroup.replacing("\"app\":\"shop\"", with: #""app":"\u001b]0;x\u0007""#)
            .replacing("Decoding failed", with: #"\u001b[31mA\n\tline"#)
        let reply = [ScriptedLink.Reply.reply(Fixtures.groups(group))]
        #expect(candidates("list", "--app", "", replies: reply) == [])
        let option = Fixtures.decodingGroup.replacing("\"app\":\"shop\"", with: #""app":"--socket=/tmp/x""#)
        let options = [ScriptedLink.Reply.reply(Fixtures.groups(option))]
        #expect(candidates("deploys", "", replies: options) == [])
        #expect(candidates("list", "--app=", replies: options) == ["--app=--socket=/tmp/x"])
        let lines = candidates("show", "", replies: reply)
        #expect(lines.count == 1)
        #expect(lines.first?.unicodeScalars.contains { $0.value < 0x20 } == false)
    }
}
