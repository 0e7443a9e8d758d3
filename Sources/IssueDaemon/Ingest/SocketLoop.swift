import IssueCore
import IssueProtocol
import IssueStore
import Synchronization
import UnixIO

/// The event loop of the socket thread.
final class SocketLoop {
    let service: SocketService
    let handlers: SocketService.Handlers
    let poller: Poller
    var listener: Listener
    var reader: ReportReader
    var receipts = ReceiptWriter()
    var connections: [UInt64: Connection] = [:]
    var users: [UInt32: SocketUser] = [:]
    /// Closed connections with reports that are not stored yet.
    var orphans: [UInt64: Orphan] = [:]
    var touched: [Connection] = []
    var shares: ConnectionShares
    /// The memory used for all users together.
    var callMemory: MemoryBudget
    var replyMemory: MemoryBudget
    /// The part of `callMemory` that holds unread replies.
    var unreadMemory = 0
    /// The time of the next check of unread replies while queries wait for their memory. Nil if none wait.
    var makesReplyRoomAt: MonotonicInstant?
    /// The replies that arrived in this round. They count as unread at its end.
    var takenReplies: [Answer.Memory] = []
    /// The part of `callMemory` that holds messages which were received but not
    /// begun.
    var receivedMemory = 0
    /// Users whose connections wait because all users together use much memory.
    var memoryThrottledUsers: [SocketUser] = []
    /// `true` if memory of all users together was released since the last
    /// round.
    var hasReleasedMemory = false
    /// Users whose in-flight bytes dropped since the last round. Their
    /// throttled connections may resume.
    var usersWithFreedCapacity: [SocketUser] = []
    var deadlines = DeadlineQueue<UInt64>()
    /// The buffer into which connections are read, one at a time.
    var readBuffer: [UInt8] = []
    /// The number of rounds of the loop, in each of which every connection has
    /// its turn.
    var round: UInt64 = 0
    private var lastID: UInt64 = 1
    private var isAccepting = true
    private(set) var isStopping = false
    private var isEnding = false
    /// Refused and closed connections since they were last logged.
    var refusals = RepeatedEventCounter()
    var replacements = RepeatedEventCounter()
    var memoryCuts = RepeatedEventCounter()
    /// When connections are accepted again after a shortage of descriptors.
    private var acceptsAgain: MonotonicInstant?
    private var reserve = DescriptorReserve()
    /// `true` if the shortage has been logged.
    private var hasReportedShortage = false

    static let listenerToken: UInt64 = 0
    static let inboxToken: UInt64 = 1
    /// How often the loop checks whether it can end while the daemon stops.
    static let sweep: Duration = .milliseconds(250)
    static let chunk = 128 << 10
    /// The number of gathered records of a connection that is handed to the
    /// writer at once.
    static let maxGathered = WriterService.maxRecords / 8
    /// How many connections are accepted before others have their turn.
    static let maxAccepted = 64

    init(_ service: SocketService, _ handlers: SocketService.Handlers) throws(Errno) {
        self.service = service
        self.handlers = handlers
        listener = service.listener
        shares = ConnectionShares(limits: service.limits.ofConnections)
        callMemory = service.limits.callMemory
        replyMemory = service.limits.replyMemory
        poller = try Poller()
        reader = ReportReader(limits: service.recordLimits, seed: Randomness.uint64())
        try poller.add(listener.descriptor, token: Self.listenerToken, for: [.read])
        try poller.add(service.wakeUp.descriptor, token: Self.inboxToken, for: [.read])
    }

