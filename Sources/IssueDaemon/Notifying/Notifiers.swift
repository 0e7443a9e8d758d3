import IssueCore
import IssueProtocol
import IssueStore
import Synchronization
import UnixIO

/// The services of all configured notifiers.
final class Notifiers: Sendable {
    private let running = Mutex<[(service: NotifierService, thread: JoinableThread)]>([])
    /// Events that were reported before the services were started; nil if no notifier is configured.
    private let early = Mutex<[DaemonEvent]?>([])
    /// `true` if the commit in progress changes a group.
    private let isChange = Atomic(false)
    /// `true` if a notifier counts the occurrences in all records.
    private let countsRecords = Atomic(false)

    private static let maxEarly = 100

    /// Starts a service for each configured notifier, unless services are running.
    func start(
        _ configuration: Configuration, path: String, writer: WriterService, board: StatusRegistry, log: Log
    ) throws {
        guard running.withLock({ $0.isEmpty }) else { return }
        let notifiers = configuration.notifiers
        let names = notifiers.map(\.name)
        let kept = configuration.misconfiguredNotifiers
        let rows = try writer.perform { try $0.configureNotifiers(names, keeping: kept) }
        for (notifier, row) in zip(notifiers, rows) {
            let rate = notifier.settings.escalation
            try writer.perform { try $0.count(rate, notifier: row.id) }
        }
        let users = AccountableUsers.onThisHost(configuration.access)
        for (notifier, row) in zip(notifiers, rows) {
            let service = NotifierService(
                notifier, id: row.id, users: users, path: path, host: Host.name, writer: writer, board: board, log: log)
            let thread = try JoinableThread(name: "notify-\(notifier.name)") { service.run() }
            running.withLock { $0.append((service, thread)) }
        }
        countsRecords.store(notifiers.contains { $0.settings.escalation != nil }, ordering: .relaxed)
        for name in kept {
            board.update(
                NotifierStatus(
                    name: name, format: "", state: .paused, reason: StatusRegistry.Forwarder.misconfigured))
        }
        let events = early.withLock { early in
            defer { early = rows.isEmpty ? nil : [] }
            return early ?? []
        }
        if !rows.isEmpty { for event in events { report(event) } }
    }

    /// Remembers whether the commit in progress changes groups. Called on the writer thread.
    func came(_ records: [PriorityRecord]) {
        if records.contains(where: { !$0.change.isEmpty }) { isChange.store(true, ordering: .relaxed) }
    }

    /// Wakes the notifiers if the commit that has finished changed groups, and those that count records.
    func committed() {
        let isChange = isChange.exchange(false, ordering: .relaxed)
        guard isChange || countsRecords.load(ordering: .relaxed) else { return }
        for (service, _) in running.withLock({ $0 }) {
            if isChange { service.changesArrived() }
            if service.countsRecords { service.recordsArrived() }
        }
    }

    /// Reports an event of the daemon itself. May be called on any thread.
    ///
    /// - Parameter uid: The user who caused it; nil if none did.
    func report(_ kind: NotificationKinds, uid: UInt32? = nil, _ text: String) {
        report(DaemonEvent(kind: kind, uid: uid, text: text, at: Clock.wall))
    }

    private func report(_ event: DaemonEvent) {
        let services = running.withLock { $0 }
        guard !services.isEmpty else {
            return early.withLock { if $0?.count ?? .max < Self.maxEarly { $0?.append(event) } }
        }
        for (service, _) in services { service.report(event) }
    }

    /// Sends a test message, waits for the result and returns it; nil if no notifier with that name runs.
    func test(_ name: String) -> TestNotifierReply? {
        guard let service = running.withLock({ $0 }).first(where: { $0.service.name == name })?.service else {
            return nil
        }
        let reply = Monitor<TestNotifierReply?>(nil)
        service.test { result in
            reply.withLock { $0 = result }
            reply.broadcast()
        }
        // Another message may be in flight. The client waits 45 seconds.
        let time = min(service.configuration.settings.requestTimeout * 3, .seconds(40))
        return reply.wait(deadline: MonotonicClock.now.advanced(by: time)) { $0 }
            ?? TestNotifierReply(delivered: false, answer: "no answer in time: another message is being sent")
    }

    /// Stops all services. A request in flight is cancelled if it has not ended within the timeout.
    func stop(timeout: Duration) {
        let stopped = running.withLock { running in
            defer { running = [] }
            return running
        }
        early.withLock { $0 = [] }
        for (service, _) in stopped { service.stop() }
        let deadline = Clock.kernel(Clock.monotonic.advanced(by: timeout))
        for (service, thread) in stopped where !thread.wait(until: deadline) { service.abandon() }
        for (_, thread) in stopped { thread.join() }
    }
}
