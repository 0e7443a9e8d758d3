import IssueCore
import IssueProtocol
import IssueStore
import Synchronization
import UnixIO

/// The listening socket, and the limits for new connections.
struct Acceptor {
    var listener: SharedDescriptor
    var gate = AcceptState()
    var shares: ConnectionShares
    var reserve = DescriptorReserve()
    var refused: RefusedConnections
    /// Counts refused connections for the log.
    var refusals = RepeatedEventCounter()
    /// Counts connections that were closed to admit others, for the log.
    var replacements = RepeatedEventCounter()
    private var lastID: UInt64 = SocketLoop.metricsListenerToken

    init(listener: SharedDescriptor, limits: ConnectionShares.Limits) {
        self.listener = listener
        shares = ConnectionShares(limits: limits)
        refused = RefusedConnections(
            maxConnections: limits.total,
            openFileLimit: Int(clamping: (try? CurrentProcess.raiseOpenFileLimit()) ?? 0))
    }

    /// Returns the id of the next connection. All ids are larger than the tokens of the loop itself.
    mutating func nextID() -> UInt64 {
        lastID += 1
        return lastID
    }

    /// Records that a connection was closed. This frees a descriptor, so a pause ends.
    mutating func closed(
        _ owner: UInt32, standing: ConnectionShares.Standing, at now: @autoclosure () -> MonotonicInstant
    ) {
        shares.closed(owner: owner, standing: standing)
        if gate.deadline != nil { gate.freedDescriptor(at: now()) }
    }
}

extension SocketLoop {
    /// Accepts connections from the main socket.
    func accept() {
        accept(from: acceptor.listener)
    }

    /// Accepts waiting connections of a listening socket, for at most one turn.
    func accept(from listener: SharedDescriptor) {
        var turn = AcceptTurn(from: Clock.monotonic)
        while !acceptor.gate.isStopped, turn.mayAccept(at: Clock.monotonic) {
            do throws(Errno) {
                // Without spare descriptors, an accepted connection would have to be refused. A connection that stays
                // in the backlog is served later.
                try acceptor.reserve.fill(from: service.wakeUp.descriptor)
                guard let descriptor = try listener.descriptor.accept() else { return emptiedBacklog() }
                try admit(descriptor)
            } catch {
                if !acceptor.refused.isEmpty {
                    acceptor.refused.answerAll()
                    continue
                }
                // Frees resources by closing a connection of the user with the most connections.
                guard let largest = acceptor.shares.largest, makeRoom(of: largest.owner) else { return pause(error) }
            }
        }
    }

    private func emptiedBacklog() {
        if acceptor.gate.emptiedBacklog() { service.log.notice(.socketAccepting) }
    }

    /// Stops accepting connections for a moment because the host lacks a resource.
    private func pause(_ error: Errno) {
        switch acceptor.gate.failed(at: Clock.monotonic) {
        case .pauseAndReport:
            service.log.warning(.socketAcceptFailed, ["error": "\(error)"])
        case .pause: break
        case .none: return
        }
        watchListeners(for: [])
    }

    /// Sets the events of both listening sockets. During a pause, connections wait in the backlogs.
    func watchListeners(for events: Interest) {
        try? poller.modify(acceptor.listener.descriptor, token: Self.listenerToken, for: events)
        guard let metrics = service.metricsListener else { return }
        try? poller.modify(metrics.descriptor, token: Self.metricsListenerToken, for: events)
    }

