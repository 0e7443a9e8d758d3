internal import CSQLite

/// A virtual table over rows in memory, so that a single `INSERT … SELECT` inserts a whole batch.
///
/// This avoids binding and stepping each row. The table exists only on its connection and is not part of the schema. It
/// has rows only during `withRows`; reading it at any other time is an error.
package final class BatchTable {
    let declaration: String
    private let columnCount: Int
    private(set) var borrowed: BorrowedRows?

    /// Adds the table to a connection, for the lifetime of the connection.
    ///
    /// - Parameters:
    ///   - name: The name of the table.
    ///   - columns: The names of the columns, in order.
    ///   - connection: The connection.
    package init(_ name: StaticString, columns: [StaticString], on connection: DatabaseConnection) throws(SQLiteError) {
        precondition(!columns.isEmpty, "A table must have at least one column")
        columnCount = columns.count
        let names = columns.map { "\"\($0)\"" }.joined(separator: ", ")
        declaration = "CREATE TABLE batch(\(names))"
        // SQLite holds one reference, and releases it when the module is removed.
        let reference = unsafe Unmanaged.passRetained(self)
        let code = unsafe sqlite3_create_module_v2(
            connection.handle, "\(name)", BatchModule.shared, reference.toOpaque()
        ) { reference in
            guard let reference = unsafe reference else { return }
            unsafe Unmanaged<BatchTable>.fromOpaque(reference).release()
        }
        guard code == SQLITE_OK else { throw connection.error(code, sql: nil) }
    }

    /// Lends rows to the table while a closure runs statements that read it.
    ///
    /// Calls must not be nested. A statement that is still open afterwards fails when it reads another row.
    ///
    /// - Parameters:
    ///   - cells: The values, row by row.
    ///   - bytes: The bytes that contain the texts and blobs.
    ///   - body: Runs the statements.
    /// - Returns: The value that `body` returns.
    /// - Throws: The error that `body` throws.
    @discardableResult
    package func withRows<Value, Failure: Error>(
        _ cells: [BatchCell], bytes: [UInt8] = [], _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        precondition(borrowed == nil, "Rows have already been lent to this table")
        precondition(cells.count.isMultiple(of: columnCount), "A row must have a value for each column")
        return try unsafe cells.withUnsafeBufferPointer { cells throws(Failure) in
            try unsafe bytes.withUnsafeBufferPointer { bytes throws(Failure) in
                let rows = unsafe BorrowedRows(cells, columns: columnCount, bytes: bytes)
                borrowed = rows
                defer {
                    rows.takeBack()
                    borrowed = nil
                }
                return try body()
            }
        }
    }
}

@available(*, unavailable)
extension BatchTable: Sendable {}

/// A value of a row in memory. `csqlite_batch_column` reads it, so its layout must match `csqlite_batch_cell`.
public struct BatchCell: Sendable {
    @usableFromInline var value: Int64
    @usableFromInline var length: UInt32
    @usableFromInline var kind: UInt32

    @inlinable @inline(__always)
    init(value: Int64, length: UInt32, kind: UInt32) {
        self.value = value
        self.length = length
        self.kind = kind
    }

    /// NULL.
    @inlinable @inline(__always)
    public static var null: BatchCell { BatchCell(value: 0, length: 0, kind: 0) }

    /// An integer.
    ///
    /// - Parameter value: The integer.
    /// - Returns: The cell.
    @inlinable @inline(__always)
    public static func int64(_ value: Int64) -> BatchCell { BatchCell(value: value, length: 0, kind: 1) }

    /// A text in a range of the bytes that are lent with the rows.
    ///
    /// - Parameter range: The range of its UTF-8.
    /// - Returns: The cell.
    @inlinable @inline(__always)
    public static func text(_ range: Range<Int>) -> BatchCell { part(range, kind: 2) }

    /// A blob in a range of the bytes that are lent with the rows.
    ///
    /// - Parameter range: The range of its bytes.
    /// - Returns: The cell.
    @inlinable @inline(__always)
    public static func blob(_ range: Range<Int>) -> BatchCell { part(range, kind: 3) }

