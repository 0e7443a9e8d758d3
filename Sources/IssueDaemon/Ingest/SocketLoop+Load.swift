import IssueCore
import IssueProtocol
import IssueStore
import UnixIO

/// The load of each user, and throttling.
extension SocketLoop {
    /// Returns whether the next call of a connection may begin. Otherwise, the
    /// connection resumes when its user's load has dropped.
    func mayBegin(_ connection: Connection) -> Bool {
        if connection.user.load.mayBegin(
            unanswered: connection.bytesInFlight, unread: connection.bytesUnread, within: allowance(of: connection.user)
        ) {
            return true
        }
        wait(connection)
        return false
    }

    /// Returns how many bytes of a connection may be read now. If there are
    /// none, the connection resumes when its user's load has dropped, or in the
    /// next round.
    func mayRead(_ connection: Connection, isHungUp: Bool) -> Int {
        // The peer has hung up, so the remaining bytes are limited by the
        // kernel's buffer.
        if isHungUp { return Self.chunk }
        guard connection.user.load.hasTurn(inRound: round, lastRead: connection.lastRead) else { return 0 }
        let room = connection.user.load.mayRead(
            connection.id, most: Self.chunk, underWay: connection.bytesUnderWay,
            isInMessage: connection.frames.hasPartialFrame, within: allowance(of: connection.user))
        if room == 0 {
            wait(connection)
            watch(connection)
        }
        return room
    }

    private func wait(_ connection: Connection) {
        connection.isWaiting = true
        connection.user.load.wait(connection.id)
        let user = connection.user
        if !user.isMemoryThrottled, allowance(of: user) != user.load.fullAllowance {
            user.isMemoryThrottled = true
            memoryThrottledUsers.append(user)
        }
    }

    /// Returns how much a user may have in flight, given the memory used by all
    /// users.
    func allowance(of user: SocketUser) -> UserLoad.Allowance {
        UserLoad.Allowance(
            calls: min(user.load.limits.calls, callMemory.allowance),
            replies: min(user.load.limits.replies, replyMemory.allowance))
    }

    private func changed(callMemory difference: Int) {
        callMemory.changed(by: difference)
        if difference < 0 { hasReleasedMemory = true }
    }

    private func changed(replyMemory difference: Int) {
        replyMemory.changed(by: difference)
        if difference < 0 { hasReleasedMemory = true }
    }

    /// Releases memory that the connection's bytes do not need, and counts the
    /// rest.
    func settleReading(of connection: Connection) {
        let moved = connection.frames.giveBack(&readBuffer, keepingFrom: connection.held?.lowerBound)
        connection.held = connection.held.map { ($0.lowerBound - moved)..<($0.upperBound - moved) }
        let received = connection.frames.pendingCount + (connection.held?.count ?? 0)
        count(received: received, of: connection)
    }

    private func count(received: Int, of connection: Connection) {
        let memory = received > 0 ? max(received, connection.frames.capacity) : 0
        if memory != connection.callMemory {
            receivedMemory += memory - connection.callMemory
            changed(callMemory: memory - connection.callMemory)
            connection.callMemory = memory
        }
        guard received != connection.bytesReceived else { return }
        if received < connection.bytesReceived { markCapacityFreed(connection.user) }
        connection.user.load.changed(received: received - connection.bytesReceived)
        settleActivity(of: connection) { $0.bytesReceived = received }
    }

    private func settleActivity(of connection: Connection, _ change: (Connection) -> Void) {
        let wasActive = connection.bytesUnderWay > 0
        change(connection)
        let isActive = connection.bytesUnderWay > 0
        if isActive, !wasActive { connection.user.load.began() }
        if wasActive, !isActive { connection.user.load.ended() }
    }

    /// Counts the replies that the client has not read yet.
    func settleSending(of connection: Connection) {
        if connections[connection.id] != nil { count(unread: connection.replies.memory, of: connection) }
        let memory = connection.replies.memory + connection.openJobs * service.limits.questionBytes
        if memory != connection.replyMemory, connections[connection.id] != nil {
            changed(replyMemory: memory - connection.replyMemory)
            connection.replyMemory = memory
        }
        let unread = connection.replies.unsentCount + connection.openJobs * service.limits.questionBytes
        guard unread != connection.bytesUnread, connections[connection.id] != nil else { return }
        if unread < connection.bytesUnread { markCapacityFreed(connection.user) }
        connection.user.load.changed(replies: unread - connection.bytesUnread)
        connection.bytesUnread = unread
    }

