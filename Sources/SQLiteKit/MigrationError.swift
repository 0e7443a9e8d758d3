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
