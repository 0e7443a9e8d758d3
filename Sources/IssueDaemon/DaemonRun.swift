import IssueCore
import IssueProtocol
import IssueStore
import Synchronization
import UnixIO

/// All services, from opening the store to closing it.
///
/// If the store must be opened again, for example because it is damaged, the run ends. The next run uses the same
/// socket, and a new database if the old one can't be used. Clients resend unanswered reports.
final class DaemonRun {
    let statusRegistry: StatusRegistry
    let socket: SocketService
    private let writer: WriterService
    private let queries: QueryService
    private let jobs: JobService
    private let announcementLogger: AnnouncementLogger
    private let destinations = Destinations()
    private let notifiers: Notifiers
    private let limitMonitor: LimitMonitor
    private let heartbeats = Heartbeats()
    private let writerThread: JoinableThread
    private var socketThread: JoinableThread?
    /// The threads of the announcement logger and of the jobs, which read the store.
    private let readers: [JoinableThread]
    private let log: Log
    private let socketFile: SocketFile
    /// The settings of the socket, and the path of the database. They do not change during a run. The path and mode of
    /// the socket are those of its file.
    private let fixed: (socket: SocketSettings, path: String)
    /// Whether forwarding services must be started later, because an attempt to start services has failed.
    private var lacksForwarding = false
    /// The configuration with which the forwarding services were last started. Before the first start, it is the last
    /// valid configuration; nil if there is none.
    private var forwarded: Configuration?
    /// Whether the thread of a notifier could not be started and must be started later.
    private var lacksNotifiers = false
    /// Whether ``startMissingServices(_:)`` must be called again.
    var lacksServices: Bool { lacksForwarding || lacksNotifiers }

    /// How long queries may continue after a stop has begun.
    private static let queryStopTimeout: Duration = .seconds(1)
    /// How long to wait, during a stop, for the threads that read the store.
    private static let readerStopTimeout: Duration = .seconds(5)

    /// Opens the store and starts all services.
    ///
    /// - Parameters:
    ///   - previous: The last valid configuration of an earlier run; nil if it is not known.
    ///   - socketFile: The file of the listener.
    ///   - notifiers: The notifiers. If they run without the store, they are replaced by notifiers that use it.
    /// - Throws: `StoreFailure` if the store can't be opened, or the error of a thread or descriptor that can't be
    ///   created.
    init(
        _ configuration: Configuration, replacing previous: Configuration?, socketFile: SocketFile,
        statusRegistry: StatusRegistry, listener: SharedDescriptor, metricsListener: SharedDescriptor?,
        notifiers: Notifiers, corruptionCheck: CorruptionCheck, storeLock: StoreLock,
        mustReopen: @escaping @Sendable () -> Void, log: Log
    ) throws {
        let path = configuration.store.path
        self.log = log
        self.socketFile = socketFile
        fixed = (socketFile.applied(to: configuration.socket), path)
        forwarded = previous
        let redactor = RedactionKeyFile(nextTo: path).redactor(configuration.redaction, log)
        let socket = try SocketService(
            listener: listener, metricsListener: metricsListener, configuration, redactor: redactor,
            statusRegistry: statusRegistry,
            log: log)
        let writer = WriterService(
            opening: StoreOpening(
                path: path, limits: configuration.limits, retention: configuration.retention(at: path),
                corruptionCheck: corruptionCheck, lock: storeLock), log: log)
        let destinations = destinations
        self.notifiers = notifiers
        let announcementLogger = AnnouncementLogger(path: path, snapshots: writer.snapshots, log: log)
        limitMonitor = LimitMonitor { user, text in notifiers.report(.limitReached, uid: user, text) }
        let queries = QueryService(
            path: path, writer: writer, statusRegistry: statusRegistry, socket: socket,
            replies: socket.limits.replyBudget, log: log,
            announcements: { announcementLogger.limits() })
        queries.use(ForecastSettings(configuration, redactor: redactor))
        let jobs = JobService(
            path: path, writer: writer, socket: socket, destinations: destinations, notifiers: notifiers,
            notifierNames: configuration.notifierNames, redactor: redactor, log: log)
        (self.statusRegistry, self.writer, self.queries, self.jobs) = (statusRegistry, writer, queries, jobs)
        (self.announcementLogger, self.socket) = (announcementLogger, socket)

        let started = Monitor<Result<Void, StoreFailure>?>(nil)
        writerThread = try JoinableThread(name: "writer") {
            writer.run(
                WriterService.Callbacks(
                    stored: { outcomes in
                        socket.stored(outcomes)
                        announcementLogger.committed()
                        notifiers.committed()
                        destinations.recordsArrived()
                    },
                    refused: { socket.refused($0) },
                    changed: { failure in
                        statusRegistry.update(failure)
                        if let failure { notifiers.report(.storeFault, "reports are refused: \(failure)") }
                    }, mustReopen: mustReopen,
                    removed: { jobs.collect() },
                    keepFreeUnreachable: { statusRegistry.update(keepFreeUnreachable: $0) })
            ) { result in
                started.withLock { $0 = result.map { _ in } }
                started.signal()
            }
        }
        try started.wait { $0 }?.get()
        let overflowWarnings = Mutex(OverflowWarningLimiter())
        try writer.perform { writer in
            writer.callbacks.onCorrections = { destinations.recordsArrived() }
            writer.callbacks.onPriorityRecords = { records in
                announcementLogger.recordsStored(records)
                notifiers.recordsStored(records)
            }
            writer.callbacks.onCardinalityOverflow = { overflow in
                statusRegistry.counted(overflow)
                guard overflowWarnings.withLock({ $0.shouldLog(overflow, at: Clock.monotonic) }) else { return }
                log.warning(.limitsTooManyNames, ["uid": "\(overflow.uid)", "names": overflow.kind.rawValue])
                notifiers.report(
                    .limitReached, uid: overflow.uid,
                    "user \(overflow.uid) reports too many different \(overflow.kind.rawValue)")
            }
        }
        readers = [
            try JoinableThread(name: "announcer") { announcementLogger.run() },
            try JoinableThread(name: "jobs") { jobs.run() },
        ]
        statusRegistry.update(needsRestart: needsRestart(configuration))
        statusRegistry.update(commitsLostAt: storeLock.commitsLostAt)
        // The notifiers that run without the store are replaced first, so that these events are stored.
        startMissingServices(configuration)
        if storeLock.takeUnreportedLoss() {
            notifiers.report(
                .storeFault, "some records with receipts are lost: the database or its WAL was removed or damaged")
        }
        if let text = corruptionCheck.takeSetAside() { notifiers.report(.storeFault, text) }
        socketThread = try JoinableThread(name: "socket") {
            socket.run(
                SocketService.Handlers(
                    submit: { writer.submit($0) },
                    query: { queries.submit($0) },
                    cancelWork: {
                        queries.cancel(connection: $0, user: $1)
                        jobs.cancel(connection: $0)
                    },
                    repliesChanged: { queries.repliesChanged(of: $0, by: $1) },
                    enqueueJob: { jobs.enqueue($0) },
                    flush: { name, completed in
                        let count = destinations.flush(name, completed)
                        if count == 0, let name, !statusRegistry.hasDestination(named: name) { return nil }
                        return count
                    }))
        }
    }

