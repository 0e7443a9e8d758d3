import Testing
import UnixIO

@testable import IssueCommands

/// A database that splits texts at semicolons, and returns a prepared result for each statement.
private final class ScriptedDatabase: SQLDatabase {
    let mainQueries: [(name: String, sql: String)] = []
    var results: [String: SQLResult] = [:]
    var statements: [String] = []

    func makeAnonymizer() -> RecordAnonymizer { { message, metadata, _ in (message, metadata) } }
    var bounds: [SQLBounds] = []

    func contains(store: String) -> Bool { store == "s1" }
    var checkedBytes = 0

    func isComplete(_ text: String) -> Bool {
        checkedBytes += text.utf8.count
        return text.last { $0 > " " } == ";"
    }

    func runFirst(of text: inout ArraySlice<UInt8>, within bounds: SQLBounds) throws(CommandFailure) -> SQLResult? {
        while !text.isEmpty {
            let bytes = text.prefix { $0 != UInt8(ascii: ";") }
            text = text.dropFirst(bytes.count + 1)
            let words = String(decoding: bytes, as: UTF8.self).split { $0 == " " || $0 == "\n" }
            guard !words.isEmpty else { continue }
            let statement = words.joined(separator: " ")
            statements.append(statement)
            self.bounds.append(bounds)
            guard let result = results[statement] else { throw CommandFailure(.refused, "the query is invalid: x") }
            return result
        }
        return nil
    }
}

@Suite("issuectl sql")
struct SQLTests {
    private struct Run {
        var outcome: Outcome
        var statements: [String]
        var checkedBytes: Int
        var bounds: [SQLBounds]
        var paths: [String?]
    }

    /// Runs the command with a database whose queries are single words, such as `one`, with prepared results.
    private func sql(
        _ arguments: [String], width: Int? = nil, environment: [String: String] = [:], input: [String] = [],
        isInputTerminal: Bool = false, status: ScriptedLink.Reply = .reply("")
    ) -> Run {
        let database = ScriptedDatabase()
        database.results = [
            "one": SQLResult(
                columns: ["app", "records"], rows: [[.text("shop"), .integer(7)], [.null, .integer(12)]]),
            "none": SQLResult(columns: ["app"], rows: []),
            "nothing": SQLResult(columns: [], rows: []),
            "cut": SQLResult(columns: ["n"], rows: [[.integer(1)]], isCut: true),
            "values": SQLResult(
                columns: ["v"],
                rows: [
                    [.null], [.integer(.min)], [.real(0.5)], [.real(.infinity)], [.text("")], [.text("a,\"b\"\nc")],
                    [.blob([0x1F, 0xAB])],
                ]),
            "damaged": SQLResult(columns: ["n"], rows: [[.integer(1)]], unreadable: 200),
            "twice": SQLResult(columns: ["a", "a", "a:1"], rows: [[.integer(1), .integer(2), .integer(3)]]),
            "wide": SQLResult(
                columns: ["id", "message", "n"],
                rows: [[.integer(1), .text(String(repeating: "x", count: 50)), .integer(2)]]),
            "hostile": SQLResult(columns: ["\u{1B}[2J"], rows: [[.text("\u{1B}[31m\u{202E}")]]),
        ]
        var paths: [String?] = []
        let outcome = issuectl(
            ["sql"] + arguments, width: width, environment: environment, input: input, isInputTerminal: isInputTerminal,
            sql: .library { (path) throws(CommandFailure) in
                paths.append(path)
                if path == "/absent" { throw CommandFailure(.refused, "there is no database at /absent") }
                return database
            }, status)
        return Run(
            outcome: outcome, statements: database.statements, checkedBytes: database.checkedBytes,
            bounds: database.bounds, paths: paths)
    }

    @Test("The help and the usage errors of issued-sql name issued-sql")
    func ownName() {
        let library = SQLAccess.library { (_) throws(CommandFailure) in throw CommandFailure(.refused, nil) }
        #expect(issuectl(["--help"], sql: library).output.hasPrefix("Usage: issued-sql [OPTION...] COMMAND "))
        #expect(issuectl(["sql", "--help"], sql: library).output.hasPrefix("Usage: issued-sql sql "))
        #expect(issuectl(["--version"], sql: library).output.hasPrefix("issued-sql "))
        for arguments in [[], ["--x"], ["x"]] {
            #expect(issuectl(arguments, sql: library).errors.hasSuffix(" See issued-sql --help\n"))
        }
        #expect(issuectl(["sql", "--x"], sql: library).errors.hasSuffix(" See issued-sql sql --help\n"))
        #expect(issuectl(["sql", "--help"]).output.hasPrefix("Usage: issuectl sql "))
    }

