import SQLiteKit
import Testing

@Suite("RowTable")
struct RowTableTests {
    /// Rows with all even ids up to `last`, at most three in each window. The text of a row is its id.
    private final class EvenRows: RowSource {
        var asked: [ClosedRange<Int64>] = []
        var failure: SQLiteError?
        let last: Int64

        init(last: Int64) {
            self.last = last
        }

        func rows(
            in ids: ClosedRange<Int64>, isDescending: Bool, columns: ColumnSet
        ) throws(SQLiteError) -> RowWindow? {
            asked.append(ids)
            if let failure { throw failure }
            let all = stride(from: Int64(2), through: last, by: 2).filter { ids.contains($0) }
            let some = isDescending ? all.suffix(3) : all.prefix(3)
            guard let first = some.first, let end = some.last else { return nil }
            var window = RowWindow(cells: [], rest: nil)
            for id in some {
                let text = Array("\(id)".utf8)
                let start = window.bytes.count
                if columns.contains(1) { window.bytes += text }
                window.cells += [
                    .int64(id), columns.contains(1) ? .text(start..<window.bytes.count) : .null,
                ]
            }
            if isDescending, first > ids.lowerBound { window.rest = ids.lowerBound...first - 1 }
            if !isDescending, end < ids.upperBound { window.rest = end + 1...ids.upperBound }
            return window
        }
    }

    private static func open(_ database: TemporaryDatabase, last: Int64 = 20) throws -> (DatabaseConnection, EvenRows) {
        let connection = try database.writer()
        let source = EvenRows(last: last)
        try RowTable.add("evens", columns: ["id INTEGER", "name TEXT"], of: source, to: connection)
        return (connection, source)
    }

    @Test(
        "A query returns the rows that a real table would return",
        arguments: [
            "SELECT id, name FROM t", "SELECT id, name FROM t WHERE id = 6", "SELECT id, name FROM t WHERE id = 7",
            "SELECT id, name FROM t WHERE rowid = 6", "SELECT id, name FROM t WHERE id > 4 AND id <= 15 ORDER BY id",
            "SELECT id, name FROM t WHERE id >= 4 AND id < 14 ORDER BY id DESC LIMIT 4",
            "SELECT id, name FROM t WHERE id BETWEEN 3 AND 3", "SELECT id, name FROM t WHERE id > 9 AND id < 2",
            "SELECT id, name FROM t WHERE id IN (2, 3, 20, 22) ORDER BY id", "SELECT id, name FROM t WHERE id > NULL",
            "SELECT id, name FROM t WHERE id = 6.0", "SELECT id, name FROM t WHERE id > 5.5",
            "SELECT id, name FROM t WHERE id < 1e300",
            "SELECT id, name FROM t WHERE id = '8'", "SELECT id, name FROM t WHERE name > '2' ORDER BY name DESC",
            "SELECT max(id), 1 FROM t", "SELECT min(id), 1 FROM t WHERE id > 6", "SELECT count(*), sum(id) FROM t",
            "SELECT id, name FROM t WHERE id < -9223372036854775807 OR id > 9223372036854775806",
            "SELECT t.id, other.name FROM t JOIN t AS other ON other.id = t.id + 2 ORDER BY t.id DESC",
            "SELECT id, name FROM t WHERE id IN (SELECT value FROM json_each('[4, 4, 5]'))",
        ])
    func queries(sql: String) throws {
        try TemporaryDatabase.with { database in
            let (connection, _) = try Self.open(database)
            try connection.execute(
                """
                CREATE TABLE real (id INTEGER PRIMARY KEY, name TEXT);
                INSERT INTO real SELECT 2 * value, 2 * value FROM json_each('[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]')
                """)
            func rows(_ table: String) throws -> [[String?]] {
                let text = sql.replacing("FROM t", with: "FROM \(table) AS t").replacing(
                    "JOIN t AS", with: "JOIN \(table) AS")
                return try Statement(composedSQL: text, on: connection).all {
                    [$0.optionalText(0), $0.optionalText(1)]
                }
            }
            #expect(try rows("evens") == rows("real"))
        }
    }

    @Test("Only the rows that the conditions allow are asked for")
    func bounds() throws {
        try TemporaryDatabase.with { database in
            let (connection, source) = try Self.open(database, last: 1_000_000)
            #expect(try connection.number("SELECT max(id) FROM evens") == 1_000_000)
            #expect(source.asked.count == 1)
            source.asked = []
            #expect(try connection.number("SELECT count(*) FROM evens WHERE id BETWEEN 10 AND 20") == 6)
            #expect(source.asked == [10...20, 15...20])
            source.asked = []
            #expect(try connection.number("SELECT id FROM evens WHERE id = 12") == 12)
            #expect(source.asked == [12...12])
        }
    }

    @Test("A view can read the table, although the schema of the database is not trusted")
    func views() throws {
        try TemporaryDatabase.with { database in
            let (connection, _) = try Self.open(database)
            try connection.execute("CREATE VIEW v AS SELECT name FROM evens ORDER BY id DESC")
            #expect(try connection.number("SELECT name FROM v LIMIT 1") == 20)
        }
    }

    @Test("A real table of the same name hides the virtual table")
    func hiding() throws {
        try TemporaryDatabase.with { database in
            let (connection, _) = try Self.open(database)
            try connection.execute("CREATE TABLE evens (id INTEGER PRIMARY KEY); INSERT INTO evens VALUES (7)")
            #expect(try connection.number("SELECT sum(id) FROM evens") == 7)
        }
    }

    @Test("An error of the row source is the error of the query")
    func failure() throws {
        try TemporaryDatabase.with { database in
            let (connection, source) = try Self.open(database)
            source.failure = SQLiteError(code: .corrupt, message: "a block is damaged")
            let error = try #require(throws: SQLiteError.self) { try connection.number("SELECT count(*) FROM evens") }
            #expect(error.code.primary == .corrupt)
            #expect(error.message.contains("a block is damaged"))
        }
    }

    @Test("The rows cannot be changed")
    func writing() throws {
        try TemporaryDatabase.with { database in
            let (connection, _) = try Self.open(database)
            #expect(throws: SQLiteError.self) { try connection.execute("DELETE FROM evens") }
            #expect(throws: SQLiteError.self) { try connection.execute("INSERT INTO evens VALUES (1, 'x')") }
        }
    }
}
