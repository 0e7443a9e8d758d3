import HTTPTransfer
import IssueCore
import IssueProtocol
import IssueStore
import Synchronization
import UnixIO

/// The services of all configured notifiers.
final class Notifiers: Sendable {
    /// Starts a thread with a name and a body.
    typealias ThreadStart = @Sendable (_ name: String, _ body: @escaping @Sendable () -> Void) throws -> JoinableThread

    private struct Entry: Sendable {
        let service: NotifierService
        /// The thread; nil until it could be started. In the meantime, events wait in the inbox of the service.
        var thread: JoinableThread?
        var isFailureLogged = false
    }

    private struct State: Sendable {
        var entries: [Entry] = []
        /// Whether the services run without the store.
        var lacksStore = false
        /// Events that were reported while there was no service; nil if no notifier is configured. If the sections of
        /// all notifiers have an error, the events are kept until one is fixed.
        var early: [DaemonEvent]? = []
        /// Events that a stopped service neither stored nor sent, by the name of the notifier. The next service of the
        /// notifier continues with them.
        var unsentEvents: [String: [DaemonEvent]] = [:]

        /// Adds services, with the events that were reported before.
        ///
        /// - Parameter kept: The names of notifiers that have no service at present and whose events are kept.
        mutating func add(_ services: [NotifierService], keeping kept: [String]) {
            for service in services {
                for event in (unsentEvents[service.name] ?? []) + (early ?? []) { service.report(event) }
                entries.append(Entry(service: service))
            }
            unsentEvents = unsentEvents.filter { kept.contains($0.key) }
            if !services.isEmpty {
                early = []
            } else if kept.isEmpty {
                early = nil
            }
        }
    }

    private let state = Mutex(State())
    /// Whether the commit in progress changes a group.
    private let isChange = Atomic(false)
    /// Whether a notifier counts the occurrences in all records.
    private let countsRecords = Atomic(false)
    private let startThread: ThreadStart

    /// The maximum number of events in `early`. Further events are dropped. They are in the log, except for reached
    /// limits and delays of destinations.
    private static let maxEarly = 100
    /// How long services without the store may take to stop before their requests are cancelled.
    private static let replacementTimeout: Duration = .seconds(2)

    /// - Parameter startThread: Starts the threads of the services. Tests pass a closure that fails.
    init(startThread: @escaping ThreadStart = { name, body in try JoinableThread(name: name, body) }) {
        self.startThread = startThread
    }

    /// Starts services that send events of the daemon itself while the store can't be opened, in place of any other
    /// services. `start` replaces them, and passes on the events that they have not sent.
    func startWithoutStore(
        _ configuration: Configuration, path: String, statusRegistry: StatusRegistry, log: Log
    ) {
        stop(timeout: Self.replacementTimeout)
        statusRegistry.forgetNotifiers()
        for notifier in configuration.misconfiguredNotifiers {
            statusRegistry.update(
                NotifierStatus(
                    name: notifier.name, format: "", state: .paused, reason: NotifierStatus.misconfigured))
        }
        let writer = WriterService.closed(path: path, log: log)
        let services = configuration.notifiers.map { notifier in
            statusRegistry.update(
                NotifierStatus(
                    name: notifier.name, format: notifier.settings.shownFormat, state: .waiting,
                    reason: StoreStatus.failureReason))
            return NotifierService(
                notifier, id: 0, users: AccountableUsers(), path: path, host: Host.name, writer: writer,
                statusRegistry: statusRegistry, log: log, hasStore: false)
        }
        guard !services.isEmpty else { return }
        let kept = configuration.misconfiguredNotifiers.map(\.name)
        state.withLock { state in
            state.add(services, keeping: kept)
            state.lacksStore = true
        }
        // If a thread can't be started, its events are passed on.
        _ = startThreads(log)
    }

    /// Starts the services of all configured notifiers, in place of services that run without the store. If services
    /// that use the store exist already, starts only the threads that are missing.
    ///
    /// - Returns: `false` if the thread of a notifier can't be started. The others run, and another call tries again.
    /// - Throws: The error of the store. In that case, no service was started.
    func start(
        _ configuration: Configuration, path: String, writer: WriterService, statusRegistry: StatusRegistry, log: Log
    ) throws -> Bool {
        if state.withLock({ $0.lacksStore }) { stop(timeout: Self.replacementTimeout) }
        if state.withLock({ $0.entries.isEmpty }) {
            let notifiers = configuration.notifiers
            let names = notifiers.map(\.name)
            let kept = configuration.misconfiguredNotifiers.map(\.name)
            let setup = try writer.perform { try $0.configureNotifiers(names, keeping: kept) }
            for notifier in setup.removed {
                log.warning(.notifierRemoved, ["notifier": notifier.name, "events": "\(notifier.events)"])
            }
            let rows = setup.rows
            for (notifier, row) in zip(notifiers, rows) {
                let rate = notifier.settings.escalation
                try writer.perform { try $0.count(rate, notifier: row.id) }
            }
            let users = AccountableUsers.onThisHost(configuration.access)
            let services = zip(notifiers, rows).map { notifier, row in
                NotifierService(
                    notifier, id: row.id, users: users, path: path, host: Host.name, writer: writer,
                    statusRegistry: statusRegistry,
                    log: log)
            }
            // Before the services read the store, so that they are notified of every later commit.
            countsRecords.store(services.contains(where: \.countsRecords), ordering: .relaxed)
            state.withLock { $0.add(services, keeping: kept) }
            for row in rows.dropFirst(names.count) {
                var status = NotifierStatus(row, format: "")
                (status.state, status.reason) = (.paused, NotifierStatus.misconfigured)
                statusRegistry.update(status)
            }
        }
        return startThreads(log)
    }

