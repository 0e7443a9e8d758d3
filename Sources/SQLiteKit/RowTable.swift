internal import CSQLite

/// The rows of a read-only virtual table, in the order of their ids. The first column is the id.
package protocol RowSource: AnyObject {
    /// Returns some rows of a range of ids, in ascending order.
    ///
    /// The rows are the first ones of the range or, for a descending scan, the last ones. The scan asks for the
    /// remaining rows later (`RowWindow.rest`). SQLite filters out rows that are not in the range.
    ///
    /// - Parameters:
    ///   - ids: The requested ids.
    ///   - isDescending: `true` to return the rows at the upper end of the range.
    ///   - columns: The columns that the query reads. The cells of other columns may be NULL.
    /// - Returns: At least one row, or nil if the range contains no row.
    func rows(
        in ids: ClosedRange<Int64>, isDescending: Bool, columns: ColumnSet
    ) throws(SQLiteError) -> RowWindow?
}

/// A set of column indices.
package struct ColumnSet: Sendable {
    /// One bit per column. SQLite uses the highest bit for all columns from index 63 on.
    private let bits: UInt64

    init(bits: UInt64) {
        self.bits = bits
    }

    /// Returns `true` if a column is in the set.
    package func contains(_ column: Int) -> Bool { bits >> UInt64(min(column, 63)) & 1 != 0 }
}

/// Some consecutive rows of a `RowSource`.
package struct RowWindow {
    /// The values, row by row. The first value of each row is its id.
    package var cells: [BatchCell]
    /// The bytes that contain the texts and blobs.
    package var bytes: [UInt8]
    /// The part of the requested range that the scan must still ask for; nil if there is none.
    package var rest: ClosedRange<Int64>?

    package init(cells: [BatchCell], bytes: [UInt8] = [], rest: ClosedRange<Int64>?) {
        self.cells = cells
        self.bytes = bytes
        self.rest = rest
    }
}

/// A read-only virtual table over a `RowSource`.
///
/// The table exists only on its connection, under the name of its module. A real table of the same name in the database
/// hides it. Conditions on the id (`=`, `<`, `BETWEEN` …) limit the requested rows, and ordering by id needs no sort in
/// either direction.
package final class RowTable {
    fileprivate let source: any RowSource
    fileprivate let declaration: String
    fileprivate let columnCount: Int
    fileprivate let isInnocuous: Bool

    /// Adds the table to a connection, for the lifetime of the connection.
    ///
    /// - Parameters:
    ///   - name: The name of the table.
    ///   - columns: The names and types of the columns, in order. The first one is the id.
    ///   - source: Supplies the rows. It must not keep the connection alive.
    ///   - connection: The connection.
    ///   - isInnocuous: `true` to let views and triggers use the table although the schema is not trusted. The source
    ///     must then have no side effects.
    package static func add(
        _ name: StaticString, columns: [StaticString], of source: any RowSource, to connection: DatabaseConnection,
        isInnocuous: Bool = true
    ) throws(SQLiteError) {
        let table = RowTable(columns, source, isInnocuous: isInnocuous)
        // SQLite holds one reference, and releases it when the module is removed.
        let reference = unsafe Unmanaged.passRetained(table)
        let code = unsafe sqlite3_create_module_v2(
            connection.handle, "\(name)", RowModule.shared, reference.toOpaque()
        ) { reference in
            guard let reference = unsafe reference else { return }
            unsafe Unmanaged<RowTable>.fromOpaque(reference).release()
        }
        guard code == SQLITE_OK else { throw connection.error(code, sql: nil) }
    }

    private init(_ columns: [StaticString], _ source: any RowSource, isInnocuous: Bool) {
        precondition(!columns.isEmpty, "A table must have at least one column")
        self.source = source
        self.isInnocuous = isInnocuous
        columnCount = columns.count
        declaration = "CREATE TABLE x(\(columns.map { "\($0)" }.joined(separator: ", ")))"
    }
}

@available(*, unavailable)
extension RowTable: Sendable {}

