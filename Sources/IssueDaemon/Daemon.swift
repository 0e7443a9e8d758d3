import IssueCore
import IssueProtocol
import IssueStore
import Synchronization
import UnixIO

/// The daemon process: arguments, configuration, signals and the service manager.
package final class Daemon {
    private var effective: EffectiveConfiguration
    /// The last valid configuration since the start; nil if there was none. See ``EffectiveConfiguration/isValid``.
    private var lastValid: Configuration?
    private let source: ConfigurationSource
    private let environment: HostEnvironment
    private let notification: ServiceNotification
    private let watchdog: Duration?
    private let log: Log
    private let signals: SignalReceiver
    private let wakeUp: DaemonWakeUp
    private var configuration: Configuration { effective.configuration }
    private let corruptionCheck = CorruptionCheck()
    private let storeLock = StoreLock()
    /// The current registry; nil until the first attempt to open the database has ended.
    private var statusRegistry: StatusRegistry?
    /// Whether readiness was reported to the service manager.
    private var isReady = false
    /// The notifiers of all runs. Events that were not sent are kept while the store is opened again.
    private let notifiers = Notifiers()
    /// Whether the store was opened since the start.
    private var hasRun = false
    /// The configured file of the socket, or that of an inherited socket once it was taken.
    private var socketFile: SocketFile
    /// The socket of the unit `issued-metrics.socket`; nil without it.
    private var metricsListener: SharedDescriptor?

    /// The maximum time to wait, during a stop, for received reports to be stored and for clients to read the replies.
    /// Forwarding and notifiers then get half this time each. A whole stop must take less than the unit's
    /// `TimeoutStopSec=`.
    private static let stopTimeout: Duration = .seconds(5)
    /// The maximum time until a change of the status is shown by `systemctl status`.
    private static let statusInterval: Duration = .seconds(5)

    /// Runs the program with its arguments, and exits.
    package static func runProcess(_ arguments: [String]) -> Never {
        CurrentProcess.exit(main(arguments))
    }

    private static func main(_ arguments: [String]) -> Int32 {
        StandardStream.fillClosed()
        CurrentProcess.keepHeapsSmall()
        // A core dump could contain tokens of destinations, so this comes before they are read.
        CurrentProcess.forbidDumps()
        let environment = HostEnvironment.current
        let start = DaemonStart.decide(
            arguments: arguments, environment: environment,
            output: { try? StandardStream.output.writeAll($0) }, errorOutput: { try? StandardStream.error.writeAll($0) }
        )
        switch start {
        case .exit(let code):
            if code != .success { closeWaitingConnections() }
            return code.rawValue
        case .run(let effective, let source):
            let log = Log(effective.configuration.log)
            report(effective, log)
            if let socket = environment.fallbackSocketPath {
                log.warning(
                    .daemonTemporaryFolderTaken, ["folder": environment.userTemporaryFolder, "socket": socket])
            }
            do {
                let daemon = try Daemon(effective, source, environment, log)
                return try daemon.run().rawValue
            } catch let end as DaemonFailure {
                log.error(.daemonFailed, ["error": end.message])
                return end.code.rawValue
            } catch {
                log.error(.daemonFailed, ["error": "\(error)"])
                return ExitCode.unavailable.rawValue
            }
        }
    }

    /// Logs the first errors of the configuration, the number of all errors, and all warnings.
    private static func report(_ effective: EffectiveConfiguration, _ log: Log) {
        for problem in effective.problems.prefix(EffectiveConfiguration.maxShownProblems) {
            log.error(.configError, ["error": "\(problem)"])
        }
        if !effective.problems.isEmpty {
            log.error(.configDegraded, ["errors": "\(effective.problems.count)", "how": effective.explanation])
        }
        for warning in effective.configuration.warnings {
            log.warning(.configWarning, ["warning": warning])
        }
    }

    private init(
        _ effective: EffectiveConfiguration, _ source: ConfigurationSource, _ environment: HostEnvironment, _ log: Log
    ) throws {
        self.effective = effective
        let socket = effective.configuration.socket
        socketFile = SocketFile(path: socket.path, mode: socket.mode, isInherited: false)
        lastValid = effective.isValid ? effective.configuration : nil
        self.source = source
        self.environment = environment
        self.log = log
        CurrentProcess.setFileMask(0o077)
        // Each connection needs a descriptor, and the soft limit of a shell is low.
        _ = try? CurrentProcess.raiseOpenFileLimit()
        // Otherwise a write to a closed connection, even within a library, would end the process with SIGPIPE.
        try Signal.pipe.ignore()
        signals = try SignalReceiver([.terminate, .interrupt, .hangUp])
        notification = ServiceNotification.takeFromEnvironment()
        watchdog = Watchdog.takeIntervalFromEnvironment()
        wakeUp = try DaemonWakeUp()
    }

    private func run() throws -> ExitCode {
        let socket = try openSocket()
        do {
            do throws(StoreFailure) {
                try prepareFolder()
            } catch {
                // Senders can still connect to the service manager's socket, so the daemon keeps running, answers them
                // and retries.
                guard socket.isInherited else { throw DaemonFailure(code: .cannotCreate, message: "\(error)") }
            }
            while try runOnce(socket) {}
            return .success
        } catch {
            Self.closeWaiting(at: socket.listener.descriptor)
            if let metricsListener { Self.closeWaiting(at: metricsListener.descriptor) }
            throw error
        }
    }

    /// Closes the connections that wait at sockets of the service manager, because the program exits with an error
    /// instead of running the daemon.
    ///
    /// The program would fail in the same way at every start, so the connections would wait forever.
    private static func closeWaitingConnections() {
        guard var sockets = try? InheritedSockets.takeFromEnvironment() else { return }
        while let listener = try? sockets.takeListener(named: "issued") { closeWaiting(at: listener) }
    }

    /// The maximum number of waiting connections to close: the largest backlog that listen(2) allows by default. A
    /// client that reconnects at once must not keep the daemon from exiting.
    private static let maxWaitingConnections = 4096

    /// Closes the connections that wait at a listener, since no daemon will serve them before the next start.
    private static func closeWaiting(at listener: borrowing FileDescriptor) {
        for _ in 0..<maxWaitingConnections {
            guard let connection = try? listener.accept() else { return }
            _ = consume connection
        }
    }

    /// Opens the store and runs all services until they end. Returns `true` if the store must be opened again.
    private func runOnce(_ socket: ListenerMonitor) throws -> Bool {
        guard let run = try start(socket) else {
            try? notification.stopping(status: "Stopping")
            log.notice(.daemonStopped)
            return false
        }
        if !hasRun {
            hasRun = true
            // Opening the database needs more memory than waiting for reports.
            CurrentProcess.returnFreeMemory()
            log.notice(.daemonReady, ["socket": socketFile.path, "database": configuration.store.path])
        }
        if !isReady {
            isReady = true
            try? notification.ready(status: run.statusRegistry.summary)
        } else {
            // Replaces the text about an earlier run, or about a database that could not be opened.
            try? notification.status(run.statusRegistry.summary)
        }
        if try serve(run, socket) == .mustReopen {
            run.end(drainTimeout: .seconds(1), flushTimeout: .seconds(1))
            return true
        }
        try? notification.stopping(status: "Storing and answering the remaining reports")
        log.notice(.daemonStopping)
        run.end(drainTimeout: Self.stopTimeout, flushTimeout: Self.stopTimeout / 2)
        log.notice(.daemonStopped)
        return false
    }

    /// Why `serve` has returned.
    private enum End {
        case stopRequested
        case mustReopen
    }

    /// Handles signals and other events until the daemon must stop or the store must be opened again.
    private func serve(_ run: DaemonRun, _ socket: ListenerMonitor) throws -> End {
        let poller = try Poller()
        try poller.add(signals.descriptor, token: 0, for: [.read])
        try poller.add(wakeUp.counter.descriptor, token: 1, for: [.read])
        socket.watch(with: poller, token: 2)
        var events: [PollEvent] = []
        let interval = watchdog.map { min($0 / 3, Self.statusInterval) } ?? Self.statusInterval
        var publishedSummary = run.statusRegistry.summary
        while true {
            let isWaiting = notification.hasServiceManager || socket.isMissing || run.lacksServices
            try poller.wait(into: &events, timeout: isWaiting ? interval : nil)
            while let signal = try signals.next() {
                guard signal == .hangUp else { return .stopRequested }
                reload(run)
            }
            _ = wakeUp.counter.take()
            if wakeUp.takeRequest() { return .mustReopen }
            if socket.isMissing || events.contains(where: { $0.token == 2 }), let listener = socket.checkSocketFile() {
                run.socket.listen(at: listener)
                socket.watch(with: poller, token: 2)
            }
            if run.lacksServices { run.startMissingServices(configuration) }
            guard notification.hasServiceManager else { continue }
            if watchdog != nil, run.requestHeartbeats() { try? notification.watchdog() }
            let summary = run.statusRegistry.summary
            if summary != publishedSummary {
                publishedSummary = summary
                try? notification.status(summary)
            }
        }
    }

    /// Reloads the configuration, and applies it to `run` or, if that is nil, to `unavailableServer`. The next run uses
    /// it, too.
    func reload(_ run: DaemonRun?, _ unavailableServer: UnavailableStoreServer? = nil) {
        try? notification.reloading(at: MonotonicClock.now)
        let fresh = readConfiguration(run)
        log.setLevel(fresh.configuration.log.level)
        Self.report(fresh, log)
        if fresh.basis == .files { log.notice(.configReloaded) }
        effective = fresh
        warnOfIgnoredPath()
        if fresh.isValid { lastValid = fresh.configuration }
        unavailableServer?.reload(fresh)
        do {
            if let run {
                try run.reload(fresh.configuration)
                publishConfiguration(to: run.statusRegistry)
            } else {
                // The run that starts when the database can be opened applies everything else.
                let needsRestart = socketFile.needsRestart(for: fresh.configuration.socket)
                statusRegistry?.update(needsRestart: needsRestart)
                if needsRestart { log.notice(.configNeedsRestart) }
            }
        } catch {
            log.error(.configApplyFailed, ["error": "\(error)"])
        }
        try? notification.ready(status: run?.statusRegistry.summary ?? "Could not open the database")
    }

    /// Reads the configuration. Looking up its groups and users in a directory service may take long, so the watchdog
    /// is notified meanwhile, for up to a minute.
    ///
    /// - Parameter run: The current run; nil if there is none.
    private func readConfiguration(_ run: DaemonRun?) -> EffectiveConfiguration {
        let read = { @Sendable [source, environment, lastValid, effective] in
            EffectiveConfiguration(source, in: environment, lastValid: lastValid, running: effective)
        }
        guard let watchdog else { return read() }
        let result = Monitor<EffectiveConfiguration?>(nil)
        let thread = try? Thread.start(name: "reload") {
            let fresh = read()
            result.withLock { $0 = fresh }
            result.signal()
        }
        guard thread != nil else { return read() }
        let end = MonotonicClock.now.advanced(by: .seconds(60))
        while true {
            let now = MonotonicClock.now
            if let fresh = result.wait(deadline: now.advanced(by: watchdog / 3), until: { $0 }) { return fresh }
            if now < end, run?.requestHeartbeats() ?? true { try? notification.watchdog() }
        }
    }

    /// Publishes the configuration's errors for `status`. Saves a copy of the configuration if it is valid.
    func publishConfiguration(to statusRegistry: StatusRegistry) {
        statusRegistry.update(effective)
        guard effective.isValid else { return }
        do throws(Errno) {
            try LastValidConfiguration(source: source, environment: environment).write(configuration)
        } catch {
            log.warning(.configCopyFailed, ["error": "\(error)"])
        }
    }

    // MARK: Socket and folders

    private func openSocket() throws -> ListenerMonitor {
        var inherited = try InheritedSockets.takeFromEnvironment()
        if let descriptor = try inherited.takeListener(onlyNamed: "issued-metrics") {
            metricsListener = SharedDescriptor(descriptor)
        }
        let (path, mode) = (socketFile.path, socketFile.mode)
        if let descriptor = try inherited.takeListener(named: "issued") {
            socketFile = SocketFile(path: descriptor.localUnixPath ?? path, mode: mode, isInherited: true)
            warnOfIgnoredPath()
            return ListenerMonitor(SharedDescriptor(descriptor), path: socketFile.path, log: log)
        }
        let address: SocketAddress
        do {
            address = try SocketAddress.unix(path)
        } catch {
            throw DaemonFailure(code: .unavailable, message: "\(path): \(error)")
        }
        do throws(Errno) {
            return try ListenerMonitor(path: path, log: log) { [self] () throws(Errno) in
                // The folder is private only for an ordinary user's default path. Other sockets are for all users.
                let isOwn = environment.isOrdinaryUser && path == environment.userConfiguration.socket.path
                try makeFolders(FileSystem.parentFolder(of: path), mode: isOwn ? 0o700 : 0o755)
                return try Socket.listenUnix(at: address, mode: mode, backlog: 4096)
            }
        } catch {
            let hint = Self.socketHint(error, at: path, source, environment)
            throw DaemonFailure(code: .unavailable, message: "can't create the socket \(path): \(hint)")
        }
    }

    /// Logs a warning if the service manager has passed a socket at another path than the configured one.
    private func warnOfIgnoredPath() {
        guard let warning = socketFile.warning(about: configuration.socket) else { return }
        log.warning(.configWarning, ["warning": warning])
    }

    /// Returns why the socket can't be created. If the path comes from the host's configuration and an ordinary user
    /// can't use it, adds what to do.
    static func socketHint(
        _ error: Errno, at path: String, _ source: ConfigurationSource, _ environment: HostEnvironment
    ) -> String {
        let reason = error == .addressInUse ? "another daemon is listening there" : "\(error)"
        guard error == .accessDenied || error == .addressInUse, environment.isOrdinaryUser, source == .default,
            path != environment.userConfiguration.socket.path
        else { return reason }
        return "\(reason); the path is from \(source.path(in: environment)), the configuration of the host: "
            + "to run a daemon of your own, name another file with --config"
    }

    /// Creates the folder of the database if it is missing, and checks that it is safe to use.
    func prepareFolder() throws(StoreFailure) {
        let location = StoreLocation(configuration.store.path)
        do throws(StoreFailure) {
            try location.prepare { (folder) throws(Errno) in try makeFolders(folder, mode: 0o700) }
        } catch .unusableLocation(let message) {
            throw .unusableLocation(message + sandboxHint(location.folder))
        }
        guard !sandboxHint(location.folder).isEmpty else { return }
        do throws(Errno) {
            try FileSystem.checkWritable(folder: location.folder)
        } catch {
            throw .unusableLocation(
                "the folder \(location.folder) can't be written to: \(error)\(sandboxHint(location.folder))")
        }
    }

    /// Returns advice if the folder is outside the state directory, because the unit's sandbox may make it read-only.
    /// Returns an empty text if it is inside, or if the service manager has set no state directory.
    private func sandboxHint(_ folder: String) -> String {
        let states = environment.stateFolders
        guard !states.isEmpty, !FileSystem.isFolder(folder, inside: states) else { return "" }
        return "; add ReadWritePaths=\(folder) to the [Service] section of the unit with systemctl edit issued"
    }

    /// Creates a folder if it is missing. Throws if it is an ordinary user's temporary folder and is not private.
    private func makeFolders(_ folder: String, mode: UInt32) throws(Errno) {
        if folder == environment.userTemporaryFolder {
            try DaemonFolder.prepare(folder)
        } else {
            try FileSystem.makeFolders(folder, mode: mode)
        }
    }
}

