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