    @inlinable @inline(__always)
    static func part(_ range: Range<Int>, kind: UInt32) -> BatchCell {
        BatchCell(value: Int64(range.lowerBound), length: UInt32(range.count), kind: kind)
    }
}

/// The callbacks that all virtual tables have in common.
enum VirtualTable {
    typealias Instance = UnsafeMutablePointer<sqlite3_vtab>
    typealias Cursor = UnsafeMutablePointer<sqlite3_vtab_cursor>

    /// Declares the columns of a table, and creates the object through which the other callbacks find the table.
    ///
    /// - Parameters:
    ///   - database: The connection.
    ///   - table: The table. The module holds a reference to it.
    ///   - declaration: The columns, as a `CREATE TABLE` statement.
    ///   - result: Receives the object.
    /// - Returns: An SQLite result code.
    static func connect(
        _ database: OpaquePointer?, _ table: UnsafeMutableRawPointer, _ declaration: String,
        _ result: UnsafeMutablePointer<Instance?>
    ) -> CInt {
        let code = unsafe sqlite3_declare_vtab(database, declaration)
        guard code == SQLITE_OK else { return code }
        let instance = UnsafeMutablePointer<csqlite_batch_vtab>.allocate(capacity: 1)
        unsafe instance.initialize(to: csqlite_batch_vtab())
        unsafe instance.pointee.table = UnsafeRawPointer(table)
        unsafe result.pointee = UnsafeMutableRawPointer(instance).assumingMemoryBound(to: sqlite3_vtab.self)
        return SQLITE_OK
    }

    /// Frees the object that `connect` has created.
    static func disconnect(_ instance: Instance?) -> CInt {
        guard let instance = unsafe instance else { return SQLITE_OK }
        unsafe sqlite3_free(instance.pointee.zErrMsg)
        unsafe object(instance).deallocate()
        return SQLITE_OK
    }

    /// Returns the object that `connect` has created.
    static func object(_ instance: Instance) -> UnsafeMutablePointer<csqlite_batch_vtab> {
        unsafe UnsafeMutableRawPointer(instance).assumingMemoryBound(to: csqlite_batch_vtab.self)
    }
}

/// The callbacks with which SQLite reads rows in memory.
///
/// They capture nothing. The table is found through the pointer that the module was created with, and the rows through
/// a pointer in the cursor. The cursor holds a reference to the rows.
enum BatchModule {
    /// The table of callbacks. SQLite keeps a pointer to it.
    ///
    /// It is initialized once, before other code can see it, and never freed.
    nonisolated(unsafe) static let shared: UnsafePointer<sqlite3_module> = {
        var module = sqlite3_module()
        module.iVersion = 1
        // Without xCreate, the table exists under its name and cannot be created by CREATE VIRTUAL TABLE.
        unsafe module.xConnect = { database, table, _, _, result, _ in unsafe connect(database, table, result) }
        unsafe module.xBestIndex = { _, info in unsafe plan(info) }
        unsafe module.xDisconnect = { unsafe VirtualTable.disconnect($0) }
        unsafe module.xOpen = { _, result in unsafe open(result) }
        unsafe module.xClose = { unsafe close($0) }
        unsafe module.xFilter = { cursor, _, _, _, _ in unsafe rewind(cursor) }
        unsafe module.xNext = csqlite_batch_next
        unsafe module.xEof = csqlite_batch_is_at_end
        unsafe module.xColumn = csqlite_batch_column
        unsafe module.xRowid = csqlite_batch_rowid
        let pointer = UnsafeMutablePointer<sqlite3_module>.allocate(capacity: 1)
        unsafe pointer.initialize(to: module)
        return unsafe UnsafePointer(pointer)
    }()

    private typealias Cursor = VirtualTable.Cursor

    // MARK: The table

    private static func connect(
        _ database: OpaquePointer?, _ table: UnsafeMutableRawPointer?,
        _ result: UnsafeMutablePointer<VirtualTable.Instance?>?
    ) -> CInt {
        guard let table = unsafe table, let result = unsafe result else { return SQLITE_MISUSE }
        let declaration = unsafe Unmanaged<BatchTable>.fromOpaque(table).takeUnretainedValue().declaration
        // Views and triggers in a database file must not read rows in memory.
        _ = unsafe csqlite_vtab_config_directonly(database)
        return unsafe VirtualTable.connect(database, table, declaration, result)
    }

