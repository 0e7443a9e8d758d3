import IssueProtocol

/// What a question was answered with.
struct Answer: Sendable {
    enum Content: Sendable {
        /// A whole reply, its NUL included.
        case reply([UInt8])
        case refusal(CollectorError)
        /// One of several replies, its NUL included.
        case progress([UInt8])
        /// A page of records; more follow where there is a next.
        case page(RecordsReply)
        /// Records that a follower has not seen, and the row he has seen then.
        case news(RecordsReply, row: Int64)
        /// The fates of the record that is awaited.
        case fates([DestinationFate])
    }

    var connection: UInt64
    var content: Content
}
