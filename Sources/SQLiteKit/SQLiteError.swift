internal import CSQLite
internal import Glibc

/// A call to SQLite that failed: the code to switch on, the words, and the SQL.
///
/// The SQL never holds a value: those are bound, and what is bound is left out.
package struct SQLiteError: Error, Equatable, Sendable {
    package let code: ResultCode
    package let message: String
    package let sql: String?

    /// The kernel's errno behind an input or output error, or behind damage that is none, or zero.
    package let systemErrno: Int32

    /// Whether it came as a transaction was being committed: what was written may be found by whoever opens the file
    /// anew, though for this connection it is not there.
    package internal(set) var isOfCommit = false

    package init(code: ResultCode, message: String, sql: String? = nil, systemErrno: Int32 = 0) {
        self.code = code
        self.message = message
        self.sql = sql
        self.systemErrno = systemErrno
    }
}

extension SQLiteError: SQLiteFailure {
    package init(_ error: SQLiteError) {
        self = error
    }
}

extension SQLiteError {
    /// The file is damaged, or was never a database.
    package var isCorruption: Bool {
        switch code.primary {
        case .corrupt, .notADatabase: true
        // Where the full-text index finds its own tables wrong, it has no code for that.
        case .error: message.hasPrefix("invalid fts5 file format")
        default: false
        }
    }

    /// The disk would not give a page, which SQLite calls damage, too.
    package var isUnreadable: Bool { isCorruption && systemErrno != 0 }

    /// There is no space left, on the disk or within the quota.
    package var isFull: Bool {
        switch code.primary {
        case .full: true
        // SQLite says so itself for a plain write only; a quota, and the files
        // beside the database, come back as errors of input and output.
        case .inputOutput, .cannotOpen: systemErrno == ENOSPC || systemErrno == EDQUOT
        default: false
        }
    }

    /// Another connection holds the lock.
    package var isBusy: Bool { code.primary == .busy }

    /// The machine lacks what any file would need: memory, descriptors, locks.
    package var isOfTheMachine: Bool {
        switch code.primary {
        case .outOfMemory, .locked, .interrupted, .full: true
        case .inputOutput, .cannotOpen:
            code == .outOfMemoryForIO || [EMFILE, ENFILE, ENOMEM, ENOLCK, ENOSPC, EDQUOT, EROFS].contains(systemErrno)
        default: false
        }
    }

    /// What SQLite says, and the kernel behind it.
    package var words: String {
        guard systemErrno != 0, let reason = unsafe strerror(systemErrno) else { return message }
        return unsafe "\(message) (\(String(cString: reason)))"
    }

    /// The query was ended by a deadline or by another thread.
    package var isInterrupted: Bool { code.primary == .interrupted }
}

extension SQLiteError: CustomStringConvertible {
    package var description: String {
        var words = "\(message): \(code)"
        if systemErrno != 0 { words += ", errno \(systemErrno)" }
        if let sql { words += " in: \(sql)" }
        return words
    }
}

extension SQLiteError {
    /// Reads what went wrong last on a connection.
    ///
    /// It must be called before anything else is asked of that connection.
    init(code: CInt, database: OpaquePointer?, sql: String?) {
        let code = ResultCode(rawValue: code)
        let systemErrno: Int32 =
            switch code.primary {
            // Elsewhere it would be the errno of some older failure.
            case .inputOutput, .cannotOpen: unsafe sqlite3_system_errno(database)
            case .corrupt: unsafe Self.readErrno(database)
            default: 0
            }
        // A misuse is not noted on the connection, so its words are of an older error.
        let isNoted = unsafe database != nil && code.primary != .misuse
        let words = unsafe isNoted ? sqlite3_errmsg(database) : sqlite3_errstr(code.rawValue)
        let message = unsafe words.map { unsafe String(cString: $0) } ?? "SQLite gave no words"
        self.init(code: code, message: message, sql: sql, systemErrno: systemErrno)
    }

    /// What the kernel said when the database or its log could not be read, where it says that of a damaged disk.
    ///
    /// A file remembers it, so it may be of an older failure of the same connection.
    private static func readErrno(_ database: OpaquePointer?) -> Int32 {
        guard let database = unsafe database else { return 0 }
        for file in [SQLITE_FCNTL_FILE_POINTER, SQLITE_FCNTL_JOURNAL_POINTER] {
            let code = unsafe csqlite_file_errno(database, file)
            // Of these SQLite makes damage.
            if [EIO, ENXIO, ERANGE].contains(code) { return code }
        }
        return 0
    }
}

