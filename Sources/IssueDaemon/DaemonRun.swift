import IssueCore
import IssueProtocol
import IssueStore
import Synchronization
import UnixIO

/// All services, from opening the store to closing it.
///
/// If the store turns out to be damaged, the run ends. The next run uses a
/// fresh file and the same socket, and clients resend unanswered reports.
final class DaemonRun {
    enum End: Equatable {
        case stopped
        case storeDamaged
    }

    let board: StatusRegistry
    let writer: WriterService
    let queries: QueryService
    let jobs: JobService
    let socket: SocketService
    private let alertLogger: AlertLogger
    let pulse = Pulse()
    private var destinations = Destinations()
    private var threads: [JoinableThread] = []
    /// The threads that read the store.
    private var readers: [JoinableThread] = []
    /// The threads that answer queries, and the thread that interrupts them.
    private let queryPool: LazyThreads
    private let queryWatchdog: LazyThreads
    private let forwarders: Monitor<[ForwardingService]>
    private let log: Log
    /// Settings that stay the same until the end of the run.
    private let fixed: (socket: SocketSettings, path: String)
    /// `true` if the forwarding services could not be started and must be
    /// started later.
    private(set) var lacksForwarding = false

    /// The threads for queries. One user's queries use at most one of the
    /// threads that are not reserved for operators.
    static let queryThreads: [(name: String, lane: QueryInbox.Lane)] = [
        ("query-operator", .privileged), ("query-1", .shared), ("query-2", .mixed),
    ]
    /// How long queries may continue after a stop has begun, and then how long
    /// to wait for their threads.
    private static let queryStopTimeout: Duration = .seconds(1)
    private static let readerStopTimeout: Duration = .seconds(5)

    /// Opens the store and starts all services.
    ///
    /// - Throws: `StoreFailure` if the store can't be opened, or the error of a
    ///   thread or descriptor that can't be created.
    init(
        _ configuration: Configuration, listener: ListeningSocket, corruptionCheck: CorruptionCheck,
        storeLock: StoreLock,
        damaged: @escaping @Sendable () -> Void, log: Log
    ) throws {
        let path = configuration.store.path
        self.log = log
        fixed = (configuration.socket, path)
        let board = StatusRegistry(path: path)
        let opening = StoreOpening(
            path: path, limits: configuration.limits, retention: configuration.store.retention,
            corruptionCheck: corruptionCheck, lock: storeLock)
        let writer = WriterService(opening: opening, log: log)
        let queries = QueryService(
            path: path, writer: writer, board: board, replies: SocketLimits(configuration.socket).replyBudget, log: log)
        let socket = try SocketService(
            listener: listener, limits: SocketLimits(configuration.socket),
            recordLimits: RecordLimits(configuration.socket), access: AccessPolicy(configuration.access), board: board,
            log: log)
        let forwarders = Monitor<[ForwardingService]>([])
        let alertLogger = AlertLogger(path: path, snapshots: writer.snapshots, log: log)
        let jobs = JobService(
            path: path, writer: writer,
            arrived: {
                socket.stored([])
                for forwarder in forwarders.withLock({ $0 }) { forwarder.recordsArrived() }
            }, log: log)
        self.alertLogger = alertLogger
        self.board = board
        self.writer = writer
        self.queries = queries
        self.jobs = jobs
        self.socket = socket
        self.forwarders = forwarders
        var queryPlans = Self.queryThreads.enumerated().map { number, thread in
            LazyThreads.Plan(name: thread.name) {
                queries.run(
                    thread.lane, thread: number, { socket.answered($0) },
                    lacksRoom: { socket.enqueue { $0.lacksReplyRoom = true } }, damaged: { writer.reportCorruption($0) }
                )
            }
        }
        queryPlans.append(
            LazyThreads.Plan(name: "figures") { queries.status.publish(damaged: { writer.reportCorruption($0) }) })
        queryPlans.append(LazyThreads.Plan(name: "status") { queries.status.run { socket.answered($0) } })
        let queryPool = LazyThreads(queryPlans)
        let threadShortages = Mutex(RepeatedEventCounter())
        let queryWatchdog = LazyThreads([LazyThreads.Plan(name: "query-watch") { queries.runWatch() }])
        self.queryPool = queryPool
        self.queryWatchdog = queryWatchdog

        let started = Monitor<Result<Void, StoreFailure>?>(nil)
        threads.append(
            try JoinableThread(name: "writer") {
                writer.run(
                    WriterService.Callbacks(
                        stored: { outcomes in
                            socket.stored(outcomes)
                            alertLogger.committed()
                            for forwarder in forwarders.withLock({ $0 }) { forwarder.recordsArrived() }
                        },
                        refused: { socket.refused($0) }, changed: { board.update($0) }, damaged: damaged,
                        removed: { jobs.collect() })
                ) { result in
                    started.withLock { $0 = result.map { _ in } }
                    started.signal()
                }
            })
        try started.wait { $0 }?.get()
        let warnings = Mutex(OverflowWarningLimiter())
        try writer.perform { writer in
            writer.onPriorityRecords = { alertLogger.came($0) }
            writer.onCardinalityOverflow = { overflow in
                guard warnings.withLock({ $0.came(overflow, at: Clock.monotonic) }) else { return }
                log.warning(
                    .limitsTooManyNames,
                    ["uid": "\(overflow.uid)", "names": overflow.kind.rawValue])
            }
        }
        readers.append(try JoinableThread(name: "announcer") { alertLogger.run() })
        readers.append(
            try JoinableThread(name: "jobs") {
                jobs.run({ socket.answered($0) }, damaged: { writer.reportCorruption($0) })
            })
        startForwardingAgain(configuration)
        threads.append(
            try JoinableThread(name: "socket") {
                socket.run(
                    SocketService.Handlers(
                        submit: { writer.submit($0) },
                        query: { job in
                            do throws(Errno) {
                                try queryWatchdog.start()
                                try queryPool.start()
                                queries.submit(job)
                            } catch {
                                if let count = threadShortages.withLock({ $0.happened(at: Clock.monotonic) }) {
                                    log.warning(.queryThreadsFailed, ["refused": "\(count)", "error": "\(error)"])
                                }
                                socket.answered(
                                    QueryAnswer(
                                        connection: job.connection, queryToken: job.queryToken,
                                        content: .refusal(.busy(retryAfter: .seconds(1)))))
                            }
                        },
                        withdraw: {
                            queries.withdraw($0, user: $1)
                            jobs.withdraw($0)
                        },
                        repliesChanged: { queries.repliesChanged(of: $0, by: $1) },
                        order: { jobs.order($0) },
                        flush: { name, completed in
                            let selected = forwarders.withLock { $0 }.filter {
                                name == nil || $0.destination.name == name
                            }
                            if selected.isEmpty, let name, !board.hasDestination(named: name) { return nil }
                            for forwarder in selected { forwarder.flush(completed) }
                            return selected.count
                        }))
            })
    }

