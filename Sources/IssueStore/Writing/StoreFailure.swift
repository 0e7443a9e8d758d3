package import SQLiteKit

/// Why the store could not do what it was asked.
package enum StoreFailure: Error, SQLiteFailure, Equatable, CustomStringConvertible {
    /// The disk is full; what was asked can be asked again.
    case noSpace
    /// The file is damaged and must be set aside.
    case damaged(SQLiteError)
    /// The file is of a newer version, or of another program.
    case foreign(String)
    /// Another daemon has the file.
    case inUse
    /// The folder, or an entry in it that has the file's name, must not be used.
    case unusableLocation(String)
    /// Records about which something was decided have been removed since.
    case outdated
    /// A query ran past its deadline.
    case tooSlow
    /// The write-ahead log must restart first; the operation can be repeated.
    case walTooLarge
    /// Anything else that SQLite says.
    case failed(SQLiteError)

    package init(_ error: SQLiteError) {
        if error.isCorruption {
            self = .damaged(error)
        } else if error.isFull {
            self = .noSpace
        } else if error.isInterrupted {
            self = .tooSlow
        } else {
            self = .failed(error)
        }
    }

    package init(_ error: MigrationError) {
        switch error {
        case .newerVersion, .foreignApplication: self = .foreign(error.description)
        case .stepFailed(_, let reason), .unreadable(let reason): self.init(reason)
        }
    }

    /// Whether nobody can say if what failed is stored: the disk did not do what the commit asked of it last.
    package var isUncertain: Bool {
        switch self {
        case .damaged(let error), .failed(let error): error.isOfCommit
        case .noSpace, .foreign, .inUse, .unusableLocation, .outdated, .tooSlow, .walTooLarge: false
        }
    }

    package var isDamage: Bool {
        if case .damaged = self { true } else { false }
    }

    /// Whether it may be only what names the tables that can't be read.
    package var mayBeOfItsSchema: Bool {
        if case .failed(let error) = self { error.code == .error } else { isDamage }
    }

    /// Whether it is called damage because the disk would not give a page.
    package var isUnreadable: Bool {
        if case .damaged(let error) = self { error.isUnreadable } else { false }
    }

    /// Whether another file in the place of the one that could not be opened may be opened well.
    ///
    /// It may not where the machine lacks something, or where another program has the file.
    package var mayBeOfTheFile: Bool {
        switch self {
        case .damaged, .foreign: true
        case .noSpace, .inUse, .unusableLocation, .outdated, .tooSlow, .walTooLarge: false
        case .failed(let error): !error.isBusy && !error.isOfTheMachine
        }
    }

    package var description: String {
        switch self {
        case .noSpace: "there is no space left for the database"
        case .damaged(let error): "the database is damaged: \(error.words)"
        case .foreign(let words), .unusableLocation(let words): words
        case .inUse: "another daemon has the database open"
        case .outdated: "the records have been removed"
        case .tooSlow: "the query took too long"
        case .walTooLarge: "the write-ahead log is too large"
        case .failed(let error): "the database says: \(error.words)"
        }
    }
}
