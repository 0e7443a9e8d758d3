import Foundation
import IssueProtocol
import IssueTestSupport
import Testing
import UnixIO

@Suite(
    "ClickHouse", .daemonLog, .serialized,
    .enabled(if: ClickHouseServer.program != nil, "scripts/dependencies test installs Debian's clickhouse-server"))
struct ClickHouseTests {
    @Test("issued --check --online stores nothing, and notices a missing column and a wrong password")
    func online() async throws {
        let server = try ClickHouseServer()
        try await server.prepare()
        let folder = try ScratchFolder(named: "online")
        let (issued, token) = (try TestBinaries.path(of: "issued"), folder["token"])
        func check(_ name: String, password: String = ClickHouseServer.password) throws -> (
            code: ChildProcess.End, text: String
        ) {
            try folder.write(password, to: "token")
            try FileSystem.setMode(0o600, of: token)
            let configuration = "[ClickHouse]\nURL=http://127.0.0.1:\(server.port)\nCredential=\(token)\n"
            try folder.write(configuration, to: "issued.conf")
            let process = try ChildProcess(
                issued, ["--check", folder["issued.conf"], "--user", "root", "--online"], in: folder, name: name)
            let code = try process.end()
            return (code, process.output)
        }
        let fine = try check("fine")
        #expect(fine.code == .exit(0) && fine.text.hasPrefix("clickhouse: ok, "), "\(fine.text)")
        let wrong = try check("wrong", password: "not-the-password")
        #expect(wrong.code == .exit(1) && wrong.text.contains("failed"), "\(wrong.text)")
        #expect(!wrong.text.contains("not-the-password"))
        try server.query("ALTER TABLE issued.records DROP COLUMN sample_event_ids")
        let old = try check("old")
        #expect(old.code == .exit(1) && old.text.contains("schema.sql"), "\(old.text)")
        #expect(try server.query("SELECT count() FROM issued.records") == "0\n")
    }