    private func count(unread memory: Int, of connection: Connection) {
        let difference = memory - connection.unreadMemory
        guard difference != 0 else { return }
        connection.unreadMemory = memory
        unreadMemory += difference
        handlers.repliesChanged(connection.user.uid, difference)
    }

    /// Counts the bytes of a report when it begins or is answered.
    func changed(inFlight difference: Int, of connection: Connection) {
        settleActivity(of: connection) { $0.bytesInFlight += difference }
        connection.user.load.changed(unanswered: difference)
        changed(callMemory: difference)
        if difference < 0 { markCapacityFreed(connection.user) }
    }

    /// Returns the memory that a call needs besides its bytes. A record of two
    /// bytes can be rejected with a reply of a hundred, and a short record is
    /// smaller than its decoded form.
    static func weight(of call: ReportCall) -> Int {
        100 * call.rejected.count + MemoryLayout<DecodedRecord>.stride * call.records.count
    }

    func weigh(_ call: ReportCall, _ connection: Connection) {
        let bytes = Self.weight(of: call)
        connection.replies.weigh(call.token, bytes)
        changed(inFlight: bytes, of: connection)
    }

    /// Marks a user whose load has dropped, so that throttled connections can
    /// resume.
    func markCapacityFreed(_ user: SocketUser) {
        guard !user.hasFreedCapacity else { return }
        user.hasFreedCapacity = true
        usersWithFreedCapacity.append(user)
    }

    func resumeThrottled() {
        if hasReleasedMemory, !memoryThrottledUsers.isEmpty {
            let users = memoryThrottledUsers
            memoryThrottledUsers = []
            for user in users {
                user.isMemoryThrottled = false
                markCapacityFreed(user)
            }
        }
        hasReleasedMemory = false
        guard !usersWithFreedCapacity.isEmpty else { return }
        let users = usersWithFreedCapacity
        usersWithFreedCapacity = []
        for user in users {
            user.hasFreedCapacity = false
            let woken = user.load.takeResumable(
                within: allowance(of: user),
                underWay: { connections[$0].map(Self.bytesWaitedFor) ?? 0 },
                unread: { connections[$0]?.bytesUnread ?? 0 })
            for id in woken {
                guard let connection = connections[id] else { continue }
                connection.isWaiting = false
                process(connection)
                attach(connection)
                fetchNewRecords(of: connection)
            }
        }
    }

    /// Returns the bytes that must drop before a connection resumes. A held
    /// message is no reason to wait.
    private static func bytesWaitedFor(_ connection: Connection) -> Int {
        connection.held == nil ? connection.bytesUnderWay : connection.bytesInFlight
    }

    // MARK: Memory pressure

    /// Closes connections with partially sent messages, or with unread replies,
    /// if all of these together use too much memory.
    func relieveMemory() {
        let limits = service.limits
        if receivedMemory > limits.halfSentMemory {
            cutOff("message", above: limits.halfSentMemory, guaranteed: callMemory.guaranteed) { connection in
                connection.partialSince.map { ($0, connection.callMemory) }
            }
        }
        if replyMemory.used > replyMemory.limit {
            cutOff("reply", above: replyMemory.limit, guaranteed: replyMemory.guaranteed) { connection in
                connection.unsentSince.map { ($0, connection.replies.memory) }
            }
        }
    }

    /// Closes connections whose replies have stood still for a while, if they keep other users' questions waiting.
    func makeReplyRoom(at now: MonotonicInstant) {
        let limit = service.limits.replyBudget.maxUnread
        makesReplyRoomAt = nil
        guard unreadMemory > limit else { return }
        cutOff(
            "reply", above: limit, guaranteed: 0,
            stalledSince: now.advanced(by: .zero - service.limits.stalledReplyTimeout)
        ) {
            connection in connection.unsentSince.map { ($0, connection.unreadMemory) }
        }
        // The others are still reading, or are closed at the next look.
        if unreadMemory > limit { makesReplyRoomAt = now.advanced(by: service.limits.stalledReplyTimeout / 4) }
    }