    /// Adds a connection, refuses it with an error, or closes it without a reply.
    ///
    /// - Throws: The error of the kernel if a resource of the host, such as descriptors, is exhausted.
    private func admit(_ descriptor: consuming FileDescriptor) throws(Errno) {
        // The connection of a client that has already disconnected without a call is only closed. Reading the metadata
        // of its process would delay other clients.
        if descriptor.isAtEnd() { return }
        guard let peer = try? descriptor.peerCredentials() else { return }
        let access = service.access.withLock { $0 }
        let groups = ((try? descriptor.peerGroups()) ?? []) + [peer.gid]
        let owner = access.users.owner(of: peer.uid)
        let standing = access.standing(uid: peer.uid, groups: groups)
        switch acceptor.shares.decision(owner: owner, standing: standing) {
        case .admit: break
        case .replace(let other) where makeRoom(of: other): break
        case .replace, .refuse: return refuse(descriptor)
        }
        let user = users[owner] ?? SocketUser(uid: owner, limits: service.limits.userLimits)

        let metadata: ProcessMetadata?
        do throws(Errno) {
            metadata = try readMetadata(of: peer, on: descriptor)
        } catch {
            // Without the metadata of the process, its reports would form groups of their own.
            _ = descriptor.attemptSend(CollectorError.busy(retryAfter: .seconds(1)).reply.message, from: 0)
            throw error
        }
        let id = acceptor.nextID()
        let connection = ClientConnection(
            id: id, descriptor: descriptor,
            process: ReportingProcess(
                connection: id,
                sender: Sender(
                    uid: peer.uid, gid: peer.gid, pid: peer.pid, command: reader.redacted(metadata?.command),
                    executable: reader.redacted(metadata?.executable), unit: reader.redacted(metadata?.unit)),
                startTime: Int64(clamping: metadata?.startTime ?? 0), accountableUser: owner),
            groups: groups, standing: standing, user: user, messageBytes: service.limits.messageBytes,
            round: schedule.round)
        do throws(Errno) {
            try poller.add(connection.descriptor, token: connection.id, for: [.read])
        } catch {
            return
        }
        connections[connection.id] = connection
        acceptor.shares.opened(owner: owner, standing: standing)
        user.connections.insert(connection.id)
        user.load.connected()
        users.insert(user)
        service.statusRegistry.counted(connections: connections.count)
    }

    /// Reads a sender's process metadata. If no descriptor is available, frees the spare ones and tries again.
    private func readMetadata(
        of peer: PeerCredentials, on descriptor: borrowing FileDescriptor
    ) throws(Errno) -> ProcessMetadata? {
        do throws(Errno) {
            return try ProcessMetadata.read(of: peer, on: descriptor)
        } catch {
            acceptor.reserve.release()
            return try ProcessMetadata.read(of: peer, on: descriptor)
        }
    }

    /// After a moment, sends an error to the client and closes the connection.
    private func refuse(_ descriptor: consuming FileDescriptor) {
        // A refused client may reconnect at once, and must not fill the log.
        if let count = acceptor.refusals.happened(at: Clock.monotonic) {
            let largest = acceptor.shares.largest
            service.log.warning(
                .socketTooManyConnections,
                [
                    "refused": "\(count)", "connections": "\(connections.count)",
                    "users": "\(acceptor.shares.userCount)",
                    "largest_uid": largest.map { "\($0.owner)" } ?? "none",
                    "largest_connections": "\(largest?.count ?? 0)",
                ])
        }
        acceptor.refused.add(descriptor, at: Clock.monotonic)
    }

    /// Closes one of a user's connections: the one with the lowest `worth` and, among those with the same `worth`, the
    /// one that was read least recently. Avoids idle connections with bytes that were not read yet. Never closes a
    /// connection of root or of the daemon's user, or one whose calls are being answered.
    ///
    /// - Returns: `false` if none was closed. In that case, a connection whose calls are being answered may have been
    ///   drained, so that a later attempt succeeds.
    private func makeRoom(of owner: UInt32) -> Bool {
        guard let user = users[owner] else { return false }
        func closesBefore(_ left: ClientConnection, _ right: ClientConnection) -> Bool {
            (left.state.worth, left.lastRead.round, left.id) < (right.state.worth, right.lastRead.round, right.id)
        }
        let replaceable = user.connections.lazy.compactMap { self.connections[$0] }
            .filter { $0.standing == .ordinary || $0.standing == .operator }
        guard var candidate = replaceable.min(by: closesBefore) else { return false }
        // A connection with unread bytes is not idle.
        if candidate.state.worth == .idle, hasBytes(candidate) {
            let candidates = replaceable.sorted(by: closesBefore)
            candidate = candidates.first { $0.state.worth != .idle || !hasBytes($0) } ?? candidate
        }
        guard candidate.state.worth != .answering else {
            // An idle connection is not drained, because its unread bytes may be a report.
            let open = replaceable.filter { $0.state.isOpen && $0.state.worth == .answering }
            if let next = open.min(by: closesBefore) { drain(next) }
            return false
        }
        if let count = acceptor.replacements.happened(at: Clock.monotonic) {
            service.log.warning(
                .socketConnectionsClosed,
                [
                    "closed": "\(count)", "uid": "\(owner)", "connections": "\(user.connections.count)",
                    "users": "\(acceptor.shares.userCount)",
                ])
        }
        hangUp(candidate)
        return true
    }

