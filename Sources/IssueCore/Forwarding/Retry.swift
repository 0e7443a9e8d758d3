/// The delay between one attempt and the next. It is random, so that many senders do not retry at the same time. Its
/// limit doubles with each failure, up to a maximum.
///
/// A destination that reports too many requests gets long delays. During an outage, however long it lasts, a probe is
/// sent every few seconds: it costs one line and soon shows the end of the outage.
package struct RetrySchedule: Equatable, Sendable {
    package static let base: Duration = .seconds(1)
    /// The maximum delay for a destination that reports too many requests.
    package static let cap: Duration = .seconds(300)
    /// The maximum time from the start of an attempt in an outage to the start of the next one. It is exceeded if the
    /// attempt takes too long, because of `floor`, or if the destination requests a longer delay.
    package static let outageCap: Duration = .milliseconds(4500)
    /// The shortened timeout of an attempt in an outage.
    package static let outageTimeout: Duration = .seconds(4)
    /// The minimum delay after a failure, unless the destination requested a delay.
    package static let floor: Duration = .milliseconds(250)
    /// The maximum delay that a destination may request. Longer ones are shortened to it.
    package static let maxRetryAfter: Duration = .seconds(3600)

    /// The number of consecutive failures.
    package private(set) var attempts: Int

    package init(attempts: Int = 0) {
        self.attempts = max(0, attempts)
    }

    /// Records a failed request and returns the time of the next attempt.
    ///
    /// - Parameters:
    ///   - failure: Why it failed.
    ///   - unit: A random number in 0..<1.
    ///   - retryAfter: The delay that the destination requested; nil if it requested none.
    ///   - begun: The start of the failed request.
    ///   - now: The current time.
    package mutating func failed(
        _ failure: FailureClass, unit: Double, retryAfter: Duration? = nil, begun: MonotonicInstant,
        at now: MonotonicInstant
    ) -> MonotonicInstant {
        let unit = min(max(unit, 0), 1)
        let cap = failure.isRateLimited ? Self.cap : Self.outageCap
        let ceiling = attempts < 9 ? min(Self.base * (1 << attempts), cap) : cap
        attempts += 1
        let least = now.advanced(by: Self.floor)
        if let retryAfter, retryAfter > .zero {
            return now.advanced(by: max(ceiling * unit, min(retryAfter, Self.maxRetryAfter)))
        }
        guard !failure.isRateLimited else { return max(least, now.advanced(by: ceiling * unit)) }
        // The delay starts with the failed request; otherwise a request that hangs would delay the next one. Once it is
        // clear that this is an outage, the delay is at least half the maximum.
        let drawn = ceiling < cap ? ceiling * unit : ceiling * ((1 + unit) / 2)
        return max(least, begun.advanced(by: drawn))
    }

    package mutating func succeeded() {
        attempts = 0
    }
}

/// The delay before forwarding resumes after a failure of the store. It doubles up to a minute, because a request whose
/// result can't be stored is made again each time.
package struct StoreRecovery: Equatable, Sendable {
    package static let base: Duration = .seconds(5)
    package static let cap: Duration = .seconds(60)

    private var next = Self.base

    package init() {}

    /// Returns the delay after a failure.
    ///
    /// - Parameter elapsed: How long forwarding ran before the failure. If it was longer than `cap`, the delay starts
    ///   at `base` again.
    package mutating func failed(after elapsed: Duration) -> Duration {
        if elapsed > Self.cap { next = Self.base }
        defer { next = min(next * 2, Self.cap) }
        return next
    }
}

/// Measures how long a batch has been retried without success. Stopped while the destination is paused.
struct RetryStopwatch: Equatable, Sendable {
    private var before: Duration = .zero
    private var runningSince: MonotonicInstant?

    init(spent: Duration = .zero) {
        before = spent
    }

    func spent(at now: MonotonicInstant) -> Duration {
        before + (runningSince.map { max(.zero, $0.duration(to: now)) } ?? .zero)
    }

    mutating func resume(at now: MonotonicInstant) {
        runningSince = runningSince ?? now
    }

    mutating func pause(at now: MonotonicInstant) {
        before = spent(at: now)
        runningSince = nil
    }
}

/// The retry state of a destination. It is stored, so that a restart resets neither the number of failures nor the time
/// that counts towards `RetryFor=`.
package struct RetryProgress: Equatable, Sendable {
    /// The number of consecutive failures; at least `CircuitBreaker.threshold` if the breaker is open.
    package var attempts: Int
    /// The part of `RetryFor=` that has elapsed, without the time in which the destination was paused. With two
    /// unfinished batches, the longer of their times.
    package var spent: Duration

    package init(attempts: Int = 0, spent: Duration = .zero) {
        self.attempts = attempts
        self.spent = spent
    }
}

