/// How one column of a table behaves when room is short.
struct Column: Sendable {
    var title: String
    var alignment: Alignment
    /// The widest it may become while others need room.
    var maximum: Int
    /// The least width at which it is still of use, for the column that takes what the others leave.
    var minimum: Int
    /// Columns with a higher number go first when the table does not fit; 0 stays in any case.
    var expendability: Int

    init(
        _ title: String, alignment: Alignment = .left, maximum: Int = .max, minimum: Int = 0, expendability: Int = 0
    ) {
        self.title = title
        self.alignment = alignment
        self.maximum = maximum
        self.minimum = minimum
        self.expendability = expendability
    }
}
