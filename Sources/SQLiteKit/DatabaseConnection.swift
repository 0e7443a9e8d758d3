internal import CSQLite
private import Glibc

/// A connection to a database file, used by a single thread.
///
/// It is opened without SQLite's locks (SQLITE_OPEN_NOMUTEX). Only the thread that opens it, or that receives it right
/// afterwards, may therefore use it and its statements. Other threads may only interrupt it through its
/// ``interruptHandle``.
///
/// A connection never checkpoints on its own after a commit. When it is closed, it checkpoints only if
/// ``setCheckpointsOnClose(_:)`` has enabled this.
@safe package final class DatabaseConnection {
    /// The version of the SQLite library, such as `3.40.1`.
    package static var libraryVersion: String { unsafe String(cString: sqlite3_libversion()) }

    let handle: OpaquePointer
    let hooks: UnsafeMutablePointer<ConnectionHooks>
    let cache = StatementCache()
    /// Each call of ``checkpoint(_:)`` adds the numbers of all pages in the WAL file to this set; nil to collect none.
    package var pagesCheckpointed: Set<UInt32>?

    /// Interrupts the queries of this connection from another thread.
    package let interruptHandle: InterruptHandle

    /// Opens a database file.
    ///
    /// The content of the file is not checked until the first query, so opening a corrupt file succeeds. Opening a
    /// symbolic link fails, because SQLite would put the WAL next to the target of the link. Folders in the path may be
    /// links.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - mode: Read-only access, or reading and writing, which also creates a missing file.
    ///   - busyTimeout: The maximum time to wait for the lock of another connection.
    ///   - checkpointsOnClose: `true` to copy the WAL into the database and delete the WAL if this is the last
    ///     connection to be closed. At most one writer should set this.
    ///   - vfs: The name of the SQLite VFS; nil for the default.
    /// - Throws: An error if the file cannot be opened or created.
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
            // A failed open returns a connection that holds the error message.
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
        // The file is not trusted: SQL must not be able to corrupt it, and its schema must not use functions or virtual
        // tables that could have side effects.
        configure(SQLITE_DBCONFIG_DEFENSIVE, true)
        configure(SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)
        // Without these, a misspelt "column" would silently be a string.
        configure(SQLITE_DBCONFIG_DQS_DML, false)
        configure(SQLITE_DBCONFIG_DQS_DDL, false)
    }

    /// Resolves links in the folder of a file, since SQLITE_OPEN_NOFOLLOW rejects those too.
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
        // A cached statement may not have been given back yet. sqlite3_close_v2 then closes the connection when the
        // last statement is finalized.
        unsafe sqlite3_close_v2(handle)
        unsafe hooks.deinitialize(count: 1)
        unsafe hooks.deallocate()
    }

    /// Sets the maximum time to wait for the lock of another connection.
    package func setBusyTimeout(_ timeout: Duration) {
        unsafe sqlite3_busy_timeout(handle, CInt(clamping: timeout.attoseconds / 1_000_000_000_000_000))
    }

    /// Enables or disables the checkpoint that SQLite runs if this is the last connection to be closed.
    ///
    /// - Parameter isOn: `true` to copy the WAL into the database and delete the WAL.
    package func setCheckpointsOnClose(_ isOn: Bool) {
        configure(SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !isOn)
    }

    /// Sets the time after which a running query is interrupted; nil for none.
    ///
    /// The query then throws an error with the code `interrupted`. The wait for a lock is not limited by the deadline,
    /// but by the busy timeout.
    package func setDeadline(_ deadline: Deadline?) {
        if let deadline {
            unsafe hooks.pointee.deadline = deadline.monotonicNanoseconds
            unsafe ConnectionHooks.observeDeadline(of: handle, hooks: hooks)
        } else {
            unsafe sqlite3_progress_handler(handle, 0, nil, nil)
        }
    }

    /// The number of rows that the last INSERT, UPDATE or DELETE changed.
    package var changes: Int { Int(unsafe sqlite3_changes64(handle)) }

    /// The rowid of the last successful INSERT into a table with rowids; 0 if there was none.
    package var lastInsertedRowID: Int64 { unsafe sqlite3_last_insert_rowid(handle) }

    /// Whether the database cannot be written, because of the open mode, the file's permissions or its header.
    package var isReadOnly: Bool { unsafe sqlite3_db_readonly(handle, "main") == 1 }

    /// Whether a transaction is open.
    package var isInTransaction: Bool { unsafe sqlite3_get_autocommit(handle) == 0 }

    /// Releases memory that the connection does not need.
    package func releaseMemory() {
        _ = unsafe sqlite3_db_release_memory(handle)
    }

    /// Returns the error for a result code, with the message that the connection has for its last error.
    func error(_ code: CInt, sql: String?) -> SQLiteError {
        unsafe SQLiteError(code: code, database: handle, sql: sql)
    }

    /// Allows reading what is left of a file that is shorter than its header states, or whose schema is damaged.
    ///
    /// Use this on read-only connections only. SQLite accepts such a file if `writable_schema` is on.
    package func tolerateDamage() throws(SQLiteError) {
        configure(SQLITE_DBCONFIG_DEFENSIVE, false)
        try setPragma("writable_schema", to: "ON")
    }

    /// Sets the maximum size of a text, a blob or a row, in bytes. Statements that produce a larger one fail with
    /// `tooBig`. A larger value must not be bound.
    package func setLongestValue(bytes: Int) {
        _ = unsafe sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, CInt(clamping: bytes))
    }

    private func configure(_ option: CInt, _ isOn: Bool) {
        let code = unsafe csqlite_db_config_switch(handle, option, isOn ? 1 : 0)
        precondition(code == SQLITE_OK, "SQLite does not support the option \(option)")
    }
}

