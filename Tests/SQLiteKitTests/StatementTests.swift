import SQLiteKit
import Testing

@Suite("Statements")
struct StatementTests {
    @Test("Values of every type are read back unchanged")
    func roundTrip() throws {
        try TemporaryDatabase.with { database in
            let connection = try database.writer()
            try connection.execute("CREATE TABLE t(a, b, c, d, e, f, g)")
            let insert = try Statement("INSERT INTO t VALUES (?,?,?,?,?,?,?)", on: connection)

            insert.bind(Int64.min, at: 1)
            insert.bind(42, at: 2)
            insert.bind(-0.125, at: 3)
            insert.bind("Grüße, 世界 🌍", at: 4)
            insert.bind(DatabaseBytes.text(Array("plain".utf8)), at: 5)
            insert.bind(DatabaseBytes.blob([0, 255, 0, 7]), at: 6)
            insert.bind(nil as Int64?, at: 7)
            try insert.run()

            let types = try Statement("SELECT * FROM t", on: connection).first { row in
                #expect(row.int64(0) == .min)
                #expect(row.int(1) == 42)
                #expect(row.double(2) == -0.125)
                #expect(row.text(3) == "Grüße, 世界 🌍")
                #expect(row.text(4) == "plain")
                #expect(row.bytes(5) == [0, 255, 0, 7])
                return (0..<7).map { row.type($0) }
            }
            #expect(types == [.integer, .integer, .real, .text, .text, .blob, .null])
        }
    }

    @Test("The largest and smallest integers are preserved", arguments: [Int64.max, .min, 0, -1, 1 << 53 + 1])
    func integers(value: Int64) throws {
        try TemporaryDatabase.with { database in
            let query = try Statement("SELECT ?", on: try database.writer())
            query.bind(value, at: 1)
            #expect(try query.first { $0.int64(0) } == value)
        }
    }

    @Test("Empty texts and blobs are not NULL")
    func emptyIsNotNull() throws {
        try TemporaryDatabase.with { database in
            let connection = try database.writer()
            let query = try Statement("SELECT ?, ?, ?, ?, ?", on: connection)
            query.bind("", at: 1)
            query.bind(DatabaseBytes.text([]), at: 2)
            query.bind(DatabaseBytes.blob([]), at: 3)
            query.bind(nil as String?, at: 4)
            query.bind(nil as Int64?, at: 5)

            let types = try query.first { row in
                #expect(row.optionalText(0) == "")
                #expect(row.optionalText(1) == "")
                #expect(row.bytes(2) == [])
                #expect(row.optionalText(3) == nil)
                #expect(row.optionalInt64(4) == nil)
                #expect(row.bytes(4) == [])
                return (0..<5).map { row.type($0) }
            }
            #expect(types == [.text, .text, .blob, .null, .null])
        }
    }

    @Test("Text keeps embedded NUL characters")
    func embeddedNUL() throws {
        try TemporaryDatabase.with { database in
            let connection = try database.writer()
            try connection.execute("CREATE TABLE t(a)")
            let insert = try Statement("INSERT INTO t VALUES (?)", on: connection)
            insert.bind("before\0after", at: 1)
            try insert.run()

            let query = try Statement("SELECT a FROM t", on: connection)
            #expect(try query.first { $0.text(0) } == "before\0after")
            #expect(try query.first { $0.bytes(0) } == Array("before\0after".utf8))
        }
    }

    @Test("Malformed UTF-8 is repaired when read as text, and preserved as bytes")
    func invalidUTF8() throws {
        try TemporaryDatabase.with { database in
            let query = try Statement("SELECT ?", on: try database.writer())
            query.bind(DatabaseBytes.text([0x61, 0xFF, 0x62]), at: 1)
            #expect(try query.first { $0.text(0) } == "a\u{FFFD}b")
            #expect(try query.first { $0.bytes(0) } == [0x61, 0xFF, 0x62])
        }
    }

    @Test("A statement can be reused, and keeps its bindings until they are cleared")
    func reuse() throws {
        try TemporaryDatabase.with { database in
            let connection = try database.writer()
            try connection.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, a)")
            let insert = try Statement("INSERT INTO t(a) VALUES (?)", on: connection, persistent: true)
            for value in 1...3 {
                insert.bind(value, at: 1)
                try insert.run()
                #expect(connection.changes == 1)
                #expect(connection.lastInsertedRowID == Int64(value))
            }
            try insert.run()
            insert.clearBindings()
            try insert.run()

            let values = try Statement("SELECT a FROM t ORDER BY id", on: connection).all { $0.optionalInt64(0) }
            #expect(values == [1, 2, 3, 3, nil])
        }
    }

    @Test("A statement starts from the beginning after a reset")
    func reset() throws {
        try TemporaryDatabase.with { database in
            let query = try Statement("VALUES (1), (2), (3)", on: try database.writer())
            #expect(try query.step { $0.int(0) } == 1)
            #expect(try query.step { $0.int(0) } == 2)
            query.reset()
            #expect(try query.all { $0.int(0) } == [1, 2, 3])
            #expect(try query.step { $0.int(0) } == 1)
        }
    }

    @Test("A cached statement can be used again after an error")
    func cachedStatements() throws {
        try TemporaryDatabase.with { database in
            let connection = try database.writer()
            try connection.execute("CREATE TABLE t(a INTEGER PRIMARY KEY)")
            func insert(_ value: Int64?) throws(SQLiteError) {
                try connection.run("INSERT INTO t VALUES (coalesce(?1, 7))", value)
            }

            try insert(5)
            thrown(SQLiteError.self) { try insert(5) }
            try insert(nil)
            #expect(try connection.all("SELECT a FROM t ORDER BY a") { $0.int(0) } == [5, 7])
        }
    }

    @Test("A cached query can be run again while its rows are being read")
    func nestedCachedStatements() throws {
        try TemporaryDatabase.with { database in
            let connection = try database.writer()
            func digitsInside(_ depth: Int) -> [Int] {
                guard depth > 0 else { return [] }
                let digits = try? connection.all("VALUES (3), (4)") { row in
                    row.int(0) == 3 ? [3] + digitsInside(depth - 1) : [4]
                }
                return digits?.flatMap(\.self) ?? []
            }

            let inner = digitsInside(3)
            #expect(inner == [3, 3, 3, 4, 4, 4])
        }
    }

    @Test("A statement that outlives its connection still works")
    func outlivesConnection() throws {
        try TemporaryDatabase.with { database in
            let query = try Statement("SELECT 5", on: try database.writer())
            #expect(try query.first { $0.int(0) } == 5)
        }
    }
}
