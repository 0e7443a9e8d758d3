import IssueProtocol
package import SQLiteKit

/// An error of the store.
package enum StoreFailure: Error, SQLiteFailure, Equatable, CustomStringConvertible {
    /// There is too little disk space. The operation can be retried.
    case noSpace
    /// The database is corrupt, or the disk failed to read a page of it.
    case damaged(SQLiteError)
    /// The file belongs to another program or has an unsupported schema version. The string is the error message.
    case foreign(String)
    /// Another daemon has the database open.
    case inUse
    /// The database must not be opened at its path, or its folder cannot be created. The string is the error message.
    case unusableLocation(String)
    /// The file system of the database is read-only. The string is the folder of the database.
    case readOnly(String)
    /// Some records that the operation refers to have been removed, or already processed for the destination.
    case outdated
    /// A query exceeded its timeout or was cancelled.
    case tooSlow
    /// The WAL is too large. The operation can be retried after the WAL was reset.
    case walTooLarge
    /// The WAL file was removed or replaced. The content of the removed WAL must be copied into the database before
    /// anything else is written.
    case walRemoved
    /// Any other SQLite error.
    case failed(SQLiteError)

    /// Converts a SQLite error.
    package init(_ error: SQLiteError) {
        if error.isCorruption {
            self = .damaged(error)
        } else if error.isFull, !error.isCommitFailure || error.code == .full {
            // If COMMIT failed with another code, the transaction may have been stored, and `systemErrno` may be left
            // over from an earlier failure.
            self = .noSpace
        } else if error.isInterrupted {
            self = .tooSlow
        } else {
            self = .failed(error)
        }
    }

    /// Converts an error of the schema migration.
    package init(_ error: MigrationError) {
        switch error {
        case .obsoleteVersion, .newerVersion, .foreignApplication: self = .foreign(error.description)
        case .stepFailed(_, let reason), .unreadable(let reason): self.init(reason)
        }
    }

    /// Whether COMMIT failed in such a way that the transaction may have been stored nevertheless.
    package var isUncertain: Bool {
        switch self {
        case .damaged(let error), .failed(let error): error.isCommitFailure
        case .noSpace, .foreign, .inUse, .unusableLocation, .readOnly, .outdated, .tooSlow, .walTooLarge, .walRemoved:
            false
        }
    }

    /// Whether the database is corrupt.
    package var isDamage: Bool {
        if case .damaged = self { true } else { false }
    }

    /// Whether the error may affect only the schema, so that the tables could still be readable.
    package var mayAffectOnlySchema: Bool {
        if case .failed(let error) = self { error.code == .error } else { isDamage }
    }

    /// Whether the database counts as corrupt because the disk failed to read a page.
    package var isUnreadable: Bool {
        if case .damaged(let error) = self { error.isUnreadable } else { false }
    }

    /// Whether opening a new file instead of this one may succeed.
    ///
    /// It cannot succeed if the host lacks a resource, if the path must not be used, or if another process has the file
    /// open or locked.
    package var isFixedByNewFile: Bool {
        switch self {
        case .damaged, .foreign: true
        case .noSpace, .inUse, .unusableLocation, .readOnly, .outdated, .tooSlow, .walTooLarge, .walRemoved: false
        case .failed(let error): !error.isBusy && !error.isHostFailure
        }
    }

    package var description: String {
        switch self {
        case .noSpace: "there is no space left for the database"
        case .damaged(let error): "the database is damaged: \(error.text)"
        case .foreign(let message), .unusableLocation(let message): message
        case .readOnly(let folder):
            "\(folder) \(StoreStatus.readOnlyText): look for disk errors (journalctl --dmesg), then mount it read-write"
        case .inUse: "another daemon has the database open"
        case .outdated: "some of the records have been removed, or already processed for the destination"
        case .tooSlow: "the query took too long or was cancelled"
        case .walTooLarge: "the write-ahead log is too large"
        case .walRemoved: "the write-ahead log was removed, and has not been copied into the database yet"
        case .failed(let error): "database error: \(error.text)"
        }
    }
}
