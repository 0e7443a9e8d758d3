internal import CSQLite

extension DatabaseConnection {
    /// The length of the WAL after the last commit or checkpoint of this connection, in frames; 0 before the first of
    /// these, and after a complete checkpoint with `restart` or `truncate`.
    package var walFrames: Int { unsafe hooks.pointee.walFrames }

    /// Copies frames of the WAL into the database.
    ///
    /// - Returns: `true` if the whole WAL has been copied, by this or an earlier checkpoint, or if there is no WAL.
    /// - Throws: An error with the code `busy` if another connection is running a checkpoint, or if `mode` waits for
    ///   other connections and the busy timeout is exceeded; or another error of SQLite.
    package func checkpoint(_ mode: CheckpointMode) throws(SQLiteError) -> Bool {
        if pagesCheckpointed != nil { pagesCheckpointed?.formUnion(pagesInWAL()) }
        var framesInWAL: CInt = 0
        var framesCheckpointed: CInt = 0
        let code = unsafe sqlite3_wal_checkpoint_v2(
            handle, "main", mode.rawValue, &framesInWAL, &framesCheckpointed)
        guard code == SQLITE_OK else { throw error(code, sql: nil) }
        let isComplete = framesInWAL == framesCheckpointed
        // After a complete checkpoint in a mode other than `passive`, the next commit resets the WAL. For a database
        // that is not in WAL mode, both numbers are -1.
        unsafe hooks.pointee.walFrames = mode != .passive && isComplete ? 0 : max(0, Int(framesInWAL))
        return isComplete
    }
}

/// The extent of a checkpoint. The raw values are those of SQLite (`SQLITE_CHECKPOINT_PASSIVE` and so on).
package enum CheckpointMode: Int32, Sendable {
    /// Copies as many frames as possible without waiting for readers or writers.
    case passive = 0
    /// Waits for readers and writers and copies everything, so that the next commit resets the WAL.
    case restart = 2
    /// Waits for readers and writers, copies everything, and truncates the WAL file.
    case truncate = 3
}

/// Sizes of the database file and the WAL.
///
/// A commit writes only to the WAL. The database file grows later, when a checkpoint copies the WAL into it. The disk
/// may be full by then.
extension DatabaseConnection {
    /// The number of pages of the database, including those that are only in the WAL or were added by the current
    /// transaction.
    package var pages: Int64 {
        get throws(SQLiteError) {
            try integer("PRAGMA page_count")
        }
    }

    /// The size of the database file in bytes; nil if it is unknown.
    package var fileBytes: Int64? {
        let size = unsafe csqlite_file_size(handle)
        return size < 0 ? nil : size
    }

    /// The size of the WAL file in bytes; nil if it is unknown.
    package var walFileBytes: Int64? {
        let size = unsafe csqlite_wal_size(handle)
        return size < 0 ? nil : size
    }

    /// Extends the database file to a size and allocates the disk space. A larger file stays unchanged.
    ///
    /// - Parameters:
    ///   - pages: The size, in pages.
    ///   - pageBytes: The size of a page, in bytes.
    /// - Throws: An error if the file cannot be extended. The error has the kernel's errno, unless SQLite uses
    ///   posix_fallocate(3), which does not set errno.
    package func extendFile(toPages pages: Int64, of pageBytes: Int64) throws(SQLiteError) {
        let code = unsafe csqlite_file_extend(handle, pages * pageBytes, CInt(pageBytes))
        guard code != SQLITE_OK else { return }
        throw SQLiteError(
            code: ResultCode(rawValue: code), message: "The file could not be extended",
            systemErrno: unsafe csqlite_file_errno(handle, SQLITE_FCNTL_FILE_POINTER))
    }
}

/// Copies a snapshot of a database, a few pages at a time.
///
/// The source connection holds the snapshot until the copy is complete or this object is released. Commits of other
/// connections do not restart the copy.
@safe package final class OnlineBackup {
    private let source: DatabaseConnection
    private let destination: DatabaseConnection
    private var handle: OpaquePointer?

    /// Begins a copy into a new database. Neither connection may be used otherwise until the copy ends.
    package init(from source: DatabaseConnection, to destination: DatabaseConnection) throws(SQLiteError) {
        self.source = source
        self.destination = destination
        try source.execute("BEGIN")
        // The snapshot is taken by the first query.
        _ = try Statement("SELECT count(*) FROM sqlite_schema", on: source).first { $0.int64(0) }
        guard let backup = unsafe sqlite3_backup_init(destination.handle, "main", source.handle, "main") else {
            let code = unsafe sqlite3_extended_errcode(destination.handle)
            throw destination.error(code, sql: nil)
        }
        unsafe handle = backup
    }

    deinit {
        if let handle = unsafe handle { unsafe sqlite3_backup_finish(handle) }
        if source.isInTransaction { try? source.execute("ROLLBACK") }
    }

    /// Copies up to `pages` pages. Returns `true` once the copy is complete.
    package func step(pages: Int) throws(SQLiteError) -> Bool {
        guard let handle = unsafe handle else { return true }
        let code = unsafe sqlite3_backup_step(handle, CInt(clamping: pages))
        switch code {
        case SQLITE_OK: return false
        case SQLITE_DONE:
            let end = unsafe sqlite3_backup_finish(handle)
            unsafe self.handle = nil
            guard end == SQLITE_OK else { throw destination.error(end, sql: nil) }
            try source.execute("COMMIT")
            return true
        default: throw destination.error(code, sql: nil)
        }
    }

    /// The total number of pages, and the number of pages not copied yet; both 0 before the first step and
    /// once the copy is complete.
    package var pages: (total: Int, left: Int) {
        guard let handle = unsafe handle else { return (0, 0) }
        return unsafe (Int(sqlite3_backup_pagecount(handle)), Int(sqlite3_backup_remaining(handle)))
    }
}

@available(*, unavailable)
extension OnlineBackup: Sendable {}
