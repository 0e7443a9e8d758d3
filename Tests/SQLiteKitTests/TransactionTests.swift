import SQLiteKit
import Testing

@Suite("Transactions")
struct TransactionTests {
    private struct Stopped: Error {}

    @Test("A transaction whose body throws leaves no trace")
    func rollback() throws {
        try TemporaryDatabase.with { database in
            let connection = try database.writer()
            try connection.execute("CREATE TABLE t(a)")

            thrown(Stopped.self) {
                try connection.transaction {
                    try connection.execute("INSERT INTO t VALUES (1)")
                    throw Stopped()
                }
            }

            #expect(!connection.isInTransaction)
            #expect(try connection.number("SELECT count(*) FROM t") == 0)
        }
    }

    @Test("A transaction whose body returns is committed, and returns its value")
    func commit() throws {
        try TemporaryDatabase.with { database in
            let connection = try database.writer()
            let value = try connection.transaction { () throws(SQLiteError) in
                try connection.execute("CREATE TABLE t(a)")
                #expect(connection.isInTransaction)
                return 7
            }
            #expect(value == 7)
            #expect(!connection.isInTransaction)
            #expect(try database.reader().number("SELECT count(*) FROM t") == 0)
        }
    }

    @Test("A commit that violates a constraint leaves no transaction and no rows")
    func failedCommit() throws {
        try TemporaryDatabase.with { database in
            let connection = try database.writer()
            try connection.setPragma("foreign_keys", to: 1)
            try connection.execute(
                """
                CREATE TABLE parent(id INTEGER PRIMARY KEY);
                CREATE TABLE child(parent REFERENCES parent(id) DEFERRABLE INITIALLY DEFERRED);
                """)

            let error = thrown(SQLiteError.self) {
                try connection.transaction { try connection.execute("INSERT INTO child VALUES (1)") }
            }

            #expect(error?.code == .foreignKeyConstraint)
            #expect(!connection.isInTransaction)
            #expect(try connection.number("SELECT count(*) FROM child") == 0)
            try connection.transaction { try connection.execute("INSERT INTO parent VALUES (1)") }
        }
    }

    @Test("A commit that finds the database busy leaves no transaction and no rows")
    func busyCommit() throws {
        try TemporaryDatabase.with { database in
            // Without a WAL, the commit has to wait for readers.
            let connection = try DatabaseConnection(path: database.path)
            try connection.execute("CREATE TABLE t(a); INSERT INTO t VALUES (1), (2)")
            let reader = try database.reader()
            let query = try Statement("SELECT a FROM t", on: reader)
            _ = try query.step { $0.int(0) }

            let error = thrown(SQLiteError.self) {
                try connection.transaction { try connection.execute("INSERT INTO t VALUES (3)") }
            }

            #expect(error?.isBusy == true)
            #expect(!connection.isInTransaction)
            query.reset()
            try connection.transaction { try connection.execute("INSERT INTO t VALUES (4)") }
            #expect(try connection.number("SELECT sum(a) FROM t") == 7)
        }
    }

    @Test("A full database ends the transaction, is reported as full, and works again with free space")
    func full() throws {
        try TemporaryDatabase.with { database in
            let connection = try database.writer()
            try connection.execute("CREATE TABLE t(a)")
            _ = try connection.setPragma("max_page_count", to: "8")

            let error = thrown(SQLiteError.self) {
                try connection.transaction { try connection.execute("INSERT INTO t VALUES (zeroblob(1000000))") }
            }

            #expect(error?.isFull == true)
            #expect(!connection.isInTransaction)
            _ = try connection.setPragma("max_page_count", to: "1000")
            try connection.transaction { try connection.execute("INSERT INTO t VALUES (zeroblob(1000000))") }
        }
    }

    @Test("A transaction that fails is rolled back even if a query is still running")
    func rollbackWithOpenQuery() throws {
        try TemporaryDatabase.with { database in
            let connection = try database.writer()
            try connection.execute("CREATE TABLE t(a); INSERT INTO t VALUES (1), (2)")
            let query = try Statement("SELECT a FROM t", on: connection)

            let error = thrown(SQLiteError.self) {
                try connection.transaction {
                    _ = try query.step { $0.int(0) }
                    // While a query is running, an interrupt remains in effect for later statements.
                    connection.interruptHandle.interrupt()
                    try connection.execute("DELETE FROM t")
                }
            }

            #expect(error?.isInterrupted == true)

            #expect(!connection.isInTransaction)
            query.reset()
            #expect(try connection.number("SELECT count(*) FROM t") == 2)
        }
    }

    @Test("A second writer finds the database busy before its body runs")
    func busyWriter() throws {
        try TemporaryDatabase.with { database in
            let first = try database.writer()
            try first.execute("CREATE TABLE t(a)")
            let second = try DatabaseConnection(path: database.path, busyTimeout: .milliseconds(1))

            try first.transaction {
                let error = thrown(SQLiteError.self) {
                    try second.transaction { Issue.record("The body ran during another writer's transaction") }
                }
                #expect(error?.isBusy == true)
            }
            #expect(!second.isInTransaction)
        }
    }

    @Test("A reader keeps its snapshot while the writer commits")
    func snapshot() throws {
        try TemporaryDatabase.with { database in
            let writer = try database.writer()
            try writer.execute("CREATE TABLE t(a); INSERT INTO t VALUES (1)")
            let reader = try database.reader()

            try reader.readTransaction {
                #expect(try reader.number("SELECT count(*) FROM t") == 1)
                try writer.transaction { try writer.execute("INSERT INTO t VALUES (2)") }
                #expect(try reader.number("SELECT count(*) FROM t") == 1)
            }

            #expect(try reader.number("SELECT count(*) FROM t") == 2)
            #expect(!reader.isInTransaction)
        }
    }

    @Test("A transaction throws the error type of its body, also for failures of SQLite")
    func ownErrorType() throws {
        struct StoreFailure: SQLiteFailure, Equatable {
            var code: ResultCode
            init(_ error: SQLiteError) { code = error.code.primary }
        }
        try TemporaryDatabase.with { database in
            let first = try database.writer()
            let second = try DatabaseConnection(path: database.path)
            func write() throws(StoreFailure) {
                try second.transaction { () throws(StoreFailure) in }
            }
            let error = try first.transaction { thrown(StoreFailure.self, by: write) }
            #expect(error?.code == .busy)
        }
    }
}
