import IssueCore
import IssueProtocol
import IssueStore
import UnixIO

extension SocketLoop {
    /// Reads available bytes and begins the calls in them.
    func read(_ connection: ClientConnection, isHungUp: Bool) {
        guard connection.state.mayReceive, connection.intake.frames.wantsBytes else { return watch(connection) }
        let maxBytes = maxReadBytes(of: connection, isHungUp: isHungUp)
        guard maxBytes > 0 else { return }
        switch receive(atMost: maxBytes, connection) {
        case .bytes(let count):
            connection.lastRead = (schedule.round, count)
            connection.user.load.read(count)
            process(connection)
        case .wouldBlock: settleReading(of: connection)
        case .end where !isHungUp:
            // The client has closed its sending side but still receives, so all calls are answered.
            drain(connection)
        case .end, .failed:
            // The client receives no replies, but the reports that were read are stored.
            settleReading(of: connection)
            close(connection)
        }
    }

    private func receive(atMost maxBytes: Int, _ connection: ClientConnection) -> IOResult {
        let ownRoom = connection.intake.frames.ownRoom
        if ownRoom == 0 { connection.intake.frames.borrow(&readBuffer) }
        var result = IOResult.wouldBlock
        connection.intake.frames.receive(atMost: ownRoom == 0 ? maxBytes : min(maxBytes, ownRoom)) { buffer, room in
            result = connection.descriptor.attemptRead(into: &buffer, at: room.lowerBound, atMost: room.count)
            if case .bytes(let count) = result { return count }
            return 0
        }
        return result
    }

    /// Begins the received calls, as far as the limits allow.
    func process(_ connection: ClientConnection) {
        while connection.state.isOpen, mayBegin(connection), readCalls(of: connection) {}
        connection.intake.submit(of: connection.process, handlers.submit)
        if let error = connection.intake.keepPartialMessage(
            maxQueryBytes: service.limits.queryMessageBytes, at: Clock.monotonic)
        {
            end(connection, with: error)
        }
        settleReading(of: connection)
        watch(connection)
        relieveMemory()
    }

    /// Begins a run of received calls.
    ///
    /// - Returns: `true` if there may be more.
    private func readCalls(of connection: ClientConnection) -> Bool {
        let room = connection.user.load.room(
            unanswered: connection.bytes.inFlight, within: allowance(of: connection.user))
        var counts = ConnectionIntake.Counts()
        let stop = connection.intake.readCalls(
            with: &reader, upTo: room, maxQueryBytes: service.limits.queryMessageBytes, &counts)
        service.statusRegistry.counted(rejected: counts.rejectedRecords, duplicates: 0)
        if let redactions = reader.takeRedactions() { service.statusRegistry.counted(redactions) }
        if counts.reports > 0 { changed(inFlight: counts.bytes, of: connection) }
        if counts.refusedRecords > 0 {
            service.statusRegistry.countedRefusal(records: counts.refusedRecords, isLackOfResources: false)
            queueSending(to: connection)
        }
        if case .noMessage = stop, counts.reports == 0, counts.refusedRecords == 0 { return false }
        // A message was completed, so another connection of the user may be read above the limit.
        connection.user.load.completed(connection.id)
        switch stop {
        case .noMessage, .held: return false
        case .limit:
            if connection.intake.isFull { connection.intake.submit(of: connection.process, handlers.submit) }
            return true
        case .query(let message, let envelope):
            beginQuery(message, envelope, connection)
            return true
        case .invalid(let error):
            connection.intake.submit(of: connection.process, handlers.submit)
            end(connection, with: error)
            return false
        }
    }

    /// Sends an error after the pending replies, and then closes the connection.
    private func end(_ connection: ClientConnection, with error: CollectorError) {
        perform(connection.intake.end(with: error), connection)
    }
}

