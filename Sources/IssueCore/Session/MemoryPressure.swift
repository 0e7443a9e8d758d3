/// Limits the memory that the calls and replies of all users take together.
///
/// While memory is short, users have a smaller allowance, and connections of users above their allowance wait. Partial
/// messages and unread replies could stay in memory forever. If they take too much, connections of users who hold more
/// than an equal share are closed.
package struct MemoryPressure: Sendable {
    /// The limits on memory, in bytes, and the timeout of an unread reply.
    package struct Limits: Equatable, Sendable {
        /// The limit for partial messages and for calls that were received but have not begun.
        package var received: Int
        /// The memory of unread replies above which queries must wait.
        package var unread: Int
        /// How long a client may leave a reply unread while queries wait for the reply's memory.
        package var stalledReplyTimeout: Duration

        package init(received: Int, unread: Int, stalledReplyTimeout: Duration) {
            self.received = received
            self.unread = unread
            self.stalledReplyTimeout = stalledReplyTimeout
        }
    }

    private let limits: Limits
    private var calls: MemoryBudget
    private var replies: MemoryBudget
    /// The part of `calls` for messages that were received but have not begun.
    private var received = 0
    /// The part of `replies` for replies that clients have not read yet.
    private var unread = 0
    /// When unread replies are checked next, because queries wait for their memory; nil if no check is planned.
    package private(set) var replyDeadline: MonotonicInstant?
    /// Users whose connections wait because memory is short, in the order in which they began to wait.
    private var throttledUsers: [UInt32] = []
    /// The same users as a set.
    private var throttledSet: Set<UInt32> = []
    /// Whether memory has been released since the last call of `takeResumableUsers()`.
    private var hasReleased = false
    /// Counts the closed connections for the log.
    private var cuts = RepeatedEventCounter()

    package init(calls: MemoryBudget, replies: MemoryBudget, limits: Limits) {
        self.calls = calls
        self.replies = replies
        self.limits = limits
    }

    // MARK: Changes

    /// Changes the memory of calls by a number of bytes, which is negative when calls are answered.
    package mutating func changed(calls difference: Int) {
        calls.changed(by: difference)
        if difference < 0 { hasReleased = true }
    }

    /// Changes the memory of received messages that have not begun, by a number of bytes.
    package mutating func changed(received difference: Int) {
        received += difference
        changed(calls: difference)
    }

    /// Changes the memory of replies and running queries by a number of bytes, which is negative when replies are read.
    package mutating func changed(replies difference: Int) {
        replies.changed(by: difference)
        if difference < 0 { hasReleased = true }
    }

    /// Changes the memory of unread replies by a number of bytes.
    package mutating func changed(unread difference: Int) { unread += difference }

    // MARK: Throttling

    /// Returns how much a user may have in flight, given the memory that all users take.
    package func allowance(within limits: UserLoad.Limits) -> UserLoad.Allowance {
        UserLoad.Allowance(
            calls: min(limits.calls, calls.allowance), replies: min(limits.replies, replies.allowance))
    }

    /// Notes that a connection of a user must wait. Does nothing unless memory is short.
    package mutating func throttled(_ user: UInt32, within limits: UserLoad.Limits) {
        guard calls.allowance < limits.calls || replies.allowance < limits.replies,
            throttledSet.insert(user).inserted
        else { return }
        throttledUsers.append(user)
    }

    /// Whether users who wait for memory may continue now.
    package var hasResumableUsers: Bool { hasReleased && !throttledUsers.isEmpty }

    /// Removes and returns the users who wait for memory; none if no memory has been released since the last call.
    package mutating func takeResumableUsers() -> [UInt32] {
        defer { hasReleased = false }
        guard hasResumableUsers else { return [] }
        defer { (throttledUsers, throttledSet) = ([], []) }
        return throttledUsers
    }

    // MARK: Closing connections

    /// A decision to close connections that hold too much memory of one kind.
    package struct Cut: Equatable, Sendable {
        package enum Kind: String, Sendable {
            /// The memory of partial messages.
            case message
            /// The memory of unread replies.
            case reply
        }

        package var kind: Kind
        /// The limit that is exceeded, in bytes.
        package var limit: Int
        /// Users who hold at most this many bytes lose no connection.
        var guaranteed = 0
        /// Only connections without progress since this time are closed; nil to close others too.
        var stalledSince: MonotonicInstant?

        /// Returns the connections to close.
        ///
        /// - Parameter holdings: The memory that each connection holds.
        package func connections(of holdings: [MemoryReservation]) -> [UInt64] {
            // Frees an eighth of the limit more than necessary, so that the next search is not needed at once.
            let chosen = MemoryReservation.excess(of: holdings, above: limit - limit / 8, guaranteed: guaranteed)
            guard let stalledSince else { return chosen }
            let stalled = Set(holdings.filter { $0.since <= stalledSince }.map(\.connection))
            return chosen.filter { stalled.contains($0) }
        }
    }

    /// The cut that reduces the memory of partial messages; nil if none is needed.
    package var messageCut: Cut? {
        received > limits.received ? Cut(kind: .message, limit: limits.received, guaranteed: calls.guaranteed) : nil
    }

    /// The cut that reduces the memory of unread replies; nil if none is needed.
    package var replyCut: Cut? {
        replies.used > replies.limit ? Cut(kind: .reply, limit: replies.limit, guaranteed: replies.guaranteed) : nil
    }

    /// Notes that queries wait because unread replies take too much memory.
    package mutating func lacksReplyRoom(at now: MonotonicInstant) { replyDeadline = replyDeadline ?? now }

    /// Returns the cut that frees memory for waiting queries, by closing connections whose clients do not read their
    /// replies; nil if none is needed or the check is not due.
    ///
    /// Sets `replyDeadline` for the next check if unread replies still take too much memory.
    package mutating func replyDeadlineReached(at now: MonotonicInstant) -> Cut? {
        guard let time = replyDeadline, time <= now else { return nil }
        replyDeadline = nil
        guard unread > limits.unread else { return nil }
        replyDeadline = now.advanced(by: limits.stalledReplyTimeout / 4)
        return Cut(
            kind: .reply, limit: limits.unread, stalledSince: now.advanced(by: .zero - limits.stalledReplyTimeout))
    }

    /// Counts closed connections. Returns the number since they were last logged; nil if it is too early to log them.
    package mutating func closed(_ count: Int, at now: MonotonicInstant) -> Int? {
        cuts.happened(count, at: now)
    }
}