    @Test("issuectl sql runs the program issued-sql, and exits with the exit code of that program")
    func program() {
        var names: [String] = []
        let outcome = issuectl(
            ["sql", "SELECT 1"],
            sql: .program { (name) throws(CommandFailure) in
                names.append(name)
                throw CommandFailure(.tryAgain, nil)
            })
        #expect(names == ["issued-sql"])
        #expect(outcome.code == .tryAgain)
        // Help and errors of the command line need no other program.
        names = []
        #expect(issuectl(["sql", "--help"]).code == .success)
        #expect(issuectl(["sql", "a", "b"]).code == .usage)
        #expect(names == [])
    }

    @Test("The program is searched for next to issuectl, then where an installation has it")
    func folders() {
        #expect(
            ExtraProgram.folders(of: "/usr/local/bin")
                == ["/usr/local/bin", "/usr/local/libexec/issued", "/usr/libexec/issued"])
        #expect(ExtraProgram.folders(of: "/usr/bin") == ["/usr/bin", "/usr/libexec/issued"])
        #expect(ExtraProgram.folders(of: "/srv/build") == ["/srv/build", "/usr/libexec/issued"])
        #expect(ExtraProgram.folders(of: nil) == ["/usr/libexec/issued"])
    }

    @Test("On a terminal, the result is a table, and otherwise CSV")
    func defaultFormat() {
        let table = lines("app   records\nshop        7\nNULL       12")
        #expect(sql(["one"], width: 80).outcome.output == table)
        #expect(sql(["--table", "one"]).outcome.output == table)
        let csv = lines("app,records\nshop,7\n,12")
        #expect(sql(["one"]).outcome.output == csv)
        #expect(sql(["--csv", "one"], width: 80).outcome.output == csv)
    }

    @Test("CSV distinguishes NULL from an empty text, and quotes the texts that require it")
    func csv() {
        #expect(
            sql(["values"]).outcome.output
                == lines("v\n\n-9223372036854775808\n0.5\ninf\n\"\"\n\"a,\"\"b\"\"\nc\"\nX'1FAB'"))
        #expect(sql(["none"]).outcome.output == lines("app"))
    }

    @Test("--json prints an array of objects, and --ndjson an object per line")
    func json() {
        #expect(
            sql(["--json", "one"]).outcome.output
                == lines(#"[{"app":"shop","records":7},"# + "\n" + #" {"app":null,"records":12}]"#))
        #expect(
            sql(["--ndjson", "one"]).outcome.output
                == lines(#"{"app":"shop","records":7}"# + "\n" + #"{"app":null,"records":12}"#))
        #expect(
            sql(["--ndjson", "values"]).outcome.output
                == lines(
                    #"""
                    {"v":null}
                    {"v":-9223372036854775808}
                    {"v":0.5}
                    {"v":null}
                    {"v":""}
                    {"v":"a,\"b\"\nc"}
                    {"v":"X'1FAB'"}
                    """#))
        #expect(sql(["--json", "none"]).outcome.output == lines("[]"))
        #expect(sql(["--ndjson", "none"]).outcome.output == "")
        #expect(sql(["--json", "twice"]).outcome.output == lines(#"[{"a":1,"a:1":2,"a:1:1":3}]"#))
    }

    @Test("A statement without columns prints nothing")
    func noColumns() {
        for format in ["--json", "--ndjson", "--csv", "--table"] {
            #expect(sql([format, "nothing"]).outcome.output == "")
        }
    }

    @Test("Wide columns share the width that narrow columns leave, and every column is shown")
    func width() {
        let line = sql(["wide"], width: 40).outcome.output.split(separator: "\n").last
        #expect(line == "\(" 1  " + String(repeating: "x", count: 32))…  2")
        #expect(line?.count == 40)
        let narrow = sql(["wide"], width: 5).outcome.output.split(separator: "\n").last
        #expect(narrow == " 1  xxxxxxx…  2")
        let piped = sql(["--table", "wide"]).outcome.output.split(separator: "\n").last
        #expect(piped == "\(" 1  " + String(repeating: "x", count: 50))  2")
    }

    @Test("A terminal never gets control characters of a value")
    func controlCharacters() {
        for format in ["--json", "--ndjson", "--csv", "--table"] {
            let output = sql([format, "hostile"], width: 80).outcome.output
            #expect(!output.unicodeScalars.contains { $0 == "\u{1B}" || $0 == "\u{202E}" })
        }
        #expect(sql(["--csv", "hostile"]).outcome.output.contains("\u{1B}[31m"))
    }

    @Test("A result that was cut is followed by a message that names the options for the rest")
    func cut() {
        let run = sql(["cut"])
        #expect(run.outcome.output == lines("n\n1"))
        #expect(
            run.outcome.errors
                == lines("issuectl: there are more rows than the 1 shown: use --limit or --all"))
        #expect(run.outcome.code == .success)
    }

    @Test("Records in damaged blocks are left out, and their number is printed")
    func damaged() {
        let run = sql(["damaged"])
        #expect(run.outcome.output == lines("n\n1"))
        #expect(run.outcome.errors == lines("issuectl: 200 records left out because their blocks are damaged"))
        #expect(run.outcome.code == .success)
    }

    @Test("Options set the limits and the file")
    func options() {
        #expect(sql(["one"]).bounds == [SQLBounds(rows: 1000, time: .seconds(10))])
        #expect(sql(["one"]).paths == [nil])
        let run = sql(["-n", "5", "--timeout", "1min", "--database", "/copy.db", "one"])
        #expect(run.bounds == [SQLBounds(rows: 5, time: .seconds(60))])
        #expect(run.paths == ["/copy.db"])
        #expect(sql(["-a", "one"]).bounds.first?.rows == .max)
    }

    @Test("With --socket or ISSUED_SOCKET, the database is that of the daemon at this socket, unless a file is named")
    func socket() {
        let known = Fixtures.status().replacing(#""faults""#, with: #""path":"/own/issues.db","faults""#)
        let run = sql(["--socket", "/own.sock", "one"], status: .reply(known))
        #expect(run.outcome.calls == ["Status {}"])
        #expect(run.paths == ["/own/issues.db"])
        let environment = ["ISSUED_SOCKET": "/own.sock"]
        #expect(sql(["one"], environment: environment, status: .reply(known)).paths == ["/own/issues.db"])
        #expect(sql(["--database", "/copy.db", "one"], environment: environment).paths == ["/copy.db"])
        #expect(sql(["one"], environment: ["ISSUED_SOCKET": ""]).paths == [nil])
        // Opening nothing is better than opening another daemon's database.
        let unknown = sql(["--socket", "/own.sock", "one"], status: .reply(Fixtures.status()))
        #expect(unknown.outcome.code == .refused && unknown.paths == [])
        #expect(unknown.outcome.errors.contains("use --database FILE"))
        let other = sql(
            ["--socket", "/own.sock", "one"], status: .reply(known.replacing(#""id":"s1""#, with: #""id":"s2""#)))
        #expect(other.outcome.code == .refused && other.statements == [])
        #expect(other.outcome.errors.contains("/own/issues.db is not the database of the daemon at this socket"))
        let closed = sql(
            ["--socket", "/own.sock", "one"], status: .reply(known.replacing(#""id":"s1""#, with: #""id":"""#)))
        #expect(closed.outcome.code == .refused && closed.paths == [])
        #expect(closed.outcome.errors.contains("cannot open its database"))
        let unreachable = sql(["--socket", "/absent", "one"])
        #expect(unreachable.outcome.code == .unavailable && unreachable.paths == [])
        #expect(unreachable.outcome.errors.hasSuffix(" (--database FILE needs no daemon)\n"))
    }

    @Test(
        "An invalid command line is a usage error, and no database is opened",
        arguments: [
            (["--limit", "0", "one"], "invalid value '0' for --limit; expected a whole number from 1 to 2147483647"),
            (["--timeout", "soon", "one"], "invalid value 'soon' for --timeout; expected a time span"),
            (["--timeout", "0", "one"], "invalid value '0' for --timeout; expected a time span"),
            (["--csv", "--json", "one"], "--csv and --json cannot be used together"),
            (["--table", "--ndjson", "one"], "--table and --ndjson cannot be used together"),
            (["one", "two"], "unexpected argument 'two'"),
            (["--all", "--limit", "5", "one"], "--all and --limit cannot be used together"),
        ])
    func usage(_ arguments: [String], _ message: String) {
        let run = sql(arguments)
        #expect(run.outcome.code == .usage)
        #expect(run.outcome.errors.hasPrefix("issuectl: \(message)"))
        #expect(run.paths == [])
    }

    @Test("Several queries are run in order up to the first error, whose exit code is returned")
    func several() {
        let run = sql(["none; one; bad; cut"])
        #expect(run.statements == ["none", "one", "bad"])
        #expect(run.outcome.output == lines("app\napp,records\nshop,7\n,12"))
        #expect(run.outcome.errors == lines("issuectl: the query is invalid: x"))
        #expect(run.outcome.code == .refused)
    }

    @Test("Without an argument, queries are read from standard input and run as soon as they are complete")
    func input() {
        let run = sql([], input: ["none;\no", "ne\n;", " cut;\n", "nothing"])
        #expect(run.statements == ["none", "one", "cut", "nothing"])
        #expect(run.outcome.output == lines("app\napp,records\nshop,7\n,12\nn\n1"))
        #expect(run.outcome.code == .success)
        #expect(sql([], input: []).outcome.code == .success)
        let bad = sql([], input: ["bad;\n", "one;\n"])
        #expect(bad.statements == ["bad"])
        #expect(bad.outcome.code == .refused)
    }

    @Test("Input of any size is read if each query is short")
    func longInput() {
        let text = Array(String(repeating: "none;\nnone\n;\n", count: 60_000).utf8)
        let parts = stride(from: 0, to: text.count, by: 65_536).map {
            String(decoding: text[$0..<min($0 + 65_536, text.count)], as: UTF8.self)
        }
        let run = sql([], input: parts)
        #expect(run.outcome.code == .success)
        #expect(run.statements == Array(repeating: "none", count: 120_000))
    }

    @Test("Input with a semicolon in each line of a query is checked in linear time")
    func semicolons() {
        func checkedBytes(lines: Int) -> Int {
            sql([], input: Array(repeating: "a; b\n", count: lines)).checkedBytes
        }
        #expect(checkedBytes(lines: 200_000) < 2 * checkedBytes(lines: 100_000))
    }

    @Test("A query that is longer than 1 MiB or contains NUL is refused")
    func hostileInput() {
        let part = String(repeating: "x", count: 1 << 19)
        let long = sql([], input: [part, part, part])
        #expect(long.outcome.code == .refused)
        #expect(long.outcome.errors == lines("issuectl: the query is longer than 1.0 MiB"))
        let null = sql([], input: ["one\0;\n"])
        #expect(null.outcome.errors == lines("issuectl: the query contains a NUL character"))
        #expect(null.statements == [])
    }

    @Test("On a terminal there is a prompt, and an error does not end the session")
    func interactive() {
        let run = sql([], width: 80, input: ["bad;\n", "no\n", "ne;\n"].map { $0 }, isInputTerminal: true)
        #expect(run.statements == ["bad", "no ne"])
        #expect(
            run.outcome.errors
                == """
                issuectl: end each query with a semicolon, and the input with Ctrl-D
                sql> issuectl: the query is invalid: x
                sql>   -> issuectl: the query is invalid: x
                sql>\u{20}

                """)
        #expect(run.outcome.code == .success)
    }

    @Test("A database that cannot be opened is an error before any query is read")
    func unopened() {
        let run = sql(["--database", "/absent"], input: ["one;\n"])
        #expect(run.outcome.code == .refused)
        #expect(run.outcome.errors == lines("issuectl: there is no database at /absent"))
        #expect(run.statements == [])
    }

    @Test("The output of issuectl sql --help begins with the expected text")
    func help() {
        #expect(
            issuectl(["sql", "--help"]).output.hasPrefix(
                """
                Usage: issuectl sql [OPTION...] [QUERY]

                Query the database with SQL.

                Source:
                      --database FILE  Query this file, such as a copy made by issuectl backup
                                       (default: the daemon's)

                Output:
                      --table          Print a table (default on a terminal)
                      --csv            Print comma-separated values (default elsewhere)
                  -n, --limit NUMBER   Maximum number of rows of each result (default 1000)
                  -a, --all            Show all rows
                      --timeout TIME   Maximum time for each query (default 10s)

                """))
    }
}
