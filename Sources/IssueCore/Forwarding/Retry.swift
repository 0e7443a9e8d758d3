/// How long after one try the next one follows: any time up to a limit that doubles, so that many senders do not come
/// back at once.
///
/// Whoever asks for patience gets it. An outage is looked after every few
/// seconds, however long it lasts, since that costs one line and tells at once
/// that it is over.
package struct RetrySchedule: Equatable, Sendable {
    package static let base: Duration = .seconds(1)
    /// The longest time for whoever asks for patience.
    package static let cap: Duration = .seconds(300)
    /// The longest time from one try to the next in an outage: with the time that the next one takes, no more than five
    /// seconds.
    package static let outageCap: Duration = .milliseconds(4500)
    /// How long a try in an outage may hang.
    package static let probeLimit: Duration = .seconds(4)
    package static let floor: Duration = .milliseconds(250)
    /// The longest time that a destination may ask for.
    package static let longestRetryAfter: Duration = .seconds(3600)

    /// Failures in a row.
    package private(set) var attempts: Int

    package init(attempts: Int = 0) {
        self.attempts = max(0, attempts)
    }

    /// A request failed: says when the next one goes.
    ///
    /// - Parameter unit: A number drawn from 0 up to 1.
    package mutating func failed(
        _ failure: FailureClass, unit: Double, retryAfter: Duration? = nil, begun: MonotonicInstant,
        at now: MonotonicInstant
    ) -> MonotonicInstant {
        let unit = min(max(unit, 0), 1)
        let cap = failure.asksForPatience ? Self.cap : Self.outageCap
        let ceiling = attempts < 9 ? min(Self.base * (1 << attempts), cap) : cap
        attempts += 1
        let least = now.advanced(by: Self.floor)
        if let retryAfter, retryAfter > .zero {
            return now.advanced(by: max(ceiling * unit, min(retryAfter, Self.longestRetryAfter)))
        }
        guard !failure.asksForPatience else { return max(least, now.advanced(by: ceiling * unit)) }
        // Its own time counts, or one that hangs would put off the next. No sooner than half the time, once it is known
        // that this is no hiccup.
        let drawn = ceiling < cap ? ceiling * unit : ceiling * ((1 + unit) / 2)
        return max(least, begun.advanced(by: drawn))
    }

    package mutating func succeeded() {
        attempts = 0
    }
}

/// Measures how long a batch has been tried in vain; it stands still while the destination is paused.
struct RetryStopwatch: Equatable, Sendable {
    private var before: Duration = .zero
    private var runningSince: MonotonicInstant?

    init(spent: Duration = .zero) {
        before = spent
    }

    func spent(at now: MonotonicInstant) -> Duration {
        before + (runningSince.map { max(.zero, $0.duration(to: now)) } ?? .zero)
    }

    mutating func run(at now: MonotonicInstant) {
        runningSince = runningSince ?? now
    }

    mutating func stand(at now: MonotonicInstant) {
        before = spent(at: now)
        runningSince = nil
    }
}

/// How far the trying has come with a batch; stored, so that a restart neither forgets the failures nor starts
/// `RetryFor` anew.
package struct RetryProgress: Equatable, Sendable {
    /// Failures in a row.
    package var attempts: Int
    /// Of `RetryFor`, without the time in which the destination was paused.
    package var spent: Duration

    package init(attempts: Int = 0, spent: Duration = .zero) {
        self.attempts = attempts
        self.spent = spent
    }
}

/// In an outage sends the smallest batch, a single line, and lets the size grow again step by step after it.
package struct CircuitBreaker: Equatable, Sendable {
    private enum State: Equatable {
        case closed(failures: Int)
        case open
        case slowStart(lines: Int)
    }

    package static let threshold = 5
    package static let probeLines = 1
    /// As many go after the one that was taken.
    package static let firstLines = 10

    private var state: State

    package init(failures: Int = 0) {
        state = failures >= Self.threshold ? .open : .closed(failures: max(0, failures))
    }

    package var isOpen: Bool { state == .open }

    /// The most lines that the next request may have, if it is to be small.
    package var lineLimit: Int? {
        switch state {
        case .closed: nil
        case .open: Self.probeLines
        case .slowStart(let lines): lines
        }
    }

    /// - Parameter opens: Whether one such failure is enough, as a second one may take as long.
    package mutating func failed(opens: Bool = false) {
        switch state {
        case .closed(let failures):
            state = opens || failures + 1 >= Self.threshold ? .open : .closed(failures: failures + 1)
        case .open, .slowStart:
            state = .open
        }
    }

    /// - Parameter full: The size from which on a request needs no limit.
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