/// The state of one scan.
@safe private final class RowScan {
    let table: RowTable
    /// The ids that are still to be requested; nil if there are none.
    var rest: ClosedRange<Int64>?
    var isDescending = false
    var columns = ColumnSet(bits: 0)
    /// Copies of the current rows, at addresses that C code may keep until the next `advance`.
    private var cells: UnsafeMutableBufferPointer<BatchCell>?
    private var bytes: UnsafeMutableBufferPointer<UInt8>?

    init(_ table: RowTable) {
        self.table = table
    }

    deinit { free() }

    private func free() {
        unsafe cells?.deallocate()
        unsafe bytes?.deallocate()
        unsafe cells = nil
        unsafe bytes = nil
    }

    /// Requests the next rows from the source and makes them available to the C callbacks.
    func advance(_ cursor: UnsafeMutablePointer<csqlite_row_cursor>) throws(SQLiteError) {
        unsafe cursor.pointee.count = 0
        unsafe cursor.pointee.row = 0
        free()
        guard let ids = rest else { return }
        rest = nil
        guard let window = try table.source.rows(in: ids, isDescending: isDescending, columns: columns) else { return }
        precondition(
            !window.cells.isEmpty && window.cells.count.isMultiple(of: table.columnCount),
            "A row must have a value for each column")
        let cells = UnsafeMutableBufferPointer<BatchCell>.allocate(capacity: window.cells.count)
        _ = unsafe cells.initialize(from: window.cells)
        let bytes = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: window.bytes.count)
        _ = unsafe bytes.initialize(from: window.bytes)
        unsafe self.cells = cells
        unsafe self.bytes = bytes
        rest = window.rest
        let count = Int64(window.cells.count / table.columnCount)
        unsafe cursor.pointee.cells = UnsafeRawPointer(cells.baseAddress)?
            .assumingMemoryBound(to: csqlite_batch_cell.self)
        unsafe cursor.pointee.bytes = UnsafePointer(bytes.baseAddress)
        unsafe cursor.pointee.byte_count = UInt64(window.bytes.count)
        unsafe cursor.pointee.columns = CInt(table.columnCount)
        unsafe cursor.pointee.count = count
        unsafe cursor.pointee.row = isDescending ? count - 1 : 0
        unsafe cursor.pointee.step = isDescending ? -1 : 1
    }
}

/// The callbacks with which SQLite reads a `RowTable`.
///
/// They capture nothing. The table is found through the pointer that the module was created with, and the scan through
/// a pointer in the cursor. The cursor owns the scan.
private enum RowModule {
    /// The table of callbacks. SQLite keeps a pointer to it.
    ///
    /// It is initialized once, before other code can see it, and never freed.
    nonisolated(unsafe) static let shared: UnsafePointer<sqlite3_module> = {
        var module = sqlite3_module()
        module.iVersion = 1
        // Because xCreate is nil, the table exists under the name of its module, and CREATE VIRTUAL TABLE cannot use
        // the module.
        unsafe module.xConnect = { database, table, _, _, result, _ in unsafe connect(database, table, result) }
        unsafe module.xBestIndex = { _, info in unsafe plan(info) }
        unsafe module.xDisconnect = { unsafe disconnect($0) }
        unsafe module.xOpen = { vtab, result in unsafe open(vtab, result) }
        unsafe module.xClose = { unsafe close($0) }
        unsafe module.xFilter = { cursor, plan, columns, count, values in
            unsafe begin(cursor, plan, columns, count, values)
        }
        unsafe module.xNext = csqlite_row_next
        unsafe module.xEof = csqlite_row_is_at_end
        unsafe module.xColumn = csqlite_row_column
        unsafe module.xRowid = csqlite_row_rowid
        let pointer = UnsafeMutablePointer<sqlite3_module>.allocate(capacity: 1)
        unsafe pointer.initialize(to: module)
        return unsafe UnsafePointer(pointer)
    }()

    typealias Instance = UnsafeMutablePointer<sqlite3_vtab>
    typealias Cursor = UnsafeMutablePointer<sqlite3_vtab_cursor>

    // MARK: The table

