import Foundation
import IssueStore
import IssueTestSupport
import SQLiteKit
import Synchronization
import Testing
import UnixIO

@testable import IssueCommands
@testable import issued_sql

@Suite("Queries of the store")
struct StoreQueriesTests {
    /// A query that would run for hours.
    private static let endless =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"

    private let bounds = SQLBounds(rows: 100, time: .seconds(60))

    /// Creates an empty store in a folder that is removed at the end.
    private func withStore<Value>(_ body: (_ path: String, _ writer: DatabaseConnection) throws -> Value) throws
        -> Value
    {
        let folder = try ScratchFolder()
        let path = folder["issues.db"]
        let writer = try DatabaseConnection(path: path)
        try writer.setPragma("journal_mode", to: "WAL")
        _ = try Schema.migrator.migrate(writer)
        return try body(path, writer)
    }

    private func run(_ sql: String, on store: StoreQueries, _ bounds: SQLBounds? = nil) throws -> [SQLResult] {
        var text = ArraySlice(sql.utf8)
        var results: [SQLResult] = []
        while let result = try store.runFirst(of: &text, within: bounds ?? self.bounds) { results.append(result) }
        return results
    }

    private func failure<Value>(
        sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Value
    ) -> CommandFailure? {
        do {
            _ = try body()
            Issue.record("No error was thrown", sourceLocation: sourceLocation)
        } catch let error as CommandFailure {
            return error
        } catch {
            Issue.record("Another error was thrown: \(error)", sourceLocation: sourceLocation)
        }
        return nil
    }

    @Test("A result has the names of the columns, and each value with its type")
    func values() throws {
        try withStore { path, _ in
            let store = try StoreQueries(path: path)
            let results = try run("SELECT 1 AS a, 2.5, 'x' AS a, X'00FF', NULL; PRAGMA application_id", on: store)
            #expect(results.count == 2)
            #expect(results[0].columns == ["a", "2.5", "a", "X'00FF'", "NULL"])
            #expect(results[0].rows == [[.integer(1), .real(2.5), .text("x"), .blob([0, 255]), .null]])
            #expect(results[1].rows == [[.integer(Int64(Schema.applicationID))]])
        }
    }

    @Test("The views and main tables of Storage.md can be read while the daemon has the database open")
    func views() throws {
        try withStore { path, writer in
            let store = try StoreQueries(path: path)
            for name in [
                "issues", "recent", "series_totals", "ledgers", "ledger_check", "severities", "fates", "records",
                "series",
                "groups", "ranges", "postings", "counts", "totals", "batches",
            ] {
                let result = try #require(try run("SELECT * FROM \(name)", on: store).first)
                #expect(!result.columns.isEmpty)
            }
            // Later commits are visible: no snapshot outlives its query.
            try writer.execute("INSERT INTO copies VALUES (7)")
            #expect(try run("SELECT * FROM copies", on: store).first?.rows == [[.integer(7)]])
        }
    }

    @Test("At most the given number of rows is returned, and the result says if there are more")
    func rowLimit() throws {
        try withStore { path, _ in
            let store = try StoreQueries(path: path)
            let sql = "SELECT fate FROM fates ORDER BY fate"
            let cut = try run(sql, on: store, SQLBounds(rows: 3, time: .seconds(60)))[0]
            #expect(cut.rows == [[.integer(0)], [.integer(1)], [.integer(2)]])
            #expect(cut.isCut)
            let whole = try run(sql, on: store, SQLBounds(rows: 8, time: .seconds(60)))[0]
            #expect(whole.rows.count == 8)
            #expect(!whole.isCut)
        }
    }

    @Test("A query that takes too long ends, and the next one runs")
    func deadline() throws {
        try withStore { path, _ in
            let store = try StoreQueries(path: path)
            let failure = failure {
                try run(Self.endless, on: store, SQLBounds(rows: 1, time: .milliseconds(20)))
            }
            #expect(failure?.code == .tryAgain)
            #expect(failure?.message?.contains("--timeout") == true)
            #expect(try run("SELECT 1", on: store)[0].rows == [[.integer(1)]])
        }
    }

