/// A call of a reporter and its outcome.
struct SentCall {
    enum Outcome {
        /// The call is sent again until it is answered.
        case open
        /// The outcome will never be known: either all records of the call are stored, or none.
        case unknown
        case answered
        /// The client library has accepted it and reported the ids of some records. All are stored in the end.
        case entrusted
        /// The daemon has reported that it was not stored.
        case refused
    }

    let first: Int
    let count: Int
    /// The numbers of records that the daemon must reject.
    let bad: Set<Int>
    var outcome = Outcome.open

    var numbers: Range<Int> { first..<first + count }
}
