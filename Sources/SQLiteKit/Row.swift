internal import CSQLite

/// The columns of the current row. Indexes start at 0.
///
/// A value of another type is converted by SQLite's rules. NULL is read as zero or as empty, or as nil by the functions
/// that return an optional value.
@safe package struct Row: ~Copyable {
    private let handle: OpaquePointer
    private let columnCount: CInt

    init(handle: OpaquePointer, columnCount: CInt) {
        unsafe self.handle = handle
        self.columnCount = columnCount
    }

    /// Returns the storage class of a column.
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

    package func optionalBytes(_ column: Int) -> [UInt8]? {
        isNull(column) ? nil : bytes(column)
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