    /// Declares the columns of a table, and creates the object through which the other callbacks find the table.
    private static func connect(
        _ database: OpaquePointer?, _ reference: UnsafeMutableRawPointer?, _ result: UnsafeMutablePointer<Instance?>?
    ) -> CInt {
        guard let reference = unsafe reference, let result = unsafe result else { return SQLITE_MISUSE }
        let table = unsafe Unmanaged<RowTable>.fromOpaque(reference).takeUnretainedValue()
        _ = unsafe csqlite_vtab_restrict(database, table.isInnocuous ? 0 : 1)
        let code = unsafe sqlite3_declare_vtab(database, table.declaration)
        guard code == SQLITE_OK else { return code }
        let instance = UnsafeMutablePointer<csqlite_row_vtab>.allocate(capacity: 1)
        unsafe instance.initialize(to: csqlite_row_vtab())
        unsafe instance.pointee.table = UnsafeRawPointer(reference)
        unsafe result.pointee = UnsafeMutableRawPointer(instance).assumingMemoryBound(to: sqlite3_vtab.self)
        return SQLITE_OK
    }

    private static func disconnect(_ instance: Instance?) -> CInt {
        guard let instance = unsafe instance else { return SQLITE_OK }
        unsafe sqlite3_free(instance.pointee.zErrMsg)
        unsafe object(instance).deallocate()
        return SQLITE_OK
    }

    /// Returns the object that `connect` has created.
    private static func object(_ instance: Instance) -> UnsafeMutablePointer<csqlite_row_vtab> {
        unsafe UnsafeMutableRawPointer(instance).assumingMemoryBound(to: csqlite_row_vtab.self)
    }

    // MARK: Planning

    /// The bits of `idxNum`: the conditions whose values SQLite passes to xFilter, in this order, and the direction.
    private static let equalBit: CInt = 1
    private static let lowerBit: CInt = 2
    private static let upperBit: CInt = 4
    private static let descendingBit: CInt = 8

    /// Chooses the conditions on the id that limit the scan. SQLite checks all conditions again for each row.
    private static func plan(_ info: UnsafeMutablePointer<sqlite3_index_info>?) -> CInt {
        guard let info = unsafe info else { return SQLITE_MISUSE }
        /// For each bit, the index of the constraint to use.
        var constraints: [CInt: Int] = [:]
        for index in 0..<Int(unsafe info.pointee.nConstraint) {
            let constraint = unsafe info.pointee.aConstraint[index]
            guard constraint.usable != 0, constraint.iColumn <= 0 else { continue }
            switch CInt(constraint.op) {
            case SQLITE_INDEX_CONSTRAINT_EQ: constraints[equalBit] = index
            case SQLITE_INDEX_CONSTRAINT_GT, SQLITE_INDEX_CONSTRAINT_GE: constraints[lowerBit] = index
            case SQLITE_INDEX_CONSTRAINT_LT, SQLITE_INDEX_CONSTRAINT_LE: constraints[upperBit] = index
            default: break
            }
        }
        if constraints[equalBit] != nil {
            constraints[lowerBit] = nil
            constraints[upperBit] = nil
        }
        var bits: CInt = 0
        var arguments: CInt = 0
        for bit in [equalBit, lowerBit, upperBit] {
            guard let index = constraints[bit] else { continue }
            bits |= bit
            arguments += 1
            unsafe info.pointee.aConstraintUsage[index].argvIndex = arguments
        }
        if unsafe info.pointee.nOrderBy == 1, unsafe info.pointee.aOrderBy[0].iColumn <= 0 {
            unsafe info.pointee.orderByConsumed = 1
            if unsafe info.pointee.aOrderBy[0].desc != 0 { bits |= descendingBit }
        }
        let rows: Int64
        switch (constraints[equalBit], constraints[lowerBit], constraints[upperBit]) {
        case (.some, _, _):
            rows = 1
            unsafe info.pointee.idxFlags = CInt(SQLITE_INDEX_SCAN_UNIQUE)
        case (nil, .some, .some): rows = 1_000
        case (nil, nil, nil): rows = 1_000_000
        default: rows = 10_000
        }
        unsafe info.pointee.estimatedRows = rows
        unsafe info.pointee.estimatedCost = 10 + Double(rows)
        unsafe info.pointee.idxNum = bits
        // xFilter does not receive the set of used columns, so it is passed in `idxStr`.
        return unsafe csqlite_plan_columns(info)
    }