/// What SQLite answers to a call; a primary code matches its extended ones.
package struct ResultCode: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int32

    package init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// The class that an extended code belongs to.
    package var primary: ResultCode {
        ResultCode(rawValue: rawValue & 0xFF)
    }

    /// Matches the same code, and a primary code also each of its extended ones.
    package static func ~= (pattern: ResultCode, code: ResultCode) -> Bool {
        pattern == code || pattern == code.primary
    }
}

extension ResultCode {
    package static let error = ResultCode(rawValue: SQLITE_ERROR)
    package static let permission = ResultCode(rawValue: SQLITE_PERM)
    package static let aborted = ResultCode(rawValue: SQLITE_ABORT)
    package static let busy = ResultCode(rawValue: SQLITE_BUSY)
    package static let locked = ResultCode(rawValue: SQLITE_LOCKED)
    package static let outOfMemory = ResultCode(rawValue: SQLITE_NOMEM)
    package static let readOnly = ResultCode(rawValue: SQLITE_READONLY)
    package static let interrupted = ResultCode(rawValue: SQLITE_INTERRUPT)
    package static let inputOutput = ResultCode(rawValue: SQLITE_IOERR)
    package static let corrupt = ResultCode(rawValue: SQLITE_CORRUPT)
    package static let full = ResultCode(rawValue: SQLITE_FULL)
    package static let cannotOpen = ResultCode(rawValue: SQLITE_CANTOPEN)
    package static let tooBig = ResultCode(rawValue: SQLITE_TOOBIG)
    package static let constraint = ResultCode(rawValue: SQLITE_CONSTRAINT)
    package static let misuse = ResultCode(rawValue: SQLITE_MISUSE)
    package static let notADatabase = ResultCode(rawValue: SQLITE_NOTADB)

    /// A reader's snapshot is too old to become a writer's.
    package static let busySnapshot = ResultCode(rawValue: SQLITE_BUSY | (2 << 8))
    package static let writeFailed = ResultCode(rawValue: SQLITE_IOERR | (3 << 8))
    package static let syncFailed = ResultCode(rawValue: SQLITE_IOERR | (4 << 8))
    package static let outOfMemoryForIO = ResultCode(rawValue: SQLITE_IOERR | (12 << 8))
    package static let checkConstraint = ResultCode(rawValue: SQLITE_CONSTRAINT | (1 << 8))
    package static let foreignKeyConstraint = ResultCode(rawValue: SQLITE_CONSTRAINT | (3 << 8))
    package static let notNullConstraint = ResultCode(rawValue: SQLITE_CONSTRAINT | (5 << 8))
    package static let primaryKeyConstraint = ResultCode(rawValue: SQLITE_CONSTRAINT | (6 << 8))
    package static let uniqueConstraint = ResultCode(rawValue: SQLITE_CONSTRAINT | (8 << 8))
    package static let rowIDConstraint = ResultCode(rawValue: SQLITE_CONSTRAINT | (10 << 8))
}

extension ResultCode: CustomStringConvertible {
    package var description: String {
        let words = unsafe String(cString: sqlite3_errstr(rawValue))
        return "\(words) (\(rawValue))"
    }
}

/// An error that a scope may throw beside SQLite's own, made from one of those.
///
/// A scope such as a transaction can fail by itself. A body that throws an error of
/// its own type says through this how such a failure reads there.
package protocol SQLiteFailure: Error {
    init(_ error: SQLiteError)
}

/// The library itself, as all connections of the process share it.
package enum SQLiteLibrary {
    /// The version that is linked at run time, as in 3051003 for 3.51.3.
    package static var versionNumber: Int { Int(sqlite3_libversion_number()) }

    /// Whether a commit during another connection's checkpoint can lose frames.
    ///
    /// From 3.7.0 to 3.51.2: a checkpoint that begins on a log already copied as a
    /// whole may mark frames as copied that a commit wrote after resetting the log.
    package static var hasWALResetFault: Bool {
        (3_007_000..<3_051_003).contains(versionNumber)
    }

    /// The bytes that SQLite has allocated in this process.
    package static var memoryUsed: Int64 {
        var current: Int64 = 0
        var highest: Int64 = 0
        let code = unsafe sqlite3_status64(SQLITE_STATUS_MEMORY_USED, &current, &highest, 0)
        precondition(code == SQLITE_OK, "SQLite does not know how much memory it uses")
        return current
    }

    /// Sets the size above which caches give pages back before they take more; zero lifts it.
    package static func setSoftHeapLimit(bytes: Int64) {
        precondition(bytes >= 0, "A limit of memory cannot be negative")
        _ = sqlite3_soft_heap_limit64(bytes)
    }
}
