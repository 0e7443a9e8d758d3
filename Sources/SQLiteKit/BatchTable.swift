internal import CSQLite

/// A table whose rows are in memory, so that one `INSERT … SELECT` takes a whole batch.
///
/// That spares the binding and stepping of each row. The table exists on its connection
/// alone, takes no part in the schema, and has rows only while some are lent to it.
package final class BatchTable {
    let declaration: String
    private let columnCount: Int
    private(set) var lent: LentRows?

    /// Adds the table to a connection, for as long as that lives.
    ///
    /// - Parameter columns: the names of the columns, in the order of their numbers.
    package init(_ name: StaticString, columns: [StaticString], on connection: Connection) throws(SQLiteError) {
        precondition(!columns.isEmpty, "A table has at least one column")
        columnCount = columns.count
        let names = columns.map { "\"\($0)\"" }.joined(separator: ", ")
        declaration = "CREATE TABLE batch(\(names))"
        // SQLite keeps one reference, and gives it back when the module goes.
        let reference = unsafe Unmanaged.passRetained(self)
        let code = unsafe sqlite3_create_module_v2(
            connection.handle, "\(name)", BatchModule.shared, reference.toOpaque()
        ) { reference in
            guard let reference = unsafe reference else { return }
            unsafe Unmanaged<BatchTable>.fromOpaque(reference).release()
        }
        guard code == SQLITE_OK else { throw connection.error(code, sql: nil) }
    }

    /// Lends rows to the table while the body runs statements that read it.
    ///
    /// - Parameters:
    ///   - cells: the values, row after row.
    ///   - bytes: what the texts and blobs are parts of.
    @discardableResult
    package func withRows<Value, Failure: Error>(
        _ cells: [BatchCell], bytes: [UInt8] = [], _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        precondition(lent == nil, "Rows have already been lent to this table")
        precondition(cells.count.isMultiple(of: columnCount), "A row has a value for each column")
        return try unsafe cells.withUnsafeBufferPointer { cells throws(Failure) in
            try unsafe bytes.withUnsafeBufferPointer { bytes throws(Failure) in
                let rows = unsafe LentRows(cells, columns: columnCount, bytes: bytes)
                lent = rows
                defer {
                    rows.takeBack()
                    lent = nil
                }
                return try body()
            }
        }
    }
}

@available(*, unavailable)
extension BatchTable: Sendable {}
