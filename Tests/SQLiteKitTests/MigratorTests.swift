import Foundation
import SQLiteKit
import Testing

@Suite("Migrations")
struct MigratorTests {
    private static let applicationID: Int32 = 0x1551_0ED0

    private static let steps: [Migration] = [
        Migration("CREATE TABLE a(x); INSERT INTO a VALUES (1)"),
        Migration("ALTER TABLE a ADD COLUMN y") { connection throws(SQLiteError) in
            try connection.run("UPDATE a SET y = ?", "by code")
        },
        Migration("CREATE TABLE b AS SELECT x, y FROM a"),
    ]

    private static func migrator(_ count: Int) -> Migrator {
        Migrator(applicationID: applicationID, migrations: Array(steps.prefix(count)))
    }

    /// Expects that a file is rejected with an error and left unchanged.
    private static func expectRejected(
        _ connection: DatabaseConnection, by migrator: Migrator, _ expected: MigrationError,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        func content() throws -> [String] {
            let names = try Statement("SELECT name FROM sqlite_schema WHERE type = 'table'", on: connection)
                .all { $0.text(0) }
            let tables = ["sqlite_schema", "pragma_user_version", "pragma_application_id"] + names
            return try tables.map { name in
                let rows = try Statement(composedSQL: "SELECT * FROM \(name)", on: connection)
                let count = rows.columnNames.count
                return try rows.all { row in "\(name) \((0..<count).map { row.text($0) })" }.joined(separator: "\n")
            }
        }
        let before = try content()
        let error = thrown(MigrationError.self, sourceLocation: sourceLocation) { try migrator.migrate(connection) }
        #expect(error == expected, sourceLocation: sourceLocation)
        #expect(try content() == before, sourceLocation: sourceLocation)
    }

    @Test("A file of any version is upgraded to the newest and keeps its rows", arguments: 0...3)
    func everyVersion(version: Int) throws {
        try TemporaryDatabase.with { database in
            let connection = try database.writer()
            try Self.migrator(version).migrate(connection)
            #expect(try connection.pragma("user_version") == Int64(version))

            let before = try Self.migrator(3).migrate(connection)

            #expect(before == version)
            #expect(try connection.pragma("user_version") == 3)
            #expect(try connection.pragma("application_id") == Int64(Self.applicationID))
            let row = try Statement("SELECT x, y FROM b", on: connection).all { "\($0.int(0)) \($0.text(1))" }
            #expect(row == ["1 by code"])
        }
    }

    @Test("A file of a newer version is rejected and left unchanged")
    func newer() throws {
        try TemporaryDatabase.with { database in
            let connection = try database.writer()
            try Self.migrator(3).migrate(connection)
            try Self.expectRejected(connection, by: Self.migrator(2), .newerVersion(found: 3, known: 2))
        }
    }

    @Test("A file of an obsolete version is rejected and left unchanged, and a new file skips these versions")
    func obsolete() throws {
        let migrator = Migrator(applicationID: Self.applicationID, obsoleteVersion: 2, migrations: [Self.steps[0]])
        #expect(migrator.newestVersion == 3)
        for version in 1...2 {
            try TemporaryDatabase.with { database in
                let connection = try database.writer()
                try Self.migrator(version).migrate(connection)
                try Self.expectRejected(connection, by: migrator, .obsoleteVersion(found: version, oldest: 3))
            }
        }
        try TemporaryDatabase.with { database in
            let connection = try database.writer()
            #expect(try migrator.migrate(connection) == 0)
            #expect(try connection.pragma("user_version") == 3)
            #expect(try migrator.migrate(connection) == 3)
        }
    }

    @Test("A file of another program is rejected and left unchanged")
    func foreign() throws {
        try TemporaryDatabase.with { database in
            let connection = try database.writer()
            try connection.setPragma("application_id", to: 7)
            try Self.expectRejected(connection, by: Self.migrator(3), .foreignApplication(id: 7))
        }
        try TemporaryDatabase.with { database in
            let connection = try database.writer()
            try connection.execute("CREATE TABLE precious(a); INSERT INTO precious VALUES (1)")
            try Self.expectRejected(connection, by: Self.migrator(3), .foreignApplication(id: 0))
        }
    }

    @Test("A file that is not a database is rejected as unreadable and corrupt")
    func notADatabase() throws {
        try TemporaryDatabase.with { database in
            try Array(repeating: "This is no database. ", count: 100).joined()
                .write(toFile: database.path, atomically: false, encoding: .utf8)
            let connection = try DatabaseConnection(path: database.path)
            let error = thrown(MigrationError.self) { try Self.migrator(3).migrate(connection) }
            guard case .unreadable(let cause) = error else {
                Issue.record("Unexpected error: \(String(describing: error))")
                return
            }
            #expect(cause.code == .notADatabase)
            #expect(cause.isCorruption)
        }
    }

    @Test("A failed step leaves version and schema unchanged")
    func atomicStep() throws {
        try TemporaryDatabase.with { database in
            let connection = try database.writer()
            let failing: [Migration] = [
                Self.steps[0],
                Migration("CREATE TABLE half(a); INSERT INTO a VALUES (2)") { connection throws(SQLiteError) in
                    try connection.execute("INSERT INTO nowhere VALUES (1)")
                },
            ]
            let migrator = Migrator(applicationID: Self.applicationID, migrations: failing)

            let error = thrown(MigrationError.self) { try migrator.migrate(connection) }

            guard case .stepFailed(version: 2, _) = error else {
                Issue.record("Unexpected error: \(String(describing: error))")
                return
            }
            #expect(try connection.pragma("user_version") == 1)
            #expect(try connection.number("SELECT count(*) FROM a") == 1)
            #expect(try connection.number("SELECT count(*) FROM sqlite_schema WHERE name = 'half'") == 0)
            #expect(!connection.isInTransaction)
            try Self.migrator(3).migrate(connection)
        }
    }
}
