internal import CSQLite

/// What the log owes to the disk.
///
/// A commit writes to the log alone: the file grows by the pages it has made
/// only when the log is copied, and there may be no space for them then.
extension Connection {
    /// How many pages the database has with those that only the log holds, and that this transaction has made.
    package var pages: Int64 {
        get throws(SQLiteError) {
            try withStatement("PRAGMA page_count") { statement throws(SQLiteError) in
                try statement.first { $0.int64(0) } ?? 0
            }
        }
    }

    /// How long the file is, in bytes; nothing where that can't be known.
    package var fileBytes: Int64? {
        let size = unsafe csqlite_file_size(handle)
        return size < 0 ? nil : size
    }

    /// The length of the write-ahead log's file in bytes; nil if it is unknown.
    package var walFileBytes: Int64? {
        let size = unsafe csqlite_wal_size(handle)
        return size < 0 ? nil : size
    }

    /// Has the file grow now, of space that it really has.
    package func extendFile(toPages pages: Int64, of pageBytes: Int64) throws(SQLiteError) {
        let code = unsafe csqlite_file_extend(handle, pages * pageBytes, CInt(pageBytes))
        guard code != SQLITE_OK else { return }
        throw SQLiteError(
            code: ResultCode(rawValue: code), message: "The file could not be made longer",
            systemErrno: unsafe csqlite_file_errno(handle, SQLITE_FCNTL_FILE_POINTER))
    }
}
