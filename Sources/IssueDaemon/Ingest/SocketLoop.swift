import IssueCore
import IssueProtocol
import IssueStore
import Synchronization
import UnixIO

/// The event loop of the socket thread.
///
/// It reports events to the state of each connection (``ConnectionState``) and performs the actions that the state
/// returns.
final class SocketLoop {
    let service: SocketService
    let handlers: SocketService.Handlers
    let poller: Poller
    var acceptor: Acceptor
    var reader: ReportReader
    var receipts = ReceiptWriter()
    /// The shared buffer into which connections are read, one at a time.
    var readBuffer: [UInt8] = []
    var connections: [UInt64: ClientConnection] = [:]
    var users = SocketUsers()
    /// The memory used by all users together.
    var memory: MemoryPressure
    var schedule = Schedule()
    var phase = Phase.running

    enum Phase {
        case running
        /// Pending calls are answered, and no others begin.
        case stopping
        /// The services that answer calls have ended, so the loop ends without waiting.
        case ending
    }

    /// The work that the loop has to do next.
    struct Schedule {
        /// The number of rounds of the loop.
        var round: UInt64 = 0
        /// The connections that are ready in this round.
        var order = ReadOrder()
        /// Connections whose replies are sent at the end of this round.
        var queued: [ClientConnection] = []
        /// The memory reserved for replies that arrived in this round. It is released at the end of the round. By then,
        /// replies that could not be sent count as unread.
        var arrivedReplies: [QueryAnswer.Memory] = []
        var deadlines = DeadlineQueue<UInt64>()
    }

    static let listenerToken: UInt64 = 0
    static let inboxToken: UInt64 = 1
    static let metricsListenerToken: UInt64 = 2
    /// After a stop has begun, the maximum time until the loop checks again whether it can end.
    static let stopCheckInterval: Duration = .milliseconds(250)
    /// The maximum number of bytes that are read from a connection at once.
    static let chunk = 128 << 10
    /// The time after which a round serves no further connections. Receipts that arrive during a round, and connections
    /// that become ready, wait for the next round.
    static let roundLength: Duration = .milliseconds(1)

    init(_ service: SocketService, _ handlers: SocketService.Handlers) throws(Errno) {
        self.service = service
        self.handlers = handlers
        acceptor = Acceptor(listener: service.listener, limits: service.limits.connectionLimits)
        memory = service.limits.memoryPressure
        poller = try Poller()
        reader = ReportReader(limits: service.recordLimits, seed: Randomness.uint64(), redactor: service.redactor)
        try poller.add(acceptor.listener.descriptor, token: Self.listenerToken, for: [.read])
        if let metrics = service.metricsListener {
            try poller.add(metrics.descriptor, token: Self.metricsListenerToken, for: [.read])
        }
        try poller.add(service.wakeUp.descriptor, token: Self.inboxToken, for: [.read])
    }

    /// Runs the loop until the service has stopped.
    ///
    /// - Throws: The error of epoll_wait(2).
    func run() throws(Errno) {
        var events: [PollEvent] = []
        while true {
            try poller.wait(into: &events, timeout: timeout)
            schedule.round += 1
            serve(events)
            resumeThrottled()
            sendQueued()
            for reply in schedule.arrivedReplies { handlers.repliesChanged(reply.user, -reply.bytes) }
            schedule.arrivedReplies.removeAll(keepingCapacity: true)
            relieveMemory()
            checkDeadlines()
            if hasEnded { break }
        }
        for connection in Array(connections.values) { close(connection) }
    }

    private var hasEnded: Bool {
        switch phase {
        case .running: false
        case .stopping: connections.values.allSatisfy(\.state.isDone)
        case .ending: true
        }
    }

    /// Handles the events of a round. The poller reports connections again if the round had no time for them.
    private func serve(_ events: [PollEvent]) {
        schedule.order.removeAll()
        for (index, event) in events.enumerated() {
            switch event.token {
            case Self.listenerToken: accept()
            case Self.metricsListenerToken: if let metrics = service.metricsListener { accept(from: metrics) }
            case Self.inboxToken: readInbox()
            default:
                guard let connection = connections[event.token] else { continue }
                schedule.order.add(
                    ReadOrder.Candidate(
                        index: index, user: connection.user.uid, userRound: connection.user.lastRound,
                        round: connection.lastRead.round))
            }
        }
        let candidates = schedule.order.arranged()
        let end = Clock.monotonic.advanced(by: Self.roundLength)
        for candidate in candidates {
            let event = events[candidate.index]
            // The connection may have been closed earlier in this round.
            guard let connection = connections[event.token] else { continue }
            serve(connection, event)
            if Clock.monotonic >= end { break }
        }
    }

    private func serve(_ connection: ClientConnection, _ event: PollEvent) {
        connection.user.lastRound = schedule.round
        if event.isWritable { queueSending(to: connection) }
        if event.isReadable { read(connection, isHungUp: event.isHungUp) }
        if event.isHungUp {
            // The client can't receive replies.
            abandonQuery(of: connection)
            // If a held query has begun now, the next round abandons it.
            switch connection.state.hungUp() {
            case .detach: try? poller.remove(connection.descriptor)
            case .none: break
            }
        }
    }

