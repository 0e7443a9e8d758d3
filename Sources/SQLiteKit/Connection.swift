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

extension Connection {
    /// The frames in the write-ahead log after the last commit of this connection.
    package var walFrames: Int { unsafe hooks.pointee.walFrames }

    /// Brings frames of the log into the database.
    package func checkpoint(_ mode: CheckpointMode) throws(SQLiteError) -> CheckpointResult {
        if pagesCheckpointed != nil { pagesCheckpointed?.formUnion(pagesInLog()) }
        var framesInLog: CInt = 0
        var framesCheckpointed: CInt = 0
        let code = unsafe sqlite3_wal_checkpoint_v2(
            handle, "main", mode.rawValue, &framesInLog, &framesCheckpointed)
        guard code == SQLITE_OK else { throw error(code, sql: nil) }
        // Both are -1 for a database that keeps no such log.
        let result = CheckpointResult(
            framesInLog: max(0, Int(framesInLog)), framesCheckpointed: max(0, Int(framesCheckpointed)))
        // After these modes the next commit begins the log anew, whatever it held.
        let beginsAnew = mode != .passive && result.framesInLog == result.framesCheckpointed
        unsafe hooks.pointee.walFrames = beginsAnew ? 0 : result.framesInLog
        return result
    }
}

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

/// Settings of the database and of the connection.
///
/// SQLite answers nothing to a pragma that it does not know, so reading one is an error here.
extension Connection {
    /// Reads a pragma that is a number.
    package func pragma(_ name: StaticString) throws(SQLiteError) -> Int64 {
        try firstAnswer(to: "PRAGMA \(name)") { $0.int64(0) }
    }

    /// Reads a pragma that is a word.
    package func pragmaText(_ name: StaticString) throws(SQLiteError) -> String {
        try firstAnswer(to: "PRAGMA \(name)") { $0.text(0) }
    }

    /// Sets a pragma to a number.
    package func setPragma(_ name: StaticString, to value: Int64) throws(SQLiteError) {
        try execute(composedSQL: "PRAGMA \(name)=\(value)")
    }

    /// Sets a pragma to a word, and returns what SQLite made of it, which may be another.
    @discardableResult
    package func setPragma(_ name: StaticString, to value: StaticString) throws(SQLiteError) -> String? {
        let statement = try Statement(composedSQL: "PRAGMA \(name)=\(value)", on: self)
        return try statement.first { $0.text(0) }
    }

    private func firstAnswer<Value>(
        to sql: String, _ read: (borrowing Row) -> Value
    ) throws(SQLiteError) -> Value {
        let statement = try Statement(composedSQL: sql, on: self)
        guard let value = try statement.first(read) else {
            throw SQLiteError(code: .error, message: "There is no such pragma", sql: sql)
        }
        return value
    }
}

extension Connection {
    /// Runs statements that take no values and answer no rows.
    package func execute(_ script: StaticString) throws(SQLiteError) {
        try execute(composedSQL: "\(script)")
    }

    /// Runs statements that our own code composed; nothing from outside may be in them.
    package func execute(composedSQL script: String) throws(SQLiteError) {
        let code = unsafe sqlite3_exec(handle, script, nil, nil, nil)
        guard code == SQLITE_OK else { throw error(code, sql: script) }
    }

    /// Lends the statement of this SQL, compiled once and kept, and resets it afterwards.
    ///
    /// A statement that is already lent is compiled once more, so scopes may nest.
    package func withStatement<Value, Failure: SQLiteFailure>(
        _ sql: StaticString,
        _ body: (borrowing Statement) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let entry = try borrowed(sql, as: Failure.self)
        defer { entry.giveBack() }
        return try body(entry.statement)
    }

    /// Lends the statement of this SQL to a body that may throw anything.
    @_disfavoredOverload
    package func withStatement<Value>(
        _ sql: StaticString,
        _ body: (borrowing Statement) throws -> Value
    ) throws -> Value {
        let entry = try borrowed(sql, as: SQLiteError.self)
        defer { entry.giveBack() }
        return try body(entry.statement)
    }

    /// Throws if the connection was cancelled.
    func checkCancellation() throws(SQLiteError) {
        guard interruptHandle.isCancelled else { return }
        throw SQLiteError(code: .interrupted, message: "interrupted")
    }

    private func borrowed<Failure: SQLiteFailure>(
        _ sql: StaticString, as failure: Failure.Type
    ) throws(Failure) -> CachedStatement {
        do throws(SQLiteError) {
            try checkCancellation()
            return try cache.borrow(sql, on: self)
        } catch {
            throw Failure(error)
        }
    }
}

/// What SQLite's callbacks of one connection read and write.
///
/// It lives at a fixed address of its own, because C keeps a pointer to it.
struct ConnectionHooks {
    /// The length of the write-ahead log after the last commit.
    var walFrames = 0
    var deadline = UInt64.max
}

extension ConnectionHooks {
    /// Makes commits report the length of the log instead of checkpointing.
    ///
    /// SQLite's automatic checkpoint is itself a hook in this place, so with this
    /// one set a connection never checkpoints unless told to.
    static func observeCommits(of database: OpaquePointer, hooks: UnsafeMutablePointer<ConnectionHooks>) {
        _ = unsafe sqlite3_wal_hook(
            database,
            { context, _, _, frames in
                unsafe context?.assumingMemoryBound(to: ConnectionHooks.self).pointee.walFrames = Int(frames)
                return SQLITE_OK
            }, hooks)
    }

    /// Ends queries once the deadline has passed.
    static func observeDeadline(of database: OpaquePointer, hooks: UnsafeMutablePointer<ConnectionHooks>) {
        // A thousand steps of SQLite's machine take some tens of microseconds:
        // rare enough to cost nothing, often enough for any deadline.
        unsafe sqlite3_progress_handler(
            database, 1_000,
            { context in
                guard let context = unsafe context else { return 0 }
                let deadline = unsafe context.assumingMemoryBound(to: ConnectionHooks.self).pointee.deadline
                return Deadline.monotonicNow() >= deadline ? 1 : 0
            }, hooks)
    }

    /// Takes both away, so that nothing points at the hooks any more.
    static func detach(from database: OpaquePointer) {
        _ = unsafe sqlite3_wal_hook(database, nil, nil)
        unsafe sqlite3_progress_handler(database, 0, nil, nil)
    }
}

/// How far a checkpoint goes for the sake of a short log.
package enum CheckpointMode: Sendable {
    /// Copies what no reader needs, and waits for nobody.
    case passive
    /// Copies everything, and waits for readers and writers so that the next commit begins the log anew.
    case restart
    /// Waits for readers and writers, copies everything and empties the log's file.
    case truncate

    var rawValue: CInt {
        switch self {
        case .passive: SQLITE_CHECKPOINT_PASSIVE
        case .restart: SQLITE_CHECKPOINT_RESTART
        case .truncate: SQLITE_CHECKPOINT_TRUNCATE
        }
    }
}

/// How much of the log a checkpoint has brought into the database.
package struct CheckpointResult: Equatable, Sendable {
    package let framesInLog: Int
    package let framesCheckpointed: Int

    package init(framesInLog: Int, framesCheckpointed: Int) {
        self.framesInLog = framesInLog
        self.framesCheckpointed = framesCheckpointed
    }
}

/// What a connection may do with its file.
package enum OpenMode: Sendable {
    case readWriteCreate
    case readOnly

    var flags: CInt {
        switch self {
        case .readWriteCreate: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        case .readOnly: SQLITE_OPEN_READONLY
        }
    }
}