/// The bytes that one connection has in flight, and the memory that they take.
package struct ConnectionBytes: Equatable, Sendable {
    /// The size of unanswered reports.
    package private(set) var inFlight = 0
    /// The size of calls that were received but have not begun, including partial messages.
    package private(set) var received = 0
    /// The size of unread replies and running queries.
    package private(set) var replies = 0
    /// The memory of the received bytes.
    package private(set) var receivedMemory = 0
    /// The memory of replies and running queries.
    package private(set) var replyMemory = 0
    /// The part of `replyMemory` that unread replies take.
    package private(set) var unreadMemory = 0

    package init() {}

    /// The bytes that count against the user's limit for calls.
    package var underWay: Int { inFlight + received }

    /// The difference that a change has made.
    package struct Change: Equatable, Sendable {
        package var bytes: Int
        package var memory: Int
        /// Whether the change has made the connection active or inactive.
        package var activity: Activity
    }

    package enum Activity: Equatable, Sendable {
        /// The connection has bytes of calls in flight (`underWay`) and had none before.
        case began
        /// The connection had bytes of calls in flight before and has none now.
        case ended
        case unchanged
    }

    /// Changes the size of unanswered reports by a number of bytes, which is negative when they are answered.
    package mutating func changed(inFlight difference: Int) -> Activity {
        let before = underWay
        inFlight += difference
        return activity(since: before)
    }

    /// Sets the size and memory of what was received but has not begun, in bytes.
    package mutating func set(received bytes: Int, memory: Int) -> Change {
        let before = (underWay: underWay, bytes: received, memory: receivedMemory)
        received = bytes
        receivedMemory = memory
        return Change(
            bytes: bytes - before.bytes, memory: memory - before.memory, activity: activity(since: before.underWay))
    }

    /// Sets the size of unread replies and running queries.
    ///
    /// - Parameters:
    ///   - bytes: The size of both.
    ///   - unreadMemory: The memory of unread replies.
    ///   - queryMemory: The memory of running queries.
    /// - Returns: How much the size and the memory of both have changed, and how much the memory of unread replies has.
    package mutating func set(
        replies bytes: Int, unreadMemory: Int, queryMemory: Int
    ) -> (change: Change, unreadMemory: Int) {
        let before = self
        replies = bytes
        self.unreadMemory = unreadMemory
        replyMemory = unreadMemory + queryMemory
        return (
            Change(bytes: replies - before.replies, memory: replyMemory - before.replyMemory, activity: .unchanged),
            unreadMemory - before.unreadMemory
        )
    }

    private func activity(since before: Int) -> Activity {
        switch (before > 0, underWay > 0) {
        case (false, true): .began
        case (true, false): .ended
        case (true, true), (false, false): .unchanged
        }
    }
}