    // MARK: The scan

    private static func open(_ vtab: Instance?, _ result: UnsafeMutablePointer<Cursor?>?) -> CInt {
        guard let result = unsafe result, let vtab = unsafe vtab,
            let table = unsafe object(vtab).pointee.table
        else { return SQLITE_MISUSE }
        let scan = RowScan(unsafe Unmanaged<RowTable>.fromOpaque(table).takeUnretainedValue())
        let cursor = UnsafeMutablePointer<csqlite_row_cursor>.allocate(capacity: 1)
        unsafe cursor.initialize(to: csqlite_row_cursor())
        unsafe cursor.pointee.state = UnsafeRawPointer(Unmanaged.passRetained(scan).toOpaque())
        unsafe cursor.pointee.refill = { unsafe RowModule.refill($0) }
        unsafe result.pointee = UnsafeMutableRawPointer(cursor).assumingMemoryBound(to: sqlite3_vtab_cursor.self)
        return SQLITE_OK
    }

    private static func close(_ cursor: Cursor?) -> CInt {
        guard let cursor = unsafe cursor else { return SQLITE_OK }
        let rows = unsafe UnsafeMutableRawPointer(cursor).assumingMemoryBound(to: csqlite_row_cursor.self)
        if let state = unsafe rows.pointee.state { unsafe Unmanaged<RowScan>.fromOpaque(state).release() }
        unsafe rows.deallocate()
        return SQLITE_OK
    }

    private static func begin(
        _ cursor: Cursor?, _ plan: CInt, _ columns: UnsafePointer<CChar>?, _ count: CInt,
        _ values: UnsafeMutablePointer<OpaquePointer?>?
    ) -> CInt {
        guard let cursor = unsafe cursor else { return SQLITE_MISUSE }
        let rows = unsafe UnsafeMutableRawPointer(cursor).assumingMemoryBound(to: csqlite_row_cursor.self)
        guard let state = unsafe rows.pointee.state else { return SQLITE_MISUSE }
        let scan = unsafe Unmanaged<RowScan>.fromOpaque(state).takeUnretainedValue()
        scan.columns = ColumnSet(bits: unsafe csqlite_planned_columns(columns))
        scan.isDescending = plan & descendingBit != 0
        var (lower, upper) = (Int64.min, Int64.max)
        var argument = 0
        for bit in [equalBit, lowerBit, upperBit] where plan & bit != 0 {
            guard argument < Int(count), let value = unsafe values?[argument] else { return SQLITE_MISUSE }
            argument += 1
            guard let number = unsafe integer(value) else {
                // A comparison with NULL is never true, so the scan is empty. Other values that are not integers do not
                // limit the scan: SQLite compares them with each row.
                guard unsafe sqlite3_value_type(value) == SQLITE_NULL else { continue }
                (lower, upper) = (1, 0)
                break
            }
            if bit != upperBit { lower = max(lower, number) }
            if bit != lowerBit { upper = min(upper, number) }
        }
        scan.rest = lower <= upper ? lower...upper : nil
        return unsafe refill(rows)
    }

    private static func integer(_ value: OpaquePointer) -> Int64? {
        unsafe sqlite3_value_type(value) == SQLITE_INTEGER ? unsafe sqlite3_value_int64(value) : nil
    }

    private static func refill(_ cursor: UnsafeMutablePointer<csqlite_row_cursor>?) -> CInt {
        guard let cursor = unsafe cursor, let state = unsafe cursor.pointee.state else { return SQLITE_MISUSE }
        do throws(SQLiteError) {
            try unsafe Unmanaged<RowScan>.fromOpaque(state).takeUnretainedValue().advance(cursor)
            return SQLITE_OK
        } catch {
            if let vtab = unsafe cursor.pointee.base.pVtab { unsafe csqlite_vtab_explain(vtab, error.message) }
            return error.code.rawValue
        }
    }
}
