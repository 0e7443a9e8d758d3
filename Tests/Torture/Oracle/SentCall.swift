/// A call that a reporter has made, and what he knows of it.
struct SentCall {
    enum Outcome {
        /// It goes on being sent until it is answered.
        case open
        /// Nobody will ever tell; all of it is stored, or nothing.
        case unknown
        case answered
        /// The client library has it, and has told the ids of some of its records: all are stored in the end.
        case entrusted
        /// The daemon has said that it was not stored.
        case refused
    }

    let first: Int
    let count: Int
    /// Those of its records that the daemon must reject.
    let bad: Set<Int>
    var outcome = Outcome.open

    var numbers: Range<Int> { first..<first + count }
}
