import Foundation
import IssueProtocol
import IssueTestSupport
import Issues
import Testing
import UnixIO

@testable import IssueCommands

@Suite("issuectl bundle")
struct BundleTests {
    /// A database that answers most queries with one row that contains the beginning of the query.
    private struct ScriptedDatabase: SQLDatabase {
        var records: [[SQLValue]] = []

        func contains(store: String) -> Bool { true }
        func isComplete(_ text: String) -> Bool { true }

        func runFirst(
            of text: inout ArraySlice<UInt8>, within bounds: SQLBounds
        ) throws(CommandFailure) -> SQLResult? {
            let sql = String(decoding: text, as: UTF8.self)
            text = []
            if sql.hasPrefix("EXPLAIN") {
                return SQLResult(
                    columns: ["id", "parent", "notused", "detail"],
                    rows: [
                        [.integer(3), .integer(0), .integer(0), .text("SCAN groups")],
                        [.integer(5), .integer(3), .integer(0), .text("SEARCH series")],
                    ])
            }
            if sql.contains("FROM recent") { return SQLResult(columns: [], rows: records) }
            return SQLResult(columns: ["sql"], rows: [[.text("of \(sql.prefix(20))")]])
        }

        var mainQueries: [(name: String, sql: String)] { [("List", "SELECT 1")] }

        func makeAnonymizer() -> RecordAnonymizer {
            { message, metadata, _ in ("anonymous \(message.count)", metadata.isEmpty ? "" : "{}") }
        }
    }

    private final class Saved {
        var files: [(path: String, text: String, isReplacing: Bool)] = []
    }

    private static let status = """
        {"version":"0.1.0","host":"h","started_at":"2026-11-20T12:00:00.000Z","received":8,"rejected":0,"duplicates":0,\
        "store":{"id":"abcdefghijkl","records":8,"groups":1,"faults":[]},"destinations":[{"name":"logzio","kind":"LogzIO",\
        "state":"paused","reason":"unauthorised","ledger":{"received":8,"pending":8,"delivered":0,"summarised":0,\
        "dead_lettered":0,"withheld":0,"expired":0,"unconfirmed":0},"last_answer":"400: plantedAnswer of a record",\
        "requests":1,"resent":0,"maybe_duplicate":0,"bytes_today":0}],"suppressions":[],"notifiers":[{"name":"oncall",\
        "format":"json","state":"waiting","received":1,"pending":1,"delivered":0,"given_up":0,"silenced":0,"messages":0,\
        "repeated":0,"last_answer":"500: plantedAnswer two"}]}
        """

    private func tools(
        _ saved: Saved, exists: Bool = false, isInstalled: Bool = true, configuration: HostTools.Output? = nil,
        service: HostTools.Output? = nil
    ) -> HostTools {
        HostTools(
            run: { program, arguments in
                guard isInstalled else { return .failed("the program \(program) is not installed") }
                switch program {
                case "journalctl":
                    return .printed(
                        """
                        2026-11-21T11:00:00+0000 issued[7]: New issue reported group=g7 app=shop issue="plantedMessage \\"x\\" y" id=issue.new
                        2026-11-21T11:00:01+0000 issued[7]: Destination paused answer="401: plantedAnswer" advice="Replace it" id=destination.paused
                        2026-11-21T11:00:02+0000 issued[7]: Operator request started parameters={"text":"plantedText"} uid=0 id=audit.request-started

                        """)
                case "issued" where arguments.first == "--print-config":
                    if let configuration { return configuration }
                    return .printed(
                        "[Store]\nPath=/var/lib/x/issues.db\n[LogzIO]\nURL=https://planted:pw@listener.example/y\n"
                            + "[Notify oncall]\nURL=https://hooks.example/services/plantedHook\nTemplate={\"k\":\"plantedKey\"}\n"
                            + "[Notify pager]\nCommand=/bin/page --token plantedToken\n"
                            + "[Notify quoted]\nCommand=\"/opt/planted page\" plantedToken\n"
                            + "[Notify plain]\nCommand=/bin/page\n"
                    )
                case "issued": return .printed("issued 0.1.0\n")
                case "systemctl" where arguments.first == "show" && service != nil: return service ?? .printed("")
                default: return .printed("\(program) \(arguments.joined(separator: " "))\n")
                }
            },
            read: { path in path == "/proc/sys/kernel/osrelease" ? "6.1.0\n" : nil },
            list: { (folder) throws(HostTools.Failure) in ["regular mode=600 uid=0 bytes=1 issues.db in \(folder)"] },
            save: { (content, path, isReplacing) throws(HostTools.Failure) in
                if exists, !isReplacing { throw HostTools.Failure(reason: "it exists", isExisting: true) }
                saved.files.append((path, String(decoding: content, as: UTF8.self), isReplacing))
            })
    }