    /// Starts the notifiers and forwarding services that do not run.
    ///
    /// If the store is damaged, the writer is told. After any other failure, `lacksServices` is `true`, and the caller
    /// tries again later.
    func startMissingServices(_ configuration: Configuration) {
        let socket = socket
        let isRetryOfNotifiers = lacksNotifiers && !lacksForwarding
        do {
            // Notifiers start first, so that they learn of a destination that is paused as soon as it starts.
            let notifiers = notifiers
            lacksNotifiers = try !notifiers.start(
                configuration, path: fixed.path, writer: writer, statusRegistry: statusRegistry, log: log)
            if isRetryOfNotifiers { return }
            try destinations.start(
                configuration, replacing: forwarded, path: fixed.path, writer: writer, statusRegistry: statusRegistry,
                log: log,
                limitMonitor: limitMonitor,
                report: { notifiers.report($0, $1) }
            ) {
                socket.fatesChanged()
            }
            forwarded = configuration
            if lacksForwarding { log.notice(.forwardingStarted) }
            lacksForwarding = false
        } catch let damage as StoreFailure where damage.isDamage {
            writer.reportCorruption(damage)
        } catch {
            if !lacksForwarding { log.error(.forwardingStartFailed, ["error": "\(error)"]) }
            statusRegistry.addWaiting(configuration.destinations.map(\.name) + configuration.misconfigured.map(\.name))
            lacksForwarding = true
        }
    }

    /// Applies a new configuration, except for `[Socket]` and the path of the database. Blocks until the forwarding
    /// services and notifiers have stopped, up to about two seconds for either kind, and have been started again.
    func reload(_ configuration: Configuration) throws {
        socket.access.withLock { $0 = AccessPolicy(configuration.access) }
        let redactor = RedactionKeyFile(nextTo: fixed.path).redactor(configuration.redaction, log)
        socket.enqueue { $0.redactor = redactor }
        jobs.use(redactor, notifierNames: configuration.notifierNames)
        queries.use(ForecastSettings(configuration, redactor: redactor))
        let (limits, retention) = (configuration.limits, configuration.retention(at: fixed.path))
        try writer.perform { $0.reload(limits, retention) }
        destinations.stop(timeout: .seconds(2))
        notifiers.stop(timeout: .seconds(2))
        statusRegistry.forgetNotifiers()
        (lacksForwarding, lacksNotifiers) = (false, false)
        startMissingServices(configuration)
        let needsRestart = needsRestart(configuration)
        statusRegistry.update(needsRestart: needsRestart)
        if needsRestart { log.notice(.configNeedsRestart) }
    }

