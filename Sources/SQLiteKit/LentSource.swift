/// Rows while a statement reads them, and the source that writes them.
final class LentSource<Source: RowSource>: LentRows {
    private let source: Source

    init(_ source: Source, arena: UnsafeRawBufferPointer) {
        self.source = source
        unsafe super.init(count: source.rowCount, arena: arena)
    }

    override func write(row: Int, column: Int, to result: borrowing ResultContext) {
        source.write(row: row, column: column, to: result)
    }
}
