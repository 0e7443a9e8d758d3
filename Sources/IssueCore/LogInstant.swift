import IssueProtocol

/// A moment on the log's clock, which only moves forward and which no setting of the wall clock moves.
///
/// It is stored with each commit, so a decision that depends on time comes
/// out the same however late it is made, and again after a crash.
package struct LogInstant: InstantProtocol {
    package var milliseconds: Int64

    package init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    package func advanced(by duration: Duration) -> LogInstant {
        LogInstant(milliseconds: milliseconds.clampedSum(duration.wholeMilliseconds))
    }

    package func duration(to other: LogInstant) -> Duration {
        .milliseconds(other.milliseconds.clampedDifference(milliseconds))
    }

    package static func < (left: Self, right: Self) -> Bool {
        left.milliseconds < right.milliseconds
    }
}
