/// Rows in memory that a statement can read as a table.
package protocol RowSource {
    var rowCount: Int { get }

    /// The bytes that the text and blobs of the rows are parts of.
    ///
    /// It is read once, when the rows are lent; what it holds then is what the rows see.
    var bytes: [UInt8] { get }

    /// Writes one value; what writes nothing is NULL.
    ///
    /// It is called for each value that the statement reads, often more than once.
    func write(row: Int, column: Int, to result: borrowing ResultContext)
}

extension RowSource {
    package var bytes: [UInt8] { [] }
}
