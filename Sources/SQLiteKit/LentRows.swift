/// Rows while a statement reads them, without the type of their source.
///
/// C calls back with one pointer. A class gives it one indirect call to the source,
/// where an existential would cost a retain and a release for each value.
@safe class LentRows {
    let count: Int
    private(set) var arena: UnsafeRawBufferPointer

    /// Whether the scope that lent the rows has ended.
    private(set) var isOver = false

    init(count: Int, arena: UnsafeRawBufferPointer) {
        self.count = count
        unsafe self.arena = arena
    }

    func write(row: Int, column: Int, to result: borrowing ResultContext) {
        preconditionFailure("Rows without a source have been lent")
    }

    /// Takes the rows back from a statement that has not read to the end.
    func takeBack() {
        isOver = true
        unsafe arena = UnsafeRawBufferPointer(start: nil, count: 0)
    }
}
