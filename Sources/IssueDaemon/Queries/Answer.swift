import IssueProtocol
import UnixIO

/// What a question was answered with.
struct Answer: Sendable {
    enum Content: Sendable {
        /// A whole reply, its NUL included.
        case reply([UInt8])
        /// A whole reply, its NUL included, and the open file that goes with it.
        case fileReply([UInt8], PassedFile)
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

/// An open file that is passed to a client along with a reply. It is closed once sent, or when the client is gone.
final class PassedFile: Sendable {
    let descriptor: FileDescriptor

    init(_ descriptor: consuming FileDescriptor) {
        self.descriptor = descriptor
    }
}
