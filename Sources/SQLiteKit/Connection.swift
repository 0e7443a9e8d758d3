internal import CSQLite
private import Glibc

/// A connection to one database file, used by one thread alone.
///
/// It is opened without SQLite's own locks, so the thread that opens it, or that it
/// is sent to at once, must be the only one that ever touches it or its statements.
/// Another thread may only interrupt it, through its handle.
///
/// It never checkpoints unless told to: neither after a commit nor, unless that
/// was asked for, when it is closed.
@safe package final class Connection {
    let handle: OpaquePointer
    let hooks: UnsafeMutablePointer<ConnectionHooks>
    let cache = StatementCache()
    /// Collects which pages the log has held at each checkpoint, while it isn't nil.
    package var pagesCheckpointed: Set<UInt32>?

    /// Ends a query of this connection from another thread.
    package let interruptHandle: InterruptHandle

    /// Opens a file, creating it when the mode says so.
    ///
    /// A file is not read until the first query, so a damaged one opens well.
    /// A symbolic link with the name of the file is not followed: SQLite would
    /// put its log and its lock next to the link's target. Folders may be links.
    ///
    /// - Parameter checkpointsOnClose: whether the last connection to close brings
    ///   the log into the database and deletes it. At most one writer should.
    package init(
        path: String,
        mode: OpenMode = .readWriteCreate,
        busyTimeout: Duration = .zero,
        checkpointsOnClose: Bool = false,
        vfs: String? = nil
    ) throws(SQLiteError) {
        var opened: OpaquePointer?
        let flags = mode.flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOFOLLOW
        let code = unsafe sqlite3_open_v2(Self.resolvingFolder(of: path), &opened, flags, vfs)
        guard code == SQLITE_OK, let database = unsafe opened else {
            // A failed open leaves a half-open connection that knows why.
            let error = unsafe SQLiteError(code: code, database: opened, sql: nil)
            unsafe sqlite3_close_v2(opened)
            throw error
        }
        unsafe handle = database
        unsafe hooks = .allocate(capacity: 1)
        unsafe hooks.initialize(to: ConnectionHooks())
        interruptHandle = unsafe InterruptHandle(database: database)
        unsafe ConnectionHooks.observeCommits(of: database, hooks: hooks)

        setBusyTimeout(busyTimeout)
        setCheckpointsOnClose(checkpointsOnClose)
        // A file may come from anywhere: it shall run no code of ours by its schema.
        configure(SQLITE_DBCONFIG_DEFENSIVE, true)
        configure(SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)
        // Without these a misspelt "column" would silently be a string.
        configure(SQLITE_DBCONFIG_DQS_DML, false)
        configure(SQLITE_DBCONFIG_DQS_DDL, false)
    }

    /// Resolves links in the folder of a file; SQLite's flag refuses those, too.
    private static func resolvingFolder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return path }
        let folder = slash == path.startIndex ? "/" : String(path[..<slash])
        guard let resolved = unsafe realpath(folder, nil) else { return path }
        defer { unsafe free(resolved) }
        return unsafe "\(String(cString: resolved))\(path[slash...])"
    }

    deinit {
        cache.removeAll()
        interruptHandle.forget()
        unsafe ConnectionHooks.detach(from: handle)
        // A statement may be let go after its connection, as when both are members
        // of one object: this form then closes with the last of them.
        unsafe sqlite3_close_v2(handle)
        unsafe hooks.deinitialize(count: 1)
        unsafe hooks.deallocate()
    }

    /// Sets how long to wait for another connection's lock.
    package func setBusyTimeout(_ timeout: Duration) {
        let (seconds, attoseconds) = timeout.components
        let milliseconds = seconds.multipliedReportingOverflow(by: 1_000)
        let fraction = attoseconds / 1_000_000_000_000_000
        let sum = milliseconds.partialValue.addingReportingOverflow(fraction)
        let isBeyond = milliseconds.overflow || sum.overflow
        unsafe sqlite3_busy_timeout(handle, isBeyond ? .max : CInt(clamping: sum.partialValue))
    }

    /// Sets whether closing the last connection brings the log into the database.
    package func setCheckpointsOnClose(_ isOn: Bool) {
        configure(SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !isOn)
    }

    /// Sets the point after which a running query is interrupted, or none.
    ///
    /// It does not end the wait for a lock, which has the busy timeout.
    package func setDeadline(_ deadline: Deadline?) {
        if let deadline {
            unsafe hooks.pointee.deadline = deadline.monotonicNanoseconds
            unsafe ConnectionHooks.observeDeadline(of: handle, hooks: hooks)
        } else {
            unsafe sqlite3_progress_handler(handle, 0, nil, nil)
        }
    }

    /// The rows that the last INSERT, UPDATE or DELETE changed.
    package var changes: Int { Int(unsafe sqlite3_changes64(handle)) }

    package var lastInsertedRowID: Int64 { unsafe sqlite3_last_insert_rowid(handle) }

    /// Whether nothing can be written: by the rights of the file, or by what its header says.
    package var isReadOnly: Bool { unsafe sqlite3_db_readonly(handle, "main") == 1 }

    package var isInTransaction: Bool { unsafe sqlite3_get_autocommit(handle) == 0 }

    /// Gives back the memory that this connection can do without.
    package func releaseMemory() {
        _ = unsafe sqlite3_db_release_memory(handle)
    }

    /// Reads what went wrong last.
    func error(_ code: CInt, sql: String?) -> SQLiteError {
        unsafe SQLiteError(code: code, database: handle, sql: sql)
    }

    /// Reads what can be read of a file that is shorter than its header says, or whose schema has faults.
    ///
    /// For a connection that only reads: SQLite lets who may write to the schema see such a file.
    package func tolerateDamage() throws(SQLiteError) {
        configure(SQLITE_DBCONFIG_DEFENSIVE, false)
        try setPragma("writable_schema", to: "ON")
    }

    /// Sets the length above which a text, a blob or a row is an error.
    package func setLongestValue(bytes: Int) {
        _ = unsafe sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, CInt(clamping: bytes))
    }

    private func configure(_ option: CInt, _ isOn: Bool) {
        let code = unsafe csqlite_db_config_switch(handle, option, isOn ? 1 : 0)
        precondition(code == SQLITE_OK, "This SQLite does not know the switch \(option)")
    }
}

@available(*, unavailable)
extension Connection: Sendable {}