@available(*, unavailable)
extension DatabaseConnection: Sendable {}

/// Settings of the database and of the connection.
///
/// SQLite ignores an unknown pragma and returns no rows. `pragma(_:)` then throws an error.
extension DatabaseConnection {
    /// Returns the integer value of a pragma.
    package func pragma(_ name: StaticString) throws(SQLiteError) -> Int64 {
        let sql = "PRAGMA \(name)"
        guard let value = try first(composedSQL: sql, read: { $0.int64(0) }) else {
            throw SQLiteError(code: .error, message: "Unknown pragma", sql: sql)
        }
        return value
    }

    /// Sets a pragma to an integer.
    package func setPragma(_ name: StaticString, to value: Int64) throws(SQLiteError) {
        try execute(composedSQL: "PRAGMA \(name)=\(value)")
    }

    /// Sets a pragma to a keyword. Returns the value that SQLite reports, which may differ from `value`; nil if it
    /// reports none.
    @discardableResult
    package func setPragma(_ name: StaticString, to value: StaticString) throws(SQLiteError) -> String? {
        try first(composedSQL: "PRAGMA \(name)=\(value)") { $0.text(0) }
    }
}

extension DatabaseConnection {
    /// Runs statements without parameters, and ignores their rows.
    package func execute(_ script: StaticString) throws(SQLiteError) {
        try execute(composedSQL: "\(script)")
    }

    /// Runs statements that were composed at run time. The SQL must not contain untrusted input.
    package func execute(composedSQL script: String) throws(SQLiteError) {
        let code = unsafe sqlite3_exec(handle, script, nil, nil, nil)
        guard code == SQLITE_OK else { throw error(code, sql: script) }
    }

    /// Runs a cached statement, and ignores its rows.
    ///
    /// The statement is compiled on first use. If it is already in use, for example in a nested call, a second copy is
    /// compiled.
    ///
    /// - Parameters:
    ///   - sql: The statement.
    ///   - values: The values of its parameters `?1`, `?2` and so on, in this order.
    package func run<each Bound: DatabaseValue>(
        _ sql: StaticString, _ values: repeat each Bound
    ) throws(SQLiteError) {
        let entry = try borrow(sql)
        defer { entry.giveBack() }
        entry.statement.bind(repeat each values)
        try entry.statement.run()
    }

    /// Runs a cached statement, and reads its first row.
    ///
    /// - Parameters:
    ///   - sql: The statement.
    ///   - values: The values of its parameters `?1`, `?2` and so on, in this order.
    ///   - read: Reads the row.
    /// - Returns: The result of `read`; nil if there is no row.
    package func first<Value, each Bound: DatabaseValue>(
        _ sql: StaticString, _ values: repeat each Bound, read: (borrowing Row) -> Value
    ) throws(SQLiteError) -> Value? {
        let entry = try borrow(sql)
        defer { entry.giveBack() }
        entry.statement.bind(repeat each values)
        return try entry.statement.first(read)
    }

