/// A memory limit for all users together, shared fairly.
///
/// A user may hold as much as is still free for others, so the share shrinks as more users are active. Each user always
/// has the guaranteed minimum.
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
/// A reply counts from the moment a query thread begins to make it: first with `maxReply`, then with its real size,
/// until the client has received it.
package struct ReplyBudget: Sendable {
    package enum Decision: Equatable, Sendable {
        case begin
        /// The query waits until its own user has received more of earlier replies.
        case waitForUser
        /// The query waits until other users have received more, or are disconnected.
        case waitForOthers
    }

    /// The bytes reserved for a reply whose size is not known: a page and its last entry.
    package static let maxReply = 2 << 20

    /// Bytes of the replies to all users.
    package let limit: Int
    package let limitPerUser: Int
    package private(set) var used = 0
    private var users: [UInt32: Int] = [:]

    package init(limit: Int, limitPerUser: Int) {
        self.limit = limit
        self.limitPerUser = limitPerUser
    }

    /// The limit for users who are not operators. The rest is reserved for root, the daemon's own user and operators.
    private var ordinaryLimit: Int { limit - max(Self.maxReply, limit / 8) }

    /// The maximum size of unread replies, in bytes, with which the shared query threads can still answer a user.
    package var maxUnread: Int { max(0, ordinaryLimit - 2 * Self.maxReply) }

    /// Decides whether a query of a user may be answered now.
    ///
    /// Within the limit per user, the replies of a user, with the next one, may take as much memory as is free, and at
    /// least that of two replies of maximum size.
    package func decision(user: UInt32, isPrivileged: Bool) -> Decision {
        let free = (isPrivileged ? limit : ordinaryLimit) - used
        guard free >= Self.maxReply else { return .waitForOthers }
        let own = (users[user] ?? 0) + Self.maxReply
        return own <= min(limitPerUser, max(free, 2 * Self.maxReply)) ? .begin : .waitForUser
    }

    /// Counts that a user's replies take more memory than before, or less.
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
    /// The time since which the peer has made no progress.
    package var since: MonotonicInstant

    package init(connection: UInt64, owner: UInt32, bytes: Int, since: MonotonicInstant) {
        self.connection = connection
        self.owner = owner
        self.bytes = bytes
        self.since = since
    }

    /// Returns the connections to close so that the others hold at most `target` bytes.
    ///
    /// Only users above an equal share lose connections, and those without progress for the longest time are closed
    /// first. A large message that is currently being sent therefore survives many partial messages.
    ///
    /// - Parameters:
    ///   - holdings: All reservations.
    ///   - target: The bytes that may remain reserved.
    ///   - guaranteed: A user who holds at most this many bytes loses nothing.
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
