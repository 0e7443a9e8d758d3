import IssueCore
import IssueStore
import UnixIO

extension Daemon {
    /// How long to wait before the store is opened again that could not be.
    private static let retry: Duration = .seconds(1)

    /// Opens the store and starts all services; as long as it can't be opened, a stand-in answers in their place.
    ///
    /// - Returns: nothing when the daemon was told to end meanwhile.
    func start(_ socket: SocketKeeper) throws -> DaemonRun? {
        var standIn: StandIn?
        var told: StoreFailure?
        defer { standIn?.end(patience: Self.retry) }
        while true {
            let wakeUp = wakeUp
            do {
                try prepareFolder()
                let run = try DaemonRun(
                    configuration, listener: socket.listener, suspicion: suspicion,
                    storeLock: storeLock, damaged: { wakeUp.storeDamaged() },
                    log: log)
                configurationTakesEffect(run.board)
                if told != nil { log.notice("The database could be opened", ["file": configuration.store.path]) }
                return run
            } catch let failure as StoreFailure {
                if failure != told {
                    log.error(
                        "The database can't be opened, trying again until it can",
                        ["file": configuration.store.path, "error": "\(failure)"])
                    standIn?.end(patience: Self.retry)
                    standIn = try StandIn(effective, listener: socket.listener, reason: failure, log: log)
                    told = failure
                }
                // The socket is served, so whoever waits for the daemon to be up need not wait for the disk.
                if lifecycle.state == .starting { _ = lifecycle.started() }
                try? notification.ready(status: "The database can't be opened: \(failure)")
                guard try waits(socket, standIn) else { return nil }
            }
        }
    }

    /// Waits until it is time to try again; false when the daemon is to end.
    private func waits(_ socket: SocketKeeper, _ standIn: StandIn?) throws -> Bool {
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
                reload(nil)
            }
            if let listener = socket.look() {
                standIn?.listen(at: listener)
                socket.watch(with: poller, token: 2)
            }
        }
    }
}
