/// What all users together may make the daemon hold of one kind, shared fairly.
///
/// A user may hold as much as is still free for others, so a user's share shrinks
/// as more users are active, and always the guaranteed minimum.
package struct MemoryBudget: Sendable {
    package let limit: Int
    /// What a user may hold whatever the others do.
    package let guaranteed: Int
    package private(set) var used = 0

    package init(limit: Int, guaranteed: Int) {
        self.limit = limit
        self.guaranteed = guaranteed
    }

    package mutating func changed(by difference: Int) {
        used += difference
    }

    /// How much one user may hold now.
    package var allowance: Int { max(guaranteed, limit - used) }
}

/// Something that the daemon holds for one connection, and that may be given up.
package struct MemoryReservation: Equatable, Sendable {
    package var connection: UInt64
    package var owner: UInt32
    package var bytes: Int
    /// Since when the peer has left it as it is.
    package var since: MonotonicInstant

    package init(connection: UInt64, owner: UInt32, bytes: Int, since: MonotonicInstant) {
        self.connection = connection
        self.owner = owner
        self.bytes = bytes
        self.since = since
    }

    /// Chooses which connections to close until the rest holds no more than a target.
    ///
    /// Only users above an equal share lose something, and of theirs what has
    /// stood still for longest. So a large message that is being sent right now
    /// survives many that somebody has left half-sent.
    ///
    /// - Parameter guaranteed: A user who holds no more than this loses nothing.
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
