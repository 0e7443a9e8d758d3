/// Upgrades a database file to the newest schema in numbered steps. Each step is a transaction.
///
/// The file's `user_version` is the version of its schema, and its `application_id` identifies the program that it
/// belongs to. The caller must first set the pragmas that have to precede the first table (`page_size`, `auto_vacuum`).
package struct Migrator: Sendable {
    private let applicationID: Int32
    private let obsoleteVersion: Int
    private let migrations: [Migration]

    /// Creates a migrator.
    ///
    /// - Parameters:
    ///   - applicationID: The `application_id` of the program's files; not zero.
    ///   - obsoleteVersion: The highest version that cannot be upgraded; 0 if there is none.
    ///   - migrations: The steps, in order. The first one sets up a new file and leads to the version after
    ///     `obsoleteVersion`.
    package init(applicationID: Int32, obsoleteVersion: Int = 0, migrations: [Migration]) {
        precondition(applicationID != 0, "Zero is the application_id of files without an owner")
        self.applicationID = applicationID
        self.obsoleteVersion = obsoleteVersion
        self.migrations = migrations
    }

    /// The version of a file after all steps.
    package var newestVersion: Int { obsoleteVersion + migrations.count }

    /// Runs the steps that the file lacks. Returns its previous version; 0 if it was new.
    @discardableResult
    package func migrate(_ connection: DatabaseConnection) throws(MigrationError) -> Int {
        let version = try recognize(connection)
        for next in max(version, obsoleteVersion)..<newestVersion {
            do throws(SQLiteError) {
                try apply(migrations[next - obsoleteVersion], to: next + 1, on: connection)
            } catch {
                throw .stepFailed(version: next + 1, error)
            }
        }
        return version
    }

    /// Returns the version of a file that is new (0) or belongs to this program. Does not change the file.
    ///
    /// - Throws: An error if the file belongs to another program, if its version is too old or too new, or if it cannot
    ///   be read.
    package func recognize(_ connection: DatabaseConnection) throws(MigrationError) -> Int {
        let id: Int32
        let version: Int
        let isEmpty: Bool
        do throws(SQLiteError) {
            id = Int32(truncatingIfNeeded: try connection.pragma("application_id"))
            version = Int(try connection.pragma("user_version"))
            isEmpty = try !connection.exists("SELECT 1 FROM sqlite_schema LIMIT 1")
        } catch {
            throw .unreadable(error)
        }
        let isNew = id == 0 && version == 0 && isEmpty
        guard id == applicationID || isNew else { throw .foreignApplication(id: id) }
        guard version <= 0 || version > obsoleteVersion else {
            throw .obsoleteVersion(found: version, oldest: obsoleteVersion + 1)
        }
        // A negative version, which the steps never write, is treated like a newer one.
        guard (0...newestVersion).contains(version) else {
            throw .newerVersion(found: version, known: newestVersion)
        }
        return version
    }

    private func apply(
        _ migration: Migration, to version: Int, on connection: DatabaseConnection
    ) throws(SQLiteError) {
        try connection.transaction { () throws(SQLiteError) in
            for script in migration.scripts { try connection.execute(script) }
            try migration.body?(connection)
            // Both are stored in the header of the file, so the transaction covers them.
            try connection.setPragma("application_id", to: Int64(applicationID))
            try connection.setPragma("user_version", to: Int64(version))
        }
    }
}

/// A step that upgrades the schema of a file by one version.
package struct Migration: Sendable {
    let scripts: [StaticString]
    let body: (@Sendable (DatabaseConnection) throws(SQLiteError) -> Void)?

    /// Creates a step from scripts, and from code that runs after them in the same transaction.
    ///
    /// A step must not be changed once it has been released.
    package init(
        _ scripts: StaticString..., then body: (@Sendable (DatabaseConnection) throws(SQLiteError) -> Void)? = nil
    ) {
        self.scripts = scripts
        self.body = body
    }
}

/// The reason why a file could not be upgraded to the newest schema.
package enum MigrationError: Error, Equatable, Sendable {
    /// The file was written by an old version of the program, and cannot be upgraded. `oldest` is the lowest supported
    /// schema version.
    case obsoleteVersion(found: Int, oldest: Int)

    /// The file was written by a newer version of the program, or its version is negative. `known` is the highest
    /// supported schema version.
    case newerVersion(found: Int, known: Int)

    /// The file belongs to another program.
    case foreignApplication(id: Int32)

    /// The step to this version failed and was rolled back.
    case stepFailed(version: Int, SQLiteError)

    /// The file could not be read.
    case unreadable(SQLiteError)
}

extension MigrationError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .obsoleteVersion(let found, let oldest):
            "The schema has version \(found); this program supports versions from \(oldest) on"
        case .newerVersion(let found, let known):
            "The schema has version \(found); this program supports versions up to \(known)"
        case .foreignApplication(let id):
            "The database belongs to another program (application_id \(id))"
        case .stepFailed(let version, let error):
            "The schema could not be upgraded to version \(version): \(error)"
        case .unreadable(let error):
            "The database could not be read: \(error)"
        }
    }
}
