internal import CSQLite

/// A compiled statement, used on the thread of its connection.
@safe package struct Statement: ~Copyable {
    let handle: OpaquePointer
    private let columnCount: CInt
    /// Keeps the connection open as long as the statement exists, because virtual tables need the connection; nil for a
    /// persistent statement.
    private let owner: DatabaseConnection?

    /// Compiles a statement. Traps if the SQL contains no statement or more than one.
    ///
    /// - Parameter persistent: `true` if the statement is kept and used often. Such a statement does not keep its
    ///   connection open, and must not be used after the connection is released.
    package init(_ sql: StaticString, on connection: DatabaseConnection, persistent: Bool = false) throws(SQLiteError) {
        try self.init(composedSQL: "\(sql)", on: connection, persistent: persistent)
    }

    /// Compiles a statement that was composed at run time. The SQL must not contain untrusted input. Traps if the
    /// SQL contains no statement or more than one.
    package init(
        composedSQL sql: String, on connection: DatabaseConnection, persistent: Bool = false
    ) throws(SQLiteError) {
        try connection.checkCancellation()
        var sql = sql
        let (code, prepared, end) = sql.withUTF8 {
            unsafe Self.prepare($0, on: connection, flags: persistent ? SQLITE_PREPARE_PERSISTENT : 0)
        }
        guard code == SQLITE_OK else { throw connection.error(code, sql: sql) }
        guard let statement = unsafe prepared else { preconditionFailure("The SQL contains no statement: \(sql)") }
        precondition(
            sql.utf8.dropFirst(end).allSatisfy { $0 == 0x20 || $0 == 0x0A || $0 == 0x3B },
            "The SQL contains more than one statement: \(sql)")
        unsafe handle = statement
        columnCount = unsafe sqlite3_column_count(statement)
        owner = persistent ? nil : connection
    }

    /// Compiles the first statement of a text that a user has written, and removes it from the text.
    ///
    /// Nil if the text contains only white space, comments and semicolons.
    ///
    /// - Parameters:
    ///   - text: The text as UTF-8. It must not contain NUL.
    ///   - connection: A connection on which ``DatabaseConnection/restrictToReading()`` has been called.
    /// - Throws: An error with the code `unauthorized` if the statement writes, or another error if it cannot be
    ///   compiled.
    package init?(firstReadingIn text: inout ArraySlice<UInt8>, on connection: DatabaseConnection) throws(SQLiteError) {
        try connection.checkCancellation()
        var prepared: OpaquePointer?
        // An empty statement, such as one between two semicolons, yields no handle.
        while unsafe prepared == nil, !text.isEmpty {
            let (code, statement, end) = unsafe text.withUnsafeBufferPointer {
                unsafe Self.prepare($0, on: connection, flags: 0)
            }
            guard code == SQLITE_OK else { throw connection.error(code, sql: nil) }
            unsafe prepared = statement
            text = end > 0 ? text.dropFirst(end) : []
        }
        guard let statement = unsafe prepared else { return nil }
        guard unsafe sqlite3_stmt_readonly(statement) != 0 else {
            unsafe sqlite3_finalize(statement)
            throw SQLiteError(code: .unauthorized, message: "the statement writes")
        }
        unsafe handle = statement
        columnCount = unsafe sqlite3_column_count(statement)
        owner = connection
    }

    deinit {
        unsafe sqlite3_finalize(handle)
    }

    /// Compiles the first statement of a text. Returns it, or nil for an empty statement, and the offset of its end.
    private static func prepare(
        _ text: UnsafeBufferPointer<UInt8>, on connection: DatabaseConnection, flags: CInt
    ) -> (code: CInt, statement: OpaquePointer?, end: Int) {
        unsafe text.withMemoryRebound(to: CChar.self) { characters in
            var (statement, tail): (OpaquePointer?, UnsafePointer<CChar>?) = (nil, nil)
            let code = unsafe sqlite3_prepare_v3(
                connection.handle, characters.baseAddress, CInt(clamping: characters.count), UInt32(flags), &statement,
                &tail)
            guard let start = characters.baseAddress, let tail = unsafe tail else { return unsafe (code, statement, 0) }
            return unsafe (code, statement, tail - start)
        }
    }

    /// The names of the columns; empty for a statement that returns no rows.
    package var columnNames: [String] {
        (0..<columnCount).map { column in
            unsafe sqlite3_column_name(handle, column).map { unsafe String(cString: $0) } ?? ""
        }
    }

    /// Steps to the next row and reads it. Returns nil after the last row.
    ///
    /// The statement is reset after the last row and after an error. Otherwise it keeps its snapshot until the caller
    /// resets it.
    package func step<Value: ~Copyable>(_ read: (borrowing Row) -> Value) throws(SQLiteError) -> Value? {
        guard try advance() else { return nil }
        return read(unsafe Row(handle: handle, columnCount: columnCount))
    }

    /// Reads the first row, then resets the statement. Returns nil if there are no rows.
    package func first<Value: ~Copyable>(_ read: (borrowing Row) -> Value) throws(SQLiteError) -> Value? {
        let value = try step(read)
        reset()
        return value
    }

    /// Reads each row in order.
    package func forEach(_ read: (borrowing Row) -> Void) throws(SQLiteError) {
        while try advance() { read(unsafe Row(handle: handle, columnCount: columnCount)) }
    }

    /// Reads all rows into an array.
    package func all<Value>(_ read: (borrowing Row) -> Value) throws(SQLiteError) -> [Value] {
        var values: [Value] = []
        while try advance() { values.append(read(unsafe Row(handle: handle, columnCount: columnCount))) }
        return values
    }

    /// Runs the statement to its end and ignores any rows.
    package func run() throws(SQLiteError) {
        while try advance() {}
    }

    /// Resets the statement for its next use. Its bindings are kept.
    package func reset() {
        // The result repeats the error of the last step, which was thrown already.
        _ = unsafe sqlite3_reset(handle)
    }

    /// Binds NULL to all parameters.
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

/// A value for a parameter of a statement. Nil binds NULL.
package protocol DatabaseValue {
    /// Binds the value to the parameter at a position. Positions start at 1.
    func bind(to statement: borrowing Statement, at position: Int)
}

/// An id that is stored as an integer.
package protocol DatabaseID: DatabaseValue {
    var rawValue: Int64 { get }

    init(rawValue: Int64)
}

extension DatabaseID {
    package func bind(to statement: borrowing Statement, at position: Int) { statement.bind(rawValue, at: position) }
}

extension Int64: DatabaseValue {
    package func bind(to statement: borrowing Statement, at position: Int) {
        statement.check(unsafe sqlite3_bind_int64(statement.handle, CInt(position), self), at: position)
    }
}

extension Int: DatabaseValue {
    package func bind(to statement: borrowing Statement, at position: Int) { statement.bind(Int64(self), at: position) }
}

extension UInt32: DatabaseValue {
    package func bind(to statement: borrowing Statement, at position: Int) { statement.bind(Int64(self), at: position) }
}

/// Stored as 1 for `true` and 0 for `false`.
extension Bool: DatabaseValue {
    package func bind(to statement: borrowing Statement, at position: Int) {
        statement.bind(self ? 1 as Int64 : 0, at: position)
    }
}

extension Double: DatabaseValue {
    package func bind(to statement: borrowing Statement, at position: Int) {
        statement.check(unsafe sqlite3_bind_double(statement.handle, CInt(position), self), at: position)
    }
}

extension String: DatabaseValue {
    package func bind(to statement: borrowing Statement, at position: Int) {
        var text = self
        text.withUTF8 { unsafe statement.bind(text: $0, at: position) }
    }
}

extension Optional: DatabaseValue where Wrapped: DatabaseValue {
    package func bind(to statement: borrowing Statement, at position: Int) {
        guard let self else {
            return statement.check(unsafe sqlite3_bind_null(statement.handle, CInt(position)), at: position)
        }
        self.bind(to: statement, at: position)
    }
}

/// Bytes that are bound as text or as a blob.
package enum DatabaseBytes: DatabaseValue {
    case text([UInt8])
    case blob([UInt8])

    package func bind(to statement: borrowing Statement, at position: Int) {
        switch self {
        case .text(let bytes): unsafe bytes.withUnsafeBufferPointer { unsafe statement.bind(text: $0, at: position) }
        case .blob(let bytes): unsafe bytes.withUnsafeBufferPointer { unsafe statement.bind(blob: $0, at: position) }
        }
    }
}

/// Values for the parameters of a statement. Positions start at 1, nil binds NULL, and strings and bytes are copied.
///
/// Binding accesses no file. It fails only if memory is exhausted or after a programming error: a position out of
/// range, a value larger than SQLite's limit, or a statement that has not been reset. These functions therefore trap
/// instead of throwing.
extension Statement {
    /// Binds values to the parameters 1, 2 and so on. Other parameters keep their values.
    package func bind<each Value: DatabaseValue>(_ values: repeat each Value) {
        var position = 1
        for value in repeat each values {
            value.bind(to: self, at: position)
            position += 1
        }
    }

    package func bind(_ value: some DatabaseValue, at position: Int) {
        value.bind(to: self, at: position)
    }

    fileprivate func bind(text: UnsafeBufferPointer<UInt8>, at position: Int) {
        let (bytes, count) = unsafe (addressable(text), UInt64(text.count))
        check(unsafe csqlite_bind_text_copied(handle, CInt(position), bytes, count), at: position)
    }

    fileprivate func bind(blob: UnsafeBufferPointer<UInt8>, at position: Int) {
        let (bytes, count) = unsafe (addressable(blob), UInt64(blob.count))
        check(unsafe csqlite_bind_blob_copied(handle, CInt(position), bytes, count), at: position)
    }

    fileprivate func check(_ code: CInt, at position: Int) {
        precondition(code == SQLITE_OK, "Binding the parameter \(position) failed: \(error(code))")
    }
}

/// The compiled statements of a connection. While the cached statement of a string literal is in use, each further use
/// of the literal compiles another one.
///
/// The key is the address of the literal, so a lookup does not hash the SQL. The number of literals in the program
/// limits the size of the cache.
final class StatementCache {
    private var entries: [UInt: CachedStatement] = [:]

    /// Returns a statement from the cache, or compiles it. The caller must return it with `giveBack`.
    func borrow(_ sql: StaticString, on connection: DatabaseConnection) throws(SQLiteError) -> CachedStatement {
        precondition(sql.hasPointerRepresentation, "The SQL must be longer than one character")
        let key = UInt(bitPattern: unsafe sql.utf8Start)
        if let entry = entries[key], !entry.isBorrowed {
            entry.isBorrowed = true
            return entry
        }
        let entry = CachedStatement(try Statement(sql, on: connection, persistent: true))
        if entries[key] == nil { entries[key] = entry }
        return entry
    }

    /// Removes all statements. Those in use are finalized later.
    func removeAll() {
        entries.removeAll()
    }
}

/// A statement that has at most one user at a time.
final class CachedStatement {
    let statement: Statement
    /// Whether the statement is in use.
    fileprivate(set) var isBorrowed = true

    init(_ statement: consuming Statement) {
        self.statement = statement
    }

    /// Ends a use of the statement: resets it, which also releases its snapshot, and clears its bindings.
    func giveBack() {
        statement.reset()
        statement.clearBindings()
        isBorrowed = false
    }
}

/// Returns the address of some bytes, which is never nil.
///
/// SQLite treats a nil address as NULL, and an empty array may have no address.
func addressable(_ bytes: UnsafeBufferPointer<UInt8>) -> UnsafeRawPointer {
    let empty: StaticString = "\0"
    return unsafe UnsafeRawPointer(bytes.baseAddress ?? empty.utf8Start)
}

/// The columns of the current row. Indices start at 0.
///
/// Values are converted to the requested type by SQLite's rules. For NULL, functions with an optional result return
/// nil, and the others return zero or an empty value. An index out of range traps.
@safe package struct Row: ~Copyable {
    private let handle: OpaquePointer
    private let columnCount: CInt

    init(handle: OpaquePointer, columnCount: CInt) {
        unsafe self.handle = handle
        self.columnCount = columnCount
    }

    /// Returns the storage class of the value in a column.
    package func type(_ column: Int) -> ColumnType {
        switch unsafe sqlite3_column_type(handle, checked(column)) {
        case SQLITE_INTEGER: .integer
        case SQLITE_FLOAT: .real
        case SQLITE_TEXT: .text
        case SQLITE_BLOB: .blob
        default: .null
        }
    }

    package func isNull(_ column: Int) -> Bool {
        unsafe sqlite3_column_type(handle, checked(column)) == SQLITE_NULL
    }

    package func int64(_ column: Int) -> Int64 {
        unsafe sqlite3_column_int64(handle, checked(column))
    }

    @inlinable
    package func id<ID: DatabaseID>(_ column: Int, as type: ID.Type = ID.self) -> ID {
        ID(rawValue: int64(column))
    }

    @inlinable
    package func optionalID<ID: DatabaseID>(_ column: Int, as type: ID.Type = ID.self) -> ID? {
        optionalInt64(column).map { ID(rawValue: $0) }
    }

    package func int(_ column: Int) -> Int {
        Int(int64(column))
    }

    package func double(_ column: Int) -> Double {
        unsafe sqlite3_column_double(handle, checked(column))
    }

    /// Returns the text, with malformed UTF-8 replaced.
    package func text(_ column: Int) -> String {
        // The order matters: sqlite3_column_text may convert the value and change its size.
        let start = unsafe sqlite3_column_text(handle, checked(column))
        let count = Int(unsafe sqlite3_column_bytes(handle, checked(column)))
        let bytes = unsafe UnsafeBufferPointer(start: start, count: start == nil ? 0 : count)
        return unsafe String(decoding: bytes, as: UTF8.self)
    }

    /// Returns a copy of the bytes of a column.
    package func bytes(_ column: Int) -> [UInt8] {
        unsafe Array(buffer(column))
    }

    package func optionalInt64(_ column: Int) -> Int64? {
        isNull(column) ? nil : int64(column)
    }

    package func optionalText(_ column: Int) -> String? {
        isNull(column) ? nil : text(column)
    }

    private func buffer(_ column: Int) -> UnsafeBufferPointer<UInt8> {
        let start = unsafe sqlite3_column_blob(handle, checked(column))
        let count = Int(unsafe sqlite3_column_bytes(handle, checked(column)))
        let bytes = unsafe start?.assumingMemoryBound(to: UInt8.self)
        return unsafe UnsafeBufferPointer(start: bytes, count: bytes == nil ? 0 : count)
    }

    private func checked(_ column: Int) -> CInt {
        precondition(column >= 0 && column < Int(columnCount), "The column \(column) is out of range")
        return CInt(truncatingIfNeeded: column)
    }
}

@available(*, unavailable)
extension Row: Sendable {}

/// The storage class of a value.
package enum ColumnType: Sendable {
    case integer
    case real
    case text
    case blob
    case null
}
