internal import CSQLite

/// A copy of a database, made some pages at a time from one snapshot of its source.
///
/// The source holds that snapshot until the copy is done or given up: others may
/// write meanwhile, and none of it makes the copy begin anew.
@safe package final class OnlineBackup {
    private let source: Connection
    private let destination: Connection
    private var handle: OpaquePointer?

    /// Begins to copy into a new database; both connections are of use for nothing else until then.
    package init(from source: Connection, to destination: Connection) throws(SQLiteError) {
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

    /// Copies some pages, and answers whether that were the last.
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

    /// How many pages the source has, and how many of them are not copied yet; nothing before the first step.
    package var pages: (total: Int, left: Int) {
        guard let handle = unsafe handle else { return (0, 0) }
        return unsafe (Int(sqlite3_backup_pagecount(handle)), Int(sqlite3_backup_remaining(handle)))
    }
}

@available(*, unavailable)
extension OnlineBackup: Sendable {}
