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