    /// Queues a connection, so that its pending replies are sent at the end of this round.
    func queueSending(to connection: ClientConnection) {
        perform(connection.state.queued(), connection)
    }

    func perform(_ action: ConnectionState.QueueAction, _ connection: ClientConnection) {
        switch action {
        case .enqueue: schedule.queued.append(connection)
        case .none: break
        }
    }

    private func sendQueued() {
        while !schedule.queued.isEmpty {
            let connections = schedule.queued
            schedule.queued.removeAll(keepingCapacity: true)
            for connection in connections { send(connection) }
        }
    }

    // MARK: Closing

    /// Stops receiving. The connection is closed when the calls that have begun are answered. Other calls are
    /// discarded without a reply.
    func drain(_ connection: ClientConnection) {
        perform(connection.state.drain(), connection)
        settleReading(of: connection)
        watch(connection)
    }

    /// Closes a connection for lack of resources. A long-running query is answered first (`endQuery(of:)`).
    func hangUp(_ connection: ClientConnection) {
        drain(connection)
        endQuery(of: connection)
        send(connection)
        close(connection)
    }

    func close(_ connection: ClientConnection) {
        guard connections.removeValue(forKey: connection.id) != nil else { return }
        try? poller.remove(connection.descriptor)
        acceptor.closed(connection.user.uid, standing: connection.standing, at: Clock.monotonic)
        connection.user.connections.remove(connection.id)
        schedule.deadlines.remove(connection.id)
        cancelQuery(of: connection)
        depart(connection)
        service.statusRegistry.counted(connections: connections.count)
    }

    // MARK: Inbox

    private func readInbox() {
        _ = service.wakeUp.take()
        let inbox = service.inbox.withLock { $0.take() }
        for heartbeats in inbox.heartbeatRequests { heartbeats.answered(by: .socket) }
        if let redactor = inbox.redactor { reader.use(redactor) }
        handle(inbox.outcomes)
        for refusal in inbox.refusals { handle(refusal) }
        for answer in inbox.answers { handle(answer) }
        for completion in inbox.flushed { flushed(completion) }
        if let listener = inbox.listener { change(to: listener) }
        if inbox.lacksReplyRoom { memory.lacksReplyRoom(at: Clock.monotonic) }
        if inbox.hasNewRecords { pollNews() }
        if inbox.hasNewFates { pollFates() }
        if inbox.isStopping, phase == .running { stop() }
        if inbox.isEnding { phase = .ending }
    }

    private func stop() {
        phase = .stopping
        acceptor.gate.stopped()
        acceptor.refused.answerAll()
        try? poller.remove(acceptor.listener.descriptor)
        if let metrics = service.metricsListener { try? poller.remove(metrics.descriptor) }
        for connection in Array(connections.values) {
            drain(connection)
            endQuery(of: connection)
        }
    }

    // MARK: Deadlines

    /// The time until the loop has something to do without an event; nil if there is nothing.
    private var timeout: Duration? {
        if users.haveFreedCapacity || memory.hasResumableUsers { return .zero }
        let deadlines = [
            acceptor.gate.deadline, acceptor.refused.deadline, memory.replyDeadline, schedule.deadlines.next,
        ]
        let next = deadlines.compactMap { $0 }.min().map { Clock.monotonic.duration(to: $0) }
        return phase == .running ? next : min(next ?? Self.stopCheckInterval, Self.stopCheckInterval)
    }

    private func checkDeadlines() {
        guard
            acceptor.gate.deadline != nil || acceptor.refused.deadline != nil || memory.replyDeadline != nil
                || schedule.deadlines.next != nil
        else { return }
        let now = Clock.monotonic
        acceptor.refused.answerDue(at: now)
        if let cut = memory.replyDeadlineReached(at: now) {
            cutOffReplies(cut)
        }
        switch acceptor.gate.deadlineReached(at: now) {
        case .resume:
            watchListeners(for: [.read])
            accept()
        case .none: break
        }
        while let id = schedule.deadlines.takeDue(at: now) {
            guard let connection = connections[id] else { continue }
            let hasUnreadBytes = connection.state.isThrottled && hasBytes(connection)
            switch connection.state.deadlineReached(at: now, service.limits.timeouts, hasUnreadBytes: hasUnreadBytes) {
            case .none: break
            case .close: close(connection)
            case .run(let step): run(step, for: connection)
            case .endFlush(let step, let isComplete): endFlush(step, isComplete: isComplete, connection)
            }
            updateDeadline(of: connection)
        }
    }

    /// Schedules a check of the connection at its next deadline.
    func updateDeadline(of connection: ClientConnection) {
        guard !connection.state.isClosed, let deadline = connection.state.deadline(service.limits.timeouts) else {
            return
        }
        schedule.deadlines.bring(connection.id, by: deadline)
    }

    /// Returns `true` if a connection has received bytes that were not read, or has ended. Never waits.
    func hasBytes(_ connection: ClientConnection) -> Bool {
        (try? Readiness.wait(connection.descriptor, for: .read, timeout: .zero)) ?? false
    }
}
