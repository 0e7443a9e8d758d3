internal import CSQLite

/// A compiled statement, finalized once. It stays on the thread of its connection.
@safe package struct Statement: ~Copyable {
    let handle: OpaquePointer
    private let columnCount: CInt

    /// Compiles one statement.
    ///
    /// - Parameter persistent: whether it will be kept and used often.
    package init(_ sql: StaticString, on connection: Connection, persistent: Bool = false) throws(SQLiteError) {
        try self.init(composedSQL: "\(sql)", on: connection, persistent: persistent)
    }

    /// Compiles one statement that our own code composed; nothing from outside may be in it.
    package init(
        composedSQL sql: String, on connection: Connection, persistent: Bool = false
    ) throws(SQLiteError) {
        try connection.checkCancellation()
        var sql = sql
        var prepared: OpaquePointer?
        var rest = 0
        let code = sql.withUTF8 { bytes in
            unsafe bytes.withMemoryRebound(to: CChar.self) { characters in
                let flags = persistent ? UInt32(SQLITE_PREPARE_PERSISTENT) : 0
                var tail: UnsafePointer<CChar>?
                let code = unsafe sqlite3_prepare_v3(
                    connection.handle, characters.baseAddress, CInt(characters.count), flags, &prepared, &tail)
                if let start = characters.baseAddress, let tail = unsafe tail {
                    rest = unsafe tail - start
                }
                return code
            }
        }
        guard code == SQLITE_OK else { throw connection.error(code, sql: sql) }
        guard let statement = unsafe prepared else { preconditionFailure("No statement is in the SQL: \(sql)") }
        precondition(
            sql.utf8.dropFirst(rest).allSatisfy { $0 == 0x20 || $0 == 0x0A || $0 == 0x3B },
            "More than one statement is in the SQL: \(sql)")
        unsafe handle = statement
        columnCount = unsafe sqlite3_column_count(statement)
    }

    deinit {
        unsafe sqlite3_finalize(handle)
    }

    /// Steps to the next row and reads it, or returns nil after the last one.
    ///
    /// After the last row, and after an error, the statement is ready for its next use.
    /// Left before that, it holds its snapshot until it is reset.
    package func step<Value: ~Copyable>(_ read: (borrowing Row) -> Value) throws(SQLiteError) -> Value? {
        guard try advance() else { return nil }
        return read(unsafe Row(handle: handle, columnCount: columnCount))
    }

    /// Reads the first row, if there is one, and resets.
    package func first<Value: ~Copyable>(_ read: (borrowing Row) -> Value) throws(SQLiteError) -> Value? {
        let value = try step(read)
        reset()
        return value
    }

    /// Reads each row in turn.
    package func forEach(_ read: (borrowing Row) -> Void) throws(SQLiteError) {
        while try advance() { read(unsafe Row(handle: handle, columnCount: columnCount)) }
    }

    /// Reads all rows.
    package func all<Value>(_ read: (borrowing Row) -> Value) throws(SQLiteError) -> [Value] {
        var values: [Value] = []
        while try advance() { values.append(read(unsafe Row(handle: handle, columnCount: columnCount))) }
        return values
    }

    /// Runs to the end; rows that it may answer are not read.
    package func run() throws(SQLiteError) {
        while try advance() {}
    }

    /// Readies the statement for its next use; what is bound stays bound.
    package func reset() {
        // It answers the error of the last step once more, which has been thrown.
        _ = unsafe sqlite3_reset(handle)
    }

    /// Binds NULL to every parameter.
    package func clearBindings() {
        _ = unsafe sqlite3_clear_bindings(handle)
    }

    private func advance() throws(SQLiteError) -> Bool {
        let code = unsafe sqlite3_step(handle)
        if code == SQLITE_ROW { return true }
        guard code == SQLITE_DONE else {
            let failure = error(code)
            reset()
            throw failure
        }
        reset()
        return false
    }

    func error(_ code: CInt) -> SQLiteError {
        let sql = unsafe sqlite3_sql(handle).map { unsafe String(cString: $0) }
        return unsafe SQLiteError(code: code, database: sqlite3_db_handle(handle), sql: sql)
    }
}

@available(*, unavailable)
extension Statement: Sendable {}
