import IssueCommands
import IssueProtocol
import Testing
import UnixIO

@Suite("Command lines")
struct ArgumentTests {
    private static let name = OptionSpecification("name", short: "n", value: "TEXT", "A name")
    private static let loud = OptionSpecification("loud", short: "l", "Loud")
    private static let quiet = OptionSpecification("quiet", short: "q", "Quiet")

    private func parse(_ words: String...) throws(UsageError) -> ParsedArguments {
        try ArgumentParser([Self.name, Self.loud, Self.quiet]).parse(words)
    }

    @Test(
        "A value can follow its option in all conventional forms",
        arguments: [["--name", "x y"], ["--name=x y"], ["-n", "x y"], ["-nx y"], ["-ln", "x y"], ["-lnx y"]])
    func values(words: [String]) throws {
        let arguments = try ArgumentParser([Self.name, Self.loud]).parse(words)
        #expect(arguments[Self.name] == "x y")
        #expect(arguments.operands == [])
    }

    @Test("Options and operands can be mixed, and two dashes end the options")
    func mixed() throws {
        let arguments = try parse("one", "-lq", "two", "-", "--", "--name", "-x")
        #expect(arguments.has(Self.loud) && arguments.has(Self.quiet))
        #expect(arguments.operands == ["one", "two", "-", "--name", "-x"])
    }

    @Test("A repeated option keeps all its values, and the last one counts where a single value is expected")
    func repeated() throws {
        let arguments = try parse("--name=a", "-n", "b", "--name=")
        #expect(arguments.all(Self.name) == ["a", "b", ""])
        #expect(arguments[Self.name] == "")
    }

    @Test("A value may look like an option")
    func dashedValue() throws {
        #expect(try parse("--name", "--loud")[Self.name] == "--loud")
    }