/// The load of each user, and throttling.
extension SocketLoop {
    /// Returns `true` if the next call of a connection may begin. Otherwise throttles the connection, which resumes
    /// when its user's load, or the memory of all users, has dropped.
    func mayBegin(_ connection: ClientConnection) -> Bool {
        if connection.user.load.mayBegin(
            unanswered: connection.bytes.inFlight, unread: connection.bytes.replies,
            within: allowance(of: connection.user))
        {
            return true
        }
        throttle(connection)
        return false
    }

    /// Returns the maximum number of bytes to read from a connection now. If it is 0, the connection is read in a later
    /// round, or is throttled.
    func maxReadBytes(of connection: ClientConnection, isHungUp: Bool) -> Int {
        // The peer has hung up, so only the bytes in the kernel's buffer are left.
        if isHungUp { return Self.chunk }
        let user = connection.user
        guard user.load.hasTurn(inRound: schedule.round, lastRead: connection.lastRead.bytes) else { return 0 }
        let room = user.load.maxReadBytes(
            connection.id, maxBytes: Self.chunk, underWay: connection.bytes.underWay,
            isInMessage: connection.intake.frames.hasPartialFrame, within: allowance(of: user))
        if room == 0 {
            throttle(connection)
            watch(connection)
        }
        return room
    }

    private func throttle(_ connection: ClientConnection) {
        connection.state.throttled()
        connection.user.load.wait(connection.id)
        memory.throttled(connection.user.uid, within: connection.user.load.limits)
    }

    /// Returns how many bytes a user's calls and replies may take now, given the memory used by all users.
    func allowance(of user: SocketUser) -> UserLoad.Allowance {
        memory.allowance(within: user.load.limits)
    }

    /// Releases memory that the received bytes do not need, and counts the received bytes and their memory.
    func settleReading(of connection: ClientConnection) {
        guard !connection.state.isClosed else { return }
        connection.intake.settle(&readBuffer)
        let bytes = connection.intake.receivedBytes
        count(received: bytes, memory: bytes > 0 ? max(bytes, connection.intake.frames.capacity) : 0, of: connection)
    }

    private func count(received bytes: Int, memory bytesHeld: Int, of connection: ClientConnection) {
        let change = connection.bytes.set(received: bytes, memory: bytesHeld)
        if change.memory != 0 { memory.changed(received: change.memory) }
        guard change.bytes != 0 else { return }
        if change.bytes < 0 { users.markCapacityFreed(connection.user) }
        connection.user.load.changed(received: change.bytes)
        changed(change.activity, of: connection.user)
    }

    private func changed(_ activity: ConnectionBytes.Activity, of user: SocketUser) {
        switch activity {
        case .began: user.load.began()
        case .ended: user.load.ended()
        case .unchanged: break
        }
    }

    /// Counts the bytes of replies that are ready but not sent. A running query counts as `queryReplyBytes`.
    func settleSending(of connection: ClientConnection) {
        guard !connection.state.isClosed else { return }
        let query = connection.state.hasJob ? service.limits.queryReplyBytes : 0
        count(
            replies: connection.intake.replies.unsentCount + query, unreadMemory: connection.intake.replies.memory,
            queryMemory: query, of: connection)
    }

    private func count(replies bytes: Int, unreadMemory: Int, queryMemory: Int, of connection: ClientConnection) {
        let (change, unread) = connection.bytes.set(
            replies: bytes, unreadMemory: unreadMemory, queryMemory: queryMemory)
        if unread != 0 {
            memory.changed(unread: unread)
            handlers.repliesChanged(connection.user.uid, unread)
        }
        if change.memory != 0 { memory.changed(replies: change.memory) }
        guard change.bytes != 0 else { return }
        if change.bytes < 0 { users.markCapacityFreed(connection.user) }
        connection.user.load.changed(replies: change.bytes)
    }

