/// How a record's source or application was read.
enum ObjectReading: Sendable {
    /// It has none.
    case absent
    /// It begins at an index and was met before, or can be known from now on: what it says has not been taken over
    /// from there for sure.
    case known(number: Int, start: Int)
    /// It is the one that the decoder has guessed, if that is right.
    case guessed
    /// It is among the record's fields and nowhere else.
    case read
}
