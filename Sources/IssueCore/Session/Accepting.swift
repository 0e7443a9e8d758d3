/// Decides which users may connect, and which connection is closed for a new one.
///
/// An ordinary user may open a connection as long as they have fewer connections than are still free. Of the
/// connections that are not reserved, one user alone therefore gets at most half, and two users get a third each, so
/// some stay free for new users. A user with less than an equal share may be admitted even if too few connections are
/// free: a connection of the user with the most replaceable connections is then closed, if that user has at least two
/// more than the connecting user. Some connections are reserved for root, the daemon's own user and operators, who are
/// not limited to an equal share.
package struct ConnectionShares: Sendable {
    /// The limits on the number of connections.
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
        /// Like `daemonUser`, but without the limit per user. If no connection is free, a connection of the user with
        /// the most replaceable connections is closed, even if that user has only one.
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
    /// The number of each user's connections that may be closed for others.
    private var replaceable: [UInt32: Int] = [:]
    private var ordinaryCount = 0
    /// The number of connections that may use the reserve.
    private var privilegedCount = 0

    package init(limits: Limits) {
        self.limits = limits
    }

    /// The number of users with connections.
    package var userCount: Int { counts.count }

    /// Returns the number of connections of a user.
    package func count(of owner: UInt32) -> Int { counts[owner] ?? 0 }

    /// Returns what to do about a new connection. Does not count it.
    ///
    /// - Parameters:
    ///   - owner: The accountable user.
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

/// Decides when connections are accepted.
///
/// If the host lacks a resource, such as file descriptors, the daemon stops accepting for a second or until a
/// connection is closed. New connections wait in the kernel's backlog. A shortage is logged once. It is over when the
/// backlog is empty again.
package struct AcceptState: Equatable, Sendable {
    private enum State: Equatable, Sendable {
        case accepting
        /// Connections are accepted again, but the shortage may not be over.
        case retrying
        case paused(until: MonotonicInstant)
        case stopped
    }

    /// The time between a failure and the next attempt, unless a connection is closed earlier.
    package static let pause: Duration = .seconds(1)

    private var state = State.accepting

    package init() {}

    package var isStopped: Bool { state == .stopped }

    /// The end of the pause; nil if there is none.
    package var deadline: MonotonicInstant? {
        if case .paused(let until) = state { until } else { nil }
    }

    package enum ShortageAction: Equatable, Sendable {
        /// Stop watching the listening socket.
        case pause
        /// Stop watching the listening socket, and log the shortage.
        case pauseAndReport
        case none
    }

    /// Notes that a connection could not be accepted.
    package mutating func failed(at now: MonotonicInstant) -> ShortageAction {
        switch state {
        case .accepting:
            state = .paused(until: now.advanced(by: Self.pause))
            return .pauseAndReport
        case .retrying, .paused:
            state = .paused(until: now.advanced(by: Self.pause))
            return .pause
        case .stopped: return .none
        }
    }

    /// Notes that all waiting connections were accepted. Returns `true` if this ends a shortage, which the caller logs.
    package mutating func emptiedBacklog() -> Bool {
        guard state == .retrying else { return false }
        state = .accepting
        return true
    }

    /// Notes that a connection was closed, which frees a descriptor. Ends a pause.
    package mutating func freedDescriptor(at now: MonotonicInstant) {
        if case .paused = state { state = .paused(until: now) }
    }

    package enum ResumeAction: Equatable, Sendable {
        case none
        /// Watch the listening socket again, and accept the waiting connections.
        case resume
    }

    /// Returns what to do now, and ends the pause if its time is over.
    package mutating func deadlineReached(at now: MonotonicInstant) -> ResumeAction {
        guard case .paused(let until) = state, until <= now else { return .none }
        state = .retrying
        return .resume
    }

    /// Notes that the daemon is stopping.
    package mutating func stopped() { state = .stopped }
}

/// Limits the time for which connections are accepted before established connections have their turn.
///
/// A process that connects and disconnects all the time fills the backlog. Its connections cost little, so a turn
/// accepts many of them, and a connection queued after them is accepted soon. If a turn were limited by the number of
/// connections instead, that connection would wait for hundreds of turns.
package struct AcceptTurn: Sendable {
    /// The number of connections that a turn accepts even if this takes longer than `length`.
    package static let minConnections = 16
    /// The time after which a turn ends.
    package static let length: Duration = .milliseconds(2)

    private let end: MonotonicInstant
    private var count = 0

    /// - Parameter now: The time at which the turn begins.
    package init(from now: MonotonicInstant) {
        end = now.advanced(by: Self.length)
    }

    /// Counts the next connection, and returns `true` if it may be accepted in this turn.
    package mutating func mayAccept(at now: @autoclosure () -> MonotonicInstant) -> Bool {
        count += 1
        return count <= Self.minConnections || now() < end
    }
}

/// Counts a frequent event, so that it is logged at most once a minute.
package struct RepeatedEventCounter: Equatable, Sendable {
    private var count = 0
    /// The time from which events are logged again.
    private var nextReport = MonotonicInstant(sinceBoot: .zero)

    package init() {}

    /// Counts the event.
    ///
    /// - Parameters:
    ///   - times: The number of events.
    ///   - now: The current time.
    /// - Returns: The number of events since they were last logged; nil if it is too early to log them.
    package mutating func happened(_ times: Int = 1, at now: MonotonicInstant) -> Int? {
        count += times
        guard now >= nextReport else { return nil }
        nextReport = now.advanced(by: .seconds(60))
        defer { count = 0 }
        return count
    }
}