    /// Counts the bytes of reports when they begin or are answered.
    func changed(inFlight difference: Int, of connection: ClientConnection) {
        changed(connection.bytes.changed(inFlight: difference), of: connection.user)
        connection.user.load.changed(unanswered: difference)
        memory.changed(calls: difference)
        if difference < 0 { users.markCapacityFreed(connection.user) }
    }

    /// Resumes throttled connections that may continue, because their user's load or the memory of all users has
    /// dropped.
    func resumeThrottled() {
        for uid in memory.takeResumableUsers() {
            if let user = users[uid] { users.markCapacityFreed(user) }
        }
        for user in users.takeFreedCapacity() {
            let woken = user.load.takeResumable(
                within: allowance(of: user),
                underWay: { connections[$0].map(Self.bytesWaitedFor) ?? 0 },
                unread: { connections[$0]?.bytes.replies ?? 0 })
            for id in woken {
                guard let connection = connections[id] else { continue }
                connection.state.resumed()
                process(connection)
                pollNews(of: connection)
            }
        }
    }

    /// Returns the number of bytes that count in the decision whether to resume a connection: its unanswered reports
    /// and received bytes. If a message is held, only the reports count, because the message must not wait for itself.
    private static func bytesWaitedFor(_ connection: ClientConnection) -> Int {
        connection.state.held == nil ? connection.bytes.underWay : connection.bytes.inFlight
    }

    // MARK: Memory pressure

    /// If received messages use too much memory, closes connections with partial messages. If replies and running
    /// queries use too much memory, closes connections whose clients do not read.
    func relieveMemory() {
        if let cut = memory.messageCut {
            cutOff(cut) { connection in connection.state.partialSince.map { ($0, connection.bytes.receivedMemory) } }
        }
        if let cut = memory.replyCut { cutOffReplies(cut) }
    }

    /// Closes connections whose clients do not read their replies.
    func cutOffReplies(_ cut: MemoryPressure.Cut) {
        cutOff(cut) { connection in connection.state.stalledSince.map { ($0, connection.intake.replies.memory) } }
    }

    /// Closes connections that hold much memory.
    ///
    /// - Parameters:
    ///   - cut: Chooses the connections.
    ///   - held: Returns when the connection's timeout began, and how many bytes the connection holds; nil if no
    ///     timeout is running.
    private func cutOff(_ cut: MemoryPressure.Cut, _ held: (ClientConnection) -> (MonotonicInstant, Int)?) {
        let holdings = connections.values.compactMap { connection in
            held(connection).map { since, bytes in
                MemoryReservation(connection: connection.id, owner: connection.user.uid, bytes: bytes, since: since)
            }
        }
        let chosen = cut.connections(of: holdings)
        guard !chosen.isEmpty else { return }
        if let count = memory.closed(chosen.count, at: Clock.monotonic) {
            let owner = connections[chosen[0]]?.user.uid
            service.log.warning(
                .socketMemoryLimit,
                [
                    "closed": "\(count)", "held": cut.kind.rawValue, "uid": owner.map { "\($0)" } ?? "",
                    "limit": "\(cut.limit)",
                ])
        }
        for id in chosen {
            guard let connection = connections[id] else { continue }
            hangUp(connection)
        }
    }

    // MARK: Closed connections

    /// Subtracts the load of a closed connection, except for reports that are being stored.
    func depart(_ connection: ClientConnection) {
        let user = connection.user
        count(received: 0, memory: 0, of: connection)
        if connection.bytes.underWay > 0 { user.load.ended() }
        count(replies: 0, unreadMemory: 0, queryMemory: 0, of: connection)
        user.load.disconnected(connection.id)
        users.closed(
            connection.id, of: user, reports: connection.state.closed(), bytes: connection.bytes.inFlight)
    }

    /// Counts the answer to a report of a closed connection.
    func orphanAnswered(_ connection: UInt64) {
        let bytes = users.answeredOrphan(connection)
        if bytes > 0 { memory.changed(calls: -bytes) }
    }
}
