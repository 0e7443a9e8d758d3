import IssueCore
import IssueProtocol
import IssueStore
import UnixIO

/// One connection, as the thread of the socket keeps it.
final class Connection {
    let id: UInt64
    let descriptor: FileDescriptor
    let process: ReportingProcess
    /// The groups of the peer when it connected; the kernel tells no later ones.
    let groups: [UInt32]
    /// What it counted as when it was let in.
    let standing: ConnectionShares.Standing
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
    /// What is counted of it in the memory of all users.
    var callMemory = 0
    var replyMemory = 0
    /// The part of that for unread replies; the rest is set aside for its questions.
    var unreadMemory = 0
    /// The turn in which it was last heard of.
    var lastRound: UInt64 = 0
    /// Whether the message that is coming may have any size, since it is a report.
    var isReceivingReport = false
    /// Reports that want no reply.
    var silent: Set<UInt64> = []
    var replies = ReplyQueue()
    /// The open file that is passed along with the next bytes sent.
    var file: PassedFile?
    var question: Question?
    var questionToken: UInt64 = 0
    /// Questions of it that the store is being asked.
    var openJobs = 0
    var isFetchingPage = false
    /// Whose rights the last question of it was asked with.
    var askedAs: Viewer = .nothing
    /// When the store is asked again for what is awaited or followed.
    var lookout = ChangePollGate()

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

    /// How much is lost when it is closed to make room for somebody else.
    enum Worth: Int {
        /// Nothing: it rests between two calls.
        case idle
        /// What its client can send or ask again.
        case resumable
        /// It is answered first, which ends in a moment.
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

    /// Gives back what it does not need while nothing is under way.
    func releaseMemory() {
        replies.releaseMemory()
        // A spare batch has the size of the largest that was stored before.
        if calls.isEmpty, batch.bytes.capacity > 16 << 10 || batch.records.capacity > 256 { batch = RecordBatch() }
    }

    /// Whether nothing is owed to it any more.
    var isDone: Bool { session.isIdle && replies.unsentCount == 0 }
}

/// A user with connections, or with reports that are not stored yet; together with all who count as the same user.
final class SocketUser {
    let uid: UInt32
    var load: UserLoad
    var connections: Set<UInt64> = []
    /// Whether it waits because all users together hold much.
    var isCrowdedOut = false
    /// Whether he has less under way than he had, so that others of his connections may go on.
    var hasFreedCapacity = false

    init(uid: UInt32, limits: UserLoad.Limits) {
        self.uid = uid
        load = UserLoad(limits: limits)
    }
}

/// Reports that were read of a connection that is gone: they count until they are stored.
struct Orphan {
    var user: SocketUser
    var bytes: Int
    var reports: Int
}

/// How much of the daemon one connection and one user may take.
struct SocketLimits: Equatable, Sendable {
    var messageBytes = 1 << 20
    var connections = 4096
    var connectionsPerUser = 1024
    var bytesInFlightPerUser = 8 << 20
    /// What all users together may make the daemon hold.
    var memory = 256 << 20
    /// The largest message that is no report.
    var questionMessageBytes = 64 << 10
    var readTimeout: Duration = .seconds(30)
    /// What one user may leave unread before nothing more of him is begun.
    var unreadBytesPerUser = 16 << 20
    /// What counts as unread for a question as long as it is not answered.
    var questionBytes = 256 << 10
    /// How long a reader may take nothing of it.
    var writeTimeout: Duration = .seconds(30)
    /// What is read of one user before others have their turn.
    var quantum = 256 << 10
    /// A connection that has less under way need not wait for its user's others.
    var little = 4 << 10

    var ofUser: UserLoad.Limits {
        UserLoad.Limits(calls: bytesInFlightPerUser, replies: unreadBytesPerUser, quantum: quantum, little: little)
    }

    var ofConnections: ConnectionShares.Limits {
        ConnectionShares.Limits(total: connections, perUser: connectionsPerUser)
    }

    /// Half of the memory is for calls, half-sent or not yet answered.
    var callMemory: MemoryBudget { MemoryBudget(limit: memory / 2, guaranteed: 256 << 10) }
    /// The other half is for replies, unread or under way.
    var replyMemory: MemoryBudget { MemoryBudget(limit: memory / 2, guaranteed: 2 * questionBytes) }
    /// How questions share that half.
    var replyBudget: ReplyBudget { ReplyBudget(limit: memory / 2, limitPerUser: unreadBytesPerUser) }
    /// How long a client may read nothing of a reply while other users wait for its memory.
    var stalledReplyTimeout: Duration = .seconds(1)
    /// What half-sent messages may take: they may stay as they are, unlike other calls.
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
