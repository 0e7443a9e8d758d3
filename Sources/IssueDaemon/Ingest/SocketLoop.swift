import IssueCore
import IssueProtocol
import IssueStore
import Synchronization
import UnixIO

/// What the thread of the socket does, one event after the other.
final class SocketLoop {
    let service: SocketService
    let handlers: SocketService.Handlers
    let poller: Poller
    var listener: Listener
    var reader: ReportReader
    var connections: [UInt64: Connection] = [:]
    var users: [UInt32: UserLoad] = [:]
    var touched: [Connection] = []
    private var lastID: UInt64 = 1
    private var isAccepting = true
    private(set) var isStopping = false
    /// Until when no connections are taken, because there was no descriptor left for one.
    private var acceptsAgain: MonotonicInstant?
    /// Whether the log says that none can be taken.
    private var hasToldShortage = false

    /// What one user has under way.
    struct UserLoad {
        var connections = 0
        var bytesInFlight = 0
        /// Connections that are not read until there is less.
        var throttled: [UInt64] = []
    }

    static let listenerToken: UInt64 = 0
    static let inboxToken: UInt64 = 1
    /// How often deadlines are looked at while there are any.
    static let sweep: Duration = .milliseconds(250)
    static let chunk = 128 << 10

    init(_ service: SocketService, _ handlers: SocketService.Handlers) throws(Errno) {
        self.service = service
        self.handlers = handlers
        listener = service.listener
        poller = try Poller()
        reader = ReportReader(limits: service.recordLimits, seed: Randomness.uint64())
        try poller.add(listener.descriptor, token: Self.listenerToken, for: [.read])
        try poller.add(service.wakeUp.descriptor, token: Self.inboxToken, for: [.read])
    }

    func run() throws(Errno) {
        var events: [PollEvent] = []
        while true {
            try poller.wait(into: &events, timeout: hasDeadlines ? Self.sweep : nil)
            for event in events { handle(event) }
            flushTouched()
            if hasDeadlines { lookAtDeadlines() }
            if isStopping, connections.values.allSatisfy(\.isDone) { break }
        }
        for connection in Array(connections.values) { close(connection) }
    }

    private func handle(_ event: PollEvent) {
        switch event.token {
        case Self.listenerToken: accept()
        case Self.inboxToken: readInbox()
        default:
            guard let connection = connections[event.token] else { return }
            if event.isWritable { touch(connection) }
            if event.isReadable { read(connection, isHungUp: event.isHungUp) }
            // Nobody is there any more to be answered, and the kernel would tell it again and again.
            if event.isHungUp { giveUpQuestion(of: connection) }
        }
    }

    func touch(_ connection: Connection) {
        guard !connection.isTouched else { return }
        connection.isTouched = true
        touched.append(connection)
    }

    private func flushTouched() {
        while !touched.isEmpty {
            let connections = touched
            touched.removeAll(keepingCapacity: true)
            for connection in connections {
                connection.isTouched = false
                send(connection)
            }
        }
    }

    // MARK: Connections

    func accept() {
        while isAccepting {
            do throws(Errno) {
                guard let descriptor = try listener.descriptor.accept() else { return }
                if hasToldShortage { service.log.notice("Connections are taken again") }
                hasToldShortage = false
                take(descriptor)
            } catch {
                if !hasToldShortage {
                    service.log.warning(
                        "A connection could not be taken, trying again until one can", ["error": "\(error)"])
                }
                hasToldShortage = true
                acceptsAgain = Clock.monotonic.advanced(by: .seconds(1))
                try? poller.modify(listener.descriptor, token: Self.listenerToken, for: [])
                return
            }
        }
    }

