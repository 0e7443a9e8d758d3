import Foundation
import IssueProtocol
import IssueTestSupport
import Testing

@Suite("Reading the store with SQL", .daemonLog)
struct SQLTests {
    @Test("Queries like those in Storage.md have the same results in the running daemon's file and in a backup")
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
            try daemon.issuectl(["backup", copy])
            for question in questions {
                #expect(
                    try daemon.issuectl(["sql", "--database", daemon.database, question.sql]).output == question.answer)
                #expect(try daemon.issuectl(["sql", "--database", copy, question.sql]).output == question.answer)
            }
            #expect(
                try daemon.issuectl(["sql", "--socket", daemon.socket, questions[0].sql]).output == questions[0].answer)
            // A copy is not changed, and the daemon stores and answers as before.
            _ = try client.report("One more", app: "shop")
            #expect(
                try daemon.issuectl([
                    "sql", "--json", "--database", daemon.database, "SELECT count(*) AS n FROM records",
                ])
                .output
                    == "[{\"n\":4}]\n")
            #expect(
                try daemon.issuectl(["sql", "--ndjson", "--database", copy, "SELECT count(*) AS n FROM records"]).output
                    == "{\"n\":3}\n")
            #expect(try client.allRecords().count == 4)
        }
    }

    @Test("The file of a daemon that was killed can be read, and the daemon continues with it")
    func afterAKill() async throws {
        try await DaemonFixture.with { daemon in
            _ = try RawClient(path: daemon.socket).report("before")
            try daemon.kill()
            let said = try daemon.issuectl(["sql", "--database", daemon.database, "SELECT message FROM recent"])
            #expect(said.output == "message\nbefore\n")
            try daemon.start()
            let client = try RawClient(path: daemon.socket)
            _ = try client.report("after")
            #expect(try client.allRecords().count == 2)
            #expect(try daemon.file.ledgerFaults == [])
        }
    }

    @Test("issuectl sql prints the reason if a statement is not a query, or if the database is missing")
    func refusals() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            _ = try client.report("kept")
            for statement in ["DELETE FROM blocks", "PRAGMA wal_checkpoint(TRUNCATE)", "ATTACH ':memory:' AS other"] {
                let said = try daemon.issuectl(["sql", "--database", daemon.database, statement], ends: .exit(1))
                #expect(said.output == "")
                #expect(said.errors.hasPrefix("issuectl: the statement is not allowed: only SELECT, "))
            }
            #expect(try client.allRecords().count == 1)
            let missing = try daemon.issuectl(
                ["sql", "--database", daemon.folder["none.db"], "SELECT 1"], ends: .exit(1))
            #expect(missing.errors == "issuectl: there is no database at \(daemon.folder["none.db"])\n")
        }
    }

    @Test("If the program issued-sql is missing, issuectl sql says so")
    func missingProgram() async throws {
        try await DaemonFixture.with(starts: false) { daemon in
            let lonely = daemon.folder["issuectl"]
            try FileManager.default.copyItem(atPath: try TestBinaries.path(of: "issuectl"), toPath: lonely)
            let process = try ChildProcess([lonely, "sql", "SELECT 1"], in: daemon.folder, name: "lonely")
            #expect(try process.end() == .exit(69))
            #expect(process.errors.hasPrefix("issuectl: the program issued-sql is missing (searched in "))
            #expect(process.errors.hasSuffix("): install issued again\n"))
        }
    }

    /// Reports records of many forms, enough for several blocks.
    private static func reportVaried(to daemon: DaemonFixture) throws {
        let client = try RawClient(path: daemon.socket)
        for part in 0..<4 {
            var records: [String] = []
            for number in part * 250..<part * 250 + 250 {
                var record = #""message":"Order \#(number) of “café” took \#(number % 7).5 s""#
                if number % 3 == 0 { record = #""message":"The same text""# }
                if number % 3 == 1 {
                    record += #","metadata":{"order":\#(number), "é\"":[1,{"a":null}] , "x":"\#(number % 5)"}"#
                }
                if number % 50 == 7 { record += #","metadata":{}"# }
                if number % 40 == 5 { record += #","causes":[{"domain":"Net","code":\#(number),"message":"reset\n"}]"# }
                if number % 9 == 0 {
                    record += #","count":\#(number + 1),"occurred_at":"2026-11-01T00:00:00.\#(100 + number % 900)Z""#
                }
                if number % 60 == 1 { record += #","domain":"\#(String(repeating: "long ", count: 40))""# }
                records.append("{\(record)}")
            }
            let reply = try client.call(
                "org.issued.Collector.Report", #"{"records":[\#(records.joined(separator: ","))]}"#)
            #expect(reply.error == nil, "\(reply)")
        }
    }

    @Test("The Python example and the table `records` return the same records as a decoder written for the tests")
    func readers() async throws {
        try await DaemonFixture.with { daemon in
            try Self.reportVaried(to: daemon)
            let columns = [
                "id", "series", "process", "received_at", "occurred", "first_occurred", "count", "quote(message)",
                "metadata", "details",
            ]
            let question = "SELECT \(columns.joined(separator: ", ")) FROM records ORDER BY id"
            let wanted = try daemon.file.rows(question, columns: columns.count)
            #expect(wanted.count == 1000)
            #expect(try daemon.file.rows("SELECT count(*) FROM blocks", columns: 1).first?.first != "1")
            let answer = try daemon.issuectl(["sql", "--ndjson", "--database", daemon.database, question]).output
            let found = try answer.split(separator: "\n").map { line in
                try columns.map { column in try Self.text(of: column, in: line) }
            }
            #expect(found == wanted)

            let example = "\(TestBinaries.repository)Examples/python/read_blocks.py"
            let process = try ChildProcess(
                [try TestBinaries.python3, example, daemon.database, "600"], in: daemon.folder, name: "python")
            #expect(try process.end() == .exit(0), "\(daemon.folder.text(of: "python.err"))")
            let names = ["id", "count", "message", "metadata", "details"]
            let recent = try daemon.file.rows(
                "SELECT \(names.joined(separator: ", ")) FROM recent LIMIT 600", columns: 5)
            let printed = try process.output.split(separator: "\n").map { line in
                try names.map { name in try Self.text(of: name, in: line) }
            }
            #expect(printed == recent)
        }
    }

    /// Returns a member of a JSON object as `DatabaseFile.rows` represents it.
    private static func text(of name: String, in line: Substring) throws -> String {
        let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        switch try #require(object[name]) {
        case is NSNull: return "NULL"
        case let value: return "\(value)"
        }
    }
}
