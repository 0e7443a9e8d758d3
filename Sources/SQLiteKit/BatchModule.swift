internal import CSQLite

/// The callbacks through which SQLite reads rows in memory.
///
/// None of them captures anything: the table is found behind the pointer that the module
/// was made with, and the rows behind one in the cursor, which owns them while it scans.
enum BatchModule {
    /// The table of callbacks, which SQLite keeps a pointer to.
    ///
    /// It is written once, before anyone else can see it, and never freed.
    nonisolated(unsafe) static let shared: UnsafePointer<sqlite3_module> = {
        var module = sqlite3_module()
        module.iVersion = 1
        // With no xCreate the table is there by its name alone, and none can be made
        // by CREATE VIRTUAL TABLE.
        unsafe module.xConnect = { database, table, _, _, result, _ in unsafe connect(database, table, result) }
        unsafe module.xBestIndex = { _, info in unsafe plan(info) }
        unsafe module.xDisconnect = { unsafe disconnect($0) }
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

    private typealias VTab = UnsafeMutablePointer<sqlite3_vtab>
    private typealias Cursor = UnsafeMutablePointer<sqlite3_vtab_cursor>

    // MARK: The table

    private static func connect(
        _ database: OpaquePointer?, _ table: UnsafeMutableRawPointer?, _ result: UnsafeMutablePointer<VTab?>?
    ) -> CInt {
        guard let table = unsafe table, let result = unsafe result else { return SQLITE_MISUSE }
        let declaration = unsafe Unmanaged<BatchTable>.fromOpaque(table).takeUnretainedValue().declaration
        let code = unsafe sqlite3_declare_vtab(database, declaration)
        guard code == SQLITE_OK else { return code }
        // A view or a trigger in the file must not read what is in memory.
        _ = unsafe csqlite_vtab_config_directonly(database)
        let vtab = UnsafeMutablePointer<csqlite_batch_vtab>.allocate(capacity: 1)
        unsafe vtab.initialize(to: csqlite_batch_vtab())
        unsafe vtab.pointee.table = UnsafeRawPointer(table)
        unsafe result.pointee = UnsafeMutableRawPointer(vtab).assumingMemoryBound(to: sqlite3_vtab.self)
        return SQLITE_OK
    }

    private static func disconnect(_ vtab: VTab?) -> CInt {
        guard let vtab = unsafe vtab else { return SQLITE_OK }
        unsafe sqlite3_free(vtab.pointee.zErrMsg)
        unsafe batch(vtab).deallocate()
        return SQLITE_OK
    }

    /// Says that every query is a scan of the whole batch.
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
            let reference = unsafe batch(vtab).pointee.table
        else { return SQLITE_MISUSE }
        let table = unsafe Unmanaged<BatchTable>.fromOpaque(reference).takeUnretainedValue()
        // Reading no rows without a word would lose a batch.
        guard let rows = table.lent else {
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

    // MARK: Ours behind SQLite's

    private static func release(_ scan: UnsafeMutablePointer<csqlite_batch_cursor>) {
        guard let owner = unsafe scan.pointee.owner else { return }
        unsafe scan.pointee.owner = nil
        unsafe scan.pointee.rows = nil
        unsafe Unmanaged<LentRows>.fromOpaque(owner).release()
    }

    private static func batch(_ vtab: VTab) -> UnsafeMutablePointer<csqlite_batch_vtab> {
        unsafe UnsafeMutableRawPointer(vtab).assumingMemoryBound(to: csqlite_batch_vtab.self)
    }

    private static func batch(_ cursor: Cursor) -> UnsafeMutablePointer<csqlite_batch_cursor> {
        unsafe UnsafeMutableRawPointer(cursor).assumingMemoryBound(to: csqlite_batch_cursor.self)
    }
}