    /// Starts the forwarding services. Sets `lacksForwarding` if the store
    /// fails, so that the caller tries again.
    func startForwardingAgain(_ configuration: Configuration) {
        var configuration = configuration
        // A new path takes effect after a restart.
        configuration.store.path = fixed.path
        let socket = socket
        do {
            try destinations.start(configuration, writer: writer, board: board, log: log) { socket.fatesMoved() }
            if lacksForwarding { log.notice(.forwardingStarted) }
            lacksForwarding = false
        } catch let damage as StoreFailure where damage.isDamage {
            writer.reportCorruption(damage)
        } catch {
            if !lacksForwarding {
                log.error(.forwardingStartFailed, ["error": "\(error)"])
            }
            lacksForwarding = true
        }
        let services = destinations.services
        forwarders.withLock { $0 = services }
    }

    /// Applies a new configuration, as far as that is possible with the same
    /// socket and store.
    func reload(_ configuration: Configuration) throws {
        socket.access.withLock { $0 = AccessPolicy(configuration.access) }
        let (limits, retention) = (configuration.limits, configuration.store.retention)
        try writer.perform { $0.reload(limits, retention) }
        forwarders.withLock { $0 = [] }
        destinations.stop(timeout: .seconds(2))
        board.forgetForwarders()
        startForwardingAgain(configuration)
        if configuration.socket != fixed.socket || configuration.store.path != fixed.path {
            log.notice(.configNeedsRestart)
        }
    }

    /// Sends a heartbeat request to the socket and writer threads. Returns
    /// whether both have answered the previous one.
    func isAlive() -> Bool {
        let wasWell = pulse.request()
        let pulse = pulse
        socket.enqueue { $0.pulses.append(pulse) }
        writer.enqueue { pulse.beat(.writer) }
        return wasWell
    }

    /// A line for `systemctl status`: the number of connections, whether reports
    /// are refused, and the state of each destination.
    var summary: String { board.summary }

