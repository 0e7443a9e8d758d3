import IssueCore
import IssueProtocol
import IssueStore
import Synchronization
import UnixIO

/// Accepts connections, reads calls and sends replies, on one thread.
final class SocketService: Sendable {
    /// The other services that the socket thread uses.
    struct Handlers: Sendable {
        /// Submits reports to the writer (`WriterService.submit(_:)`). Returns an empty batch for the reports that
        /// follow.
        var submit: @Sendable (Submission) -> RecordBatch
        /// Submits a query (`QueryService.submit(_:)`). The answer arrives through ``SocketService/answered(_:)``.
        var query: @Sendable (QueryJob) -> Void
        /// Cancels the queries of a connection, and its jobs except those that are completed without their client.
        var cancelWork: @Sendable (_ connection: UInt64, _ user: UInt32) -> Void
        /// Adds a difference, which may be negative, to the memory of the replies to a user, in bytes.
        var repliesChanged: @Sendable (_ user: UInt32, _ difference: Int) -> Void
        /// Enqueues a job (`JobService.enqueue(_:)`). Returns `false` if it is not accepted, for example because too
        /// many jobs are waiting.
        var enqueueJob: @Sendable (Job) -> Bool
        /// Forwards pending records to the named destination, or to all, without delay. Returns the number of
        /// destinations that do so, each of which calls `completed` once; nil if no destination has that name. A
        /// destination with a configuration error does not forward and is not counted.
        var flush: @Sendable (_ destination: String?, _ completed: @escaping @Sendable () -> Void) -> Int?
    }

    let inbox = Mutex(SocketInbox())
    let wakeUp: EventCounter
    let listener: SharedDescriptor
    /// The socket in systemd's folder for metrics; nil if there is none. It serves the same methods, with the same
    /// rights, as `listener`.
    let metricsListener: SharedDescriptor?
    let limits: SocketLimits
    let recordLimits: RecordLimits
    /// The redactor at the start. Later ones arrive through the inbox.
    let redactor: Redactor
    let access: Mutex<AccessPolicy>
    let statusRegistry: StatusRegistry
    let log: Log

    init(
        listener: SharedDescriptor, metricsListener: SharedDescriptor? = nil, _ configuration: Configuration,
        redactor: Redactor = Redactor(), statusRegistry: StatusRegistry, log: Log
    ) throws(Errno) {
        wakeUp = try EventCounter()
        self.listener = listener
        self.metricsListener = metricsListener
        limits = SocketLimits(configuration.socket)
        recordLimits = RecordLimits(configuration.socket)
        self.redactor = redactor
        access = Mutex(AccessPolicy(configuration.access))
        self.statusRegistry = statusRegistry
        self.log = log
    }

    /// Adds to the inbox of the socket thread, and wakes the thread.
    func enqueue(_ change: (inout SocketInbox) -> Void) {
        inbox.withLock { change(&$0) }
        wakeUp.signal()
    }

    /// Enqueues the outcomes of a commit, and makes the socket thread query the new records for followers.
    func stored(_ outcomes: [CallOutcome]) {
        enqueue {
            if $0.outcomes.isEmpty { $0.outcomes = outcomes } else { $0.outcomes += outcomes }
            $0.hasNewRecords = true
        }
    }

    func refused(_ refusals: [Refusal]) {
        guard !refusals.isEmpty else { return }
        enqueue { $0.refusals += refusals }
    }

    func answered(_ answer: QueryAnswer) {
        enqueue { $0.answers.append(answer) }
    }

    func fatesChanged() {
        enqueue { $0.hasNewFates = true }
    }

    /// Continues with another listening socket.
    func listen(at listener: SharedDescriptor) {
        enqueue { $0.listener = listener }
    }

    /// Stops accepting connections and calls. The thread ends when all pending calls have been answered.
    func stop() {
        enqueue { $0.isStopping = true }
    }

    /// Ends the thread at once, and closes all connections. Clients resend unanswered reports.
    func end() {
        enqueue { $0.isEnding = true }
    }

    func run(_ handlers: Handlers) {
        do throws(Errno) {
            let loop = try SocketLoop(self, handlers)
            try loop.run()
        } catch {
            log.error(.socketFailed, ["error": "\(error)"])
        }
    }
}

/// The completion of a flush by one destination.
struct FlushCompletion: Sendable {
    let connection: UInt64
    /// The query that requested the flush. It may have ended since.
    let queryToken: UInt64
}

