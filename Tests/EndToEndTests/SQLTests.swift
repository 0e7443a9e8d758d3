import Foundation
import IssueProtocol
import IssueTestSupport
import Testing

@Suite("Reading the store with SQL", .daemonLog)
struct SQLTests {
    /// Runs `issuectl sql` and returns its output and error output.
    private func sql(
        _ arguments: [String], in daemon: DaemonFixture, program: String? = nil, ends end: ChildProcess.End = .exit(0),
        sourceLocation: Testing.SourceLocation = #_sourceLocation
    ) throws -> (output: String, errors: String) {
        let name = "sql-\(UUID().uuidString)"
        let process = try ChildProcess(
            try program ?? TestBinaries.path(of: "issuectl"), ["sql"] + arguments, in: daemon.folder, name: name)
        #expect(try process.end(within: .seconds(60)) == end, sourceLocation: sourceLocation)
        return (process.output, daemon.folder.text(of: "\(name).err"))
    }

    @Test("The views and questions of Storage.md are answered from the running daemon's file and from a copy")
    func liveAndCopy() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            _ = try client.report("Payment took 5434 ms", "Payment took 17 ms", app: "shop")
            _ = try client.report("No space left on /srv/5", app: "backup")
            let questions: [(sql: String, answer: String)] = [
                (
                    "SELECT severity, records, occurrences, app, title FROM issues ORDER BY app",
                    """
                    severity,records,occurrences,app,title
                    error,1,1,backup,"No space left on <path>"
                    error,2,2,shop,"Payment took <n> ms"

                    """
                ),
                (
                    "SELECT app, message FROM recent LIMIT 2",
                    """
                    app,message
                    backup,"No space left on /srv/5"
                    shop,"Payment took 17 ms"

                    """
                ),
                (
                    "SELECT app, sum(t.records) AS records FROM series_totals AS t "
                        + "JOIN series ON series.id = t.series GROUP BY app ORDER BY app",
                    "app,records\nbackup,1\nshop,2\n"
                ),
                ("SELECT count(*), max(id), sum(count) FROM records", "count(*),max(id),sum(count)\n3,3,3\n"),
                ("SELECT id FROM records WHERE id = 2", "id\n2\n"),
                ("SELECT id FROM records WHERE id > 1 ORDER BY id DESC LIMIT 1", "id\n3\n"),
                (
                    "SELECT * FROM ledger_check LIMIT 0",
                    "destination,account,received,fated,received_occurrences,"
                        + "fated_occurrences\n"
                ),
            ]
            let copy = daemon.folder["copy.db"]
            let backup = try ChildProcess(
                try TestBinaries.path(of: "issuectl"), ["backup", "--socket", daemon.socket, copy], in: daemon.folder,
                name: "backup")
            #expect(try backup.end(within: .seconds(60)) == .exit(0))
            for question in questions {
                #expect(try sql(["--database", daemon.database, question.sql], in: daemon).output == question.answer)
                #expect(try sql(["--database", copy, question.sql], in: daemon).output == question.answer)
            }
            // A copy is not changed, and the daemon stores and answers as before.
            _ = try client.report("One more", app: "shop")
            #expect(
                try sql(["--json", "--database", daemon.database, "SELECT count(*) AS n FROM records"], in: daemon)
                    .output
                    == "[{\"n\":4}]\n")
            #expect(
                try sql(["--ndjson", "--database", copy, "SELECT count(*) AS n FROM records"], in: daemon).output
                    == "{\"n\":3}\n")
            #expect(try client.allRecords().count == 4)
        }
    }

    @Test("The file of a daemon that was killed can be read, and the daemon continues with it")
    func afterAKill() async throws {
        try await DaemonFixture.with { daemon in
            _ = try RawClient(path: daemon.socket).report("before")
            try daemon.kill()
            let said = try sql(["--database", daemon.database, "SELECT message FROM recent"], in: daemon)
            #expect(said.output == "message\nbefore\n")
            try daemon.start()
            let client = try RawClient(path: daemon.socket)
            _ = try client.report("after")
            #expect(try client.allRecords().count == 2)
            #expect(try daemon.file.ledgerFaults == [])
        }
    }

    @Test("Nothing can be written, and the reason is printed")
    func refusals() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            _ = try client.report("kept")
            for statement in ["DELETE FROM records", "PRAGMA wal_checkpoint(TRUNCATE)", "ATTACH ':memory:' AS other"] {
                let said = try sql(["--database", daemon.database, statement], in: daemon, ends: .exit(1))
                #expect(said.output == "")
                #expect(said.errors.hasPrefix("issuectl: the statement is not allowed: only SELECT, "))
            }
            #expect(try client.allRecords().count == 1)
            let missing = try sql(["--database", daemon.folder["none.db"], "SELECT 1"], in: daemon, ends: .exit(1))
            #expect(missing.errors.contains("name the file with --database"))
        }
    }

    @Test("Without the program issued-sql, issuectl says that it is missing")
    func missingProgram() async throws {
        try await DaemonFixture.with(starts: false) { daemon in
            let lonely = daemon.folder["issuectl"]
            try FileManager.default.copyItem(atPath: try TestBinaries.path(of: "issuectl"), toPath: lonely)
            let said = try sql(["SELECT 1"], in: daemon, program: lonely, ends: .exit(69))
            #expect(said.errors.hasPrefix("issuectl: the program issued-sql is missing (searched in "))
            #expect(said.errors.hasSuffix("): install issued again\n"))
        }
    }
}