    private func take(_ descriptor: consuming FileDescriptor) {
        guard let peer = try? descriptor.peerCredentials() else { return }
        let load = users[peer.uid] ?? UserLoad()
        guard connections.count < service.limits.connections,
            peer.uid == 0 || load.connections < service.limits.connectionsPerUser
        else { return refuse(descriptor, uid: peer.uid) }

        let facts = ProcessFacts.read(pid: peer.pid)
        let groups = (try? descriptor.peerGroups()) ?? []
        let access = service.access.withLock { $0 }
        lastID += 1
        let connection = Connection(
            id: lastID, descriptor: descriptor,
            process: ReportingProcess(
                connection: lastID,
                sender: Sender(
                    uid: peer.uid, gid: peer.gid, pid: peer.pid, command: facts?.command,
                    executable: facts?.executable, unit: facts?.unit),
                startTime: Int64(clamping: facts?.startTime ?? 0)),
            viewer: access.viewer(uid: peer.uid, groups: groups + [peer.gid]),
            isOperator: access.isOperator(uid: peer.uid, groups: groups + [peer.gid]),
            messageBytes: service.limits.messageBytes)
        do throws(Errno) {
            try poller.add(connection.descriptor, token: connection.id, for: [.read])
        } catch {
            return
        }
        connections[connection.id] = connection
        users[peer.uid, default: UserLoad()].connections += 1
        service.board.counted(connections: connections.count)
    }

    /// Tells why, as far as that goes without waiting, and hangs up.
    private func refuse(_ descriptor: consuming FileDescriptor, uid: UInt32) {
        service.log.warning("There are too many connections, refusing one", ["uid": "\(uid)"])
        _ = descriptor.attemptSend(CollectorError.busy(retryAfter: .seconds(1)).reply.message, from: 0)
    }

    func close(_ connection: Connection) {
        guard connections.removeValue(forKey: connection.id) != nil else { return }
        try? poller.remove(connection.descriptor)
        connection.session.closed()
        connection.hasEnded = true
        users[connection.uid]?.connections -= 1
        release(connection.bytesInFlight, of: connection.uid)
        if users[connection.uid]?.connections == 0 { users[connection.uid] = nil }
        service.board.counted(connections: connections.count)
    }

    /// Bytes of a user are no longer under way.
    func release(_ bytes: Int, of uid: UInt32) {
        guard bytes > 0 else { return }
        users[uid]?.bytesInFlight -= bytes
        guard let load = users[uid], !load.throttled.isEmpty,
            load.bytesInFlight <= service.limits.bytesInFlightPerUser / 2
        else { return }
        users[uid]?.throttled = []
        for id in load.throttled {
            guard let connection = connections[id] else { continue }
            process(connection)
        }
    }

    // MARK: What others have for us

    private func readInbox() {
        _ = service.wakeUp.take()
        let inbox = service.inbox.withLock { $0.take() }
        for pulse in inbox.pulses { pulse.beat(.socket) }
        for outcome in inbox.outcomes { handle(outcome) }
        for refusal in inbox.refusals { handle(refusal) }
        for answer in inbox.answers { handle(answer) }
        for id in inbox.flushed { flushed(id) }
        if let listener = inbox.listener { change(to: listener) }
        if inbox.hasNewRecords { fetchNews() }
        if inbox.hasNewFates { fetchFates() }
        if inbox.isStopping, !isStopping { beginStop() }
    }

    private func beginStop() {
        isStopping = true
        isAccepting = false
        try? poller.remove(listener.descriptor)
        for connection in Array(connections.values) {
            // What was read is answered; what was not read yet will be sent again.
            connection.hasEnded = true
            endQuestion(of: connection)
            watch(connection)
        }
    }

    // MARK: Time

    private var hasDeadlines: Bool {
        acceptsAgain != nil || isStopping || connections.values.contains(where: \.hasDeadline)
    }

    private func lookAtDeadlines() {
        let now = Clock.monotonic
        if let time = acceptsAgain, time <= now {
            acceptsAgain = nil
            try? poller.modify(listener.descriptor, token: Self.listenerToken, for: [.read])
            accept()
        }
        for connection in Array(connections.values) where connection.hasDeadline {
            if let since = connection.partialSince, since.advanced(by: service.limits.readTimeout) <= now {
                close(connection)
            } else if let since = connection.unsentSince, since.advanced(by: service.limits.writeTimeout) <= now {
                close(connection)
            } else {
                lookAtQuestion(of: connection, at: now)
            }
        }
    }
}

extension Connection {
    /// Whether something of it ends by time alone.
    var hasDeadline: Bool {
        if partialSince != nil || unsentSince != nil { return true }
        switch question {
        case .awaiting, .flushing: return true
        case .single, .pages, .following, nil: return false
        }
    }

    /// Whether nothing is owed to it any more.
    var isDone: Bool { session.isIdle && replies.unsentCount == 0 }
}