/// The queue of events for the socket thread.
struct SocketInbox: Sendable {
    var outcomes: [CallOutcome] = []
    var refusals: [Refusal] = []
    var answers: [QueryAnswer] = []
    var flushed: [FlushCompletion] = []
    var heartbeatRequests: [Heartbeats] = []
    /// The redactor for the following records; nil if it has not changed.
    var redactor: Redactor?
    /// The listening socket to continue with; nil if it has not changed.
    var listener: SharedDescriptor?
    /// Whether queries wait because unread replies take too much memory.
    var lacksReplyRoom = false
    var hasNewRecords = false
    var hasNewFates = false
    var isStopping = false
    /// Whether the services that answer have ended, so that the loop must end without waiting for replies.
    var isEnding = false

    /// Removes and returns the contents. A request to stop remains.
    mutating func take() -> SocketInbox {
        let taken = self
        self = SocketInbox()
        isStopping = taken.isStopping
        return taken
    }
}

/// Checks whether the path still leads to the socket. If not, and if the daemon created the socket, recreates it.
///
/// If the socket's file is removed, existing connections continue, but new clients can't connect. If the service
/// manager created the socket, only the service manager can recreate it, so the daemon logs a warning.
final class ListenerMonitor {
    private(set) var listener: SharedDescriptor
    /// Whether recreating the socket has failed and must be tried again.
    private(set) var isMissing = false
    /// Whether a warning has been logged that the service manager must recreate the socket.
    private var hasReportedUnit = false
    let path: String
    /// Creates the socket and its folder; nil if the service manager created the socket.
    private let make: (() throws(Errno) -> FileDescriptor)?
    private var watch: FolderWatch?
    /// The identity of the socket file; nil if it is unknown.
    private var socketStatus: FileStatus?
    private let log: Log

    /// Monitors an inherited socket.
    init(_ listener: SharedDescriptor, path: String, log: Log) {
        self.listener = listener
        self.path = path
        self.log = log
        make = nil
        remember()
    }

    /// Creates and monitors a socket.
    init(path: String, log: Log, make: @escaping () throws(Errno) -> FileDescriptor) throws(Errno) {
        listener = SharedDescriptor(try make())
        self.path = path
        self.log = log
        self.make = make
        remember()
    }

    /// Whether the service manager made the socket, and keeps it when the daemon ends.
    var isInherited: Bool { make == nil }

    /// Adds the folder watch to a poller.
    func watch(with poller: borrowing Poller, token: UInt64) {
        if let watch { try? poller.add(watch.descriptor, token: token, for: [.read]) }
    }

    /// Checks whether the path still leads to the socket. If not, recreates the socket, or logs once that the service
    /// manager must recreate it. Does nothing while the identity of the socket file is unknown.
    ///
    /// - Returns: The new listener; nil if the socket was not recreated.
    func checkSocketFile() -> SharedDescriptor? {
        watch?.clear()
        let found = try? FileSystem.status(of: path, followingLinks: false)
        guard let socketStatus, found?.inode != socketStatus.inode || found?.device != socketStatus.device else {
            return nil
        }
        guard let make else {
            if !hasReportedUnit {
                log.warning(.socketUnitRestartNeeded, ["path": path])
            }
            hasReportedUnit = true
            return nil
        }
        do throws(Errno) {
            listener = SharedDescriptor(try make())
            remember()
            isMissing = false
            log.warning(.socketRecreated, ["path": path])
            return listener
        } catch {
            if !isMissing {
                log.error(
                    .socketRecreateFailed,
                    ["path": path, "error": "\(error)"])
            }
            isMissing = true
            return nil
        }
    }

    private func remember() {
        socketStatus = try? FileSystem.status(of: path, followingLinks: false)
        watch = try? FolderWatch(FileSystem.parentFolder(of: path))
    }
}

/// Serves the socket while the store can't be opened.
///
/// Reports and most queries are answered with `Busy` or `NoSpace`, so that senders keep their reports and retry.
/// `Status` and metrics are answered without the store. For operators and readers, the status contains the reason why
/// the store can't be opened. Notifiers send events of the daemon itself.
final class UnavailableStoreServer {
    private let socket: SocketService
    private let notifiers: Notifiers
    private let path: String
    private let log: Log
    private let thread: JoinableThread

    private static let retryAfter: Duration = .seconds(1)

