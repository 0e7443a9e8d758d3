package import IssueProtocol

/// Decides which open issues are resolved because they have not occurred for a while.
///
/// Like retention, it uses log time and closed ranges: a wall clock that is set wrong resolves nothing.
package struct QuietPeriod: Equatable, Sendable {
    /// How long an issue must not have occurred; zero to resolve none.
    package let duration: Duration

    /// The minimum and maximum time between two checks.
    private static let intervals: ClosedRange<Duration> = .seconds(60)...(.seconds(3600))

    package init(_ duration: Duration) {
        self.duration = duration
    }

    /// The time between two checks; nil if issues are never resolved.
    package var interval: Duration? {
        duration > .zero ? min(max(duration / 10, Self.intervals.lowerBound), Self.intervals.upperBound) : nil
    }

    /// Returns the log time before which the last record of a quiet issue was received; nil if there are none.
    package func end(at now: RecordLogInstant) -> RecordLogInstant? {
        duration > .zero ? now.advanced(by: .zero - duration) : nil
    }

    /// The known activity of a series of an issue.
    package struct Activity: Equatable, Sendable {
        /// The last closed range with a record of the series; nil if there is none.
        package var lastRange: Int64?
        /// Whether the open range may have a record of the series.
        package var mayBeOpen: Bool

        package init(lastRange: Int64?, mayBeOpen: Bool) {
            self.lastRange = lastRange
            self.mayBeOpen = mayBeOpen
        }
    }

    /// Returns `true` if an issue is to be resolved.
    ///
    /// - Parameters:
    ///   - state: The state of the issue.
    ///   - activities: The known activities of its series.
    ///   - range: The newest closed range whose last record came before the end of the quiet period.
    package static func resolves(
        _ state: GroupState, _ activities: some Collection<Activity>, quietThrough range: Int64
    ) -> Bool {
        guard state == .open, !activities.isEmpty else { return false }
        return activities.allSatisfy { !$0.mayBeOpen && $0.lastRange.map { $0 <= range } ?? false }
    }
}
