internal import CSQLite
internal import Glibc

/// An error of SQLite.
package struct SQLiteError: Error, Equatable, Sendable {
    package let code: ResultCode
    package let message: String
    /// The statement that failed, without the bound values; nil if none is known.
    package let sql: String?

    /// The kernel's errno for an I/O error or for a file that cannot be opened, and for corruption that SQLite reports
    /// because of a read error; otherwise 0.
    package let systemErrno: Int32

    /// Whether COMMIT failed. The changes were rolled back on this connection, but may still be in the file when it
    /// is opened again.
    package internal(set) var isCommitFailure = false

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
    /// Whether the file is corrupt or is not a database.
    package var isCorruption: Bool {
        switch code.primary {
        case .corrupt, .notADatabase: true
        default: false
        }
    }

    /// Whether the disk failed to read a page, which SQLite reports as corruption.
    package var isUnreadable: Bool { isCorruption && systemErrno != 0 }

    /// Whether the disk or the quota is full.
    package var isFull: Bool {
        switch code.primary {
        case .full: true
        // SQLite reports `full` if a write found no space. If the quota is full, or if there is no space to create or
        // preallocate a file, it reports these codes.
        case .inputOutput, .cannotOpen: systemErrno == ENOSPC || systemErrno == EDQUOT
        default: false
        }
    }

    /// Whether another connection holds a lock that this connection needs.
    package var isBusy: Bool { code.primary == .busy }

    /// Whether the cause of the error lies outside the file: memory, file descriptors, locks or disk space are lacking,
    /// the file system is read-only, or the statement was interrupted or found a table locked.
    package var isHostFailure: Bool {
        switch code.primary {
        case .outOfMemory, .locked, .interrupted, .full: true
        case .inputOutput, .cannotOpen:
            code == .outOfMemoryForIO || [EMFILE, ENFILE, ENOMEM, ENOLCK, ENOSPC, EDQUOT, EROFS].contains(systemErrno)
        default: false
        }
    }

    /// The message of SQLite, followed by that of the kernel if there is one.
    package var text: String {
        guard systemErrno != 0, let reason = unsafe strerror(systemErrno) else { return message }
        return unsafe "\(message) (\(String(cString: reason)))"
    }

    /// Whether the statement was interrupted, by its deadline or by another thread.
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
    /// Creates an error from a result code and the message and errno that the connection has for its last error.
    ///
    /// Must be called before any other use of the connection.
    ///
    /// - Parameters:
    ///   - code: The result code.
    ///   - database: The connection; nil if none could be allocated.
    ///   - sql: The statement that failed; nil if none is known.
    init(code: CInt, database: OpaquePointer?, sql: String?) {
        let code = ResultCode(rawValue: code)
        let systemErrno: Int32 =
            switch code.primary {
            // For other codes, the errno would be that of an earlier failure.
            case .inputOutput, .cannotOpen: unsafe sqlite3_system_errno(database)
            case .corrupt: unsafe Self.readErrno(database)
            default: 0
            }
        // SQLite does not always record a misuse on the connection. The connection's message may then be that of an
        // earlier error.
        let hasMessage = unsafe database != nil && code.primary != .misuse
        let text = unsafe hasMessage ? sqlite3_errmsg(database) : sqlite3_errstr(code.rawValue)
        let message = unsafe text.map { unsafe String(cString: $0) } ?? "SQLite returned no message"
        self.init(code: code, message: message, sql: sql, systemErrno: systemErrno)
    }

    /// Returns the errno of the last failed call on the database file or the WAL if SQLite reports that errno as
    /// corruption; otherwise 0.
    ///
    /// SQLite stores the errno with the open file, so it may be that of an earlier failure of the same connection.
    private static func readErrno(_ database: OpaquePointer?) -> Int32 {
        guard let database = unsafe database else { return 0 }
        for file in [SQLITE_FCNTL_FILE_POINTER, SQLITE_FCNTL_JOURNAL_POINTER] {
            let code = unsafe csqlite_file_errno(database, file)
            // SQLite reports a read that fails with one of these as corruption.
            if [EIO, ENXIO, ERANGE].contains(code) { return code }
        }
        return 0
    }
}

/// A result code of SQLite. As a pattern in a `switch`, a primary code also matches its extended codes.
package struct ResultCode: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int32

    package init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// The primary code of an extended code.
    package var primary: ResultCode {
        ResultCode(rawValue: rawValue & 0xFF)
    }

    /// Returns `true` if the codes are equal, or if `pattern` is the primary code of `code`.
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
    /// The statement is not allowed (``DatabaseConnection/restrictToReading()``).
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
/// A transaction throws the error type of its body, but BEGIN and COMMIT can fail too. This protocol converts such a
/// failure to that type.
package protocol SQLiteFailure: Error {
    init(_ error: SQLiteError)
}