    init(
        _ effective: EffectiveConfiguration, statusRegistry: StatusRegistry, listener: SharedDescriptor,
        metricsListener: SharedDescriptor?, notifiers: Notifiers, reason: StoreFailure, log: Log
    ) throws {
        let configuration = effective.configuration
        (self.notifiers, path, self.log) = (notifiers, configuration.store.path, log)
        statusRegistry.update(reason)
        statusRegistry.update(effective)
        let socket = try SocketService(
            listener: listener, metricsListener: metricsListener, configuration, statusRegistry: statusRegistry,
            log: log)
        self.socket = socket
        let answer: CollectorError = reason == .noSpace ? .noSpace : .busy(retryAfter: Self.retryAfter)
        let handlers = SocketService.Handlers(
            submit: { submission in
                let connection = submission.process.connection
                socket.refused(submission.eachCall.map { Refusal($0, of: connection, answer) })
                return RecordBatch()
            },
            query: { job in
                let reply: [UInt8]
                switch job.work {
                case .status: reply = QueryService.reply(statusRegistry.statusWithoutStore(viewer: job.viewer))
                case .metrics:
                    let status = statusRegistry.statusWithoutStore(viewer: job.viewer)
                    reply = MetricsMethod.valueReplies(MetricSource(status, now: Clock.wall))
                default: return socket.answered(job.answer(.refusal(answer)))
                }
                socket.answered(job.answer(.reply(reply)))
            },
            cancelWork: { _, _ in },
            repliesChanged: { _, _ in },
            enqueueJob: { _ in false },
            flush: { _, _ in 0 })
        thread = try JoinableThread(name: "socket") { socket.run(handlers) }
        notifiers.startWithoutStore(configuration, path: path, statusRegistry: statusRegistry, log: log)
    }

    func listen(at listener: SharedDescriptor) {
        socket.listen(at: listener)
    }

    /// Applies the rights and the notifiers of a new configuration, and shows its errors in the status.
    func reload(_ effective: EffectiveConfiguration) {
        socket.access.withLock { $0 = AccessPolicy(effective.configuration.access) }
        socket.statusRegistry.update(effective)
        notifiers.startWithoutStore(
            effective.configuration, path: path, statusRegistry: socket.statusRegistry, log: log)
    }

    /// Stops accepting connections, and waits up to `timeout` until all pending calls are answered. The notifiers
    /// continue.
    func end(timeout: Duration) {
        socket.stop()
        _ = thread.wait(until: Clock.kernel(Clock.monotonic.advanced(by: timeout)))
    }
}

/// The limits for connections and users. Sizes are in bytes.
struct SocketLimits: Sendable {
    private let settings: SocketSettings
    let timeouts: ConnectionState.Timeouts
    /// The maximum size of a message other than a report.
    let queryMessageBytes = 64 << 10
    /// The size of one user's unread replies and running queries above which none of the user's calls begin.
    private let unreadBytesPerUser = 16 << 20
    /// The number of unread bytes that a running query counts as.
    let queryReplyBytes = 256 << 10
    /// How long a client may read nothing of its replies before the connection is closed.
    private static let writeTimeout: Duration = .seconds(30)
    /// The number of bytes that are read from one user's connections before other users get their turn.
    private let quantum = 256 << 10
    /// A connection with fewer bytes in flight than this is not throttled because of calls on the user's other
    /// connections.
    private let little = 4 << 10
    /// The timeout for a client that does not read its replies while queries wait for the memory of these replies.
    private let stalledReplyTimeout: Duration = .seconds(1)

    init(_ settings: SocketSettings) {
        self.settings = settings
        timeouts = ConnectionState.Timeouts(read: settings.readTimeout, write: Self.writeTimeout)
    }

    var messageBytes: Int { settings.maxMessageSize }

    /// The limits of one user.
    var userLimits: UserLoad.Limits {
        UserLoad.Limits(
            calls: settings.maxBytesInFlightPerUser, replies: unreadBytesPerUser, quantum: quantum, little: little)
    }

    /// The limits for the numbers of connections.
    var connectionLimits: ConnectionShares.Limits {
        ConnectionShares.Limits(total: settings.maxConnections, perUser: settings.maxConnectionsPerUser)
    }

    /// The memory limits of all users together. The returned value counts no memory as used.
    var memoryPressure: MemoryPressure {
        MemoryPressure(
            // Half of the memory is for calls, partially received or not yet answered.
            calls: MemoryBudget(limit: settings.maxMemory / 2, guaranteed: 256 << 10),
            // The other half is for replies, unread or being prepared.
            replies: MemoryBudget(limit: settings.maxMemory / 2, guaranteed: 2 * queryReplyBytes),
            limits: MemoryPressure.Limits(
                // Partial messages can stay for long, unlike other calls.
                received: settings.maxMemory / 4, unread: replyBudget.maxUnread,
                stalledReplyTimeout: stalledReplyTimeout))
    }

    /// How queries share the memory for replies.
    var replyBudget: ReplyBudget { ReplyBudget(limit: settings.maxMemory / 2, limitPerUser: unreadBytesPerUser) }
}
