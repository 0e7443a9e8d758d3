/// Decides which changes of a destination's state are logged.
///
/// The beginning of an outage, each change of its reason, and its end are logged once. At most `maxEntries` outages or
/// changes of the reason, and as many pauses, are logged per `period`, so that a destination whose state keeps changing
/// does not flood the log. A condition that was left out is logged later if it lasts, with the number of changes that
/// were left out. The end of an outage or pause is logged only if its beginning was.
/// An outage that lasts over a start is logged once more after it.
package struct OutageLog: Equatable, Sendable {
    /// The logged part of a destination's state.
    package enum Condition: Hashable, Sendable {
        /// Records are accepted.
        case accepting
        /// Records are not accepted. They are sent again automatically.
        case waiting(reason: String)
        /// Nothing is sent until someone removes the cause.
        case paused(reason: String)
        /// The destination is reached, but rejects every record. This is no outage of its own.
        case rejecting
    }

    /// One line of the log.
    package struct Entry: Equatable, Sendable {
        package var condition: Condition
        /// The reason for waiting that was logged before; nil if another condition was.
        package var previous: String?
        /// The number of changes since the last entry about waiting or a pause that were not logged.
        package var leftOut: Int
        /// The duration of the outage that has ended; nil if it has not, or if it began before the start.
        package var duration: Duration?
        /// `true` if an earlier run has logged the same condition.
        package var isRepeated = false
    }

    /// The maximum number of entries about waiting, and of entries about pauses, in `period`.
    package static let maxEntries = 10
    package static let period: Duration = .seconds(3600)
    /// The reason for waiting if an earlier version has stored the condition, without a reason.
    private static let unknown = ""
    private static let rejecting = "rejecting"

    /// The condition of the last entry.
    private var logged: Condition
    /// The condition at the last call of `entry(for:at:)`.
    private var last: Condition
    private var leftOut = 0
    /// The beginning of the outage; nil if there is none, or if it began before the start.
    private var since: MonotonicInstant?
    /// `true` until the first condition after a start into an outage.
    private var isResumed: Bool
    /// The times of the last entries about waiting, at most `maxEntries`.
    private var waits: [MonotonicInstant] = []
    /// The times of the last entries about pauses, at most `maxEntries`.
    private var pauses: [MonotonicInstant] = []

    /// - Parameter stored: The `stored` of an earlier log; nil if there is none.
    package init(stored: String? = nil) {
        if let stored {
            let parts = stored.split(separator: ": ", maxSplits: 1).map(String.init)
            let reason = parts.count == 2 ? parts[1] : Self.unknown
            switch parts.first {
            case "paused": logged = .paused(reason: reason)
            case Self.rejecting: logged = .rejecting
            default: logged = .waiting(reason: reason)
            }
        } else {
            logged = .accepting
        }
        last = logged
        isResumed = stored != nil
    }

    /// The logged condition as a text that can be stored; nil if records are accepted.
    package var stored: String? {
        switch logged {
        case .accepting: nil
        case .waiting(let reason): "waiting: \(reason)"
        case .paused(let reason): "paused: \(reason)"
        case .rejecting: Self.rejecting
        }
    }

    /// Returns the entry to log for the current condition; nil if it is logged already or left out.
    package mutating func entry(for condition: Condition, at now: MonotonicInstant) -> Entry? {
        if condition == .rejecting, logged == .accepting { return nil }
        if logged == .waiting(reason: Self.unknown), case .waiting = condition {
            (logged, last) = (condition, condition)
        }
        let isChange = condition != last
        if isChange, last == .accepting { since = now }
        last = condition
        var duration: Duration?
        if condition == .accepting {
            duration = since.map { $0.duration(to: now) }
            since = nil
        }
        let isRepeated = isResumed && condition == logged
        isResumed = false
        guard isRepeated || condition != logged else { return leaveOut(isChange) }
        var previous: String?
        switch condition {
        case .accepting: break
        case .waiting:
            guard Self.take(&waits, at: now) else { return leaveOut(isChange) }
            if case .waiting(let reason) = logged, !isRepeated { previous = reason }
        case .rejecting:
            guard Self.take(&waits, at: now) else { return leaveOut(isChange) }
        case .paused:
            guard Self.take(&pauses, at: now) else { return leaveOut(isChange) }
        }
        logged = condition
        let entry = Entry(
            condition: condition, previous: previous, leftOut: leftOut, duration: duration, isRepeated: isRepeated)
        if condition != .accepting { leftOut = 0 }
        return entry
    }

    /// Counts a change that is not logged. Returns nil.
    private mutating func leaveOut(_ isChange: Bool) -> Entry? {
        if isChange { leftOut += 1 }
        return nil
    }

    /// Adds the time of an entry. Returns `false` if there are `maxEntries` in the period already.
    private static func take(_ times: inout [MonotonicInstant], at now: MonotonicInstant) -> Bool {
        if times.count == maxEntries {
            guard times[0].duration(to: now) >= period else { return false }
            times.removeFirst()
        }
        times.append(now)
        return true
    }
}
