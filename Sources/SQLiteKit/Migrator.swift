/// Brings a file to the newest schema: numbered steps, each in a transaction of its own.
///
/// The number of the last step taken is the file's `user_version`, and a file is ours by
/// its `application_id`. Pragmas that must come before the first table (the page's size,
/// `auto_vacuum`) are the caller's, who sets them before this runs.
package struct Migrator: Sendable {
    private let applicationID: Int32
    private let migrations: [Migration]

    package init(applicationID: Int32, migrations: [Migration]) {
        precondition(applicationID != 0, "Zero is the application_id of a file that nobody claims")
        self.applicationID = applicationID
        self.migrations = migrations
    }

    /// The version that a file has after all steps.
    package var newestVersion: Int { migrations.count }

    /// Takes the steps that the file has not taken yet, and returns the version it had before.
    @discardableResult
    package func migrate(_ connection: Connection) throws(MigrationError) -> Int {
        let version = try recognize(connection)
        for next in version..<newestVersion {
            do throws(SQLiteError) {
                try take(migrations[next], to: next + 1, on: connection)
            } catch {
                throw .stepFailed(version: next + 1, error)
            }
        }
        return version
    }

    /// Reads the version of a file that is ours or new.
    private func recognize(_ connection: Connection) throws(MigrationError) -> Int {
        let id: Int32
        let version: Int
        let isEmpty: Bool
        do throws(SQLiteError) {
            id = Int32(truncatingIfNeeded: try connection.pragma("application_id"))
            version = Int(try connection.pragma("user_version"))
            let query = try Statement("SELECT 1 FROM sqlite_schema LIMIT 1", on: connection)
            isEmpty = try query.first { _ in true } == nil
        } catch {
            throw .unreadable(error)
        }
        let isNew = id == 0 && version == 0 && isEmpty
        guard id == applicationID || isNew else { throw .foreignApplication(id: id) }
        guard version <= newestVersion else { throw .newerVersion(found: version, known: newestVersion) }
        // Our own steps never write a negative one.
        guard version >= 0 else { throw .newerVersion(found: version, known: newestVersion) }
        return version
    }

    private func take(
        _ migration: Migration, to version: Int, on connection: Connection
    ) throws(SQLiteError) {
        try connection.transaction { () throws(SQLiteError) in
            try connection.execute(migration.script)
            try migration.body?(connection)
            // Both are in the file's header, so they are part of the transaction.
            try connection.setPragma("application_id", to: Int64(applicationID))
            try connection.setPragma("user_version", to: Int64(version))
        }
    }
}