    private func cutOff(
        _ kind: String, above limit: Int, guaranteed: Int, stalledSince: MonotonicInstant? = nil,
        _ held: (Connection) -> (MonotonicInstant, Int)?
    ) {
        let holdings = connections.values.compactMap { connection in
            held(connection).map { since, bytes in
                MemoryReservation(connection: connection.id, owner: connection.user.uid, bytes: bytes, since: since)
            }
        }
        // Closes some more than necessary, so that the next search is not needed at once.
        var chosen = MemoryReservation.excess(of: holdings, above: limit - limit / 8, guaranteed: guaranteed)
        if let stalledSince {
            let stalled = Set(holdings.filter { $0.since <= stalledSince }.map(\.connection))
            chosen.removeAll { !stalled.contains($0) }
        }
        guard !chosen.isEmpty else { return }
        if let count = memoryCuts.happened(chosen.count, at: Clock.monotonic) {
            let owner = connections[chosen[0]]?.user.uid
            service.log.warning(
                .socketMemoryLimit,
                ["closed": "\(count)", "held": kind, "uid": owner.map { "\($0)" } ?? "", "limit": "\(limit)"])
        }
        for id in chosen {
            guard let connection = connections[id] else { continue }
            hangUp(connection)
        }
    }

    // MARK: Closed connections

    /// Subtracts the load of a closed connection, except for reports that are
    /// being stored.
    func depart(_ connection: Connection) {
        let user = connection.user
        count(received: 0, of: connection)
        if connection.bytesUnderWay > 0 { user.load.ended() }
        user.load.changed(replies: -connection.bytesUnread)
        connection.bytesUnread = 0
        changed(replyMemory: -connection.replyMemory)
        connection.replyMemory = 0
        count(unread: 0, of: connection)
        user.load.disconnected(connection.id)
        markCapacityFreed(user)
        if connection.session.openReports > 0 {
            orphans[connection.id] = Orphan(
                user: user, bytes: connection.bytesInFlight, reports: connection.session.openReports)
        }
        forget(user)
    }

    /// Counts the answer to a report of a closed connection.
    func orphanAnswered(_ connection: UInt64) {
        guard var orphan = orphans[connection] else { return }
        orphan.reports -= 1
        orphans[connection] = orphan.reports > 0 ? orphan : nil
        guard orphan.reports == 0 else { return }
        orphan.user.load.changed(unanswered: -orphan.bytes)
        changed(callMemory: -orphan.bytes)
        markCapacityFreed(orphan.user)
        forget(orphan.user)
    }

    private func forget(_ user: SocketUser) {
        if user.load.connections == 0, user.load.unanswered == 0 { users[user.uid] = nil }
    }

    // MARK: Hang-ups of throttled connections

    /// Removes a throttled connection from the poller after a hang-up, because
    /// the kernel would report it in every round.
    func detach(_ connection: Connection) {
        guard !connection.isDetached else { return }
        connection.isDetached = true
        try? poller.remove(connection.descriptor)
    }

    private func attach(_ connection: Connection) {
        guard connection.isDetached, !connection.isWaiting, connections[connection.id] != nil else { return }
        connection.isDetached = false
        connection.watchesReading = true
        connection.watchesWriting = false
        do throws(Errno) {
            try poller.add(connection.descriptor, token: connection.id, for: [.read])
            watch(connection)
        } catch {
            close(connection)
        }
    }
}

/// Counts an event that may happen very often, so that it is logged at most
/// once a minute.
struct RepeatedEventCounter: Sendable {
    private var count = 0
    private var isReportedFrom = MonotonicInstant(sinceBoot: .zero)

    /// Returns the number of events since they were last logged; nil if it is
    /// too early to log them.
    mutating func happened(_ times: Int = 1, at now: MonotonicInstant) -> Int? {
        count += times
        guard now >= isReportedFrom else { return nil }
        isReportedFrom = now.advanced(by: .seconds(60))
        defer { count = 0 }
        return count
    }
}