    private func run(
        _ words: [String] = [], exists: Bool = false, isInstalled: Bool = true,
        configuration: HostTools.Output? = nil, service: HostTools.Output? = nil, sql: SQLAccess? = nil,
        _ reply: ScriptedLink.Reply = .reply(status)
    ) -> (outcome: Outcome, saved: Saved) {
        let saved = Saved()
        let row: [SQLValue] = [
            .text("2026-11-21T11:00:00.000Z"), .text("error"), .integer(1), .text("plantedMessage"),
            .text(#"{"k":"plantedValue"}"#), .null,
        ]
        let library = SQLAccess.library { (path) throws(CommandFailure) in
            guard path == "/var/lib/x/issues.db" else { throw CommandFailure(.refused, "there is no \(path ?? "")") }
            return ScriptedDatabase(records: [row])
        }
        let outcome = issuectl(
            ["bundle", "--socket", "/run/x"] + words, sql: sql ?? library,
            tools: tools(
                saved, exists: exists, isInstalled: isInstalled, configuration: configuration, service: service),
            reply)
        return (outcome, saved)
    }

    /// Returns the part of a bundle that has the given name.
    private func part(_ name: String, _ text: String) -> String {
        let start = text.range(of: "\n==== \(name) ====\n\n")
        return String(start.map { text[$0.upperBound...] } ?? "").components(separatedBy: "\n==== ")[0]
    }

    @Test("The file contains all parts, but no message and no secret")
    func whole() throws {
        let (outcome, saved) = run(["-o", "/nowhere/b.txt"])
        #expect(outcome.code == .success)
        #expect(outcome.output.hasPrefix("/nowhere/b.txt: "))
        #expect(!outcome.output.contains("missing"))
        let file = try #require(saved.files.first)
        #expect(file.path == "/nowhere/b.txt" && !file.isReplacing)
        #expect(file.text.hasPrefix("issued support bundle, format 1\n"))
        #expect(!file.text.contains("planted"), "\(file.text)")
        for name in [
            "system", "versions", "configuration", "status", "health", "metrics", "doctor", "service", "log", "files",
            "schema", "rows", "ledger", "limits", "plans",
        ] { #expect(!part(name, file.text).isEmpty, "\(name)") }
        #expect(part("system", file.text).contains("kernel: 6.1.0\n"))
        #expect(part("status", file.text).contains("Last answer  400\n"))
        #expect(part("plans", file.text) == "# List\nSCAN groups\n  SEARCH series\n")
        #expect(part("files", file.text).contains("issues.db in /var/lib/x\n"))
        #expect(part("log", file.text).contains("group=g7 app=shop issue=(removed) id=issue.new\n"))
        #expect(part("log", file.text).contains(#"answer=401 advice="Replace it""#))
        #expect(part("configuration", file.text).contains("URL=https://(removed)@listener.example/y\n"))
        #expect(part("configuration", file.text).contains("URL=https://hooks.example/(removed)\n"))
        #expect(part("configuration", file.text).contains("Command=/bin/page (removed)\n"))
        #expect(part("configuration", file.text).contains("Command=(removed)\n"))
        #expect(part("configuration", file.text).contains("Command=/bin/page\n"))
        #expect(!file.text.contains("==== messages ===="))
    }

    @Test("Messages are included only on request, and are then anonymised")
    func messages() throws {
        let (_, saved) = run(["-o", "/nowhere/b.txt", "--with-messages"])
        let text = try #require(saved.files.first).text
        #expect(part("messages", text) == "2026-11-21T11:00:00.000Z\terror\t1\tanonymous 14\t{}\n")
        #expect(!text.contains("planted"))
        #expect(text.contains("Messages and metadata are anonymised"))
    }

    @Test("Without daemon, programs and database, the bundle says what is missing and why")
    func nothing() throws {
        let (outcome, saved) = run(
            ["-o", "/nowhere/b.txt", "--socket", "/absent"], isInstalled: false,
            sql: .program { (name) throws(CommandFailure) in throw CommandFailure(.unavailable, "\(name) is missing") })
        #expect(outcome.code == .success)
        let text = try #require(saved.files.first).text
        #expect(part("status", text).hasPrefix("missing: cannot reach the daemon at /absent"))
        #expect(part("log", text) == "missing: the program journalctl is not installed\n")
        #expect(part("schema", text) == "missing: issued-sql is missing\n")
        #expect(outcome.output.contains("missing: configuration: the program issued is not installed\n"))
        let json = run(["-o", "/nowhere/b.txt", "--json"], isInstalled: false).outcome.output
        let missing = try JSONValue(json: json)["missing"]?.asArray?.compactMap { $0["part"]?.asString }
        #expect(missing?.contains("log") == true && missing?.contains("status") == false)
    }

    @Test("The list of missing parts has the first line that a failed program printed")
    func failedProgram() throws {
        let (outcome, saved) = run(
            ["-o", "/nowhere/b.txt"],
            service: .failed("systemctl exited with 1:\nSystem has not been booted with systemd\nHost is down"))
        let reason = "missing: service: systemctl exited with 1: System has not been booted with systemd\n"
        #expect(outcome.output.contains(reason))
        let text = try #require(saved.files.first).text
        #expect(text.contains("  missing: systemctl exited with 1: System has not been booted with systemd\n"))
        #expect(part("service", text).hasSuffix("\nHost is down\n"))
    }

    @Test("If the configuration has errors, the bundle has the errors, and the values of the lines without errors")
    func invalidConfiguration() throws {
        let printed = """
            # The configuration has errors. These are the values of the lines without errors:
            # f:2: [Log] has no key Levle=.
            [Store]
            Path=/var/lib/x/issues.db
            [Notify a]
            URL=https://hooks.example/plantedHook

            """
        let (outcome, saved) = run(
            ["-o", "/nowhere/b.txt"], configuration: .failed("issued exited with 78", printed: printed))
        #expect(outcome.code == .success && outcome.errors.isEmpty)
        let text = try #require(saved.files.first).text
        #expect(
            text.contains(
                "\nconfiguration  the errors for user \(getuid()), and the values of the lines without errors\n"))
        #expect(part("configuration", text).contains("# f:2: [Log] has no key Levle=.\n"))
        #expect(part("schema", text).hasPrefix("missing") == false)
        #expect(!text.contains("planted"))
    }

    @Test("A note says if the configuration names another socket than the one that the command has used")
    func otherDaemon() throws {
        func configuration(_ socket: String) -> HostTools.Output {
            .printed("[Socket]\nPath=\(socket)\n[Store]\nPath=/var/lib/x/issues.db\n")
        }
        let (outcome, saved) = run(["-o", "/nowhere/b.txt"], configuration: configuration("/run/y"))
        #expect(outcome.errors.hasPrefix("issuectl: the configuration names the socket /run/y, but the status and"))
        #expect(try #require(saved.files.first).text.contains("\nNote: the configuration names the socket /run/y"))
        // The database is that of the daemon that was asked, and not that of the configuration.
        func databases(_ words: [String] = [], path: String?) -> String {
            let member = path.map { #""path":"\#($0)","# } ?? ""
            let reply = Self.status.replacing(#""store":{"#, with: #""store":{\#(member)"#)
            let saved = run(["-o", "/nowhere/b.txt"] + words, configuration: configuration("/run/y"), .reply(reply))
                .saved
            return part("rows", saved.files.first?.text ?? "")
        }
        #expect(databases(path: "/run/other.db") == "missing: there is no /run/other.db\n")
        #expect(databases(path: nil).hasPrefix("missing: the daemon at the socket does not report the path"))
        #expect(!databases(["--database", "/var/lib/x/issues.db"], path: nil).hasPrefix("missing"))
        let same = run(["-o", "/nowhere/b.txt"], configuration: configuration("/run/x"))
        #expect(same.outcome.errors.isEmpty)
        #expect(same.saved.files.first?.text.contains("Note:") == false)
    }

    @Test("A path that ends with a slash must be an existing folder")
    func missingFolder() {
        let (outcome, saved) = run(["-o", "/nowhere/bundles/"])
        #expect(outcome.code == .refused && saved.files.isEmpty)
        #expect(
            outcome.errors == "issuectl: /nowhere/bundles/ is not an existing folder: no bundle was written\n")
    }

    @Test("An existing file is not overwritten without --force")
    func existing() throws {
        let refused = run(["-o", "/nowhere/b.txt"], exists: true)
        #expect(refused.outcome.code == .refused)
        #expect(refused.outcome.errors == "issuectl: /nowhere/b.txt already exists: use --force to replace it\n")
        let forced = run(["-o", "/nowhere/b.txt", "--force"], exists: true)
        #expect(forced.outcome.code == .success && forced.saved.files.first?.isReplacing == true)
        // The existing file is found before anything is collected.
        let folder = try ScratchFolder()
        let file = try folder.write("mine", to: "b.txt")
        let early = run(["-o", file])
        #expect(early.outcome.code == .refused && early.outcome.calls.isEmpty && early.saved.files.isEmpty)
        #expect(
            run(["-o", folder.path, "--force"]).saved.files.first?.path.hasPrefix(
                "\(folder.path)/issued-bundle-2026-11-21T120000") == true)
        #expect(run(["-o", folder.path]).outcome.code == .success)
    }

    @Test("An existing file is replaced only on request, and only the owner may read the new file")
    func mode() throws {
        let folder = try ScratchFolder()
        let path = folder["b.txt"]
        let tools = HostTools.process
        try tools.save(Array("one".utf8), path, false)
        #expect(try FileSystem.status(of: path).mode & 0o777 == 0o600)
        #expect(throws: HostTools.Failure.self) { try tools.save(Array("two".utf8), path, false) }
        try FileSystem.setMode(0o644, of: path)
        try tools.save(Array("three".utf8), path, true)
        #expect(try FileSystem.status(of: path).mode & 0o777 == 0o600)
        #expect(try FileSystem.read(path, limit: 100) == Array("three".utf8))
    }

    @Test("The name of a file in the state directory is one line, so that it can't imitate a part of the bundle")
    func fileNames() throws {
        let folder = try ScratchFolder()
        try FileSystem.writeAtomically([1], to: folder["x\n==== log ====\n\u{1B}[2J"])
        let lines = try HostTools.process.list(folder.path)
        #expect(lines.count == 1)
        #expect(lines.allSatisfy { !$0.contains("\n") && !$0.contains("\u{1B}") && $0.contains("==== log ====") })
    }

    @Test("With -o -, the bundle itself is printed to standard output")
    func standardOutput() {
        let (outcome, saved) = run(["-o", "-"])
        #expect(saved.files.isEmpty && outcome.output.hasPrefix("issued support bundle"))
    }

    @Test(
        "--json and --ndjson are errors with -o -, and the error names the option", arguments: ["--json", "--ndjson"])
    func formats(option: String) {
        let (outcome, saved) = run(["-o", "-", option])
        #expect(outcome.code == .usage && saved.files.isEmpty)
        #expect(outcome.errors.contains("\(option) prints the path of a file"))
    }

    @Test(
        "A wrong option or argument is a usage error, and nothing is collected",
        arguments: [["-n", "3"], ["-o", ""], ["-o", "-", "--json"], ["x"], ["--with-messages", "-n", "0"]])
    func usage(words: [String]) {
        let (outcome, saved) = run(words)
        #expect(outcome.code == .usage && saved.files.isEmpty && outcome.calls.isEmpty)
    }

    @Test(
        "In log lines, only known fields keep their values",
        arguments: [
            ("a b=c", "a b=(removed)"), ("x uid=7 novel=\"a b\\\" c\" count=2", "x uid=7 novel=(removed) count=2"),
            ("x answer=\"200: ok\"", "x answer=200"), ("x answer=refused", "x answer=(removed)"),
            ("x error=\"no https://a:b@c/ today\"", "x error=\"no https://(removed)@c/ today\""), ("plain", "plain"),
            ("x issue=\"unfinished", "x issue=(removed)"),
            ("x request=set_state state=muted command=\"a b\"", "x request=set_state state=muted command=(removed)"),
            ("at Path= and then", "at Path= and then"),
        ])
    func logLines(line: String, expected: String) {
        #expect(BundleFilters.log(line) == expected)
    }

    @Test("A folder is in the file system that was mounted last at the longest matching path, which may contain spaces")
    func mount() {
        let mounts = #"""
            a / ext4 rw 0 0
            systemd-1 /var/lib autofs rw 0 0
            c /var/lib xfs ro 0 0
            d /var/l btrfs rw 0 0
            e /my\040data zfs rw 0 0

            """#
        #expect(BundleCollector.mount(of: "/var/lib/issued", in: mounts) == "/var/lib xfs ro")
        #expect(BundleCollector.mount(of: "/var/lib", in: mounts) == "/var/lib xfs ro")
        #expect(BundleCollector.mount(of: "/my data/issued", in: mounts) == "/my data zfs rw")
        #expect(BundleCollector.mount(of: "/srv", in: mounts) == "/ ext4 rw")
        #expect(BundleCollector.mount(of: "/srv", in: "") == nil)
    }

    @Test(
        "The end of a program's output is shown; if the program failed, the result also says how",
        arguments: [
            ("echo out; echo err >&2; read line || echo none", .printed("out\nerr\nnone\n")),
            ("echo first; echo second; echo third; echo fourth", .printed("…\nthird\nfourth\n")),
            ("printf 'first\\r\\nsecond\\r\\nthird\\r\\n'", .printed("…\nsecond\r\nthird\r\n")),
            ("echo no; exit 3", .failed("sh exited with 3:\nno", printed: "no\n")),
            ("exit 4", .failed("sh exited with 4")),
            ("echo half; kill -9 $$", .failed("sh was killed by signal 9:\nhalf", printed: "half\n")),
        ] as [(String, HostTools.Output)])
    func programs(script: String, expected: HostTools.Output) throws {
        let run = try CommandRun(
            ["/bin/sh", "-c", script], environment: [], keeping: 20, limit: nil, timeout: .seconds(60))
        #expect(HostTools.output(of: run, "sh") == expected)
    }
}
