internal import CSQLite

/// Rows while a statement reads them, in the form in which C finds them.
@safe final class LentRows {
    private let rows: UnsafeMutablePointer<csqlite_batch_rows>

    init(_ cells: UnsafeBufferPointer<BatchCell>, columns: Int, bytes: UnsafeBufferPointer<UInt8>) {
        precondition(
            MemoryLayout<BatchCell>.stride == MemoryLayout<csqlite_batch_cell>.stride,
            "A cell is in Swift what it is in C")
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

    /// What a cursor reads, as long as it holds these rows.
    var pointer: UnsafePointer<csqlite_batch_rows> { unsafe UnsafePointer(rows) }

    /// Takes the rows back from a statement that has not read to the end.
    func takeBack() {
        unsafe rows.pointee.is_over = 1
        unsafe rows.pointee.cells = nil
        unsafe rows.pointee.bytes = nil
    }
}