    /// Plans every query as a scan of the whole batch.
    private static func plan(_ info: UnsafeMutablePointer<sqlite3_index_info>?) -> CInt {
        unsafe info?.pointee.estimatedCost = 1_000
        unsafe info?.pointee.estimatedRows = 1_000
        return SQLITE_OK
    }

    // MARK: The scan

    private static func open(_ result: UnsafeMutablePointer<Cursor?>?) -> CInt {
        guard let result = unsafe result else { return SQLITE_MISUSE }
        let cursor = UnsafeMutablePointer<csqlite_batch_cursor>.allocate(capacity: 1)
        unsafe cursor.initialize(to: csqlite_batch_cursor())
        unsafe result.pointee = UnsafeMutableRawPointer(cursor).assumingMemoryBound(to: sqlite3_vtab_cursor.self)
        return SQLITE_OK
    }

    private static func close(_ cursor: Cursor?) -> CInt {
        guard let cursor = unsafe cursor else { return SQLITE_OK }
        unsafe release(batch(cursor))
        unsafe batch(cursor).deallocate()
        return SQLITE_OK
    }

    private static func rewind(_ cursor: Cursor?) -> CInt {
        guard let cursor = unsafe cursor, let vtab = unsafe cursor.pointee.pVtab,
            let reference = unsafe VirtualTable.object(vtab).pointee.table
        else { return SQLITE_MISUSE }
        let table = unsafe Unmanaged<BatchTable>.fromOpaque(reference).takeUnretainedValue()
        // Silently returning no rows would lose a batch.
        guard let rows = table.borrowed else {
            unsafe csqlite_vtab_explain(vtab, "no rows are lent to the table")
            return SQLITE_ERROR
        }
        let scan = unsafe batch(cursor)
        unsafe release(scan)
        unsafe scan.pointee.owner = UnsafeRawPointer(Unmanaged.passRetained(rows).toOpaque())
        unsafe scan.pointee.rows = rows.pointer
        unsafe scan.pointee.row = 0
        return SQLITE_OK
    }

    // MARK: Conversions

    private static func release(_ scan: UnsafeMutablePointer<csqlite_batch_cursor>) {
        guard let owner = unsafe scan.pointee.owner else { return }
        unsafe scan.pointee.owner = nil
        unsafe scan.pointee.rows = nil
        unsafe Unmanaged<BorrowedRows>.fromOpaque(owner).release()
    }

    private static func batch(_ cursor: Cursor) -> UnsafeMutablePointer<csqlite_batch_cursor> {
        unsafe UnsafeMutableRawPointer(cursor).assumingMemoryBound(to: csqlite_batch_cursor.self)
    }
}

/// Rows in the form in which the C callbacks read them.
@safe final class BorrowedRows {
    private let rows: UnsafeMutablePointer<csqlite_batch_rows>

    init(_ cells: UnsafeBufferPointer<BatchCell>, columns: Int, bytes: UnsafeBufferPointer<UInt8>) {
        precondition(
            MemoryLayout<BatchCell>.stride == MemoryLayout<csqlite_batch_cell>.stride,
            "The layouts of BatchCell and csqlite_batch_cell differ")
        unsafe rows = .allocate(capacity: 1)
        unsafe rows.initialize(
            to: csqlite_batch_rows(
                cells: UnsafeRawPointer(cells.baseAddress)?.assumingMemoryBound(to: csqlite_batch_cell.self),
                bytes: bytes.baseAddress, byte_count: UInt64(bytes.count), columns: Int32(columns),
                count: Int64(cells.count / columns), is_over: 0))
    }

    deinit {
        unsafe rows.deallocate()
    }

    /// The rows for a cursor that holds a reference to this object.
    var pointer: UnsafePointer<csqlite_batch_rows> { unsafe UnsafePointer(rows) }

    /// Invalidates the rows, so that statements that are still reading them fail.
    func takeBack() {
        unsafe rows.pointee.is_over = 1
        unsafe rows.pointee.cells = nil
        unsafe rows.pointee.bytes = nil
    }
}
