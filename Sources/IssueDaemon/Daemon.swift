import IssueCore
import IssueProtocol
import IssueStore
import Synchronization
import UnixIO

/// The daemon: what `issued` does from its first line to its last.
package final class Daemon {
    private(set) var configuration: Configuration
    private let source: ConfigurationSource
    private let surroundings: Surroundings
    let notification: ServiceNotification
    let watchdog: Duration?
    let log: Log
    let signals: SignalReceiver
    let wakeUp: DaemonWakeUp
    let suspicion = DamageSuspicion()
    let storeLock = StoreLock()
    var lifecycle = Lifecycle()

    /// How long the last stages may take together, below what systemd waits for.
    private static let patience: Duration = .seconds(5)
    private static let statusInterval: Duration = .seconds(5)

    /// Runs the program with its arguments, and ends it.
    package static func runProcess(_ arguments: [String]) -> Never {
        CurrentProcess.exit(main(arguments))
    }

    /// Runs the program with its arguments and answers its exit code.
    package static func main(_ arguments: [String]) -> Int32 {
        StandardStream.fillClosed()
        CurrentProcess.keepHeapsSmall()
        let surroundings = Surroundings.present
        let start = DaemonStart.decide(
            arguments: arguments, surroundings: surroundings,
            output: { try? StandardStream.output.writeAll($0) }, complain: { try? StandardStream.error.writeAll($0) })
        switch start {
        case .exit(let code): return code.rawValue
        case .run(let configuration, let source):
            let log = Log(configuration.log)
            warn(of: configuration, log)
            do {
                let daemon = try Daemon(configuration, source, surroundings, log)
                return try daemon.run().rawValue
            } catch let end as DaemonFailure {
                log.error("The daemon can't run", ["error": end.sentence])
                return end.code.rawValue
            } catch {
                log.error("The daemon can't run", ["error": "\(error)"])
                return ExitCode.unavailable.rawValue
            }
        }
    }

    private static func warn(of configuration: Configuration, _ log: Log) {
        for warning in configuration.warnings {
            log.warning("The configuration can be used, and says what is hardly meant", ["warning": warning])
        }
    }

    private init(
        _ configuration: Configuration, _ source: ConfigurationSource, _ surroundings: Surroundings, _ log: Log
    ) throws {
        self.configuration = configuration
        self.source = source
        self.surroundings = surroundings
        self.log = log
        CurrentProcess.setFileMask(0o077)
        // A connection costs a descriptor, and a shell gives its programs few of them.
        _ = try? CurrentProcess.raiseOpenFileLimit()
        // A core file would hold the token.
        try? CurrentProcess.forbidDumps()
        // Both libraries and peers that hang up raise it; every write of ours says what went wrong by itself.
        try Signal.pipe.ignore()
        signals = try SignalReceiver([.terminate, .interrupt, .hangUp])
        notification = ServiceNotification.takeFromEnvironment()
        watchdog = Watchdog.takeIntervalFromEnvironment()
        wakeUp = try DaemonWakeUp()
    }

    private func run() throws -> ExitCode {
        let socket = try openSocket()
        try prepareFolder()
        while true {
            switch try runOnce(socket) {
            case .stopped: return .ok
            case .storeDamaged: continue
            }
        }
    }

    private func runOnce(_ socket: SocketKeeper) throws -> DaemonRun.End {
        guard let run = try start(socket) else {
            try? notification.stopping(status: "Stopping")
            log.notice("Stopped")
            return .stopped
        }
        if lifecycle.state == .starting { announce(lifecycle.started(), run.summary) }
        try serve(run, socket)
        let end: DaemonRun.End = wakeUp.takeDamage() ? .storeDamaged : .stopped
        if end == .storeDamaged {
            run.stopAccepting()
            run.drain(patience: .seconds(1))
            run.flush(patience: .seconds(1))
            run.close()
            return .storeDamaged
        }
        stop(run)
        return .stopped
    }

    /// Waits for signals until one of them ends it, or the store is damaged.
    private func serve(_ run: DaemonRun, _ socket: SocketKeeper) throws {
        let poller = try Poller()
        try poller.add(signals.descriptor, token: 0, for: [.read])
        try poller.add(wakeUp.counter.descriptor, token: 1, for: [.read])
        socket.watch(with: poller, token: 2)
        var events: [PollEvent] = []
        let interval = watchdog.map { min($0 / 3, Self.statusInterval) } ?? Self.statusInterval
        var told = run.summary
        while true {
            let isWaiting = notification.isHeard || socket.isMissing || run.lacksForwarding
            try poller.wait(into: &events, timeout: isWaiting ? interval : nil)
            while let signal = try signals.next() {
                if signal == .hangUp {
                    reload(run)
                } else {
                    return
                }
            }
            _ = wakeUp.counter.take()
            if wakeUp.isDamaged { return }
            if socket.isMissing || events.contains(where: { $0.token == 2 }), let listener = socket.look() {
                run.socket.listen(at: listener)
                socket.watch(with: poller, token: 2)
            }
            if run.lacksForwarding { run.startForwardingAgain(configuration) }
            guard notification.isHeard else { continue }
            if watchdog != nil, run.isAlive() { try? notification.watchdog() }
            let summary = run.summary
            if summary != told {
                told = summary
                try? notification.status(summary)
            }
        }
    }

    private func announce(_ action: Lifecycle.StartAction, _ status: String) {
        switch action {
        case .announceReady, .announceReadyThenReload:
            log.notice("Ready", ["socket": configuration.socket.path, "database": configuration.store.path])
            try? notification.ready(status: status)
        case .rest: break
        }
    }

    /// Reads the configuration again; where there is no run yet, the next one goes by it.
    func reload(_ run: DaemonRun?) {
        guard lifecycle.reloadRequested() == .reload else { return }
        try? notification.reloading(at: MonotonicClock.now)
        do {
            let fresh = try Configuration.load(source, in: surroundings, for: .running)
            log.setLevel(fresh.log.level)
            try run?.reload(fresh)
            configuration = fresh
            log.notice("The configuration was read again")
            Self.warn(of: fresh, log)
        } catch {
            log.error("The configuration can't be used, going on with the old one", ["error": "\(error)"])
        }
        _ = lifecycle.reloaded()
        try? notification.ready(status: run?.summary ?? "The database can't be opened")
    }

    private func stop(_ run: DaemonRun) {
        try? notification.stopping(status: "Storing and answering what has come in")
        log.notice("Stopping")
        var action = Lifecycle.StageAction.rest
        switch lifecycle.stopRequested() {
        case .perform(let stage): action = .perform(stage)
        case .rest: break
        }
        while case .perform(let stage) = action {
            switch stage {
            case .stopAccepting: run.stopAccepting()
            case .drain: run.drain(patience: Self.patience)
            case .flush: run.flush(patience: Self.patience / 2)
            case .close: run.close()
            }
            action = lifecycle.finished(stage)
        }
        log.notice("Stopped")
    }

    // MARK: What must be there

    private func openSocket() throws -> SocketKeeper {
        var inherited = try InheritedSockets.takeFromEnvironment()
        let path = configuration.socket.path
        if let descriptor = try inherited.takeListener(named: "issued") {
            return SocketKeeper(Listener(descriptor), path: path, log: log)
        }
        let mode = configuration.socket.mode
        let address: SocketAddress
        do {
            address = try SocketAddress.unix(path)
        } catch {
            throw DaemonFailure(code: .unavailable, sentence: "\(path): \(error)")
        }
        do throws(Errno) {
            return try SocketKeeper(path: path, log: log) { [self] () throws(Errno) in
                let folder = FileSystem.parentFolder(of: path)
                try makeFolders(folder, mode: surroundings.isOrdinaryUser ? 0o700 : 0o755)
                return try Socket.listenUnix(at: address, mode: mode, backlog: 4096)
            }
        } catch {
            let hint = error == .addressInUse ? "another daemon answers there already" : "\(error)"
            throw DaemonFailure(code: .unavailable, sentence: "no socket can be had at \(path): \(hint)")
        }
    }

    private func prepareFolder() throws {
        let folder = FileSystem.parentFolder(of: configuration.store.path)
        do throws(Errno) {
            try makeFolders(folder, mode: 0o700)
        } catch {
            throw DaemonFailure(code: .cannotCreate, sentence: "the state directory \(folder) can't be made: \(error)")
        }
    }

    /// Makes a folder where it is missing; one among strangers' temporary ones must be ours alone.
    private func makeFolders(_ folder: String, mode: UInt32) throws(Errno) {
        if folder == surroundings.ownTemporaryFolder {
            try PrivateFolder.prepare(folder)
        } else {
            try FileSystem.makeFolders(folder, mode: mode)
        }
    }
}
