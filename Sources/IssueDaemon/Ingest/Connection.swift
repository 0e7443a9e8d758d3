import IssueCore
import IssueProtocol
import IssueStore
import UnixIO

/// A client's connection. Used only by the socket thread.
final class Connection {
    let id: UInt64
    let descriptor: FileDescriptor
    let process: ReportingProcess
    /// The groups of the peer when it connected. The kernel does not report
    /// later changes.
    let groups: [UInt32]
    /// The class of the connection when it was accepted.
    let standing: ConnectionShares.Standing
    let user: SocketUser

    var session = Session()
    var frames: FrameDecoder
    /// A message that waits until earlier calls have been answered.
    var held: Range<Int>?
    /// Reports that were read but not handed to the writer yet.
    var batch = RecordBatch()
    var calls: [ReportCall] = []

    /// The connection's share of its user's load, in bytes.
    var bytesInFlight = 0
    var bytesReceived = 0
    var bytesUnread = 0
    /// The connection's share of the memory of all users, in bytes.
    var callMemory = 0
    var replyMemory = 0
    /// The part of the connection's memory that unread replies use. The rest is for its queries.
    var unreadMemory = 0
    /// The round in which bytes were last read.
    var lastRound: UInt64 = 0
    /// `true` if the message being received may have any size because it is a
    /// report.
    var isReceivingReport = false
    /// Tokens of calls that want no reply.
    var silent: Set<UInt64> = []
    var replies = ReplyQueue()
    /// The file that is passed with the next bytes sent.
    var file: PassedFile?
    var question: Question?
    var questionToken: UInt64 = 0
    /// The number of jobs that the other threads have not answered yet.
    var openJobs = 0
    var isFetchingPage = false
    /// The rights with which the last question was asked.
    var queryViewer: Viewer = .nothing
    /// Coalesces queries for new records or fates.
    var pollGate = ChangePollGate()

    /// The number of bytes of the last read.
    var lastRead = 0
    /// The time since which a partial message, or unread replies, have been
    /// there.
    var partialSince: MonotonicInstant?
    var unsentSince: MonotonicInstant?
    /// The events that the poller currently reports.
    var watchesReading = true
    var watchesWriting = false
    /// `true` if the connection is throttled until its user's load drops. It is
    /// not read until then.
    var isWaiting = false
    /// `true` if the connection is not in the poller, which would report the
    /// hang-up in every round.
    var isDetached = false
    var hasEnded = false
    var isTouched = false

    init(
        id: UInt64, descriptor: consuming FileDescriptor, process: ReportingProcess, groups: [UInt32],
        standing: ConnectionShares.Standing, user: SocketUser, messageBytes: Int
    ) {
        self.id = id
        self.descriptor = descriptor
        self.process = process
        self.groups = groups
        self.standing = standing
        self.user = user
        frames = FrameDecoder(limit: messageBytes)
    }
}

extension Connection {
    /// Returns when a timeout of the connection is next due; nil if there is
    /// none.
    func deadline(_ limits: SocketLimits) -> MonotonicInstant? {
        var deadline = partialSince?.advanced(by: limits.readTimeout)
        if let unread = unsentSince?.advanced(by: limits.writeTimeout) { deadline = min(deadline ?? unread, unread) }
        switch question {
        case .awaiting(_, let until) where !pollGate.isPolling, .flushing(_, let until, _):
            deadline = min(deadline ?? until, until)
        case .awaiting, .single, .pages, .following, .working, nil: break
        }
        return deadline
    }

    /// The bytes that count against the user's limit for calls.
    var bytesUnderWay: Int { bytesInFlight + bytesReceived }

    /// The cost of closing the connection to make room for another one.
    enum Worth: Int {
        /// No cost: the connection is idle.
        case idle
        /// The client can resend or repeat its calls.
        case resumable
        /// The connection is being answered, which takes only a moment.
        case answering
    }