extension Daemon {
    /// The interval between attempts to open the store.
    private static let retry: Duration = .seconds(1)

    /// Opens the store and starts all services. While the store can't be opened, an `UnavailableStoreServer` serves the
    /// socket.
    ///
    /// - Returns: nil if the daemon must stop instead.
    func start(_ socket: ListenerMonitor) throws -> DaemonRun? {
        var unavailableServer: UnavailableStoreServer?
        var reportedFailure: StoreFailure?
        defer { unavailableServer?.end(timeout: Self.retry) }
        let previous = LastValidConfiguration(source: source, environment: environment).read(
            nextTo: configuration.store.path)
        while true {
            let wakeUp = wakeUp
            do {
                try prepareFolder()
                let next = nextStatusRegistry
                let run = try DaemonRun(
                    configuration, replacing: previous, socketFile: socketFile, statusRegistry: next,
                    listener: socket.listener, metricsListener: metricsListener, notifiers: notifiers,
                    corruptionCheck: corruptionCheck, storeLock: storeLock, mustReopen: { wakeUp.requestReopening() },
                    log: log)
                statusRegistry = next
                publishConfiguration(to: run.statusRegistry)
                if reportedFailure != nil { log.notice(.storeOpened, ["file": configuration.store.path]) }
                return run
            } catch let failure as StoreFailure {
                if failure != reportedFailure {
                    log.error(.storeOpenFailed, ["file": configuration.store.path, "error": "\(failure)"])
                    unavailableServer?.end(timeout: Self.retry)
                    let next = nextStatusRegistry
                    unavailableServer = try UnavailableStoreServer(
                        effective, statusRegistry: next, listener: socket.listener, metricsListener: metricsListener,
                        notifiers: notifiers, reason: failure, log: log)
                    statusRegistry = next
                    if reportedFailure == nil {
                        notifiers.report(.storeFault, "the database can't be opened: \(failure)")
                    }
                    reportedFailure = failure
                }
                // The socket is served, so units that start after the daemon need not wait for the database.
                isReady = true
                try? notification.ready(status: "Could not open the database: \(failure)")
                guard try waitForRetry(socket, unavailableServer) else {
                    notifiers.stop(timeout: Self.retry)
                    return nil
                }
            }
        }
    }

