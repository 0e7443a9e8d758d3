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

/// One step of a schema, taken once in the life of a file.
package struct Migration: Sendable {
    let script: StaticString
    let body: (@Sendable (Connection) throws(SQLiteError) -> Void)?

    /// A step that is a script, and code that runs after it in the same transaction.
    ///
    /// A step that a released version has taken is never changed again.
    package init(
        _ script: StaticString, then body: (@Sendable (Connection) throws(SQLiteError) -> Void)? = nil
    ) {
        self.script = script
        self.body = body
    }
}

/// Why a file could not be brought to the newest schema.
package enum MigrationError: Error, Equatable, Sendable {
    /// A newer version of the program has written the file.
    case newerVersion(found: Int, known: Int)

    /// The file is a database of another program.
    case foreignApplication(id: Int32)

    /// The step that leads to this version failed and left no trace.
    case stepFailed(version: Int, SQLiteError)

    /// The file could not be read at all.
    case unreadable(SQLiteError)
}

extension MigrationError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .newerVersion(let found, let known):
            "The schema is of version \(found), and this program knows versions up to \(known)"
        case .foreignApplication(let id):
            "The database belongs to another program, whose application_id is \(id)"
        case .stepFailed(let version, let error):
            "The schema could not be brought to version \(version): \(error)"
        case .unreadable(let error):
            "The database could not be read: \(error)"
        }
    }
}
