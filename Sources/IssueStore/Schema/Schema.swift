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
            Migration(log), Migration(forwarding), Migration(views),
        ])

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