    @Test(
        "An error in a command line names the option",
        arguments: [
            (["--name"], "--name requires a value: --name TEXT"),
            (["-n"], "-n requires a value: -n TEXT"),
            (["--loud=yes"], "--loud takes no value"),
            (["--nmae", "x"], "unknown option --nmae (did you mean --name?)"),
            (["--nam=x"], "unknown option --nam (did you mean --name?)"),
            (["--entirely-else"], "unknown option --entirely-else"),
            (["-z"], "unknown option -z"),
            (["-zoud"], "unknown option -z (did you mean --loud?)"),
        ])
    func mistakes(words: [String], message: String) {
        #expect(throws: UsageError(message)) {
            try ArgumentParser([Self.name, Self.loud]).parse(words)
        }
    }

    @Test(
        "The suggestion for an unknown word is the name with the fewest edits, or a name that contains the word",
        arguments: [
            ("lsit", "list"), ("statsu", "status"), ("LIST", "list"), ("fol", "follow"), ("shwo", "show"),
            ("flsh", "flush"), ("recrods", "records"), ("evel", "level"), ("cord", "records"),
        ])
    func nearest(word: String, name: String) {
        let names = ["report", "list", "records", "show", "follow", "status", "flush", "lisp", "level"]
        #expect(NearestName.find(word, among: names) == name)
    }

    @Test(
        "Nothing is suggested if no name is similar",
        arguments: ["xyzzy", "", "--", String(repeating: "l", count: 9000)])
    func farFromAll(word: String) {
        #expect(NearestName.find(word, among: ["list", "show"]) == nil)
    }

    @Test("Swapping adjacent characters counts as one edit")
    func distance() {
        #expect(EditDistance.between("severity", "sevreity") == 1)
        #expect(EditDistance.between("", "abc") == 3)
        #expect(EditDistance.between("kitten", "sitting") == 3)
    }

    @Test("If an action of issuectl group is given as a command, the error suggests group with this action")
    func groupAction() {
        for action in ["merge", "split", "rule", "undo", "suggest"] {
            let outcome = issuectl([action, "g92c9da597585468b"])
            #expect(outcome.code == .usage)
            #expect(
                outcome.errors
                    == "issuectl: unknown command '\(action)' (did you mean group \(action)?). See issuectl --help\n")
        }
    }

    @Test(
        "An invalid command line exits with 64 and prints one line that points to the help",
        arguments: [
            ([], "issuectl: missing command. See issuectl --help\n"),
            (["--json"], "issuectl: missing command. See issuectl --help\n"),
            (["lst"], "issuectl: unknown command 'lst' (did you mean list?). See issuectl --help\n"),
            (["unmute"], "issuectl: unknown command 'unmute' (did you mean reopen?). See issuectl --help\n"),
            (["unmerge"], "issuectl: unknown command 'unmerge' (did you mean group undo?). See issuectl --help\n"),
            (
                ["export"],
                "issuectl: unknown command 'export' (did you mean dead-letters export?). See issuectl --help\n"
            ),
            (
                ["--sokcet", "x", "list"],
                "issuectl: unknown option --sokcet (did you mean --socket?). See issuectl --help\n"
            ),
            (
                ["list", "--severty", "error"],
                "issuectl: unknown option --severty (did you mean --severity?). See issuectl list --help\n"
            ),
            (["list", "extra"], "issuectl: unexpected argument 'extra'. See issuectl list --help\n"),
            (["show"], "issuectl: missing argument ID. See issuectl show --help\n"),
            (
                ["silence", "add", "--app", "shop", "--for", "400d", "--reason", "r"],
                "issuectl: a silence lasts 366 days at most. See issuectl silence --help\n"
            ),
            (
                ["list", "--timeout", "0"],
                "issuectl: invalid value '0' for --timeout; expected a time span such as 30s, 5min or 2h, above 0. See issuectl list --help\n"
            ),
            (
                ["health", "--timeout", "0s"],
                "issuectl: invalid value '0s' for --timeout; expected a time span such as 30s, 5min or 2h, above 0. See issuectl health --help\n"
            ),
            (
                ["report", "--timeout=0", "m"],
                "issuectl: invalid value '0' for --timeout; expected a time span such as 30s, 5min or 2h, above 0. See issuectl report --help\n"
            ),
            (
                ["silence", "--app", "shop", "--for", "1h", "--reason", "r"],
                "issuectl: --app is only for add (did you mean silence add?). See issuectl silence --help\n"
            ),
            (
                ["silence", "end", "s3", "--until", "1h"],
                "issuectl: --until is only for add. See issuectl silence --help\n"
            ),
            (
                ["notify", "list", "oncall"],
                "issuectl: list takes no NAME (did you mean notify test?). See issuectl notify --help\n"
            ),
            (
                ["group", "rule", "--reason", "r"],
                "issuectl: --reason is only for merge, split and rule add (did you mean group rule add?). See issuectl group --help\n"
            ),
            (
                ["group", "undo", "7", "--yes"],
                "issuectl: --yes is only for merge, rule add and split --by. See issuectl group --help\n"
            ),
            (
                ["group", "rule", "--limit", "7"],
                "issuectl: --limit is only for suggest. See issuectl group --help\n"
            ),
            (
                ["list", "-p", "eror"],
                "issuectl: invalid value 'eror' for --severity; expected debug, info, warning, error, critical, a priority of logger such as err, notice or user.crit, or a number from 0 to 7 (did you mean error?). See issuectl list --help\n"
            ),
            (
                ["list", "--limit", "0"],
                "issuectl: invalid value '0' for --limit; expected a whole number of at least 1. See issuectl list --help\n"
            ),
            (
                ["list", "--all", "--limit", "3"],
                "issuectl: --all and --limit cannot be used together. See issuectl list --help\n"
            ),
            (
                ["list", "--json", "--ndjson"],
                "issuectl: --json and --ndjson cannot be used together. See issuectl list --help\n"
            ),
            (
                ["list", "--since", "soon"],
                "issuectl: invalid value 'soon' for --since; expected a date, an RFC 3339 time, a time of day such as 15:30, an age such as 2h or \"7 days ago\", now, today or yesterday. See issuectl list --help\n"
            ),
            (
                ["list", "--color", "yes"],
                "issuectl: invalid value 'yes' for --color; expected one of: auto, always, never. See issuectl list --help\n"
            ),
            (
                ["records", "--fate", "dead"],
                "issuectl: invalid value 'dead' for --fate; expected one of: pending, delivered, summarised, dead_lettered, withheld, expired, unconfirmed (did you mean dead_lettered?). See issuectl records --help\n"
            ),
            (
                ["list", "--user", "-1"],
                "issuectl: invalid value '-1' for --user; expected a user id or the name of a user of this host. See issuectl list --help\n"
            ),
            (
                ["report", "--line", "x", "m"],
                "issuectl: invalid value 'x' for --line; expected a whole number of at least 0. See issuectl report --help\n"
            ),
            (
                ["report", "--code", "x", "m"],
                "issuectl: invalid value 'x' for --code; expected a whole number. See issuectl report --help\n"
            ),
            (
                ["report", "-m", "novalue", "m"],
                "issuectl: invalid value 'novalue' for --metadata; expected KEY=VALUE. See issuectl report --help\n"
            ),
            (
                ["report", "--json-lines", "m"],
                "issuectl: --json-lines reads standard input and takes no MESSAGE. See issuectl report --help\n"
            ),
            (
                ["flush", "--timeout", "never"],
                "issuectl: invalid value 'never' for --timeout; expected a time span such as 30s, 5min or 2h. See issuectl flush --help\n"
            ),
            (["sh\u{1B}ow"], "issuectl: unknown command 'sh\\x1bow' (did you mean show?). See issuectl --help\n"),
        ])
    func usage(words: [String], message: String) {
        let outcome = issuectl(words)
        #expect(outcome.code == .usage)
        #expect(outcome.errors == message)
        #expect(outcome.output == "")
        #expect(outcome.calls == [])
    }

    @Test(
        "An argument that is empty, repeated, too large or unknown is a usage error that states the reason",
        arguments: [
            (["resolve", "g1", ""], "the argument GROUP is empty"),
            (["show", ""], "the argument ID is empty"),
            (["dead-letters", "show", ""], "an argument is empty"),
            (["list", "--app", ""], "invalid value '' for --app; expected the name of an application"),
            (["report", "--app=", "m"], "invalid value '' for --app; expected the name of an application"),
            (["report", "-t", "", "m"], "invalid value '' for --tag; expected the name of an application"),
            (["report", "--id", "a", "--id", "b", "m"], "--id can be given only once"),
            (["report", "-m", "a=1", "-m", "a=2", "m"], "--metadata has the key 'a' twice"),
            (["list", "--text", "a", "--text", "b"], "--text can be given only once"),
            (["records", "-m", "x"], "unknown option -m (did you mean --metadata?)"),
            (
                ["report", "--code", "99999999999999999999", "m"],
                "invalid value '99999999999999999999' for --code; expected a whole number from -9223372036854775808 to 9223372036854775807"
            ),
            (
                ["list", "--code", "1", "--code", "99999999999999999999"],
                "invalid value '99999999999999999999' for --code; expected a whole number from -9223372036854775808 to 9223372036854775807"
            ),
            (
                ["list", "--limit", "99999999999999999999"],
                "invalid value '99999999999999999999' for --limit; expected a whole number from 1 to 9223372036854775807"
            ),
        ])
    func unusable(words: [String], message: String) {
        let outcome = issuectl(words)
        #expect(outcome.code == .usage)
        #expect(outcome.errors == "issuectl: \(message). See issuectl \(words[0]) --help\n")
        #expect(outcome.calls.isEmpty)
    }

    @Test("Common options may precede or follow the command")
    func commonOptions() {
        let before = issuectl(["--json", "--socket", "/x", "list"], .reply(Fixtures.groups()))
        let behind = issuectl(["list", "--socket=/x", "--json"], .reply(Fixtures.groups()))
        #expect(before.output == "{\"groups\":[]}\n")
        #expect(behind.output == before.output)
        let timed = issuectl(["--timeout", "5s", "list", "--json"], .reply(Fixtures.groups()))
        #expect(timed.code == .success && timed.calls == behind.calls)
    }

    @Test("The last of several values of a common option counts, even if one of them precedes the command")
    func repeatedCommonOption() {
        #expect(
            issuectl(["--socket", "/absent", "list", "--socket", "/x"], .reply(Fixtures.groups())).code == .success)
        #expect(issuectl(["--socket", "/x", "list", "--socket", "/absent"]).code == .unavailable)
    }

    @Test("Without a command, --version prints one line; after a command, it filters by application version")
    func version() {
        #expect(issuectl(["--version"]).output == "issuectl 0.1.0\n")
        let list = issuectl(["list", "--json", "--version", "2.0.0", "--version", "2.1.0"], .reply(Fixtures.groups()))
        #expect(list.calls == [#"List {"filter":{"versions":["2.0.0","2.1.0"]},"limit":50}"#])
    }
}