    @Test("A result that is too large is refused")
    func resultSize() throws {
        try withStore { path, _ in
            var limits = StoreQueries.Limits()
            limits.resultBytes = 1 << 20
            let store = try StoreQueries(path: path, limits: limits)
            #expect(try run("SELECT zeroblob(1000000)", on: store).count == 1)
            let many = "SELECT zeroblob(100000) FROM json_each('[1,2,3,4,5,6,7,8,9,10,11]')"
            for sql in [many, "SELECT zeroblob(2000000)"] {
                let failure = failure { try run(sql, on: store) }
                #expect(failure?.code == .refused)
                #expect(failure?.message == "the result is larger than 1 MiB: ask for less with WHERE or LIMIT")
            }
        }
    }

    @Test("The limit of the WAL is that of the daemon's queries, also on a small file system")
    func smallFileSystem() {
        #expect(StoreQueries.Limits().walBytes == 32 << 20)
        #expect(StoreQueries.Limits(fileSystemBytes: 1 << 30).walBytes == 32 << 20)
        #expect(StoreQueries.Limits(fileSystemBytes: 64 << 20).walBytes == 16 << 20)
    }

    @Test("A query ends when the WAL grows too large, and the next one runs")
    func walLimit() throws {
        try withStore { path, _ in
            var limits = StoreQueries.Limits()
            limits.walBytes = 1 << 20
            let store = try StoreQueries(path: path, limits: limits)
            // Reads a table, so that the query holds a snapshot.
            let sql = "SELECT count(*) FROM copies, (\(Self.endless))"
            let isOver = Atomic(false)
            let thread = try Thread.start(name: "writer") {
                guard let connection = try? DatabaseConnection(path: path, busyTimeout: .seconds(5)) else { return }
                while !isOver.load(ordering: .relaxed) {
                    try? connection.execute("INSERT OR REPLACE INTO copies VALUES (1)")
                }
            }
            let failure = failure { try run(sql, on: store) }
            isOver.store(true, ordering: .relaxed)
            thread.join()
            #expect(failure?.code == .tryAgain)
            #expect(failure?.message?.contains("write-ahead log") == true)
            // A WAL that is already too large ends a query only if it grows further, because it may be left over.
            #expect(try run("SELECT count(*) > 0 FROM copies", on: store)[0].rows == [[.integer(1)]])
        }
    }

    @Test(
        "A statement that is invalid or not allowed is refused with a hint",
        arguments: [
            ("DELETE FROM copies", "only SELECT"), ("PRAGMA wal_checkpoint", "only SELECT"), ("BEGIN", "only SELECT"),
            ("SELECT * FROM recrods", "no such table: recrods (for the tables: issuectl sql 'PRAGMA table_list')"),
            ("SELECT missing", "no such column: missing"), ("SELEC 1", "syntax error"),
        ])
    func refused(_ sql: String, _ hint: String) throws {
        try withStore { path, _ in
            let store = try StoreQueries(path: path)
            let failure = failure { try run(sql, on: store) }
            #expect(failure?.code == .refused)
            #expect(failure?.message?.contains(hint) == true)
        }
    }