    /// Starts the threads that are missing, and logs the first failure of each. Returns `true` if all of them run.
    private func startThreads(_ log: Log) -> Bool {
        var isComplete = true
        for (index, entry) in state.withLock({ $0.entries }).enumerated() where entry.thread == nil {
            let service = entry.service
            do {
                let thread = try startThread("notify-\(service.name)") { service.run() }
                state.withLock { $0.entries[index].thread = thread }
            } catch {
                isComplete = false
                state.withLock { $0.entries[index].isFailureLogged = true }
                if !entry.isFailureLogged {
                    log.error(.notifierFailed, ["notifier": service.name, "error": "\(error)"])
                }
            }
        }
        return isComplete
    }

    /// Notes whether the commit in progress changes groups. Called on the writer thread.
    func recordsStored(_ records: [PriorityRecord]) {
        if records.contains(where: { !$0.change.isEmpty }) { isChange.store(true, ordering: .relaxed) }
    }

    /// Tells all notifiers of the finished commit if it has changed groups; otherwise tells only the notifiers that
    /// count records. Called on the writer thread.
    func committed() {
        let isChange = isChange.exchange(false, ordering: .relaxed)
        guard isChange || countsRecords.load(ordering: .relaxed) else { return }
        for entry in state.withLock({ $0.entries }) {
            if isChange { entry.service.changesArrived() }
            if entry.service.countsRecords { entry.service.recordsArrived() }
        }
    }

    /// Reports an event of the daemon itself. May be called on any thread.
    ///
    /// - Parameter uid: The user who caused it; nil if none did.
    func report(_ kind: NotificationKinds, uid: UInt32? = nil, _ text: String) {
        report(DaemonEvent(kind: kind, uid: uid, text: text, at: Clock.wall))
    }

    private func report(_ event: DaemonEvent) {
        // Under the lock, so that no event reaches a service after its last events were taken.
        state.withLock { state in
            guard state.entries.isEmpty else {
                for entry in state.entries { entry.service.report(event) }
                return
            }
            if state.early?.count ?? .max < Self.maxEarly { state.early?.append(event) }
        }
    }

    /// Sends a test message, and returns the result after waiting for it for up to 40 seconds. Returns nil if no
    /// notifier with that name has a service.
    func test(_ name: String) -> TestNotifierReply? {
        guard let entry = state.withLock({ $0.entries }).first(where: { $0.service.name == name }) else { return nil }
        guard entry.thread != nil else {
            return TestNotifierReply(delivered: false, answer: "the thread of the notifier could not be started")
        }
        let service = entry.service
        let reply = Monitor<TestNotifierReply?>(nil)
        service.test { result in
            reply.withLock { $0 = result }
            reply.broadcast()
        }
        // Another message may be in flight. The client waits 45 seconds.
        let time = min(service.configuration.settings.requestTimeout * 3, .seconds(40))
        return reply.wait(deadline: MonotonicClock.now.advanced(by: time)) { $0 }
            ?? TestNotifierReply(
                delivered: false, answer: "no answer in time: this or another message may be in flight")
    }

    /// Stops all services and waits for their threads. A request in flight is cancelled if it has not ended within the
    /// timeout.
    ///
    /// Events that can't be stored, and events that are reported before the next start, are kept for the next start.
    func stop(timeout: Duration) {
        let stopped = state.withLock { state in
            let entries = state.entries
            (state.entries, state.lacksStore) = ([], false)
            state.early = state.early ?? []
            return entries
        }
        for entry in stopped { entry.service.stop() }
        let deadline = Clock.kernel(Clock.monotonic.advanced(by: timeout))
        for entry in stopped {
            if let thread = entry.thread, !thread.wait(until: deadline) { entry.service.abandon() }
        }
        for entry in stopped {
            entry.thread?.join()
            let events = entry.service.takeEvents()
            if !events.isEmpty { state.withLock { $0.unsentEvents[entry.service.name] = events } }
        }
    }
}

/// An event of the daemon itself.
struct DaemonEvent: Sendable {
    var kind: NotificationKinds
    /// The user who caused it; nil if none did.
    var uid: UInt32?
    var text: String
    var at: IssueTimestamp
}

