internal import CSQLite

/// A table whose rows are in memory, so that one `INSERT … SELECT` takes a whole batch.
///
/// That spares the binding and stepping of each row. The table exists on its connection
/// alone, takes no part in the schema, and has rows only while some are lent to it.
package final class BatchTable {
    let declaration: String
    private(set) var lent: LentRows?

    /// Adds the table to a connection, for as long as that lives.
    ///
    /// - Parameter columns: the names of the columns, in the order of their numbers.
    package init(_ name: StaticString, columns: [StaticString], on connection: Connection) throws(SQLiteError) {
        precondition(!columns.isEmpty, "A table has at least one column")
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
    @discardableResult
    package func withRows<Source: RowSource, Value, Failure: Error>(
        of source: Source, _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        precondition(lent == nil, "Rows have already been lent to this table")
        // The array is held here, so its bytes stay where they are whatever the
        // source does with its own.
        let bytes = source.bytes
        return try unsafe bytes.withUnsafeBufferPointer { arena throws(Failure) in
            let rows = unsafe LentSource(source, arena: UnsafeRawBufferPointer(arena))
            lent = rows
            defer {
                rows.takeBack()
                lent = nil
            }
            return try body()
        }
    }
}

@available(*, unavailable)
extension BatchTable: Sendable {}
