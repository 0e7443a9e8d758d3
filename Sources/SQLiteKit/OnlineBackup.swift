internal import CSQLite

/// A copy of a database that is made a few pages at a time from one snapshot of the source.
///
/// The source keeps the snapshot until the copy is complete or abandoned. Other connections may write meanwhile, and
/// the copy does not restart.
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

    /// Copies up to `pages` pages, and returns `true` when the copy is complete.
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

    /// The total number of pages, and the number of pages not copied yet; both 0 before the first step.
    package var pages: (total: Int, left: Int) {
        guard let handle = unsafe handle else { return (0, 0) }
        return unsafe (Int(sqlite3_backup_pagecount(handle)), Int(sqlite3_backup_remaining(handle)))
    }
}

@available(*, unavailable)
extension OnlineBackup: Sendable {}