    var worth: Worth {
        if session.openReports > 0 { return .answering }
        switch question {
        case .single, .working, .flushing: return .answering
        case .pages, .following, .awaiting: return .resumable
        case nil: break
        }
        let isIdle = held == nil && !frames.hasPartialFrame && frames.wantsBytes && replies.unsentCount == 0
        return isIdle && !isWaiting ? .idle : .resumable
    }

    /// Releases memory that an idle connection does not need.
    func releaseMemory() {
        replies.releaseMemory()
        // A recycled batch is as large as the largest one that was stored
        // before.
        if calls.isEmpty, batch.bytes.capacity > 16 << 10 || batch.records.capacity > 256 { batch = RecordBatch() }
    }

    /// `true` if all calls have been answered and all replies sent.
    var isDone: Bool { session.isIdle && replies.unsentCount == 0 }
}

/// A user with connections or unstored reports, including all user ids that
/// share the user's limits.
final class SocketUser {
    let uid: UInt32
    var load: UserLoad
    var connections: Set<UInt64> = []
    /// `true` if the user waits because all users together use much memory.
    var isMemoryThrottled = false
    /// `true` if the user's load has dropped since the last round.
    var hasFreedCapacity = false

    init(uid: UInt32, limits: UserLoad.Limits) {
        self.uid = uid
        load = UserLoad(limits: limits)
    }
}

/// The reports of a closed connection, which count until they are stored.
struct Orphan {
    var user: SocketUser
    var bytes: Int
    var reports: Int
}

/// The limits for connections and users. Sizes are in bytes.
struct SocketLimits: Equatable, Sendable {
    var messageBytes = SocketSettings().maxMessageSize
    var connections = SocketSettings().maxConnections
    var connectionsPerUser = SocketSettings().maxConnectionsPerUser
    var bytesInFlightPerUser = SocketSettings().maxBytesInFlightPerUser
    /// The memory for all users together.
    var memory = SocketSettings().maxMemory
    /// The maximum size of a message other than a report.
    var questionMessageBytes = 64 << 10
    var readTimeout = SocketSettings().readTimeout
    /// The maximum size of one user's unread replies.
    var unreadBytesPerUser = 16 << 20
    /// The bytes that an unanswered question counts as unread.
    var questionBytes = 256 << 10
    /// How long a client may read nothing of its replies before the connection
    /// is closed.
    var writeTimeout: Duration = .seconds(30)
    /// The bytes that are read of one user before others have their turn.
    var quantum = 256 << 10
    /// A connection with less in flight is not throttled because of its user's
    /// other connections.
    var little = 4 << 10

    var ofUser: UserLoad.Limits {
        UserLoad.Limits(calls: bytesInFlightPerUser, replies: unreadBytesPerUser, quantum: quantum, little: little)
    }

    var ofConnections: ConnectionShares.Limits {
        ConnectionShares.Limits(total: connections, perUser: connectionsPerUser)
    }

    /// Half of the memory is for calls, partially received or not yet answered.
    var callMemory: MemoryBudget { MemoryBudget(limit: memory / 2, guaranteed: 256 << 10) }
    /// The other half is for replies, unread or being prepared.
    var replyMemory: MemoryBudget { MemoryBudget(limit: memory / 2, guaranteed: 2 * questionBytes) }
    /// The budget by which queries share that half.
    var replyBudget: ReplyBudget { ReplyBudget(limit: memory / 2, limitPerUser: unreadBytesPerUser) }
    /// The timeout for a client that does not read its reply while other users wait for its memory.
    var stalledReplyTimeout: Duration = .seconds(1)
    /// The part for partial messages, which can stay forever, unlike other
    /// calls.
    var halfSentMemory: Int { memory / 4 }
}

extension SocketLimits {
    /// The limits that `[Socket]` sets.
    init(_ settings: SocketSettings) {
        self.init()
        messageBytes = settings.maxMessageSize
        connections = settings.maxConnections
        connectionsPerUser = settings.maxConnectionsPerUser
        bytesInFlightPerUser = settings.maxBytesInFlightPerUser
        memory = settings.maxMemory
        readTimeout = settings.readTimeout
    }
}