    private func needsRestart(_ configuration: Configuration) -> Bool {
        socketFile.needsRestart(for: configuration.socket)
            || socketFile.applied(to: configuration.socket) != fixed.socket || configuration.store.path != fixed.path
    }

    /// Sends a heartbeat request to the socket and writer threads. Returns `true` if both have answered the previous
    /// one.
    func requestHeartbeats() -> Bool {
        let wereAnswered = heartbeats.request()
        let heartbeats = heartbeats
        socket.enqueue { $0.heartbeatRequests.append(heartbeats) }
        writer.enqueue { heartbeats.answered(by: .writer) }
        return wereAnswered
    }

    // MARK: Stop

    /// Stops accepting reports, answers the received ones, stops forwarding and notifiers, and closes the store.
    func end(drainTimeout: Duration, flushTimeout: Duration) {
        socket.stop()
        drain(timeout: drainTimeout)
        destinations.stop(timeout: flushTimeout)
        notifiers.stop(timeout: flushTimeout)
        close()
    }

    /// Waits until everything that was received has been answered, or until the timeout.
    private func drain(timeout: Duration) {
        guard let socketThread else { return }
        let now = Clock.monotonic
        let deadline = Clock.kernel(now.advanced(by: timeout))
        if socketThread.wait(until: min(deadline, Clock.kernel(now.advanced(by: Self.queryStopTimeout)))) { return }
        queries.refuseAll()
        if !socketThread.wait(until: deadline) { log.warning(.daemonSendersNotReading) }
    }

    private func close() {
        announcementLogger.stop()
        queries.stop()
        jobs.stop()
        let now = Clock.monotonic
        let deadline = Clock.kernel(now.advanced(by: Self.readerStopTimeout))
        // The announcement logger still reads records for its remaining announcements.
        _ = readers[0].wait(until: Clock.kernel(now.advanced(by: Self.readerStopTimeout / 2)))
        // Only the writer's connection removes the WAL, and only if it is closed last. So the readers end first.
        writer.snapshots.end(timeout: Self.readerStopTimeout / 2)
        let left = readers.count { !$0.wait(until: deadline) } + queries.wait(until: deadline)
        if left > 0 { log.warning(.daemonReadersLeft, ["threads": "\(left)"]) }
        writer.stop()
        socket.end()
        writerThread.join()
        socketThread?.join()
        queries.finish()
    }
}

/// The file of the socket, which stays the same while the process runs.
struct SocketFile: Equatable, Sendable {
    let path: String
    let mode: UInt32
    /// Whether the service manager has created the file and passed the socket. `Path=` and `Mode=` have no effect then.
    let isInherited: Bool

    /// Returns settings with the path and mode of this file.
    func applied(to settings: SocketSettings) -> SocketSettings {
        var settings = settings
        (settings.path, settings.mode) = (path, mode)
        return settings
    }

    /// Returns `true` if the next start would create another file.
    func needsRestart(for settings: SocketSettings) -> Bool {
        !isInherited && applied(to: settings) != settings
    }

    /// Returns a warning if `Path=` names another file than that of an inherited socket. Returns nil for the default.
    func warning(about settings: SocketSettings) -> String? {
        guard isInherited, ![path, Configuration.default.socket.path].contains(settings.path) else { return nil }
        return "[Socket] Path=\(settings.path) has no effect, because systemd has created the socket \(path). To move "
            + "it, set ListenStream= of issued.socket (systemctl edit issued.socket)."
    }
}

/// The clocks of this host.
enum Clock {
    static var wall: IssueTimestamp { IssueTimestamp(millisecondsSince1970: WallClock.nowMilliseconds) }
    static var monotonic: MonotonicInstant { MonotonicInstant(sinceBoot: MonotonicClock.now.sinceBoot) }
    /// The monotonic clock, for limits whose state is not stored.
    static var sinceBoot: RecordLogInstant { RecordLogInstant(milliseconds: monotonic.sinceBoot.wholeMilliseconds) }

    static func sleep(for duration: Duration) {
        _ = Monitor(()).wait(deadline: MonotonicClock.now.advanced(by: duration)) { _ -> Bool? in nil }
    }

    /// Converts an instant for functions that wait.
    static func kernel(_ instant: MonotonicInstant) -> KernelInstant {
        KernelInstant(nanoseconds: instant.sinceBoot.clampedNanoseconds)
    }
}

extension Configuration {
    /// The names of all notifiers, including those whose sections have an error.
    fileprivate var notifierNames: [String] { notifiers.map(\.name) + misconfiguredNotifiers.map(\.name) }

    /// The settings of retention, adapted to the file system of the database, and with the mapping of this host's user
    /// ids to accountable users.
    ///
    /// - Parameter path: The path of the database.
    fileprivate func retention(at path: String) -> RetentionSettings {
        var settings = retention
        settings.users = AccountableUsers.onThisHost(access)
        settings.adapt(toFileSystemOf: FileSystem.size(ofFileSystemOf: path))
        return settings
    }
}
