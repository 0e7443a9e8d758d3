import HTTPTransfer
import IssueCore
import IssueProtocol
import UnixIO

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
    /// The maximum number of events, more than the destinations of any host. Further events are dropped; they are in
    /// the log.
    private static let maxEvents = 100

    /// `true` at first, because the store may have events of the last run.
    var hasChanges = true
    /// `true` if records were stored that a notifier has to count. Only the first of them wakes it until the next scan.
    var hasRecords = false
    /// `true` if there are records that the notifier has not scanned, and it will.
    var isScanPlanned = true
    private(set) var events: [DaemonEvent] = []
    /// Called with the result of a test message.
    var tests: [@Sendable (TestNotifierReply) -> Void] = []
    var isStopping = false

    var isEmpty: Bool { hasOnlyRecords && !hasRecords }

    /// `true` if there is nothing to do except counting records.
    var hasOnlyRecords: Bool { !hasChanges && events.isEmpty && tests.isEmpty && !isStopping }

    mutating func append(_ event: DaemonEvent) {
        if events.count < Self.maxEvents { events.append(event) }
    }

    /// Puts events back that were taken but could not be stored. Those that arrived meanwhile follow them.
    mutating func putBack(_ taken: [DaemonEvent]) {
        events = Array((taken + events).prefix(Self.maxEvents))
    }

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
    /// Maps users to those who are accountable for them.
    let users: AccountableUsers
    let path: String
    let host: String
    let writer: WriterService
    let board: StatusRegistry
    let log: Log
    /// The time after which the store is tried again after an error, and the same message is sent again if the store
    /// can't take it.
    let recoveryTime: Duration
    /// Cancels the request in flight, or kills the command that runs.
    let cancellation = HTTPCancellation()
    let inbox = Monitor(NotifierInbox())

    init(
        _ configuration: NotifierConfiguration, id: Int64, users: AccountableUsers, path: String, host: String,
        writer: WriterService, board: StatusRegistry, log: Log, recoveryTime: Duration = .seconds(5)
    ) {
        (self.configuration, self.id, self.users) = (configuration, id, users)
        self.recoveryTime = recoveryTime
        (self.path, self.host) = (path, host)
        (self.writer, self.board, self.log) = (writer, board, log)
    }

    var name: String { configuration.name }

    /// Tells the service that changes of groups were stored.
    func changesArrived() {
        inbox.withLock { $0.hasChanges = true }
        inbox.signal()
    }

    /// `true` if the notifier counts the occurrences in all records.
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

    func report(_ event: DaemonEvent) {
        guard configuration.settings.filter.admits(event.kind) else { return }
        inbox.withLock { $0.append(event) }
        inbox.signal()
    }

    /// Sends a test message and calls `completed` with the result. A service that is stopping sends none.
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

    /// Sends messages until the service is stopped. Events that can't be stored at the end stay in the inbox.
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
