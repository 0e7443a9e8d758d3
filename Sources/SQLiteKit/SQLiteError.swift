internal import CSQLite
internal import Glibc

/// An error of SQLite: its code, its message, and the SQL.
///
/// The SQL contains no values, since those are bound.
package struct SQLiteError: Error, Equatable, Sendable {
    package let code: ResultCode
    package let message: String
    package let sql: String?

    /// The kernel's errno for an I/O error, or for corruption that is really an I/O error; otherwise 0.
    package let systemErrno: Int32

    /// `true` if COMMIT failed. The changes are rolled back for this connection, but may still be found by one that
    /// opens the file later.
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
    /// The file is corrupt, or is not a database.
    package var isCorruption: Bool {
        switch code.primary {
        case .corrupt, .notADatabase: true
        default: false
        }
    }

    /// The disk failed to return a page. SQLite reports this as corruption too.
    package var isUnreadable: Bool { isCorruption && systemErrno != 0 }

    /// The disk or the quota is full.
    package var isFull: Bool {
        switch code.primary {
        case .full: true
        // SQLite reports this code only for plain writes. A full quota, and the files next to the database, are
        // reported as I/O errors.
        case .inputOutput, .cannotOpen: systemErrno == ENOSPC || systemErrno == EDQUOT
        default: false
        }
    }

    /// Another connection holds the lock.
    package var isBusy: Bool { code.primary == .busy }

    /// The host lacks a resource that any file would need, such as memory, file descriptors, locks or disk space.
    package var isOfTheMachine: Bool {
        switch code.primary {
        case .outOfMemory, .locked, .interrupted, .full: true
        case .inputOutput, .cannotOpen:
            code == .outOfMemoryForIO || [EMFILE, ENFILE, ENOMEM, ENOLCK, ENOSPC, EDQUOT, EROFS].contains(systemErrno)
        default: false
        }
    }

    /// The message of SQLite, followed by that of the kernel.
    package var text: String {
        guard systemErrno != 0, let reason = unsafe strerror(systemErrno) else { return message }
        return unsafe "\(message) (\(String(cString: reason)))"
    }

    /// The query was interrupted by its deadline or by another thread.
    package var isInterrupted: Bool { code.primary == .interrupted }
}

extension SQLiteError: CustomStringConvertible {
    package var description: String {
        var text = "\(message): \(code)"
        if systemErrno != 0 { text += ", errno \(systemErrno)" }
        if let sql { text += " in: \(sql)" }
        return text
    }
}

extension SQLiteError {
    /// Reads the last error of a connection.
    ///
    /// Must be called before any other use of that connection.
    init(code: CInt, database: OpaquePointer?, sql: String?) {
        let code = ResultCode(rawValue: code)
        let systemErrno: Int32 =
            switch code.primary {
            // For other codes this would be the errno of an earlier failure.
            case .inputOutput, .cannotOpen: unsafe sqlite3_system_errno(database)
            case .corrupt: unsafe Self.readErrno(database)
            default: 0
            }
        // A misuse is not recorded on the connection, so its message would be that of an earlier error.
        let isNoted = unsafe database != nil && code.primary != .misuse
        let text = unsafe isNoted ? sqlite3_errmsg(database) : sqlite3_errstr(code.rawValue)
        let message = unsafe text.map { unsafe String(cString: $0) } ?? "SQLite returned no message"
        self.init(code: code, message: message, sql: sql, systemErrno: systemErrno)
    }

    /// Returns the kernel's error if the database or its WAL could not be read, as with a damaged disk; otherwise 0.
    ///
    /// The error is stored with the open file, so it may be that of an earlier failure of the same connection.
    private static func readErrno(_ database: OpaquePointer?) -> Int32 {
        guard let database = unsafe database else { return 0 }
        for file in [SQLITE_FCNTL_FILE_POINTER, SQLITE_FCNTL_JOURNAL_POINTER] {
            let code = unsafe csqlite_file_errno(database, file)
            // SQLite reports these errors as corruption.
            if [EIO, ENXIO, ERANGE].contains(code) { return code }
        }
        return 0
    }
}

/// A result code of SQLite. A primary code matches its extended codes.
package struct ResultCode: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int32

    package init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// The primary code of an extended code.
    package var primary: ResultCode {
        ResultCode(rawValue: rawValue & 0xFF)
    }

    /// Matches equal codes, and the extended codes of a primary code.
    package static func ~= (pattern: ResultCode, code: ResultCode) -> Bool {
        pattern == code || pattern == code.primary
    }
}

extension ResultCode {
    package static let error = ResultCode(rawValue: SQLITE_ERROR)
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
    package static let misuse = ResultCode(rawValue: SQLITE_MISUSE)
    /// The statement is not allowed; see ``DatabaseConnection/restrictToReading()``.
    package static let unauthorized = ResultCode(rawValue: SQLITE_AUTH)
    package static let notADatabase = ResultCode(rawValue: SQLITE_NOTADB)
    package static let outOfMemoryForIO = ResultCode(rawValue: SQLITE_IOERR | (12 << 8))
}

extension ResultCode: CustomStringConvertible {
    package var description: String {
        let text = unsafe String(cString: sqlite3_errstr(rawValue))
        return "\(text) (\(rawValue))"
    }
}

/// An error type into which errors of SQLite can be converted.
///
/// A scope such as a transaction can fail on its own. With this protocol, the error type of its body determines how
/// such a failure is represented.
package protocol SQLiteFailure: Error {
    init(_ error: SQLiteError)
}