    func run() throws(Errno) {
        var events: [PollEvent] = []
        while true {
            try poller.wait(into: &events, timeout: timeout)
            round += 1
            for event in events { handle(event) }
            resumeThrottled()
            flushTouched()
            for reply in takenReplies { handlers.repliesChanged(reply.user, -reply.bytes) }
            takenReplies.removeAll(keepingCapacity: true)
            relieveMemory()
            lookAtDeadlines()
            if isEnding || (isStopping && connections.values.allSatisfy(\.isDone)) { break }
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
            // The client can't receive replies, and the kernel would report the
            // hang-up in every round.
            if event.isHungUp {
                abandonQuery(of: connection)
                // A question that has begun meanwhile is given up in the next round.
                if connection.isWaiting, connection.question == nil { detach(connection) }
            }
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
        for _ in 0..<Self.maxAccepted where isAccepting {
            do throws(Errno) {
                // A connection in the backlog is served later; one that was accepted would have to be refused.
                try reserve.fill(from: service.wakeUp.descriptor)
                guard let descriptor = try listener.descriptor.accept() else { return noteEmptyBacklog() }
                try take(descriptor)
            } catch {
                // The user with the most connections loses one, as when the
                // limit is reached.
                guard let largest = shares.largest, makeRoom(of: largest.owner) else { return pause(error) }
            }
        }
    }

    private func noteEmptyBacklog() {
        if hasReportedShortage { service.log.notice(.socketAccepting) }
        hasReportedShortage = false
    }

    /// Stops accepting connections for a moment because the host lacks a
    /// resource.
    private func pause(_ error: Errno) {
        if !hasReportedShortage {
            service.log.warning(
                .socketAcceptFailed, ["error": "\(error)"])
        }
        hasReportedShortage = true
        acceptsAgain = Clock.monotonic.advanced(by: .seconds(1))
        try? poller.modify(listener.descriptor, token: Self.listenerToken, for: [])
    }

    private func take(_ descriptor: consuming FileDescriptor) throws(Errno) {
        guard let peer = try? descriptor.peerCredentials() else { return }
        let access = service.access.withLock { $0 }
        let groups = ((try? descriptor.peerGroups()) ?? []) + [peer.gid]
        let owner = access.users.owner(of: peer.uid)
        let standing = access.standing(uid: peer.uid, groups: groups)
        switch shares.decision(owner: owner, standing: standing) {
        case .admit: break
        case .replace(let other) where makeRoom(of: other): break
        case .replace, .refuse: return refuse(descriptor)
        }
        let user = users[owner] ?? SocketUser(uid: owner, limits: service.limits.ofUser)

        let facts: ProcessMetadata?
        do throws(Errno) {
            facts = try readFacts(of: peer, on: descriptor)
        } catch {
            // Without the process's metadata, its reports would form groups of
            // their own.
            _ = descriptor.attemptSend(CollectorError.busy(retryAfter: .seconds(1)).reply.message, from: 0)
            throw error
        }
        lastID += 1
        let connection = Connection(
            id: lastID, descriptor: descriptor,
            process: ReportingProcess(
                connection: lastID,
                sender: Sender(
                    uid: peer.uid, gid: peer.gid, pid: peer.pid, command: facts?.command,
                    executable: facts?.executable, unit: facts?.unit),
                startTime: Int64(clamping: facts?.startTime ?? 0), accountableUser: owner),
            groups: groups, standing: standing, user: user, messageBytes: service.limits.messageBytes)
        do throws(Errno) {
            try poller.add(connection.descriptor, token: connection.id, for: [.read])
        } catch {
            return
        }
        connections[connection.id] = connection
        connection.lastRound = round
        shares.opened(owner: owner, standing: standing)
        user.connections.insert(connection.id)
        user.load.connected()
        users[owner] = user
        service.board.counted(connections: connections.count)
    }

    /// Reads a sender's process metadata. Uses the spare descriptors if there are no others.
    private func readFacts(
        of peer: PeerCredentials, on descriptor: borrowing FileDescriptor
    ) throws(Errno) -> ProcessMetadata? {
        do throws(Errno) {
            return try ProcessMetadata.read(of: peer, on: descriptor)
        } catch {
            reserve.release()
            return try ProcessMetadata.read(of: peer, on: descriptor)
        }
    }

    /// Sends an error without waiting, and closes the connection.
    private func refuse(_ descriptor: consuming FileDescriptor) {
        // A refused client may reconnect at once, and must not fill the log.
        if let count = refusals.happened(at: Clock.monotonic) {
            let largest = shares.largest
            service.log.warning(
                .socketTooManyConnections,
                [
                    "refused": "\(count)", "connections": "\(connections.count)", "users": "\(shares.userCount)",
                    "largest_uid": largest.map { "\($0.owner)" } ?? "none",
                    "largest_connections": "\(largest?.count ?? 0)",
                ])
        }
        _ = descriptor.attemptSend(CollectorError.busy(retryAfter: .seconds(1)).reply.message, from: 0)
    }

    /// Closes the connection of a user that is the least costly to lose, and
    /// among those the one that was idle for longest.
    ///
    /// - Returns: `false` if all of them are being answered. One of them is
    ///   then closed as soon as it has been answered, so that a later attempt
    ///   succeeds.
    private func makeRoom(of owner: UInt32) -> Bool {
        guard let user = users[owner] else { return false }
        let candidates = user.connections.compactMap { connections[$0] }
            .filter { $0.standing == .ordinary || $0.standing == .operator }
            .sorted { ($0.worth.rawValue, $0.lastRound, $0.id) < ($1.worth.rawValue, $1.lastRound, $1.id) }
        // A connection with unread bytes is not idle.
        let candidate = candidates.first { $0.worth != .idle || !hasBytes($0) } ?? candidates.first
        guard let candidate else { return false }
        guard candidate.worth != .answering else {
            if let next = candidates.first(where: { !$0.hasEnded }) {
                next.hasEnded = true
                watch(next)
            }
            return false
        }
        if let count = replacements.happened(at: Clock.monotonic) {
            service.log.warning(
                .socketConnectionsClosed,
                [
                    "closed": "\(count)", "uid": "\(owner)", "connections": "\(user.connections.count)",
                    "users": "\(shares.userCount)",
                ])
        }
        hangUp(candidate)
        return true
    }

    /// Closes a connection that has done nothing wrong. A client that waits for
    /// an answer is asked to retry.
    func hangUp(_ connection: Connection) {
        endQuery(of: connection)
        if connections[connection.id] != nil { send(connection) }
        close(connection)
    }

    func close(_ connection: Connection) {
        guard connections.removeValue(forKey: connection.id) != nil else { return }
        try? poller.remove(connection.descriptor)
        connection.session.closed()
        connection.hasEnded = true
        shares.closed(owner: connection.user.uid, standing: connection.standing)
        connection.user.connections.remove(connection.id)
        deadlines.remove(connection.id)
        if connection.openJobs > 0 { handlers.withdraw(connection.id, connection.user.uid) }
        logAbandonedFlush(of: connection)
        depart(connection)
        service.board.counted(connections: connections.count)
        // There is a free descriptor now.
        if acceptsAgain != nil { acceptsAgain = Clock.monotonic }
    }

    // MARK: Inbox

    private func readInbox() {
        _ = service.wakeUp.take()
        let inbox = service.inbox.withLock { $0.take() }
        for pulse in inbox.pulses { pulse.beat(.socket) }
        handle(inbox.outcomes)
        for refusal in inbox.refusals { handle(refusal) }
        for answer in inbox.answers { handle(answer) }
        for id in inbox.flushed { flushed(id) }
        if let listener = inbox.listener { change(to: listener) }
        if inbox.lacksReplyRoom { makesReplyRoomAt = makesReplyRoomAt ?? Clock.monotonic }
        if inbox.hasNewRecords { fetchNewRecords() }
        if inbox.hasNewFates { fetchFates() }
        if inbox.isStopping, !isStopping { beginStop() }
        if inbox.isEnding { isEnding = true }
    }

    private func beginStop() {
        isStopping = true
        isAccepting = false
        try? poller.remove(listener.descriptor)
        for connection in Array(connections.values) {
            // Calls that were read are answered. The client resends those that
            // were not.
            connection.hasEnded = true
            endQuery(of: connection)
            watch(connection)
        }
    }

    // MARK: Deadlines

    /// The time until the loop has something to do without an event; nil if
    /// there is nothing.
    private var timeout: Duration? {
        if !usersWithFreedCapacity.isEmpty || (hasReleasedMemory && !memoryThrottledUsers.isEmpty) { return .zero }
        let next = [acceptsAgain, makesReplyRoomAt, deadlines.next].compactMap { $0 }.min().map {
            Clock.monotonic.duration(to: $0)
        }
        return isStopping ? min(next ?? Self.sweep, Self.sweep) : next
    }

    private func lookAtDeadlines() {
        guard acceptsAgain != nil || makesReplyRoomAt != nil || deadlines.next != nil else { return }
        let now = Clock.monotonic
        if let time = makesReplyRoomAt, time <= now { makeReplyRoom(at: now) }
        if let time = acceptsAgain, time <= now {
            acceptsAgain = nil
            try? poller.modify(listener.descriptor, token: Self.listenerToken, for: [.read])
            accept()
        }
        while let id = deadlines.takeDue(at: now) {
            guard let connection = connections[id] else { continue }
            if let since = connection.partialSince, since.advanced(by: service.limits.readTimeout) <= now {
                // If the daemon has not read the bytes yet, the sender is not
                // to blame.
                guard connection.isWaiting, hasBytes(connection) else {
                    close(connection)
                    continue
                }
                connection.partialSince = now
            }
            if let since = connection.unsentSince, since.advanced(by: service.limits.writeTimeout) <= now {
                close(connection)
                continue
            }
            checkQueryTimeout(of: connection, at: now)
            awaitDeadline(of: connection)
        }
    }

    /// Schedules a check of the connection at its next deadline.
    func awaitDeadline(of connection: Connection) {
        guard let deadline = connection.deadline(service.limits) else { return }
        deadlines.bring(connection.id, by: deadline)
    }

    func hasBytes(_ connection: Connection) -> Bool {
        (try? Readiness.wait(connection.descriptor, for: .read, timeout: .zero)) ?? false
    }
}

/// Spare descriptors, so that a connection is taken off the backlog only if the daemon can serve it.
struct DescriptorReserve {
    private final class Spare {
        let descriptor: FileDescriptor

        init(_ descriptor: consuming FileDescriptor) {
            self.descriptor = descriptor
        }
    }

    private var spares: [Spare] = []
    /// Reading the facts of a process takes a pidfd, its folder in `/proc` and a file in that.
    private static let count = 3

    /// Makes the reserve complete, with copies of another descriptor.
    mutating func fill(from other: borrowing FileDescriptor) throws(Errno) {
        while spares.count < Self.count { spares.append(Spare(try other.duplicate())) }
    }

    /// Closes the spare descriptors, for something that needs them now.
    mutating func release() {
        spares = []
    }
}

extension SocketLoop {
    /// Continues with another listening socket, because the path no longer
    /// leads to the old one.
    func change(to new: Listener) {
        guard !isStopping else { return }
        // Clients that have connected to the old socket are accepted first.
        accept()
        try? poller.remove(listener.descriptor)
        listener = new
        do throws(Errno) {
            try poller.add(listener.descriptor, token: Self.listenerToken, for: [.read])
        } catch {
            service.log.error(.socketListenFailed, ["error": "\(error)"])
        }
    }
}
