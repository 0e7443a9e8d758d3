/// Decides which changes of a destination's state are logged.
///
/// The beginning of an outage, each change of its reason, and its end are logged once. Pauses, and outages that end by
/// themselves, are logged `maxEntries` times per `period` each, so that a destination that alternates does not flood the
/// log. What is left out is logged later if it lasts, with the number of changes. An end is logged if the beginning was.
package struct OutageLog: Equatable, Sendable {
    /// The logged part of a destination's state.
    package enum Condition: Hashable, Sendable {
        /// Records are accepted.
        case accepting
        /// Records are not accepted, and sent again after some time.
        case waiting(reason: String)
        /// Nothing is sent until someone removes the cause.
        case paused(reason: String)
    }

    /// One line of the log.
    package struct Entry: Equatable, Sendable {
        package var condition: Condition
        /// The reason for waiting that was logged before; nil if another condition was.
        package var previous: String?
        /// The number of changes since the last entry about waiting or a pause that were not logged.
        package var leftOut: Int
    }

    /// The maximum number of entries of each kind in `period`.
    package static let maxEntries = 10
    package static let period: Duration = .seconds(3600)
    /// The reason for waiting in what earlier versions stored.
    private static let unknown = ""

    /// The condition of the last entry.
    private var logged: Condition
    private var last: Condition
    private var leftOut = 0
    /// The times of the last entries about waiting and pauses.
    private var waits: [MonotonicInstant] = []
    private var pauses: [MonotonicInstant] = []

    /// - Parameter stored: The `stored` of an earlier log; nil if there is none.
    package init(stored: String? = nil) {
        if let stored {
            let parts = stored.split(separator: ": ", maxSplits: 1).map(String.init)
            let reason = parts.count == 2 ? parts[1] : Self.unknown
            logged = parts.first == "paused" ? .paused(reason: reason) : .waiting(reason: reason)
        } else {
            logged = .accepting
        }
        last = logged
    }

    /// The logged condition as a text that can be stored; nil if records are accepted.
    package var stored: String? {
        switch logged {
        case .accepting: nil
        case .waiting(let reason): "waiting: \(reason)"
        case .paused(let reason): "paused: \(reason)"
        }
    }

    /// Returns what to log for the present condition, or nil if nothing is.
    package mutating func entry(for condition: Condition, at now: MonotonicInstant) -> Entry? {
        if logged == .waiting(reason: Self.unknown), case .waiting = condition {
            (logged, last) = (condition, condition)
        }
        let isChange = condition != last
        last = condition
        guard condition != logged else { return leaveOut(isChange) }
        var previous: String?
        switch condition {
        case .accepting: break
        case .waiting:
            guard Self.take(&waits, at: now) else { return leaveOut(isChange) }
            if case .waiting(let reason) = logged { previous = reason }
        case .paused:
            guard Self.take(&pauses, at: now) else { return leaveOut(isChange) }
        }
        logged = condition
        let entry = Entry(condition: condition, previous: previous, leftOut: leftOut)
        if condition != .accepting { leftOut = 0 }
        return entry
    }

    private mutating func leaveOut(_ isChange: Bool) -> Entry? {
        if isChange { leftOut += 1 }
        return nil
    }

    /// Adds an entry. Returns `false` if there were too many in the period.
    private static func take(_ times: inout [MonotonicInstant], at now: MonotonicInstant) -> Bool {
        if times.count == maxEntries {
            guard times[0].duration(to: now) >= period else { return false }
            times.removeFirst()
        }
        times.append(now)
        return true
    }
}