/// Limits each request to a single line in an outage, and raises the limit step by step afterwards.
package struct CircuitBreaker: Equatable, Sendable {
    private enum State: Equatable {
        case closed(failures: Int)
        case open
        case slowStart(lines: Int)
    }

    /// The number of consecutive failures that open the breaker.
    package static let threshold = 5
    package static let probeLines = 1
    /// The line limit after the first successful request.
    package static let firstLines = 10

    private var state: State

    package init(failures: Int = 0) {
        state = failures >= Self.threshold ? .open : .closed(failures: max(0, failures))
    }

    package var isOpen: Bool { state == .open }

    /// The maximum number of lines of the next request; nil for no limit.
    package var lineLimit: Int? {
        switch state {
        case .closed: nil
        case .open: Self.probeLines
        case .slowStart(let lines): lines
        }
    }

    /// Records a failed request.
    ///
    /// - Parameter opens: `true` if a single failure of this kind opens the breaker, because another could take a
    ///   full timeout.
    package mutating func failed(opens: Bool = false) {
        switch state {
        case .closed(let failures):
            state = opens || failures + 1 >= Self.threshold ? .open : .closed(failures: failures + 1)
        case .open, .slowStart:
            state = .open
        }
    }

    /// Records a successful request.
    ///
    /// - Parameter full: The number of lines of a full request. A limit that reaches it is removed.
    package mutating func succeeded(full: Int) {
        switch state {
        case .closed:
            state = .closed(failures: 0)
        case .open:
            state = Self.firstLines < full ? .slowStart(lines: Self.firstLines) : .closed(failures: 0)
        case .slowStart(let lines):
            state = lines * 2 < full ? .slowStart(lines: lines * 2) : .closed(failures: 0)
        }
    }
}

/// Decides which changes of a destination's state are logged.
///
/// The beginning of an outage or pause, each change of its reason, and its end are logged once. At most `maxEntries`
/// entries about waiting or rejecting, and as many about pauses, are logged per `period`, so that a destination whose
/// state keeps changing does not flood the log. A condition that was left out is logged later if it lasts, with the
/// number of changes that were left out. If an outage or pause was not logged, its end is not logged either. An outage
/// or pause that lasts across a restart is logged once more after the restart.
package struct OutageLog: Equatable, Sendable {
    /// The logged part of a destination's state.
    package enum Condition: Hashable, Sendable {
        /// Records are accepted.
        case accepting
        /// Records are not accepted. They are sent again automatically.
        case waiting(reason: String)
        /// Only probes are sent until someone removes the cause.
        case paused(reason: String)
        /// The destination is reached, but rejects every line of a batch. Logged only after an outage or a pause.
        case rejecting
    }

    /// One line of the log.
    package struct Entry: Equatable, Sendable {
        package var condition: Condition
        /// If the reason for waiting has changed, the reason that was logged before; otherwise nil.
        package var previous: String?
        /// The number of changes that were not logged since the last entry other than `accepting`.
        package var leftOut: Int
        /// The duration of the outage or pause that has ended; nil if none has ended, or if it began before the start.
        package var duration: Duration?
        /// Whether an earlier run has logged the same condition.
        package var isRepeated = false
    }

    /// The maximum number of entries about waiting or rejecting, and of entries about pauses, in `period`.
    package static let maxEntries = 10
    package static let period: Duration = .seconds(3600)
    /// The reason if an earlier version stored the condition without one.
    private static let unknown = ""
    private static let rejecting = "rejecting"

    /// The condition of the last entry.
    private var logged: Condition
    /// The last condition, whether it was logged or left out.
    private var last: Condition
    private var leftOut = 0
    /// The beginning of the outage or pause; nil if there is none, or if it began before the start.
    private var since: MonotonicInstant?
    /// Whether an outage or pause was stored before the start, and `entry(for:at:)` has not been called since.
    private var isResumed: Bool
    /// The times of the last entries about waiting or rejecting, at most `maxEntries`.
    private var waits: [MonotonicInstant] = []
    /// The times of the last entries about pauses, at most `maxEntries`.
    private var pauses: [MonotonicInstant] = []

    /// - Parameter stored: The value of `stored` in the last run.
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

    /// The condition of the last entry as a text that can be stored; nil for `accepting`.
    package var stored: String? {
        switch logged {
        case .accepting: nil
        case .waiting(let reason): "waiting: \(reason)"
        case .paused(let reason): "paused: \(reason)"
        case .rejecting: Self.rejecting
        }
    }

    /// Why requests failed according to the last entry; nil if that is not about waiting. Unlike `pauseReason`, it
    /// stays set if a later condition was left out.
    package var failure: FailureClass? {
        if case .waiting(let reason) = logged { FailureClass(rawValue: reason) } else { nil }
    }

    /// Why the destination is paused according to the last entry; nil if that is not about a pause, or if a later
    /// condition was not logged.
    package var pauseReason: PauseReason? {
        guard last == logged else { return nil }
        return if case .paused(let reason) = logged { PauseReason(rawValue: reason) } else { nil }
    }

    /// Returns the entry to log for the current condition; nil if there is nothing to log.
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

    /// Counts an unlogged condition, provided that it is a change. Returns nil.
    private mutating func leaveOut(_ isChange: Bool) -> Entry? {
        if isChange { leftOut += 1 }
        return nil
    }

    /// Adds the time of an entry and returns `true`, or returns `false` if the period already has `maxEntries`.
    private static func take(_ times: inout [MonotonicInstant], at now: MonotonicInstant) -> Bool {
        if times.count == maxEntries {
            guard times[0].duration(to: now) >= period else { return false }
            times.removeFirst()
        }
        times.append(now)
        return true
    }
}
