import Foundation
import Synchronization
import Testing

@testable import SQLiteKit

@Suite("Connections")
struct DatabaseConnectionTests {
    /// A query that would run for hours.
    private static let endless: StaticString = """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100000000000) SELECT count(*) FROM n
        """

    @Test("A read-only connection cannot write")
    func readOnly() throws {
        try TemporaryDatabase.with { database in
            let writer = try database.writer()
            try writer.execute("CREATE TABLE t(a)")
            let error = thrown(SQLiteError.self) {
                try database.reader().execute("INSERT INTO t VALUES (1)")
            }
            #expect(error?.code == .readOnly)
        }
    }

    @Test("Opening a missing file for reading is an error with the reason")
    func missing() throws {
        try TemporaryDatabase.with { database in
            let error = thrown(SQLiteError.self) { _ = try database.reader() }
            #expect(error.map { ResultCode.cannotOpen ~= $0.code } == true)
            #expect(error?.systemErrno == ENOENT)
        }
    }

    @Test("An unknown VFS is an error")
    func unknownVFS() throws {
        try TemporaryDatabase.with { database in
            let error = thrown(SQLiteError.self) { try DatabaseConnection(path: database.path, vfs: "none such") }
            #expect(error?.code == .error)
            _ = try DatabaseConnection(path: database.path, vfs: "unix")
        }
    }

    @Test("Another thread can interrupt a long query")
    func interrupt() async throws {
        try TemporaryDatabase.with { database in
            let connection = try database.writer()
            let handle = connection.interruptHandle
            let isOver = Flag()
            // An interrupt before the query has begun has no effect, so the interrupt is repeated.
            let thread = Thread {
                while !isOver.isSet {
                    handle.interrupt()
                    sched_yield()
                }
            }
            thread.start()
            defer { isOver.set() }

            let error = thrown(SQLiteError.self) {
                try Statement(Self.endless, on: connection).run()
            }
            #expect(error?.isInterrupted == true)
        }
    }

    @Test("An interrupt ends work in a full-text index, where the progress handler is not called")
    func interruptFullText() throws {
        try TemporaryDatabase.with { database in
            let connection = try database.writer()
            try connection.execute("CREATE VIRTUAL TABLE words USING fts5 (word, content='')")
            try connection.execute(
                """
                INSERT INTO words (rowid, word)
                WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 60000)
                SELECT i, printf('a%x a%x a%x', i * 7919 % 60013, i * 104729 % 60013, i) FROM n
                """)
            let query: StaticString = "SELECT count(*) FROM words WHERE words MATCH ?1"
            let handle = connection.interruptHandle
            let isOver = Flag()
            let clock = ContinuousClock()
            let thread = Thread {
                // After 50 ms, the statement is working in the index.
                let start = clock.now.advanced(by: .milliseconds(50))
                while !isOver.isSet {
                    if clock.now >= start { handle.interrupt() }
                    sched_yield()
                }
            }
            let statement = try Statement(query, on: connection)
            statement.bind(Array(repeating: "\"a\"*", count: 1000).joined(separator: " "), at: 1)
            thread.start()
            var error: SQLiteError?
            let time = clock.measure { error = thrown(SQLiteError.self) { try statement.run() } }
            isOver.set()
            #expect(error?.isInterrupted == true)
            // Uninterrupted, this takes about a minute.
            #expect(time < .seconds(20))
        }
    }

    @Test("A cancelled connection compiles no statement, and runs no cached one, until the cancellation is cleared")
    func cancelled() throws {
        try TemporaryDatabase.with { database in
            let connection = try database.writer()
            try connection.execute("CREATE TABLE t (a)")
            connection.interruptHandle.cancel()
            for _ in 0..<2 {
                let error = thrown(SQLiteError.self) {
                    _ = try connection.first("SELECT count(*) FROM t") { $0.int64(0) }
                }
                #expect(error?.isInterrupted == true)
            }
            #expect(thrown(SQLiteError.self) { _ = try Statement("SELECT 1", on: connection) }?.isInterrupted == true)
            connection.interruptHandle.clearCancellation()
            #expect(try connection.number("SELECT count(*) FROM t") == 0)
        }
    }

    @Test("Interrupting a closed connection does nothing")
    func interruptAfterClose() throws {
        try TemporaryDatabase.with { database in
            let handle = try database.writer().interruptHandle
            handle.interrupt()
        }
    }

    @Test("A query is interrupted at its deadline, and the next one without a deadline is not")
    func deadline() throws {
        try TemporaryDatabase.with { database in
            let connection = try database.writer()
            connection.setDeadline(.after(.milliseconds(20)))
            let error = thrown(SQLiteError.self) { try Statement(Self.endless, on: connection).run() }
            #expect(error?.isInterrupted == true)

            connection.setDeadline(nil)
            let sum = try connection.number(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100000) SELECT count(*) FROM n")
            #expect(sum == 100_000)
        }
    }

    @Test("A query that ends before its deadline is not interrupted")
    func distantDeadline() throws {
        try TemporaryDatabase.with { database in
            let connection = try database.writer()
            connection.setDeadline(.after(.seconds(Int64.max)))
            let sum = try connection.number(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100000) SELECT count(*) FROM n")
            #expect(sum == 100_000)
        }
    }

