import IssueCore
import IssueProtocol
import IssueStore
import UnixIO

/// One connection, as the thread of the socket keeps it.
final class Connection {
    let id: UInt64
    let descriptor: FileDescriptor
    let process: ReportingProcess
    let viewer: Viewer
    let isOperator: Bool

    var session = Session()
    var frames: FrameDecoder
    /// A message that waits until what came before it is answered.
    var held: Range<Int>?
    /// Reports that were read and not handed to the writer yet.
    var batch = RecordBatch()
    var calls: [ReportCall] = []

    var bytesInFlight = 0
    /// Reports that want no reply.
    var silent: Set<UInt64> = []
    var replies = ReplyQueue()
    var question: Question?
    var questionToken: UInt64 = 0
    var isFetchingPage = false

    /// Since when half a message has been there, or unread replies.
    var partialSince: MonotonicInstant?
    var unsentSince: MonotonicInstant?
    /// What the poller has been told last.
    var watchesReading = true
    var watchesWriting = false
    var hasEnded = false
    var isTouched = false

    init(
        id: UInt64, descriptor: consuming FileDescriptor, process: ReportingProcess, viewer: Viewer, isOperator: Bool,
        messageBytes: Int
    ) {
        self.id = id
        self.descriptor = descriptor
        self.process = process
        self.viewer = viewer
        self.isOperator = isOperator
        frames = FrameDecoder(limit: messageBytes)
    }

    var uid: UInt32 { process.sender.uid }
}