/// A memory limit for all users together, shared fairly.
///
/// A user may hold as many bytes as are still free, so the allowance shrinks as others use more. It never falls below
/// the guaranteed minimum.
package struct MemoryBudget: Sendable {
    /// The limit for all users together, in bytes.
    package let limit: Int
    /// The bytes that each user may hold in any case.
    package let guaranteed: Int
    /// The bytes that all users hold together.
    package private(set) var used = 0

    package init(limit: Int, guaranteed: Int) {
        self.limit = limit
        self.guaranteed = guaranteed
    }

    /// Adds to the bytes in use.
    ///
    /// - Parameter difference: The change in bytes; negative when memory is freed.
    package mutating func changed(by difference: Int) {
        used += difference
    }

    /// The bytes that one user may hold now.
    package var allowance: Int { max(guaranteed, limit - used) }
}

/// Decides which queries may be answered now, so that all replies fit into memory.
///
/// A reply counts from the time at which a query thread begins to create it until it has been sent: first with
/// `maxReply`, then with its real size.
package struct ReplyBudget: Sendable {
    package enum Decision: Equatable, Sendable {
        case begin
        /// The query waits until its user has received more of their earlier replies.
        case waitForUser
        /// The query waits until some clients, of any user, have received more of their replies or are disconnected.
        case waitForOthers
    }

    /// The bytes reserved for a reply of unknown size: the size limit of a page, and as much for the last entry of the
    /// page, which may exceed that limit.
    package static let maxReply = 2 << 20

    /// The limit for the replies to all users together, in bytes.
    package let limit: Int
    /// The limit for the replies to one user, in bytes.
    package let limitPerUser: Int
    /// The size of all counted replies, in bytes.
    package private(set) var used = 0
    /// The size of the counted replies of each user, in bytes.
    private var users: [UInt32: Int] = [:]

    package init(limit: Int, limitPerUser: Int) {
        self.limit = limit
        self.limitPerUser = limitPerUser
    }

    /// The limit for ordinary users, in bytes. The rest is reserved for root, the daemon's own user and operators.
    private var ordinaryLimit: Int { limit - max(Self.maxReply, limit / 8) }

    /// The maximum size of unread replies, in bytes, with which the shared query threads can still answer queries.
    package var maxUnread: Int { max(0, ordinaryLimit - 2 * Self.maxReply) }

    /// Decides whether a query of a user may be answered now.
    ///
    /// A reply of maximum size must fit into the free memory. The replies of a user, including the next one, may take
    /// as much memory as is free, and at least the memory of two replies of maximum size. They never take more than the
    /// limit per user.
    ///
    /// - Parameters:
    ///   - user: The accountable user.
    ///   - isPrivileged: `true` for root, the daemon's own user and operators, who may use the reserve.
    package func decision(user: UInt32, isPrivileged: Bool) -> Decision {
        let free = (isPrivileged ? limit : ordinaryLimit) - used
        guard free >= Self.maxReply else { return .waitForOthers }
        let own = (users[user] ?? 0) + Self.maxReply
        return own <= min(limitPerUser, max(free, 2 * Self.maxReply)) ? .begin : .waitForUser
    }

    /// Changes the memory of a user's replies by a number of bytes, which is negative when replies were received.
    package mutating func changed(user: UInt32, by difference: Int) {
        let own = (users[user] ?? 0) + difference
        precondition(own >= 0, "A reply was released that was not counted")
        users[user] = own > 0 ? own : nil
        used += difference
    }
}

/// Memory that the daemon holds for one connection and that it can free by closing the connection.
package struct MemoryReservation: Equatable, Sendable {
    package var connection: UInt64
    package var owner: UInt32
    package var bytes: Int
    /// When the partial message began, or when the client stopped reading its replies.
    package var since: MonotonicInstant

    package init(connection: UInt64, owner: UInt32, bytes: Int, since: MonotonicInstant) {
        self.connection = connection
        self.owner = owner
        self.bytes = bytes
        self.since = since
    }

    /// Returns the connections to close so that the others hold at most `target` bytes, if possible.
    ///
    /// Only users above an equal share lose connections. The connection with the earliest `since` is closed first, so a
    /// message that has just begun is not interrupted because of many older stalled ones.
    ///
    /// - Parameters:
    ///   - holdings: All reservations.
    ///   - target: The bytes that may remain reserved in total.
    ///   - guaranteed: A user who holds at most this many bytes loses no connection.
    package static func excess(
        of holdings: [MemoryReservation], above target: Int, guaranteed: Int
    ) -> [UInt64] {
        var total = holdings.reduce(0) { $0 + $1.bytes }
        guard total > target else { return [] }
        var users: [UInt32: Int] = [:]
        for holding in holdings { users[holding.owner, default: 0] += holding.bytes }
        let share = max(guaranteed, target / users.count)
        var chosen: [UInt64] = []
        for holding in holdings.sorted(by: { ($0.since, $0.connection) < ($1.since, $1.connection) }) {
            guard total > target else { break }
            guard let own = users[holding.owner], own > share else { continue }
            users[holding.owner] = own - holding.bytes
            total -= holding.bytes
            chosen.append(holding.connection)
        }
        return chosen
    }
}