    // MARK: Stages of a stop

    func stopAccepting() {
        socket.stop()
    }

    /// Waits until everything that was received has been answered.
    func drain(timeout: Duration) {
        let now = Clock.monotonic
        let deadline = Clock.kernel(now.advanced(by: timeout))
        guard let thread = threads.last else { return }
        if thread.wait(until: min(deadline, Clock.kernel(now.advanced(by: Self.queryStopTimeout)))) { return }
        queries.refuseAll()
        if !thread.wait(until: deadline) {
            log.warning(.daemonSendersNotReading)
        }
    }

    func flush(timeout: Duration) {
        forwarders.withLock { $0 = [] }
        destinations.stop(timeout: timeout)
    }

    func close() {
        alertLogger.stop()
        queries.stop()
        jobs.stop()
        let now = Clock.monotonic
        let deadline = Clock.kernel(now.advanced(by: Self.readerStopTimeout))
        // The alert logger still reads records for its remaining alerts.
        _ = readers.first?.wait(until: Clock.kernel(now.advanced(by: Self.readerStopTimeout / 2)))
        // The thread that closes the database last removes the WAL, which only
        // the writer may do.
        writer.snapshots.end(timeout: Self.readerStopTimeout / 2)
        let left = readers.count { !$0.wait(until: deadline) } + queryPool.wait(until: deadline)
        if left > 0 {
            log.warning(.daemonReadersLeft, ["threads": "\(left)"])
        }
        queries.finish()
        writer.stop()
        socket.end()
        for thread in threads { thread.join() }
        queryWatchdog.join()
    }
}

/// Heartbeats of the threads that must never hang.
final class Pulse: Sendable {
    enum Part: Hashable, Sendable, CaseIterable {
        case socket
        case writer
    }

    private let missing = Mutex(Set<Part>())

    /// Requests a new heartbeat of each thread. Returns whether all have
    /// answered the previous request.
    func request() -> Bool {
        missing.withLock { missing in
            let isWell = missing.isEmpty
            missing = Set(Part.allCases)
            return isWell
        }
    }

    func beat(_ part: Part) {
        missing.withLock { _ = $0.remove(part) }
    }
}

/// A thread that can be joined with a timeout.
final class JoinableThread: Sendable {
    private let isDone: Monitor<Bool>

    init(name: String, _ body: @escaping @Sendable () -> Void) throws(Errno) {
        let isDone = Monitor(false)
        self.isDone = isDone
        _ = try Thread.start(name: name, stackSize: 1 << 20) {
            body()
            isDone.withLock { $0 = true }
            isDone.broadcast()
        }
    }

    /// Waits until the thread has ended or the deadline is over. Returns
    /// whether it has ended.
    func wait(until deadline: KernelInstant) -> Bool {
        isDone.wait(deadline: deadline) { $0 ? true : nil } ?? false
    }

    /// Waits for the thread to end, without a timeout.
    func join() {
        _ = isDone.wait { $0 ? true : nil }
    }
}

/// Threads that start when they are first needed, because each of them takes memory.
final class LazyThreads: Sendable {
    struct Plan: Sendable {
        var name: String
        var body: @Sendable () -> Void
    }

    private let plans: [Plan]
    private let started = Mutex<[JoinableThread]>([])

    init(_ plans: [Plan]) {
        self.plans = plans
    }

    /// Starts the threads that have not been started. May be called again after an error.
    func start() throws(Errno) {
        try started.withLock { threads throws(Errno) in
            for plan in plans[threads.count...] { threads.append(try JoinableThread(name: plan.name, plan.body)) }
        }
    }

    /// Waits until all started threads have ended, and returns the number of those that have not by the deadline.
    func wait(until deadline: KernelInstant) -> Int {
        started.withLock { $0 }.count { !$0.wait(until: deadline) }
    }

    /// Waits until all started threads have ended.
    func join() {
        for thread in started.withLock({ $0 }) { thread.join() }
    }
}

/// The clocks of this host.
enum Clock {
    static var wall: IssueTimestamp { IssueTimestamp(millisecondsSince1970: WallClock.nowMilliseconds) }
    static var monotonic: MonotonicInstant { MonotonicInstant(sinceBoot: MonotonicClock.now.sinceBoot) }

    /// Converts an instant for functions that wait.
    static func kernel(_ instant: MonotonicInstant) -> KernelInstant {
        KernelInstant(nanoseconds: instant.sinceBoot.clampedNanoseconds)
    }
}