    /// Runs a cached statement, and reads all its rows into an array.
    ///
    /// - Parameters:
    ///   - sql: The statement.
    ///   - values: The values of its parameters `?1`, `?2` and so on, in this order.
    ///   - read: Reads a row.
    package func all<Value, each Bound: DatabaseValue>(
        _ sql: StaticString, _ values: repeat each Bound, read: (borrowing Row) -> Value
    ) throws(SQLiteError) -> [Value] {
        let entry = try borrow(sql)
        defer { entry.giveBack() }
        entry.statement.bind(repeat each values)
        return try entry.statement.all(read)
    }

    /// Runs a cached statement, and passes each of its rows to a closure, in order.
    ///
    /// - Parameters:
    ///   - sql: The statement.
    ///   - values: The values of its parameters `?1`, `?2` and so on, in this order.
    ///   - read: Reads a row.
    package func forEach<each Bound: DatabaseValue>(
        _ sql: StaticString, _ values: repeat each Bound, read: (borrowing Row) -> Void
    ) throws(SQLiteError) {
        let entry = try borrow(sql)
        defer { entry.giveBack() }
        entry.statement.bind(repeat each values)
        try entry.statement.forEach(read)
    }

    /// Compiles a statement that was composed at run time, and reads its first row. The SQL must not contain untrusted
    /// input.
    package func first<Value, each Bound: DatabaseValue>(
        composedSQL sql: String, _ values: repeat each Bound, read: (borrowing Row) -> Value
    ) throws(SQLiteError) -> Value? {
        let statement = try Statement(composedSQL: sql, on: self)
        statement.bind(repeat each values)
        return try statement.first(read)
    }

    /// Compiles a statement that was composed at run time, and reads all its rows into an array. The SQL must not
    /// contain untrusted input.
    package func all<Value, each Bound: DatabaseValue>(
        composedSQL sql: String, _ values: repeat each Bound, read: (borrowing Row) -> Value
    ) throws(SQLiteError) -> [Value] {
        let statement = try Statement(composedSQL: sql, on: self)
        statement.bind(repeat each values)
        return try statement.all(read)
    }

    /// Returns `true` if a cached statement returns a row.
    ///
    /// - Parameters:
    ///   - sql: The statement.
    ///   - values: The values of its parameters `?1`, `?2` and so on, in this order.
    package func exists<each Bound: DatabaseValue>(
        _ sql: StaticString, _ values: repeat each Bound
    ) throws(SQLiteError) -> Bool {
        try first(sql, repeat each values) { _ in true } ?? false
    }

    /// Returns the integer in the first column of the first row of a cached statement; 0 if it is NULL or if there is
    /// no row.
    ///
    /// - Parameters:
    ///   - sql: The statement.
    ///   - values: The values of its parameters `?1`, `?2` and so on, in this order.
    package func integer<each Bound: DatabaseValue>(
        _ sql: StaticString, _ values: repeat each Bound
    ) throws(SQLiteError) -> Int64 {
        try first(sql, repeat each values) { $0.int64(0) } ?? 0
    }

    /// Throws an error with the code `interrupted` if the connection is cancelled.
    func checkCancellation() throws(SQLiteError) {
        guard interruptHandle.isCancelled else { return }
        throw SQLiteError(code: .interrupted, message: "interrupted")
    }

    private func borrow(_ sql: StaticString) throws(SQLiteError) -> CachedStatement {
        try checkCancellation()
        return try cache.borrow(sql, on: self)
    }
}

/// The state that the callbacks of a connection read and write.
///
/// It must be stored at a stable address, since SQLite keeps a pointer to it.
struct ConnectionHooks {
    /// The value of ``DatabaseConnection/walFrames``.
    var walFrames = 0
    /// The time of the monotonic clock, in nanoseconds, after which queries are interrupted.
    var deadline = UInt64.max
}

