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

/// Values for the parameters of a statement, whose positions start at 1.
///
/// Binding touches no file, so it can fail only through a mistake of ours: a position
/// that is not there, or a statement that still steps. So it traps.
extension Statement {
    package func bind(_ value: Int64, at position: Int) {
        check(unsafe sqlite3_bind_int64(handle, CInt(position), value), at: position)
    }

    package func bind(_ value: Int, at position: Int) {
        bind(Int64(value), at: position)
    }

    package func bind(_ value: Double, at position: Int) {
        check(unsafe sqlite3_bind_double(handle, CInt(position), value), at: position)
    }

    package func bind(_ value: Int64?, at position: Int) {
        guard let value else { return bindNull(at: position) }
        bind(value, at: position)
    }

    package func bind(_ value: Double?, at position: Int) {
        guard let value else { return bindNull(at: position) }
        bind(value, at: position)
    }

    package func bind(_ value: String?, at position: Int) {
        guard let value else { return bindNull(at: position) }
        bind(value, at: position)
    }

    package func bindNull(at position: Int) {
        check(unsafe sqlite3_bind_null(handle, CInt(position)), at: position)
    }

    /// Binds a copy of the string.
    package func bind(_ value: String, at position: Int) {
        var value = value
        value.withUTF8 { bytes in
            let code = unsafe csqlite_bind_text_copied(
                handle, CInt(position), addressable(bytes), UInt64(bytes.count))
            check(code, at: position)
        }
    }

    /// Binds a copy of the bytes as text.
    package func bind(text: Span<UInt8>, at position: Int) {
        unsafe text.withUnsafeBufferPointer { bytes in
            let code = unsafe csqlite_bind_text_copied(
                handle, CInt(position), addressable(bytes), UInt64(bytes.count))
            check(code, at: position)
        }
    }

    /// Binds a copy of the bytes as text.
    package func bind(text: [UInt8], at position: Int) {
        bind(text: text.span, at: position)
    }

    /// Binds a copy of the bytes as a blob.
    package func bind(blob: Span<UInt8>, at position: Int) {
        unsafe blob.withUnsafeBufferPointer { bytes in
            let code = unsafe csqlite_bind_blob_copied(
                handle, CInt(position), addressable(bytes), UInt64(bytes.count))
            check(code, at: position)
        }
    }

    /// Binds a copy of the bytes as a blob.
    package func bind(blob: [UInt8], at position: Int) {
        bind(blob: blob.span, at: position)
    }

    /// Binds bytes as text where they are, for the time of the body; then resets.
    package func binding<Value: ~Copyable, Failure: Error>(
        text: Span<UInt8>, at position: Int, _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try unsafe text.withUnsafeBufferPointer { bytes throws(Failure) in
            let code = unsafe csqlite_bind_text_lent(handle, CInt(position), addressable(bytes), UInt64(bytes.count))
            check(code, at: position)
            defer { unbind(at: position) }
            return try body()
        }
    }

    /// Binds bytes as a blob where they are, for the time of the body; then resets.
    package func binding<Value: ~Copyable, Failure: Error>(
        blob: Span<UInt8>, at position: Int, _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try unsafe blob.withUnsafeBufferPointer { bytes throws(Failure) in
            let code = unsafe csqlite_bind_blob_lent(handle, CInt(position), addressable(bytes), UInt64(bytes.count))
            check(code, at: position)
            defer { unbind(at: position) }
            return try body()
        }
    }

    /// Takes back bytes that were lent, also from a statement that still steps.
    private func unbind(at position: Int) {
        reset()
        bindNull(at: position)
    }

    private func check(_ code: CInt, at position: Int) {
        precondition(code == SQLITE_OK, "Nothing could be bound at \(position): \(error(code))")
    }
}

/// The compiled statements of one connection, each SQL compiled once.
///
/// The key is the literal's address: it is free to compute, and the number of
/// literals in the program bounds the cache.
final class StatementCache {
    private var entries: [UInt: CachedStatement] = [:]

    /// Finds or compiles a statement; whoever borrows it gives it back.
    func borrow(_ sql: StaticString, on connection: Connection) throws(SQLiteError) -> CachedStatement {
        precondition(sql.hasPointerRepresentation, "SQL is longer than one character")
        let key = UInt(bitPattern: unsafe sql.utf8Start)
        if let entry = entries[key], entry.lend() {
            return entry
        }
        let entry = CachedStatement(try Statement(sql, on: connection, persistent: true))
        _ = entry.lend()
        if entries[key] == nil { entries[key] = entry }
        return entry
    }

    /// Finalizes what is not lent.
    func removeAll() {
        entries.removeAll()
    }
}

/// A compiled statement that is kept, and whether somebody uses it just now.
final class CachedStatement {
    let statement: Statement
    private var isBorrowed = false

    init(_ statement: consuming Statement) {
        self.statement = statement
    }

    /// Marks it as used, unless it already is.
    func lend() -> Bool {
        if isBorrowed { return false }
        isBorrowed = true
        return true
    }

    /// Readies it for the next user, and ends the read that it may have held open.
    func giveBack() {
        statement.reset()
        statement.clearBindings()
        isBorrowed = false
    }
}

/// The address of some bytes, which for no bytes at all is not nil either.
///
/// SQLite takes nil for NULL, and an empty array has no address of its own.
func addressable(_ bytes: UnsafeBufferPointer<UInt8>) -> UnsafeRawPointer {
    let empty: StaticString = "\0"
    return unsafe UnsafeRawPointer(bytes.baseAddress ?? empty.utf8Start)
}
