/// Decides which users may connect, and which connection is closed for a new one.
///
/// An ordinary user may have as many connections as are still free for others. One user therefore has at most half of
/// them, two users have a third each, and so on, and a new user always finds a free one. A user below an equal share is
/// admitted even if none is free: an idle connection of the user with the most connections is closed. A part is
/// reserved for root, the daemon's own user and operators.
package struct ConnectionShares: Sendable {
    package struct Limits: Equatable, Sendable {
        /// The maximum number of connections of all users together.
        package var total: Int
        /// The maximum number of connections of one user.
        package var perUser: Int

        package init(total: Int, perUser: Int) {
            self.total = total
            self.perUser = perUser
        }

        /// The number of connections reserved for root, the daemon's own user and operators.
        package var reserve: Int { min(total / 16, 256) }
    }

    /// The rights of a connection.
    package enum Standing: Hashable, Sendable {
        case ordinary
        /// May use the reserve.
        case `operator`
        /// May use the reserve, and is never closed for another connection.
        case daemonUser
        /// Like `daemonUser`, but without the limit per user.
        case root

        var usesReserve: Bool { self != .ordinary }
        var isReplaceable: Bool { self == .ordinary || self == .operator }
    }

    package enum Decision: Equatable, Sendable {
        case admit
        /// Close a connection of this user, then admit the new one.
        case replace(owner: UInt32)
        case refuse
    }

    package let limits: Limits
    /// The number of connections of each user.
    private var counts: [UInt32: Int] = [:]
    /// The number of connections of each user that may be closed for others.
    private var replaceable: [UInt32: Int] = [:]
    private var ordinaryCount = 0
    /// The number of connections that may use the reserve.
    private var privilegedCount = 0

    package init(limits: Limits) {
        self.limits = limits
    }

    package var userCount: Int { counts.count }

    /// Returns the number of connections of a user.
    package func count(of owner: UInt32) -> Int { counts[owner] ?? 0 }

    /// Returns what to do about a new connection.
    ///
    /// - Parameters:
    ///   - owner: The accountable user id.
    ///   - standing: The rights of the connection.
    package func decision(owner: UInt32, standing: Standing) -> Decision {
        let own = count(of: owner)
        guard standing == .root || own < limits.perUser else { return .refuse }
        if standing.usesReserve {
            if ordinaryCount + privilegedCount < limits.total { return .admit }
            guard let largest, standing == .root || largest.count > own + 1 else { return .refuse }
            return .replace(owner: largest.owner)
        }
        let common = limits.total - max(limits.reserve, privilegedCount)
        if own < common - ordinaryCount { return .admit }
        let users = counts.count + (own == 0 ? 1 : 0)
        guard own < max(1, common / users), let largest, largest.count > own + 1 else { return .refuse }
        return .replace(owner: largest.owner)
    }

    /// The user with the most connections that may be closed for others; nil if there is none.
    package var largest: (owner: UInt32, count: Int)? {
        replaceable.max { ($0.value, $0.key) < ($1.value, $1.key) }.map { ($0.key, $0.value) }
    }

    /// Counts a connection that was admitted.
    package mutating func opened(owner: UInt32, standing: Standing) {
        change(owner, standing, by: 1)
    }

    /// Removes a connection from the counts.
    package mutating func closed(owner: UInt32, standing: Standing) {
        change(owner, standing, by: -1)
    }

    private mutating func change(_ owner: UInt32, _ standing: Standing, by difference: Int) {
        Self.change(&counts, owner, by: difference)
        if standing.isReplaceable { Self.change(&replaceable, owner, by: difference) }
        if standing.usesReserve { privilegedCount += difference } else { ordinaryCount += difference }
    }

    private static func change(_ counts: inout [UInt32: Int], _ owner: UInt32, by difference: Int) {
        let count = (counts[owner] ?? 0) + difference
        precondition(count >= 0, "A connection was closed that had not been opened")
        counts[owner] = count > 0 ? count : nil
    }
}