/// The queue of events for a notifier.
struct NotifierInbox: Sendable {
    /// The maximum number of events. Further events are dropped. They are in the log, except for reached limits and
    /// delays of destinations.
    private static let maxEvents = 100

    /// Whether changes of groups were stored. `true` at first, because the store may contain changes from the last run.
    var hasChanges = true
    /// Whether records were stored that the notifier has to count. Set only by the first commit after a scan begins.
    var hasRecords = false
    /// Whether the notifier will scan the record log, so that new records need not wake it.
    var isScanPlanned = true
    private(set) var events: [DaemonEvent] = []
    /// The closures to call with the results of the requested test messages.
    var tests: [@Sendable (TestNotifierReply) -> Void] = []
    var isStopping = false

    var isEmpty: Bool { hasOnlyRecords && !hasRecords }

    /// Whether there is nothing to do except counting records.
    var hasOnlyRecords: Bool { !hasChanges && events.isEmpty && tests.isEmpty && !isStopping }

    mutating func append(_ event: DaemonEvent) {
        if events.count < Self.maxEvents { events.append(event) }
    }

    /// Puts back events that were taken but could not be stored, before the events that have arrived since. Drops the
    /// last events above the maximum.
    mutating func putBack(_ taken: [DaemonEvent]) {
        events = Array((taken + events).prefix(Self.maxEvents))
    }

    /// Removes and returns the contents. A request to stop and a planned scan remain.
    mutating func take() -> NotifierInbox {
        let taken = self
        self = NotifierInbox()
        hasChanges = false
        isScanPlanned = taken.isScanPlanned
        isStopping = taken.isStopping
        return taken
    }
}

/// Sends the messages of one notifier, on a thread of its own, so that a slow receiver delays no other notifier.
final class NotifierService: Sendable {
    let configuration: NotifierConfiguration
    /// The notifier's id in the store.
    let id: Int64
    /// Maps user ids to accountable users.
    let users: AccountableUsers
    let path: String
    let host: String
    let writer: WriterService
    let statusRegistry: StatusRegistry
    let log: Log
    /// The time before the store is tried again after an error, and before events that can't be stored are sent again.
    let recoveryTime: Duration
    /// Whether the store is open. Otherwise, the service only sends events of the daemon itself.
    let hasStore: Bool
    /// Cancels the request in flight, or kills the command that runs.
    let cancellation = HTTPCancellation()
    let inbox = Monitor(NotifierInbox())

    init(
        _ configuration: NotifierConfiguration, id: Int64, users: AccountableUsers, path: String, host: String,
        writer: WriterService, statusRegistry: StatusRegistry, log: Log, recoveryTime: Duration = .seconds(5),
        hasStore: Bool = true
    ) {
        self.hasStore = hasStore
        (self.configuration, self.id, self.users) = (configuration, id, users)
        self.recoveryTime = recoveryTime
        (self.path, self.host) = (path, host)
        (self.writer, self.statusRegistry, self.log) = (writer, statusRegistry, log)
    }

    var name: String { configuration.name }

    /// Tells the service that changes of groups were stored.
    func changesArrived() {
        inbox.withLock { $0.hasChanges = true }
        inbox.signal()
    }

    /// Whether the notifier counts the occurrences in all records.
    var countsRecords: Bool { configuration.settings.escalation != nil }

    /// Tells the service that records were stored.
    func recordsArrived() {
        let isFirst = inbox.withLock { inbox in
            guard !inbox.isScanPlanned else { return false }
            inbox.isScanPlanned = true
            inbox.hasRecords = true
            return true
        }
        if isFirst { inbox.signal() }
    }

    /// Enqueues an event, unless the filter excludes it or the inbox is full. May be called on any thread.
    func report(_ event: DaemonEvent) {
        guard configuration.settings.filter.admits(event.kind) else { return }
        inbox.withLock { $0.append(event) }
        inbox.signal()
    }

    /// Enqueues a test message. The service calls `completed` with the result of sending it. `completed` may never be
    /// called if the service has ended.
    func test(_ completed: @escaping @Sendable (TestNotifierReply) -> Void) {
        inbox.withLock { $0.tests.append(completed) }
        inbox.signal()
    }

    /// Stops the service after the request in flight. Returns immediately.
    func stop() {
        inbox.withLock { $0.isStopping = true }
        inbox.signal()
    }

    /// Cancels the request in flight, or kills the command.
    func abandon() { cancellation.cancel() }

    /// Removes and returns the events that were neither stored nor sent. Call this after the service has ended.
    func takeEvents() -> [DaemonEvent] {
        inbox.withLock { $0.take().events }
    }

    /// Sends messages until the service is stopped or the store is closed. Events that are not stored by then stay in
    /// the inbox.
    func run() {
        // Receiving reports has a higher priority.
        Thread.yieldToOthers()
        NotifierLoop(self).run()
        let tests = inbox.withLock { inbox in
            defer { inbox.tests = [] }
            return inbox.tests
        }
        for completed in tests {
            completed(TestNotifierReply(delivered: false, answer: "the daemon is stopping or reloading"))
        }
    }
}
