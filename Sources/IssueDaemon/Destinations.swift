import Destinations
import IssueCore
import IssueProtocol
import IssueStore
import Synchronization
import UnixIO

/// The forwarding services of all configured destinations.
final class Destinations: Sendable {
    private let running = Mutex<[(service: ForwardingService, thread: JoinableThread)]>([])
    /// What was logged about outages of the destinations that `stop(timeout:)` has stopped, and about those whose
    /// section has an error, by name.
    private let outages = Mutex<[String: OutageLog]>([:])

    /// Starts a forwarding service for each destination that has none, and logs which destinations were removed from
    /// the configuration.
    ///
    /// - Parameters:
    ///   - previous: The configuration that was used before; nil if it is not known.
    ///   - path: The path of the open database. A new path in the configuration takes effect after a restart.
    ///   - limitMonitor: Notified of the limits that hold records back.
    ///   - report: Called with each event about a destination, and a text that begins with its name: during this call if
    ///     its section has an error, otherwise on the destination's thread.
    ///   - fatesChanged: Called on a destination's thread when fates of records have changed.
    /// - Throws: The error of the store, or of a thread that can't be started. Another call starts the missing
    ///   services.
    func start(
        _ configuration: Configuration, replacing previous: Configuration?, path: String, writer: WriterService,
        statusRegistry: StatusRegistry, log: Log, limitMonitor: LimitMonitor,
        report: @escaping @Sendable (NotificationKinds, String) -> Void,
        fatesChanged: @escaping @Sendable () -> Void
    ) throws {
        // Records are also kept for misconfigured destinations.
        let configured =
            (configuration.destinations.map { ($0.kind, $0.name, $0.settings) }
            + configuration.misconfigured.map { ($0.kind, $0.name, $0.settings) }).map { kind, name, settings in
                StoreWriter.ConfiguredDestination(
                    name: name, kind: kind.name, takesBacklog: settings.backlog == .all)
            }
        let (removed, rows) = try writer.perform {
            (try $0.destinationsRemoved(by: configured), try $0.configure(configured, at: Clock.wall))
        }
        if !removed.isEmpty { logRemoved(removed, path: path, writer, log) }
        statusRegistry.setDestinations(rows)
        limitMonitor.keep(Set(configuration.destinations.map(\.name)))
        let users = AccountableUsers.onThisHost(configuration.access)
        let names = Set(running.withLock { $0.map(\.service.destination.name) })
        for (destination, row) in zip(configuration.destinations, rows) where !names.contains(row.name) {
            let before = previous?.destinations.first { $0.name == row.name }
            if let before, before.address != destination.address { Self.forgetWait(row, writer) }
            // After a reload, an outage is logged again only if the destination has a new address or credential.
            let isSame = before?.address == destination.address && before?.tokenFile == destination.tokenFile
            let logged = isSame ? outages.withLock { $0[row.name] } : before.map { _ in OutageLog(stored: nil) }
            let service = ForwardingService(
                destination: row,
                settings: ForwardingService.Settings(
                    forward: destination.settings.forward, limits: destination.settings.limits, users: users,
                    host: Host.name,
                    credentialFile: destination.tokenFile.flatMap { $0.kind == .ownFile ? $0.path : nil },
                    report: report, limitMonitor: limitMonitor),
                path: path, writer: writer, statusRegistry: statusRegistry, log: log, outages: logged)
            let thread = try JoinableThread(name: "forward-\(destination.name)") {
                destination.run(service, fatesChanged: fatesChanged)
            }
            running.withLock { $0.append((service, thread)) }
        }
        for row in rows.dropFirst(configuration.destinations.count) {
            let forwarder = StatusRegistry.Forwarder(misconfigured: row)
            statusRegistry.update(forwarder)
            logPause(forwarder, row, writer, log, report: report)
        }
    }

    /// Logs that a destination is paused because its section has an error, unless this process has done so already.
    /// Also reports it to the notifiers, unless an earlier run has. The logged state is stored, as for other pauses.
    private func logPause(
        _ forwarder: StatusRegistry.Forwarder, _ row: DestinationRow, _ writer: WriterService, _ log: Log,
        report: (NotificationKinds, String) -> Void
    ) {
        let (reason, advice) = (forwarder.view.reason ?? "", forwarder.view.advice ?? "")
        let (entry, stored) = outages.withLock { outages in
            var own = outages[row.name] ?? OutageLog(stored: row.state.lastLoggedState)
            let entry = own.entry(for: .paused(reason: reason), at: Clock.monotonic)
            outages[row.name] = own
            return (entry, own.stored)
        }
        guard let entry else { return }
        log.warning(.destinationPaused, ["destination": row.name, "reason": reason, "advice": advice])
        var row = row
        row.state.lastLoggedState = stored
        let since = row.state.failingSince ?? Clock.wall
        row.state.failingSince = since
        row.state.watch.paused(since: since)
        let (state, id) = (row.state, row.id)
        try? writer.perform { try $0.save(state, destination: id) }
        // A repeated entry was reported to the notifiers by an earlier run.
        if !entry.isRepeated { report(.destinationPaused, "\(row.name): \(reason). \(advice)") }
    }

