internal import CSQLite

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