extension ConnectionHooks {
    /// Makes commits report the length of the WAL instead of checkpointing.
    ///
    /// This disables SQLite's automatic checkpoint, which uses the same hook.
    static func observeCommits(of database: OpaquePointer, hooks: UnsafeMutablePointer<ConnectionHooks>) {
        _ = unsafe sqlite3_wal_hook(
            database,
            { context, _, _, frames in
                unsafe context?.assumingMemoryBound(to: ConnectionHooks.self).pointee.walFrames = Int(frames)
                return SQLITE_OK
            }, hooks)
    }

    /// Interrupts queries after the deadline.
    static func observeDeadline(of database: OpaquePointer, hooks: UnsafeMutablePointer<ConnectionHooks>) {
        // A thousand instructions of SQLite's virtual machine take tens of microseconds. A check after each thousand
        // costs next to nothing, and is frequent enough for any deadline.
        unsafe sqlite3_progress_handler(
            database, 1_000,
            { context in
                guard let context = unsafe context else { return 0 }
                let deadline = unsafe context.assumingMemoryBound(to: ConnectionHooks.self).pointee.deadline
                return Deadline.monotonicNow() >= deadline ? 1 : 0
            }, hooks)
    }

    /// Removes both callbacks, so that SQLite keeps no pointer to the hooks.
    static func detach(from database: OpaquePointer) {
        _ = unsafe sqlite3_wal_hook(database, nil, nil)
        unsafe sqlite3_progress_handler(database, 0, nil, nil)
    }
}

/// How a database file is opened.
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

extension DatabaseConnection {
    /// Allows only `SELECT` statements, the `PRAGMA` statements that `ReadAuthorizer` lists, and `EXPLAIN` of either.
    ///
    /// Call this on a read-only connection before it runs queries that a user has written. Compiling most other
    /// statements then throws an error with the code `unauthorized` or `error`. `Statement(firstReadingIn:)` also
    /// refuses those that can be compiled, such as `VACUUM`. Transactions are not allowed either, so no snapshot
    /// outlives its statement.
    package func restrictToReading() {
        _ = unsafe sqlite3_set_authorizer(
            handle,
            { _, action, first, second, _, _ in
                let name = unsafe first.map { unsafe String(cString: $0) }
                return ReadAuthorizer.allows(action, name, hasArgument: unsafe second != nil) ? SQLITE_OK : SQLITE_DENY
            }, nil)
    }
}

/// Decides which statements only read.
enum ReadAuthorizer {
    /// Returns `true` if an action is allowed.
    ///
    /// - Parameters:
    ///   - action: The code of the action (sqlite.org/c3ref/c_alter_table.html).
    ///   - name: The name of the pragma or object; nil for other actions.
    ///   - hasArgument: `true` if a pragma has an argument.
    static func allows(_ action: CInt, _ name: String?, hasArgument: Bool) -> Bool {
        switch action {
        case SQLITE_SELECT, SQLITE_READ, SQLITE_FUNCTION, SQLITE_RECURSIVE: true
        // SQLite requests this action when it opens a virtual table. A real change of the schema needs other actions
        // too, and defensive mode prevents direct writes to the schema table.
        case SQLITE_UPDATE: name == "sqlite_master"
        case SQLITE_PRAGMA:
            name.map { pragmas.contains($0.lowercased()) || !hasArgument && settings.contains($0.lowercased()) }
                ?? false
        default: false
        }
    }

    /// Pragmas whose argument, if any, selects what they return.
    private static let pragmas: Set<String> = [
        "collation_list", "compile_options", "database_list", "foreign_key_check", "foreign_key_list", "function_list",
        "index_info", "index_list", "index_xinfo", "integrity_check", "module_list", "pragma_list", "quick_check",
        "table_info", "table_list", "table_xinfo",
        // FTS5 reads it.
        "data_version",
    ]

    /// Pragmas that are allowed only without an argument. With one, most of them would change a setting.
    private static let settings: Set<String> = [
        "application_id", "auto_vacuum", "cache_size", "encoding", "freelist_count", "mmap_size",
        "page_count", "page_size", "schema_version", "synchronous", "user_version",
    ]
}

/// SQL text that a user has entered.
package enum SQLText {
    /// Returns `true` if a text ends with a complete statement, so that the user need not enter another line.
    ///
    /// A complete statement ends with a semicolon. The text must not contain NUL.
    package static func isComplete(_ text: String) -> Bool {
        unsafe sqlite3_complete(text) == 1
    }
}