    private func logRemoved(_ removed: [String], path: String, _ writer: WriterService, _ log: Log) {
        let reader = try? StoreReader(path: path, cache: 256, control: writer.snapshots.control(.background))
        let ledgers = (try? reader?.figures(viewer: .everything))?.ledgers ?? []
        for name in removed {
            let pending = ledgers.first { $0.name == name }?.ledger.pending
            log.log(
                pending == 0 ? .notice : .warning, .destinationRemoved,
                ["destination": name, "pending": pending.map { "\($0)" } ?? "unknown"])
        }
    }

    /// Removes the wait that a destination's previous server has requested. It stays if the store can't be written,
    /// because that must not keep the services from starting.
    private static func forgetWait(_ row: DestinationRow, _ writer: WriterService) {
        guard row.state.retryAt != nil else { return }
        var row = row
        row.state.retryAt = nil
        let (state, id) = (row.state, row.id)
        try? writer.perform { try $0.save(state, destination: id) }
    }

    /// Tells the services that records or corrections were stored.
    func recordsArrived() {
        for (service, _) in running.withLock({ $0 }) { service.recordsArrived() }
    }

    /// Tells the services that records were erased, so that their lines in unfinished batches are not sent.
    func recordsErased() {
        for (service, _) in running.withLock({ $0 }) { service.recordsErased() }
    }

    /// Asks the service with this name to flush, or all services if the name is nil. Each calls `completed` once.
    ///
    /// - Returns: The number of services that will call `completed`.
    func flush(_ name: String?, _ completed: @escaping @Sendable () -> Void) -> Int {
        let selected = running.withLock { $0 }.filter { name == nil || $0.service.destination.name == name }
        for (service, _) in selected { service.flush(completed) }
        return selected.count
    }

    /// Stops all services, and waits for their threads. Requests that are not finished at the timeout are cancelled.
    func stop(timeout: Duration) {
        let ending = running.withLock { running in
            defer { running = [] }
            return running
        }
        for (service, _) in ending { service.stop() }
        let deadline = Clock.kernel(Clock.monotonic.advanced(by: timeout))
        for (service, thread) in ending where !thread.wait(until: deadline) { service.abandon() }
        for (_, thread) in ending { thread.join() }
        for (service, _) in ending {
            let logged = service.outages.withLock { $0 }
            outages.withLock { $0[service.destination.name] = logged }
        }
    }
}

/// Reports to notifiers when a limit of a destination begins or stops holding records back, as `LimitWatch` decides.
///
/// It outlives the forwarding services, so a reload does not report the same limit again.
final class LimitMonitor: Sendable {
    private let watch = Mutex(LimitWatch())
    /// Called with the accountable user and the text of an event.
    private let report: @Sendable (UInt32, String) -> Void

    init(report: @escaping @Sendable (UInt32, String) -> Void) {
        self.report = report
    }

    /// Remembers the limits that have held back records of a destination. Reports limits that have begun or stopped
    /// holding records back. If the name of an application can't be read, the event names only its user.
    func heldBack(_ limits: Set<ReachedLimit>, by destination: String, _ reader: StoreReader) {
        let now = Clock.monotonic
        let (ended, begun) = watch.withLock { watch in
            let begun = watch.heldBack(limits, by: destination, at: now)
            return (watch.ended(of: destination, at: now), begun)
        }
        for limit in ended {
            let subject = Self.subject(limit, reader)
            report(limit.user, "\(subject) no longer exceeds \(Self.name(limit)) of \(destination)")
        }
        for limit in begun {
            let subject = Self.subject(limit, reader)
            report(
                limit.user,
                "\(subject) exceeds \(Self.name(limit)) of \(destination), which gets only summaries of further records"
            )
        }
    }

    /// Returns the earliest time at which a reported limit of a destination may be over; nil if there is none.
    func nextEnd(of destination: String) -> MonotonicInstant? {
        watch.withLock { $0.nextEnd(of: destination) }
    }

    /// Forgets the limits of all destinations except these.
    func keep(_ destinations: Set<String>) {
        watch.withLock { $0.keep(destinations) }
    }

    private static func subject(_ limit: ReachedLimit, _ reader: StoreReader) -> String {
        guard let account = limit.account else { return "user \(limit.user)" }
        guard let found = try? reader.account(account) else { return "an application of user \(limit.user)" }
        let app = NotificationText.line(found.app, maxCharacters: NotificationText.maxName)
        return "application \(app) of user \(found.uid)"
    }

    private static func name(_ limit: ReachedLimit) -> String {
        switch limit.reason {
        case .applicationRate: "ApplicationBurst="
        case .globalRate: "GlobalBurst="
        case .dailyBytes: "DailyBytes="
        case .groupRate, .cardinality: limit.reason.rawValue
        }
    }
}
