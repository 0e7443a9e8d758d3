/// How long to wait after a failure: any time up to a limit that doubles, so that many senders do not come back at once.
package struct RetrySchedule: Equatable, Sendable {
    package static let base: Duration = .seconds(1)
    package static let cap: Duration = .seconds(300)
    package static let floor: Duration = .milliseconds(250)
    /// The longest time that a destination may ask for.
    package static let longestRetryAfter: Duration = .seconds(3600)

    /// Failures in a row.
    package private(set) var attempts: Int

    package init(attempts: Int = 0) {
        self.attempts = max(0, attempts)
    }

    /// A request failed: says how long to wait.
    ///
    /// - Parameter unit: A number drawn from 0 up to 1.
    package mutating func failed(unit: Double, retryAfter: Duration? = nil) -> Duration {
        let ceiling = attempts < 9 ? min(Self.base * (1 << attempts), Self.cap) : Self.cap
        attempts += 1
        let drawn = max(Self.floor, ceiling * min(max(unit, 0), 1))
        guard let retryAfter, retryAfter > .zero else { return drawn }
        return max(drawn, min(retryAfter, Self.longestRetryAfter))
    }

    package mutating func succeeded() {
        attempts = 0
    }
}
