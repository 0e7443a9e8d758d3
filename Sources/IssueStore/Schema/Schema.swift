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

    /// Refuses a file of ours from which somebody has taken a table: nothing could be stored in it.
    static func checkWhole(_ connection: Connection) throws {
        let names = Set(
            try connection.withStatement("SELECT name FROM sqlite_schema") { try $0.all { $0.text(0) } })
        guard let missing = migrator.createdNames.first(where: { !names.contains($0) }) else { return }
        throw StoreFailure.foreign("a table of it is missing: \(missing)")
    }

    /// What must be said before the first table is made.
    static func prepare(_ connection: Connection) throws(SQLiteError) {
        try connection.setPragma("page_size", to: 8192)
        try connection.setPragma("auto_vacuum", to: "INCREMENTAL")
        _ = try connection.setPragma("journal_mode", to: "WAL")
        try connection.setPragma("synchronous", to: "FULL")
        try connection.setPragma("foreign_keys", to: "ON")
        try connection.setPragma("cache_size", to: -16_384)
        try connection.setPragma("temp_store", to: "MEMORY")
    }
}
