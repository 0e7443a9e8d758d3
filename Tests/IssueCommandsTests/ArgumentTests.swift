import IssueCommands
import IssueProtocol
import Testing

@Suite("Command lines")
struct ArgumentTests {
    private static let name = OptionSpecification("name", short: "n", value: "TEXT", "A name")
    private static let loud = OptionSpecification("loud", short: "l", "Loud")
    private static let quiet = OptionSpecification("quiet", short: "q", "Quiet")

    private func parse(_ words: String...) throws(UsageError) -> ParsedArguments {
        var arguments = ParsedArguments()
        try ArgumentParser([Self.name, Self.loud, Self.quiet]).parse(words, into: &arguments)
        return arguments
    }

    @Test(
        "A value stands behind its option in any of the usual ways",
        arguments: [["--name", "x y"], ["--name=x y"], ["-n", "x y"], ["-nx y"], ["-ln", "x y"], ["-lnx y"]])
    func values(words: [String]) throws {
        var arguments = ParsedArguments()
        try ArgumentParser([Self.name, Self.loud]).parse(words, into: &arguments)
        #expect(arguments[Self.name] == "x y")
        #expect(arguments.operands == [])
    }

    @Test("Options and words may be mixed, and two dashes end the options")
    func mixed() throws {
        let arguments = try parse("one", "-lq", "two", "-", "--", "--name", "-x")
        #expect(arguments.has(Self.loud) && arguments.has(Self.quiet))
        #expect(arguments.operands == ["one", "two", "-", "--name", "-x"])
    }

    @Test("A repeated option keeps all its values, and the last one counts where one is asked for")
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
        "What is wrong with a command line is said with the option's name",
        arguments: [
            (["--name"], "--name needs a value: --name TEXT"),
            (["-n"], "-n needs a value: -n TEXT"),
            (["--loud=yes"], "--loud takes no value"),
            (["--nmae", "x"], "there is no option --nmae (did you mean --name?)"),
            (["--nam=x"], "there is no option --nam (did you mean --name?)"),
            (["--entirely-else"], "there is no option --entirely-else"),
            (["-z"], "there is no option -z"),
            (["-zoud"], "there is no option -z (did you mean --loud?)"),
        ])
    func mistakes(words: [String], message: String) {
        #expect(throws: UsageError(message)) {
            var arguments = ParsedArguments()
            try ArgumentParser([Self.name, Self.loud]).parse(words, into: &arguments)
        }
    }

    @Test(
        "The nearest name is what the fewest slips lead to",
        arguments: [
            ("lsit", "list"), ("statsu", "status"), ("LIST", "list"), ("fol", "follow"), ("shwo", "show"),
            ("flsh", "flush"), ("recrods", "records"),
        ])
    func nearest(word: String, name: String) {
        let names = ["report", "list", "records", "show", "follow", "status", "flush"]
        #expect(NearestName.find(word, among: names) == name)
    }

    @Test(
        "A word that is near to nothing suggests nothing",
        arguments: ["xyzzy", "", "--", String(repeating: "l", count: 9000)])
    func farFromAll(word: String) {
        #expect(NearestName.find(word, among: ["list", "show"]) == nil)
    }

    @Test("Swapped neighbours are one slip")
    func distance() {
        #expect(EditDistance.between("severity", "sevreity") == 1)
        #expect(EditDistance.between("", "abc") == 3)
        #expect(EditDistance.between("kitten", "sitting") == 3)
    }

    @Test(
        "A wrong command line ends with 64 and one line that says where to read on",
        arguments: [
            ([], "issuectl: which command? See issuectl --help\n"),
            (["--json"], "issuectl: which command? See issuectl --help\n"),
            (["lst"], "issuectl: there is no command 'lst' (did you mean list?). See issuectl --help\n"),
            (
                ["--sokcet", "x", "list"],
                "issuectl: there is no option --sokcet (did you mean --socket?). See issuectl --help\n"
            ),
            (
                ["list", "--severty", "error"],
                "issuectl: there is no option --severty (did you mean --severity?). See issuectl list --help\n"
            ),
            (["list", "extra"], "issuectl: 'extra' is one argument too many. See issuectl list --help\n"),
            (["show"], "issuectl: ID is missing. See issuectl show --help\n"),
            (
                ["list", "-p", "eror"],
                "issuectl: 'eror' is no value for --severity: expected debug, info, warning, error, critical (did you mean error?). See issuectl list --help\n"
            ),
            (
                ["list", "--limit", "0"],
                "issuectl: '0' is no value for --limit: expected a whole number from 1 on. See issuectl list --help\n"
            ),
            (
                ["list", "--all", "--limit", "3"],
                "issuectl: --all and --limit exclude each other. See issuectl list --help\n"
            ),
            (
                ["list", "--json", "--ndjson"],
                "issuectl: --json and --ndjson exclude each other. See issuectl list --help\n"
            ),
            (
                ["list", "--since", "soon"],
                "issuectl: 'soon' is no value for --since: expected RFC 3339, a date, 2h or 7d (ago), now, today or yesterday. See issuectl list --help\n"
            ),
            (
                ["list", "--color", "yes"],
                "issuectl: 'yes' is no value for --color: expected auto, always, never. See issuectl list --help\n"
            ),
            (
                ["records", "--fate", "dead"],
                "issuectl: 'dead' is no value for --fate: expected pending, delivered, summarised, dead_lettered, withheld, expired, unconfirmed (did you mean dead_lettered?). See issuectl records --help\n"
            ),
            (
                ["list", "--user", "-1"],
                "issuectl: '-1' is no value for --user: expected the number of a user. See issuectl list --help\n"
            ),
            (
                ["report", "--line", "x", "m"],
                "issuectl: 'x' is no value for --line: expected a whole number from 0 on. See issuectl report --help\n"
            ),
            (
                ["report", "-m", "novalue", "m"],
                "issuectl: 'novalue' is no value for --metadata: expected KEY=VALUE. See issuectl report --help\n"
            ),
            (
                ["report", "--json-lines", "m"],
                "issuectl: --json-lines reads standard input, so no MESSAGE goes with it. See issuectl report --help\n"
            ),
            (
                ["flush", "--timeout", "never"],
                "issuectl: 'never' is no value for --timeout: expected a span of time such as 30s, 5min or 2h. See issuectl flush --help\n"
            ),
            (["sh\u{1B}ow"], "issuectl: there is no command 'sh\\x1bow' (did you mean show?). See issuectl --help\n"),
        ])
    func usage(words: [String], message: String) {
        let outcome = issuectl(words)
        #expect(outcome.code == .usage)
        #expect(outcome.errors == message)
        #expect(outcome.output == "")
        #expect(outcome.calls == [])
    }

    @Test("Common options stand before the command or behind it")
    func commonOptions() {
        let before = issuectl(["--json", "--socket", "/x", "list"], .reply(Fixtures.groups()))
        let behind = issuectl(["list", "--socket=/x", "--json"], .reply(Fixtures.groups()))
        #expect(before.output == "{\"groups\":[]}\n")
        #expect(behind.output == before.output)
    }

    @Test("The version is one line, and behind a command --version asks for versions of applications")
    func version() {
        #expect(issuectl(["--version"]).output == "issuectl 0.1.0\n")
        let list = issuectl(["list", "--version", "2.0.0", "--version", "2.1.0"], .reply(Fixtures.groups()))
        #expect(list.calls == [#"List {"filter":{"versions":["2.0.0","2.1.0"]},"limit":50}"#])
    }
}