    @Test("A file that is missing, foreign or of a newer version is refused with its name")
    func otherFiles() throws {
        try withStore { path, writer in
            let missing = failure { try StoreQueries(path: "\(path).missing") }
            #expect(missing?.code == .refused)
            #expect(missing?.message == "there is no database at \(path).missing")

            let text = "\(path).text"
            try Data("no database".utf8).write(to: URL(filePath: text))
            #expect(failure { try StoreQueries(path: text) }?.message?.hasPrefix("cannot use \(text): ") == true)

            let foreign = "\(path).foreign"
            try DatabaseConnection(path: foreign).execute("CREATE TABLE t(a)")
            #expect(
                failure { try StoreQueries(path: foreign) }?.message
                    == "cannot use \(foreign): it is not a database of issued")

            try writer.execute("PRAGMA user_version = 1000")
            #expect(
                failure { try StoreQueries(path: path) }?.message
                    == "cannot use \(path): it was created by a newer version of issued")
        }
    }

    @Test("`contains(store:)` is true only for the store codes of a database or, before its first record, for code 0")
    func stores() throws {
        try withStore { path, writer in
            #expect(try StoreQueries(path: path).contains(store: "000000000000"))
            try writer.execute("INSERT INTO stores VALUES (1, 35, 0), (100, 1, 0)")
            let database = try StoreQueries(path: path)
            #expect(try database.contains(store: "000000000013") && database.contains(store: "000000000001"))
            #expect(try !database.contains(store: "000000000000") && !database.contains(store: ""))
        }
    }

    @Test("A pipe and a folder are refused at once", .timeLimit(.minutes(1)))
    func otherKinds() throws {
        try withStore { path, _ in
            let pipe = "\(path).pipe"
            try Process.run(URL(filePath: "/usr/bin/mkfifo"), arguments: [pipe]).waitUntilExit()
            for name in [pipe, FileSystem.parentFolder(of: path)] {
                let failure = failure { try StoreQueries(path: name) }
                #expect(failure?.message == "cannot use \(name): it is not a regular file")
            }
        }
    }

    @Test(
        "A link in place of the WAL or its index is refused, and its target is not created",
        arguments: ["-wal", "-shm"])
    func linkedCompanions(suffix: String) throws {
        try withStore { path, writer in
            try writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            let (copy, target) = ("\(path).copy", "\(path).target")
            try FileManager.default.copyItem(atPath: path, toPath: copy)
            try FileManager.default.createSymbolicLink(atPath: copy + suffix, withDestinationPath: target)
            #expect(failure { try StoreQueries(path: copy) }?.message?.hasPrefix("cannot open \(copy): ") == true)
            #expect(!FileManager.default.fileExists(atPath: target))
        }
    }

    @Test("A file of an earlier version and a symbolic link can be read")
    func otherPaths() throws {
        try withStore { path, writer in
            try writer.execute("PRAGMA user_version = 1")
            try FileManager.default.createSymbolicLink(atPath: "\(path).link", withDestinationPath: path)
            for path in [path, "\(path).link"] {
                #expect(try run("PRAGMA user_version", on: StoreQueries(path: path))[0].rows == [[.integer(1)]])
            }
        }
    }

    @Test("The standard path is that of the user's own daemon if it has a database, and otherwise the host's")
    func standardPath() throws {
        let host = "/var/lib/issued/issues.db"
        try withStore { path, _ in
            let folder = path.dropLast("/issues.db".count)
            let own = "\(folder)/issued/issues.db"
            let variables = ["XDG_STATE_HOME": String(folder)]
            let found = { (userID: UInt32) in
                StoreQueries.standardPath(userID: userID, environment: { variables[$0] }, home: nil)
            }
            #expect(found(1000) == host)
            try FileManager.default.createDirectory(atPath: "\(folder)/issued", withIntermediateDirectories: false)
            try FileManager.default.copyItem(atPath: path, toPath: own)
            #expect(found(1000) == own)
            #expect(found(0) == host)

            let home = "\(folder)/home"
            try FileManager.default.createDirectory(
                atPath: "\(home)/.local/state/issued", withIntermediateDirectories: true)
            try FileManager.default.copyItem(atPath: path, toPath: "\(home)/.local/state/issued/issues.db")
            let inHome = "\(home)/.local/state/issued/issues.db"
            #expect(StoreQueries.standardPath(userID: 1000, environment: { _ in nil }, home: home) == inHome)
            let relative = ["XDG_STATE_HOME": "state", "HOME": home]
            #expect(StoreQueries.standardPath(userID: 1000, environment: { relative[$0] }, home: nil) == inHome)
            #expect(StoreQueries.standardPath(userID: 1000, environment: { _ in nil }, home: nil) == host)
        }
    }
}
