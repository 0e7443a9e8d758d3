import IssueCore
package import SQLiteKit

/// The tables, as the steps that lead to them.
///
/// A step that a release has taken is never changed; the next change is a step
/// of its own. What each table is for stands in `Documentation/Storage.md`.
package enum Schema {
    /// `issd`, as `file` and other programs may recognise ours.
    package static let applicationID: Int32 = 0x6973_7364

    package static let migrator = Migrator(
        applicationID: applicationID,
        migrations: [
            Migration(log), Migration(forwarding), Migration(views), Migration(copies), Migration(shares),
            Migration(singles), Migration(ages), Migration(states),
        ])

    /// Refuses a file of another program or of a newer version before anything in it is changed.
    static func recognize(_ connection: Connection) throws {
        let id = Int32(truncatingIfNeeded: try connection.pragma("application_id"))
        let version = Int(try connection.pragma("user_version"))
        let tables = try connection.withStatement("SELECT count(*) FROM sqlite_schema") {
            try $0.first { $0.int64(0) } ?? 0
        }
        let isNew = id == 0 && version == 0 && tables == 0
        guard id == applicationID || isNew else {
            throw StoreFailure.foreign(MigrationError.foreignApplication(id: id).description)
        }
        guard (0...migrator.newestVersion).contains(version) else {
            throw StoreFailure.foreign(
                MigrationError.newerVersion(found: version, known: migrator.newestVersion).description)
        }
    }

    /// Refuses a file whose tables and views are not what the steps make: each commit would fail, and again.
    static func checkWhole(_ connection: Connection) throws {
        let pattern = try Connection(path: ":memory:")
        do { try migrator.migrate(pattern) } catch { throw StoreFailure(error) }
        let found = Set(try descriptions(connection))
        guard let other = try descriptions(pattern).first(where: { !found.contains($0) }) else { return }
        throw StoreFailure.damaged(
            SQLiteError(code: .corrupt, message: "this is missing or different: \(other.prefix(40))"))
    }

    /// How all that the steps make was made; what the full-text index makes for itself depends on SQLite's version.
    private static func descriptions(_ connection: Connection) throws -> [String] {
        try connection.withStatement(
            "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'group\\_text\\_%' ESCAPE '\\'"
        ) { try $0.all { $0.text(0) } }
    }

    /// How much of the file the writer keeps in memory.
    static func setCache(_ connection: Connection) throws(SQLiteError) {
        try connection.setPragma("cache_size", to: -16_384)
    }

    /// What must be said before the first table is made.
    static func prepare(_ connection: Connection) throws(SQLiteError) {
        guard !connection.isReadOnly else {
            throw SQLiteError(code: .readOnly, message: "nothing can be written to the file")
        }
        try connection.setPragma("page_size", to: 8192)
        // Saying so again would write to the file, for which a full disk may have no room.
        if try connection.pragma("auto_vacuum") != 2 { try connection.setPragma("auto_vacuum", to: "INCREMENTAL") }
        _ = try connection.setPragma("journal_mode", to: "WAL")
        try connection.setPragma("synchronous", to: "FULL")
        try connection.setPragma("foreign_keys", to: "ON")
        try setCache(connection)
        try connection.setPragma("temp_store", to: "MEMORY")
        // A log file that grew in a busy time is truncated when the log restarts.
        try connection.setPragma("journal_size_limit", to: WALLimits.usualBytes)
        // Debian's default overwrites all that is deleted, also by retention; where something is erased it is set.
        try connection.setPragma("secure_delete", to: 0)
    }
}
