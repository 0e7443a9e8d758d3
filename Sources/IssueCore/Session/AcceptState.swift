/// Decides when connections are accepted.
///
/// If the host lacks a resource, the daemon stops accepting for a moment, and new connections wait in the backlog. The
/// shortage is reported once until the backlog has been empty again.
package struct AcceptState: Equatable, Sendable {
    private enum State: Equatable, Sendable {
        case accepting
        /// Connections are accepted again, but the shortage may not be over.
        case retrying
        case paused(until: MonotonicInstant)
        case stopped
    }

    /// How long connections wait after a shortage, unless one is closed earlier.
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

    /// Notes that all waiting connections were accepted. Returns `true` if a shortage is over, which is logged.
    package mutating func emptiedBacklog() -> Bool {
        guard state == .retrying else { return false }
        state = .accepting
        return true
    }

    /// Notes that a connection was closed, which frees a descriptor.
    package mutating func freedDescriptor(at now: MonotonicInstant) {
        if case .paused = state { state = .paused(until: now) }
    }

    package enum ResumeAction: Equatable, Sendable {
        case none
        /// Watch the listening socket again, and accept what waits.
        case resume
    }

    /// Checks whether the pause is over.
    package mutating func deadlineReached(at now: MonotonicInstant) -> ResumeAction {
        guard case .paused(let until) = state, until <= now else { return .none }
        state = .retrying
        return .resume
    }

    /// Notes that the daemon is stopping.
    package mutating func stopped() { state = .stopped }
}

/// Counts an event that may happen very often, so that it is logged at most once a minute.
package struct RepeatedEventCounter: Equatable, Sendable {
    private var count = 0
    private var isReportedFrom = MonotonicInstant(sinceBoot: .zero)

    package init() {}

    /// Counts the event.
    ///
    /// - Parameters:
    ///   - times: How often it has happened.
    ///   - now: The current time.
    /// - Returns: The number of events since they were last logged; nil if it is too early to log them.
    package mutating func happened(_ times: Int = 1, at now: MonotonicInstant) -> Int? {
        count += times
        guard now >= isReportedFrom else { return nil }
        isReportedFrom = now.advanced(by: .seconds(60))
        defer { count = 0 }
        return count
    }
}