    /// Continues with another listening socket, because the path no longer leads to the old one.
    func change(to new: SharedDescriptor) {
        guard phase == .running else { return }
        // Clients that have connected to the old socket are accepted first, as many as one turn allows.
        accept()
        try? poller.remove(acceptor.listener.descriptor)
        acceptor.listener = new
        do throws(Errno) {
            // During a pause, new connections wait in the backlog.
            try poller.add(
                acceptor.listener.descriptor, token: Self.listenerToken,
                for: acceptor.gate.deadline == nil ? [.read] : [])
        } catch {
            service.log.error(.socketListenFailed, ["error": "\(error)"])
        }
    }
}

/// Spare descriptors, so that a connection is accepted only if the daemon can serve it.
struct DescriptorReserve {
    private var spares: [SharedDescriptor] = []
    /// The number of spare descriptors. Reading the metadata of a process needs a pidfd, the folder of the process in
    /// `/proc`, and a file in that folder.
    private static let count = 3

    /// Fills the reserve with duplicates of a descriptor.
    mutating func fill(from other: borrowing FileDescriptor) throws(Errno) {
        while spares.count < Self.count { spares.append(SharedDescriptor(try other.duplicate())) }
    }

    /// Closes the spare descriptors, so that they can be used now.
    mutating func release() {
        spares = []
    }
}

/// Refused connections, which are answered and closed after a moment.
///
/// Clients that connect again as soon as they are refused would otherwise keep the socket thread and the processors
/// busy. Connections that were refused together are answered a few at a time.
struct RefusedConnections {
    /// How long a refused client normally waits for its answer.
    static let delay: Duration = .milliseconds(250)
    /// The maximum number of connections that are answered without a pause.
    static let portion = 16
    /// The time between two portions, so that the socket thread can serve others.
    static let pause: Duration = .milliseconds(1)
    /// The number of descriptors that are left for everything except connections.
    private static let otherDescriptors = 1024

    private let capacity: Int
    /// The connections and the times at which they are answered, in the order of these times. Those before `head` have
    /// been answered.
    private var waiting: [(connection: SharedDescriptor, time: MonotonicInstant)?] = []
    private var head = 0
    /// The end of the pause after a portion.
    private var pausedUntil = MonotonicInstant(sinceBoot: .zero)

    /// - Parameters:
    ///   - maxConnections: The maximum number of connections that are not refused.
    ///   - openFileLimit: The maximum number of descriptors of the process.
    init(maxConnections: Int, openFileLimit: Int) {
        capacity = max(0, min(maxConnections, openFileLimit - maxConnections - Self.otherDescriptors))
    }

    var isEmpty: Bool { head == waiting.count }

    /// The time at which the next connection is answered; nil if none is waiting.
    var deadline: MonotonicInstant? { isEmpty ? nil : waiting[head].map { max($0.time, pausedUntil) } }

    /// Adds a connection. If there are too many, the one that has waited longest is answered immediately.
    mutating func add(_ descriptor: consuming FileDescriptor, at now: MonotonicInstant) {
        waiting.append((SharedDescriptor(descriptor), now.advanced(by: Self.delay)))
        if waiting.count - head > capacity { answerNext() }
    }

    /// Answers connections that have waited long enough, at most `portion` of them.
    mutating func answerDue(at now: MonotonicInstant) {
        for _ in 0..<Self.portion {
            guard let deadline, deadline <= now else { return }
            answerNext()
        }
        pausedUntil = now.advanced(by: Self.pause)
    }

    /// Answers all connections, because their descriptors are needed or the daemon stops.
    mutating func answerAll() {
        while !isEmpty { answerNext() }
    }

    /// Sends an error without waiting, and closes the connection.
    private mutating func answerNext() {
        if let next = waiting[head] {
            _ = next.connection.descriptor.attemptSend(CollectorError.busy(retryAfter: .seconds(1)).reply.message)
        }
        waiting[head] = nil
        head += 1
        if head == waiting.count {
            waiting.removeAll(keepingCapacity: head <= 64)
            head = 0
        } else if head >= 64, 2 * head >= waiting.count {
            waiting.removeFirst(head)
            head = 0
        }
    }
}
