/// Decides who may connect, and whose connection makes room for another one.
///
/// An ordinary user may have as many connections as are still free for others,
/// so one user has at most half of them, two have a third each, and so on:
/// somebody new always finds a free one. Whoever is below an equal share gets in
/// even then, in place of an idle connection of the user who has most.
/// A part is reserved for root, the daemon's own user and operators.
package struct ConnectionShares: Sendable {
    package struct Limits: Equatable, Sendable {
        /// Of all users.
        package var total: Int
        package var perUser: Int

        package init(total: Int, perUser: Int) {
            self.total = total
            self.perUser = perUser
        }

        /// What only root, the daemon's own user and operators may use.
        package var reserve: Int { min(total / 16, 256) }
    }

    /// What a connection may use.
    package enum Standing: Hashable, Sendable {
        case ordinary
        /// May use the reserve.
        case `operator`
        /// May use the reserve, and is never closed for somebody else.
        case daemonUser
        /// As `daemonUser`, without a limit for one user.
        case root

        var usesReserve: Bool { self != .ordinary }
        var makesRoom: Bool { self == .ordinary || self == .operator }
    }

    package enum Decision: Equatable, Sendable {
        case admit
        /// Admit it once a connection of this user is closed.
        case replace(owner: UInt32)
        case refuse
    }

    package let limits: Limits
    /// How many connections each user has.
    private var counts: [UInt32: Int] = [:]
    /// How many of them may be closed for others.
    private var replaceable: [UInt32: Int] = [:]
    private var ordinaryCount = 0
    /// Those that may use the reserve.
    private var privilegedCount = 0

    package init(limits: Limits) {
        self.limits = limits
    }

    package var userCount: Int { counts.count }

    package func count(of owner: UInt32) -> Int { counts[owner] ?? 0 }

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

    /// The user with most connections that may be closed for others.
    package var largest: (owner: UInt32, count: Int)? {
        replaceable.max { ($0.value, $0.key) < ($1.value, $1.key) }.map { ($0.key, $0.value) }
    }

    package mutating func opened(owner: UInt32, standing: Standing) {
        change(owner, standing, by: 1)
    }

    package mutating func closed(owner: UInt32, standing: Standing) {
        change(owner, standing, by: -1)
    }

    private mutating func change(_ owner: UInt32, _ standing: Standing, by difference: Int) {
        Self.change(&counts, owner, by: difference)
        if standing.makesRoom { Self.change(&replaceable, owner, by: difference) }
        if standing.usesReserve { privilegedCount += difference } else { ordinaryCount += difference }
    }

    private static func change(_ counts: inout [UInt32: Int], _ owner: UInt32, by difference: Int) {
        let count = (counts[owner] ?? 0) + difference
        precondition(count >= 0, "A connection was closed that had not been opened")
        counts[owner] = count > 0 ? count : nil
    }
}
