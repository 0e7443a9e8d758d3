/// A virtual table over rows in memory, so that a single `INSERT … SELECT` inserts a whole batch.
///
/// This avoids binding and stepping each row. The table exists only on its connection and is not part of the schema. It
/// has rows only during `withRows`; reading it at any other time is an error.
package final class BatchTable: RowSource {
    private var window: RowWindow?

    /// Adds the table to a connection, for the lifetime of the connection.
    ///
    /// - Parameters:
    ///   - name: The name of the table.
    ///   - columns: The names of the columns, in order. The first one is the id.
    ///   - connection: The connection.
    package init(_ name: StaticString, columns: [StaticString], on connection: DatabaseConnection) throws(SQLiteError) {
        try RowTable.add(name, columns: columns, of: self, to: connection, isInnocuous: false)
    }

    /// Lends rows to the table while a closure runs statements that read it. Calls must not be nested.
    ///
    /// - Parameters:
    ///   - cells: The values, row by row, in ascending order of ids.
    ///   - bytes: The bytes that contain the texts and blobs.
    ///   - body: Runs the statements.
    /// - Returns: The value that `body` returns.
    /// - Throws: The error that `body` throws.
    @discardableResult
    package func withRows<Value, Failure: Error>(
        _ cells: [BatchCell], bytes: [UInt8] = [], _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        precondition(window == nil, "Rows have already been lent to this table")
        window = RowWindow(cells: cells, bytes: bytes, rest: nil)
        defer { window = nil }
        return try body()
    }

    /// Returns all rows; SQLite filters them.
    package func rows(
        in ids: ClosedRange<Int64>, isDescending: Bool, columns: ColumnSet
    ) throws(SQLiteError) -> RowWindow? {
        guard let window else { throw SQLiteError(code: .error, message: "no rows are lent to the table") }
        return window.cells.isEmpty ? nil : window
    }
}

@available(*, unavailable)
extension BatchTable: Sendable {}

/// A value of a row in memory. `csqlite_row_column` reads it, so its layout must match `csqlite_batch_cell`.
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
