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
    let user: SocketUser

    var session = Session()
    var frames: FrameDecoder
    /// A message that waits until what came before it is answered.
    var held: Range<Int>?
    /// Reports that were read and not handed to the writer yet.
    var batch = RecordBatch()
    var calls: [ReportCall] = []

    /// What is counted of it in the load of its user.
    var bytesInFlight = 0
    var bytesReceived = 0
    var bytesUnread = 0
    /// Reports that want no reply.
    var silent: Set<UInt64> = []
    var replies = ReplyQueue()
    /// What goes with the replies that are sent next.
    var file: PassedFile?
    var question: Question?
    var questionToken: UInt64 = 0
    /// Questions of it that the store is being asked.
    var openJobs = 0
    var isFetchingPage = false
    /// When the store is asked again for what is awaited or followed.
    var lookout = Lookout()

    /// How many bytes were read at a time, the last time.
    var lastRead = 0
    /// Since when half a message has been there, or unread replies.
    var partialSince: MonotonicInstant?
    var unsentSince: MonotonicInstant?
    /// What the poller has been told last.
    var watchesReading = true
    var watchesWriting = false
    /// Whether it is told when its user has less under way; it is not read until then.
    var isWaiting = false
    /// Whether the poller does not know it, since it would tell again and again that nobody is there.
    var isDetached = false
    var hasEnded = false
    var isTouched = false

    init(
        id: UInt64, descriptor: consuming FileDescriptor, process: ReportingProcess, viewer: Viewer, isOperator: Bool,
        user: SocketUser, messageBytes: Int
    ) {
        self.id = id
        self.descriptor = descriptor
        self.process = process
        self.viewer = viewer
        self.isOperator = isOperator
        self.user = user
        frames = FrameDecoder(limit: messageBytes)
    }
}

extension Connection {
    /// When something of it ends by time alone, if nothing happens until then.
    func deadline(_ limits: SocketLimits) -> MonotonicInstant? {
        var deadline = partialSince?.advanced(by: limits.readTimeout)
        if let unread = unsentSince?.advanced(by: limits.writeTimeout) { deadline = min(deadline ?? unread, unread) }
        switch question {
        case .awaiting(_, let until) where !lookout.isLooking, .flushing(_, let until, _):
            deadline = min(deadline ?? until, until)
        case .awaiting, .single, .pages, .following, .working, nil: break
        }
        return deadline
    }

    /// What counts against its share of what its user may have under way.
    var bytesUnderWay: Int { bytesInFlight + bytesReceived }

    /// Whether nothing is owed to it any more.
    var isDone: Bool { session.isIdle && replies.unsentCount == 0 }
}
