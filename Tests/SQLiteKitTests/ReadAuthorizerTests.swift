import SQLiteKit
import Testing

@Suite("Statements of a user")
struct ReadAuthorizerTests {
    /// Runs all statements of a text on a connection that is restricted to reading, and returns the first column of
    /// each row.
    private func run(_ text: String, on connection: DatabaseConnection) throws -> [String] {
        var rest = ArraySlice(text.utf8)
        var values: [String] = []
        while let statement = try Statement(firstReadingIn: &rest, on: connection) {
            values += try statement.all { $0.text(0) }
        }
        return values
    }

    private func withRestricted<Value>(_ body: (DatabaseConnection) throws -> Value) throws -> Value {
        try TemporaryDatabase.with { database in
            let connection = try database.writer()
            try connection.execute(
                """
                CREATE TABLE t(a); INSERT INTO t VALUES (1), (2); CREATE VIEW v AS SELECT a + 10 AS b FROM t;
                CREATE VIRTUAL TABLE words USING fts5 (text); INSERT INTO words VALUES ('good morning');
                """)
            connection.restrictToReading()
            return try body(connection)
        }
    }

    @Test("Several statements are run one after another; empty statements and comments are skipped")
    func several() throws {
        try withRestricted { connection throws in
            #expect(
                try run("SELECT 1; ;; -- one;\n SELECT ';' /* two */ ; SELECT 'é'", on: connection) == ["1", ";", "é"])
            #expect(try run("", on: connection) == [])
            #expect(try run(" ; -- nothing", on: connection) == [])
        }
    }

    @Test("The names of the columns are known before the first row")
    func columns() throws {
        try withRestricted { connection throws in
            var text = ArraySlice("SELECT a, a AS x, 1 + 1 FROM t WHERE 0".utf8)
            let statement = try Statement(firstReadingIn: &text, on: connection)
            #expect(statement?.columnNames == ["a", "x", "1 + 1"])
            #expect(text.isEmpty)
        }
    }

    @Test(
        "A statement that reads is allowed",
        arguments: [
            "SELECT a FROM t", "SELECT b FROM v", "VALUES (1)", "WITH n AS (SELECT 1) SELECT * FROM n",
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT sum(i) FROM n",
            "SELECT count(*), upper('a') FROM t", "EXPLAIN SELECT a FROM t", "EXPLAIN QUERY PLAN SELECT a FROM t",
            "PRAGMA table_info(t)", "SELECT name FROM pragma_table_info('t')", "PRAGMA user_version",
            "pragma PAGE_COUNT", "PRAGMA integrity_check(1)",
            "SELECT value FROM json_each('[1]')",
            "SELECT rowid FROM words WHERE words MATCH 'morn*'",
        ])
    func allowed(_ sql: String) throws {
        try withRestricted { connection throws in #expect(try !run(sql, on: connection).isEmpty) }
    }

    /// The messages of statements that are refused before or after the authorizer is called.
    private static let otherRefusals = [
        "UPDATE sqlite_master SET name = 'u'": "table sqlite_master may not be modified",
        "DELETE FROM sqlite_master": "table sqlite_master may not be modified", "VACUUM": "the statement writes",
        "VACUUM INTO '/nonexistent/copy.db'": "the statement writes",
    ]

    @Test(
        "A statement that writes, attaches a file, begins a transaction or changes a setting is refused",
        arguments: [
            "INSERT INTO t VALUES (3)", "UPDATE t SET a = 0", "DELETE FROM t", "REPLACE INTO t VALUES (1)",
            "DROP TABLE t", "DROP VIEW v", "CREATE TABLE u(a)", "CREATE TEMP TABLE u(a)", "CREATE INDEX i ON t(a)",
            "CREATE VIEW w AS SELECT 1", "CREATE TEMP VIEW w AS SELECT 1", "ALTER TABLE t RENAME TO u",
            "CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT 1; END", "CREATE VIRTUAL TABLE x USING fts5 (y)",
            "INSERT INTO words (words) VALUES ('rebuild')", "UPDATE sqlite_master SET name = 'u'",
            "DELETE FROM sqlite_master", "ATTACH ':memory:' AS other", "DETACH main", "BEGIN", "COMMIT", "ROLLBACK",
            "SAVEPOINT s", "VACUUM", "VACUUM INTO '/nonexistent/copy.db'", "ANALYZE", "REINDEX",
            "EXPLAIN DELETE FROM t",
            "PRAGMA user_version = 3", "PRAGMA journal_mode = DELETE", "PRAGMA wal_checkpoint", "PRAGMA optimize",
            "PRAGMA incremental_vacuum", "PRAGMA writable_schema = ON", "PRAGMA query_only = 0", "PRAGMA locking_mode",
            "PRAGMA mmap_size = 1000", "WITH n AS (SELECT 1) INSERT INTO t SELECT * FROM n",
            "DELETE FROM t RETURNING a",
        ])
    func refused(_ sql: String) throws {
        try withRestricted { connection throws in
            let error = thrown(SQLiteError.self) { try run(sql, on: connection) }
            #expect(error?.message == Self.otherRefusals[sql] ?? "not authorized")
            #expect(try run("SELECT count(*), sum(a) FROM t", on: connection) == ["2"])
        }
    }

    @Test("If a statement is invalid, the whole text is left in place")
    func errors() throws {
        try withRestricted { connection throws in
            var text = ArraySlice("SELECT missing FROM t; SELECT 1".utf8)
            let error = thrown(SQLiteError.self) { _ = try Statement(firstReadingIn: &text, on: connection) }
            #expect(error?.code == .error)
            #expect(error?.message == "no such column: missing")
            #expect(text.count == 31)
        }
    }

    @Test("A text is complete if its last statement ends with a semicolon outside of strings and comments")
    func complete() {
        for text in ["SELECT 1;", "SELECT 1; -- end", ";", "SELECT ';';"] { #expect(SQLText.isComplete(text)) }
        for text in ["", "SELECT 1", "SELECT ';", "SELECT 1 -- ;", "SELECT 1; SELECT"] {
            #expect(!SQLText.isComplete(text))
        }
    }
}