    /// A new registry for the configured database. It continues the counts of the current registry.
    private var nextStatusRegistry: StatusRegistry {
        let next = StatusRegistry(path: configuration.store.path, after: statusRegistry)
        next.update(needsRestart: socketFile.needsRestart(for: configuration.socket))
        return next
    }

    /// Waits for the time of the next attempt, and handles signals meanwhile. Returns `false` if the daemon must stop.
    private func waitForRetry(_ socket: ListenerMonitor, _ unavailableServer: UnavailableStoreServer?) throws -> Bool {
        let poller = try Poller()
        try poller.add(signals.descriptor, token: 0, for: [.read])
        socket.watch(with: poller, token: 2)
        var events: [PollEvent] = []
        let deadline = Clock.monotonic.advanced(by: Self.retry)
        while true {
            if watchdog != nil { try? notification.watchdog() }
            let rest = Clock.monotonic.duration(to: deadline)
            guard rest > .zero else { return true }
            try poller.wait(into: &events, timeout: rest)
            while let signal = try signals.next() {
                guard signal == .hangUp else { return false }
                reload(nil, unavailableServer)
            }
            if let listener = socket.checkSocketFile() {
                unavailableServer?.listen(at: listener)
                socket.watch(with: poller, token: 2)
            }
        }
    }
}

/// Why the daemon exits before it serves any client, and the exit code.
struct DaemonFailure: Error {
    var code: ExitCode
    var message: String
}

/// Wakes the main thread when the store must be opened again, because it may be damaged or one of its files is missing.
final class DaemonWakeUp: Sendable {
    let counter: EventCounter
    private let isRequested = Mutex(false)

    init() throws(Errno) {
        counter = try EventCounter()
    }

    func requestReopening() {
        isRequested.withLock { $0 = true }
        counter.signal()
    }

    /// Returns `true` if `requestReopening()` was called since this function was last called.
    func takeRequest() -> Bool {
        isRequested.withLock { isRequested in
            defer { isRequested = false }
            return isRequested
        }
    }
}
