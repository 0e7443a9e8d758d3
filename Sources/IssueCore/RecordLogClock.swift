package import IssueProtocol

/// The clock of the record log. It gives each commit its log time and its wall time.
///
/// The store keeps the wall time of each record, and a list of offsets (`log = wall + offset`). An offset applies to
/// the records from the commit at which it began up to the next offset. The offset changes only when the daemon starts
/// or the wall clock has drifted from the monotonic clock by more than `tolerance`. Wall times never go backwards while
/// the offset stays the same.
package struct RecordLogClock: Equatable, Sendable {
    /// The times of the last commit, from which the clock continues after a restart.
    package struct State: Equatable, Sendable {
        package var log: RecordLogInstant
        package var wall: IssueTimestamp

        package init(log: RecordLogInstant, wall: IssueTimestamp) {
            self.log = log
            self.wall = wall
        }

        /// The difference between log time and wall time, in milliseconds.
        package var offset: Int64 { log.milliseconds.clampedDifference(wall.millisecondsSince1970) }
    }

    /// The time of one commit.
    package struct Reading: Equatable, Sendable {
        package var log: RecordLogInstant
        /// The wall time to store. It may be slightly ahead of the wall clock, so that stored times do not go backwards
        /// while the offset stays the same.
        package var wall: IssueTimestamp
        /// The offset from this commit on, in milliseconds; nil if it did not change.
        package var newOffset: Int64?
    }

    /// The readings of both clocks of the host at the same time.
    private struct ClockPair: Equatable {
        var wall: IssueTimestamp
        var monotonic: MonotonicInstant
    }

    /// How far the wall clock may drift from the monotonic clock before it counts as having been set.
    package static let tolerance: Duration = .seconds(1)
    /// The longest downtime that is added to log time. Only the wall clock measures the downtime, and that clock may be
    /// wrong.
    package static let maxGap: Duration = .seconds(86_400)

    /// The times of the last commit; nil before the first commit to an empty record log.
    package private(set) var state: State?
    /// The clocks at the first commit of this run or, if the offset has changed since, at its last change. Each commit
    /// is compared with these and not with the last commit, so that many small steps of the wall clock are detected.
    private var anchor: ClockPair?
    /// The monotonic time of the last commit of this run.
    private var last: MonotonicInstant?

    /// - Parameter state: The times of the last commit before the restart; nil if the record log is empty.
    package init(restoring state: State? = nil) {
        self.state = state
    }

    /// Returns the time of a commit that is about to be made, and advances the clock to it.
    package mutating func committed(wall: IssueTimestamp, monotonic: MonotonicInstant) -> Reading {
        let present = ClockPair(wall: wall, monotonic: monotonic)
        guard let previous = state else {
            return begin(at: RecordLogInstant(milliseconds: wall.millisecondsSince1970), present, after: nil)
        }
        guard let anchor, let last else {
            let gap = wall.millisecondsSince1970.clampedDifference(previous.wall.millisecondsSince1970)
            let addedGap = min(max(gap, 0), Self.maxGap.wholeMilliseconds)
            return begin(at: previous.log.advanced(by: .milliseconds(addedGap)), present, after: previous)
        }

        let drift = anchor.wall.duration(to: wall) - anchor.monotonic.duration(to: monotonic)
        let elapsed = max(.zero, last.duration(to: monotonic))
        if drift > Self.tolerance || drift < .zero - Self.tolerance {
            return begin(at: previous.log.advanced(by: elapsed), present, after: previous)
        }

        let storedWall = max(wall, previous.wall)
        let log = RecordLogInstant(milliseconds: storedWall.millisecondsSince1970.clampedSum(previous.offset))
        state = State(log: log, wall: storedWall)
        self.last = max(last, monotonic)
        return Reading(log: log, wall: storedWall, newOffset: nil)
    }

    /// Returns the current log time without advancing the clock. For timers.
    package func now(wall: IssueTimestamp, monotonic: MonotonicInstant) -> RecordLogInstant {
        var copy = self
        return copy.committed(wall: wall, monotonic: monotonic).log
    }

    /// Starts a new offset, with which `log` is the log time of `present`.
    private mutating func begin(at log: RecordLogInstant, _ present: ClockPair, after previous: State?) -> Reading {
        let current = State(log: log, wall: present.wall)
        state = current
        anchor = present
        last = present.monotonic
        return Reading(
            log: log, wall: present.wall, newOffset: current.offset == previous?.offset ? nil : current.offset)
    }
}

/// A point in time on the record log's clock. The clock never goes backwards. Setting the wall clock changes log time
/// by at most a second or, while the daemon is not running, by at most a day.
///
/// The log time of each record can be computed from the store. A decision based on that time is therefore the same if
/// repeated after a crash. Limits that are not stored also use this type for times of the monotonic clock.
package struct RecordLogInstant: InstantProtocol {
    /// The milliseconds since an arbitrary origin.
    package var milliseconds: Int64

    /// - Parameter milliseconds: The milliseconds since the origin.
    package init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    package func advanced(by duration: Duration) -> RecordLogInstant {
        RecordLogInstant(milliseconds: milliseconds.clampedSum(duration.wholeMilliseconds))
    }

    package func duration(to other: RecordLogInstant) -> Duration {
        .milliseconds(other.milliseconds.clampedDifference(milliseconds))
    }

    package static func < (left: Self, right: Self) -> Bool {
        left.milliseconds < right.milliseconds
    }
}

/// A point in time on the host's monotonic clock, for timeouts and for limits that are not stored.
package struct MonotonicInstant: InstantProtocol {
    package var sinceBoot: Duration

    package init(sinceBoot: Duration) {
        self.sinceBoot = sinceBoot
    }

    package func advanced(by duration: Duration) -> MonotonicInstant {
        MonotonicInstant(sinceBoot: sinceBoot + duration)
    }

    package func duration(to other: MonotonicInstant) -> Duration {
        other.sinceBoot - sinceBoot
    }

    package static func < (left: Self, right: Self) -> Bool {
        left.sinceBoot < right.sinceBoot
    }
}