    @Test("After kills of the server and the daemon, ClickHouse has each record once and the same counts as the daemon")
    func once() async throws {
        let server = try ClickHouseServer()
        try await server.prepare()
        let settings = """
            [Forward]
            BatchDelay=0
            CriticalDelay=0
            ConnectTimeout=500ms
            [ClickHouse]
            URL=http://127.0.0.1:\(server.port)
            Credential=TOKENFILE
            BatchRecords=200
            """
        try await DaemonFixture.with(DaemonConfiguration(settings)) { daemon in
            var client = try RawClient(path: daemon.socket)
            var ids: [String] = []
            for round in 0..<20 {
                let records = (0..<100).map { number in
                    var record = IssueRecord(
                        message: "Round \(round) “\(number)” \\ \n", severity: number % 9 == 0 ? .critical : .warning,
                        code: Int64(number % 5) - 2, app: Application(name: number % 2 == 0 ? "shop" : "desk"))
                    record.metadata = ["number": .integer(Int64(number)), "nested": ["a": [1, nil, "b"]]]
                    if number == 3 {
                        record.context = IssueContext(traceID: "4bf92f3577b34da6a3ce929d0e0e4736", user: "anna")
                    }
                    return record
                }
                ids += try client.report(records).map { try $0.storedID }
                if round == 6 { try server.kill() }
                if round == 9 {
                    try daemon.kill()
                    try daemon.start()
                    client = try RawClient(path: daemon.socket)
                }
                if round == 12 { try server.start() }
            }
            try await eventually("nothing is pending") {
                _ = try client.call(.flush, FlushParameters(timeout: .seconds(1)), returning: FlushReply.self)
                return try client.destination().ledger.pending == 0
            }
            #expect(try client.destination().ledger.delivered == 2000, "\(server.errors)")
            #expect(try client.destination().kind == "clickhouse")

            let found = try server.query("SELECT event_id FROM issued.records FINAL ORDER BY event_id")
            #expect(found.split(separator: "\n").map(String.init) == ids.sorted())
            let groups = try client.groups().sorted { $0.fingerprint < $1.fingerprint }
            let issues = try server.query("SELECT fingerprint, records FROM issued.issues ORDER BY fingerprint, app")
            #expect(
                Set(issues.split(separator: "\n").map(String.init))
                    == Set(groups.map { "\($0.fingerprint)\t\($0.records)" }))
            let row = try server.query(
                "SELECT app, severity, code, message, metadata FROM issued.records FINAL WHERE event_id = '\(ids[3])'")
            #expect(
                row == "desk\twarning\t1\tRound 0 “3” \\\\ \\n\t{\"number\":3,\"nested\":{\"a\":[1,null,\"b\"]}}\n")
            let ofTrace = try server.query(
                """
                SELECT count(), uniq(user_id), max(span_id) FROM issued.records FINAL
                WHERE trace_id = '4bf92f3577b34da6a3ce929d0e0e4736'
                """)
            #expect(ofTrace == "20\t1\t\n")
            #expect(try daemon.file.ledgerFaults == [])
        }
    }

    @Test("The query in Grouping.md maps earlier group ids to their present ones, and ignores undone corrections")
    func corrections() async throws {
        let server = try ClickHouseServer()
        try await server.prepare()
        let page = try String(contentsOfFile: "\(TestBinaries.repository)Documentation/Grouping.md", encoding: .utf8)
        let start = try #require(page.range(of: "    SELECT other_group_id"))
        let query = try #require(page[start.lowerBound...].split(separator: "\n\n").first)
        let settings = """
            [Forward]
            BatchDelay=0
            CriticalDelay=0
            [ClickHouse]
            URL=http://127.0.0.1:\(server.port)
            Credential=TOKENFILE
            """
        try await DaemonFixture.with(DaemonConfiguration(settings)) { daemon in
            let client = try RawClient(path: daemon.socket)
            var groups: [String] = []
            for name in ["ann", "bob", "carl", "dora"] {
                let id = try client.report("User \(name) left", app: "shop")[0]
                groups.append(try client.show(id).group.id)
            }
            try await eventually("the records are delivered") { try client.destination().ledger.delivered == 4 }
            for source in 1...2 {
                let merge = MergeGroupsParameters(into: groups[0], groups: [groups[source]], reason: "it's \"one\"")
                _ = try client.call(.mergeGroups, merge, returning: MergeGroupsReply.self)
            }
            _ = try client.call(.undoCorrection, UndoCorrectionParameters(id: 1), returning: SplitGroupReply.self)
            let rule = AddGroupRuleParameters(group: groups[3], template: "User bob*")
            _ = try client.call(.addGroupRule, rule, returning: MergeGroupsReply.self)
            try await eventually("all lines have arrived") {
                try server.query("SELECT count() FROM issued.corrections") == "5\n"
            }
            let expected = ["\(groups[2])\t\(groups[0])", "\(groups[1])\t\(groups[3])"]
            #expect(Set(try server.query(String(query)).split(separator: "\n").map(String.init)) == Set(expected))
            let first = try server.query(
                "SELECT correction, app, correction_reason FROM issued.corrections WHERE correction_action = 'merge'")
            #expect(first == "1\tshop\tit\\'s \"one\"\n2\tshop\tit\\'s \"one\"\n")
            let issues = try server.query("SELECT count() FROM issued.issues")
            #expect(issues == "4\n")
            #expect(try daemon.file.ledgerFaults == [])
        }
    }

    @Test("A wrong password and a missing table pause the destination, each with its own reason")
    func refused() async throws {
        let server = try ClickHouseServer()
        try await server.prepare()
        let settings = """
            [Forward]
            BatchDelay=0
            CriticalDelay=0
            [ClickHouse]
            URL=http://127.0.0.1:\(server.port)
            Credential=TOKENFILE
            """
        try await DaemonFixture.with(DaemonConfiguration(settings), starts: false) { daemon in
            try daemon.writeToken("wrong")
            try daemon.start()
            let client = try RawClient(path: daemon.socket)
            _ = try client.report("Locked out")
            try await eventually("the destination is paused") { try client.destination().reason == "unauthorised" }
            #expect(try client.destination().state == .paused)
            #expect(try client.destination().ledger.pending == 1)
            #expect(try client.destination().advice?.contains("check User= and the credential") == true)
            try server.query("DROP TABLE issued.records")
            try daemon.writeToken(ClickHouseServer.password)
            try daemon.reload()
            try await eventually("the missing table is detected") {
                let again = try RawClient(path: daemon.socket)
                _ = try again.call(.flush, FlushParameters(timeout: .milliseconds(10)), returning: FlushReply.self)
                return try again.destination().reason == "not_found"
            }
            #expect(try RawClient(path: daemon.socket).destination().state == .paused)
            #expect(try RawClient(path: daemon.socket).destination().lastAnswer?.contains("exception 60") == true)
            #expect(
                try RawClient(path: daemon.socket).destination().advice?.contains("run config/clickhouse/schema.sql")
                    == true)
            try await server.prepare()
            try await eventually("the record has arrived") {
                let again = try RawClient(path: daemon.socket)
                _ = try again.call(.flush, FlushParameters(timeout: .milliseconds(10)), returning: FlushReply.self)
                return try again.destination().ledger.delivered == 1
            }
        }
    }
}