    @Test("Commits report the length of the WAL but do not checkpoint; a truncating checkpoint empties the WAL")
    func checkpoint() throws {
        try TemporaryDatabase.with { database in
            let connection = try database.writer()
            try connection.execute("CREATE TABLE t(a)")
            let before = connection.walFrames
            // More than the thousand frames after which SQLite would checkpoint automatically.
            try connection.execute("INSERT INTO t VALUES (zeroblob(8000000))")
            #expect(before > 0)
            #expect(connection.walFrames > before + 1_500)
            try connection.execute("INSERT INTO t VALUES (1)")
            #expect(connection.walFrames > 1_500)

            #expect(try connection.checkpoint(.passive))
            #expect(connection.walFrames > 1_500)

            #expect(try connection.checkpoint(.truncate))
            #expect(connection.walFrames == 0)
            let log = try FileManager.default.attributesOfItem(atPath: database.path + "-wal")
            #expect(log[.size] as? Int == 0)
        }
    }

    @Test("A checkpoint stops at the frames that a reader still needs")
    func checkpointBesideReader() throws {
        try TemporaryDatabase.with { database in
            let writer = try database.writer()
            try writer.execute("CREATE TABLE t(a); INSERT INTO t VALUES (1)")
            let reader = try database.reader()
            try reader.readTransaction {
                _ = try reader.number("SELECT count(*) FROM t")
                try writer.execute("INSERT INTO t VALUES (2)")
                #expect(try !writer.checkpoint(.passive))
                let error = thrown(SQLiteError.self) { try writer.checkpoint(.truncate) }
                #expect(error?.isBusy == true)
            }
            #expect(try writer.checkpoint(.passive))
        }
    }

    @Test("Closing keeps the WAL file, or checkpoints and deletes it if requested", arguments: [false, true])
    func close(checkpointsOnClose: Bool) throws {
        try TemporaryDatabase.with { database in
            do {
                let connection = try database.writer(checkpointsOnClose: checkpointsOnClose)
                try connection.execute("CREATE TABLE t(a)")
            }
            let isLogThere = FileManager.default.fileExists(atPath: database.path + "-wal")
            #expect(isLogThere == !checkpointsOnClose)
        }
    }

    @Test("Pragmas can be set and read, and an unknown one is an error")
    func pragmas() throws {
        try TemporaryDatabase.with { database in
            let connection = try DatabaseConnection(path: database.path)
            try connection.setPragma("page_size", to: 8192)
            #expect(try connection.setPragma("journal_mode", to: "WAL") == "wal")
            #expect(try connection.first("PRAGMA journal_mode") { $0.text(0) } == "wal")
            #expect(try connection.pragma("page_size") == 8192)
            thrown(SQLiteError.self) { try connection.pragma("no_such_pragma") }
        }
    }

    @Test(
        "A misspelt column in double quotes, a write to the schema table and a view that reads a pragma are errors",
        arguments: [
            ("SELECT \"misspelt\" FROM t", "no such column: misspelt"),
            ("CREATE INDEX i ON t(\"misspelt\")", "no such column: misspelt"),
            ("PRAGMA writable_schema=1; DELETE FROM sqlite_schema", "table sqlite_master may not be modified"),
            ("SELECT * FROM v", "use of virtual table \"pragma_table_info\""),
        ])
    func defences(sql: String, message: String) throws {
        try TemporaryDatabase.with { database in
            let connection = try database.writer()
            try connection.execute("CREATE TABLE t(a); CREATE VIEW v AS SELECT name FROM pragma_table_info('t')")
            let error = thrown(SQLiteError.self) { try connection.execute(composedSQL: sql) }
            #expect(error?.message.hasSuffix(message) == true)
        }
    }

    @Test("A connection can be opened and then passed to the task that owns it")
    func handOver() async throws {
        let connection = try DatabaseConnection(path: ":memory:")
        let number = try await Task.detached { try connection.number("SELECT 5") }.value
        #expect(number == 5)
    }

    @Test("A writer that is interrupted at any time commits a transaction completely or not at all")
    func interruptedTransactions() throws {
        try TemporaryDatabase.with { database in
            let connection = try database.writer()
            try connection.execute("CREATE TABLE t(a)")
            let handle = connection.interruptHandle
            let isOver = Flag()
            let thread = Thread {
                while !isOver.isSet { handle.interrupt() }
            }
            thread.start()
            var committed: Int64 = 0
            for _ in 0..<200 {
                do throws(SQLiteError) {
                    try connection.transaction { () throws(SQLiteError) in
                        try connection.execute("INSERT INTO t VALUES (1)")
                        try connection.execute("INSERT INTO t VALUES (2)")
                    }
                    committed += 2
                } catch {
                    #expect(error.isInterrupted)
                }
                #expect(!connection.isInTransaction)
            }
            isOver.set()
            #expect(try database.reader().number("SELECT count(*) FROM t") == committed)
        }
    }
}

/// A flag shared by two threads.
private final class Flag: Sendable {
    private let value = Mutex(false)

    var isSet: Bool { value.withLock { $0 } }

    func set() { value.withLock { $0 = true } }
}
