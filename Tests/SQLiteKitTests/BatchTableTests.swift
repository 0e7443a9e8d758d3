import SQLiteKit
import Testing

@Suite("BatchTable")
struct BatchTableTests {
    private static func open(_ database: TemporaryDatabase) throws -> (DatabaseConnection, BatchTable) {
        let connection = try database.writer()
        try connection.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, number, text, blob)")
        let table = try BatchTable(
            "batch", columns: ["id", "number", "text", "blob"], on: connection)
        return (connection, table)
    }

    @discardableResult
    private static func insert(_ batch: SampleBatch, _ connection: DatabaseConnection, _ table: BatchTable) throws
        -> Int
    {
        try table.withRows(batch.cells, bytes: batch.bytes) { () throws(SQLiteError) in
            try connection.execute("INSERT INTO t SELECT * FROM batch")
            return connection.changes
        }
    }

    @Test("Rows are inserted unchanged", arguments: [0, 1, 2, 10_000])
    func rows(count: Int) throws {
        try TemporaryDatabase.with { database in
            let (connection, table) = try Self.open(database)
            let batch = SampleBatch(count: count)

            #expect(try Self.insert(batch, connection, table) == count)

            var index = 0
            try Statement("SELECT id, number, text, blob FROM t ORDER BY id", on: connection).forEach { row in
                let expected = batch.rows[index]
                let isEqual =
                    row.int64(0) == 100 + Int64(index) && row.optionalInt64(1) == expected.number
                    && row.bytes(2) == expected.text ?? [] && row.bytes(3) == expected.blob ?? []
                    && row.type(2) == (expected.text == nil ? .null : .text)
                    && row.type(3) == (expected.blob == nil ? .null : .blob)
                #expect(isEqual, "Row \(index)")
                index += 1
            }
            #expect(index == count)
        }
    }

    @Test("A statement can insert several batches in succession")
    func batches() throws {
        try TemporaryDatabase.with { database in
            let (connection, table) = try Self.open(database)
            let insert = try Statement("INSERT INTO t SELECT NULL, number, text, blob FROM batch", on: connection)
            for count in [3, 0, 5] {
                let batch = SampleBatch(count: count)
                try table.withRows(batch.cells, bytes: batch.bytes) { () throws(SQLiteError) in try insert.run() }
            }
            #expect(try connection.number("SELECT count(*) FROM t") == 8)
            #expect(try connection.number("SELECT max(id) FROM t") == 8)
        }
    }

    @Test("A value that ends outside the bytes rolls back the statement, and the transaction can continue")
    func failure() throws {
        try TemporaryDatabase.with { database in
            let (connection, table) = try Self.open(database)
            try connection.transaction {
                try connection.execute("INSERT INTO t(id) VALUES (1)")
                let batch = SampleBatch(count: 100)
                var cells = batch.cells
                cells[60 * 4 + 2] = .text((batch.bytes.count - 1)..<(batch.bytes.count + 1))
                let error = thrown(SQLiteError.self) {
                    try table.withRows(cells, bytes: batch.bytes) { () throws(SQLiteError) in
                        try connection.execute("INSERT INTO t SELECT * FROM batch")
                    }
                }
                #expect(error?.message == "a value of a row in memory ends outside its bytes")
                #expect(try connection.number("SELECT count(*) FROM t") == 1)
                try Self.insert(SampleBatch(count: 10), connection, table)
            }
            #expect(try connection.number("SELECT count(*) FROM t") == 11)
        }
    }

    @Test("A row that violates a constraint rolls back the statement")
    func constraint() throws {
        try TemporaryDatabase.with { database in
            let (connection, table) = try Self.open(database)
            try connection.execute("INSERT INTO t(id) VALUES (150)")
            let error = thrown(SQLiteError.self) {
                try Self.insert(SampleBatch(count: 100), connection, table)
            }
            #expect(error?.code == .primaryKeyConstraint)
            #expect(try connection.number("SELECT count(*) FROM t") == 1)
            #expect(!connection.isInTransaction)
        }
    }

    @Test("Reading the table while no rows are lent to it is an error")
    func nothingLent() throws {
        try TemporaryDatabase.with { database in
            let (connection, table) = try Self.open(database)
            try Self.insert(SampleBatch(count: 1), connection, table)
            let error = thrown(SQLiteError.self) { try connection.number("SELECT count(*) FROM batch") }
            #expect(error?.message == "no rows are lent to the table")
        }
    }

    @Test("The rows can be filtered, sorted and read twice")
    func query() throws {
        try TemporaryDatabase.with { database in
            let (connection, table) = try Self.open(database)
            let batch = SampleBatch(count: 30)
            try table.withRows(batch.cells, bytes: batch.bytes) {
                let sql = "SELECT a.id FROM batch a JOIN batch b ON a.id = b.id WHERE a.id >= 125 ORDER BY a.id DESC"
                let rows = try Statement(composedSQL: sql, on: connection).all { $0.int(0) }
                #expect(rows == [129, 128, 127, 126, 125])
            }
        }
    }

    @Test("A view in the file cannot read the rows in memory")
    func views() throws {
        try TemporaryDatabase.with { database in
            let (connection, table) = try Self.open(database)
            try connection.execute("CREATE VIEW v AS SELECT * FROM batch")
            let batch = SampleBatch(count: 1)
            table.withRows(batch.cells, bytes: batch.bytes) {
                let error = thrown(SQLiteError.self) { try connection.number("SELECT count(*) FROM v") }
                #expect(error?.message.hasSuffix("use of virtual table \"batch\"") == true)
            }
        }
    }
}
