package import IssueProtocol

/// The log's clock: it gives each commit its time, and tells when the way from wall time to log time changes.
///
/// The store keeps a record's wall time, and an offset (`log = wall + offset`)
/// that holds for all records until the next one. The offset changes only at
/// a start and when the wall clock jumps. Within one offset the times given
/// out never go backwards.
package struct RecordLogClock: Equatable, Sendable {
    /// What has to be stored for the clock to go on after a restart.
    package struct State: Equatable, Sendable {
        package var log: RecordLogInstant
        package var wall: Timestamp

        package init(log: RecordLogInstant, wall: Timestamp) {
            self.log = log
            self.wall = wall
        }

        /// What the wall time lacks to be log time.
        package var offset: Int64 { log.milliseconds.clampedDifference(wall.milliseconds) }
    }

    /// The time of one commit.
    package struct Reading: Equatable, Sendable {
        package var log: RecordLogInstant
        /// The wall time to store, which may be held up a little so that it does not go backwards.
        package var wall: Timestamp
        /// Set when this commit and those after it have another offset than those before.
        package var newOffset: Int64?

        package init(log: RecordLogInstant, wall: Timestamp, newOffset: Int64?) {
            self.log = log
            self.wall = wall
            self.newOffset = newOffset
        }
    }

    private struct Moment: Equatable {
        var wall: Timestamp
        var monotonic: MonotonicInstant
    }

    /// How far the wall clock may stray from the monotonic one before it counts as set.
    package static let tolerance: Duration = .seconds(1)
    /// The longest standstill that is believed, because across a restart there is only the wall clock to ask.
    package static let longestGap: Duration = .seconds(86_400)

    /// What to store; nothing before the first commit of all.
    package private(set) var state: State?
    /// Both clocks when the present offset began. Compared with these, and
    /// not with the last commit, many small steps are found out as well.
    private var anchor: Moment?
    private var last: MonotonicInstant?

    package init(restoring state: State? = nil) {
        self.state = state
    }

    /// A commit is about to be made: says when it is.
    package mutating func committed(wall: Timestamp, monotonic: MonotonicInstant) -> Reading {
        let present = Moment(wall: wall, monotonic: monotonic)
        guard let previous = state else {
            return begin(at: RecordLogInstant(milliseconds: wall.milliseconds), present, before: nil)
        }
        guard let anchor, let last else {
            let gap = wall.milliseconds.clampedDifference(previous.wall.milliseconds)
            let believed = min(max(gap, 0), Self.longestGap.wholeMilliseconds)
            return begin(at: previous.log.advanced(by: .milliseconds(believed)), present, before: previous)
        }

        let wallElapsed = Duration.milliseconds(wall.milliseconds.clampedDifference(anchor.wall.milliseconds))
        let drift = wallElapsed - anchor.monotonic.duration(to: monotonic)
        let elapsed = max(.zero, last.duration(to: monotonic))
        if drift > Self.tolerance || drift < .zero - Self.tolerance {
            return begin(at: previous.log.advanced(by: elapsed), present, before: previous)
        }

        let held = max(wall, previous.wall)
        let log = RecordLogInstant(milliseconds: held.milliseconds.clampedSum(previous.offset))
        state = State(log: log, wall: held)
        self.last = max(last, monotonic)
        return Reading(log: log, wall: held, newOffset: nil)
    }

    /// What the log's clock shows, without a commit: for timers.
    package func now(wall: Timestamp, monotonic: MonotonicInstant) -> RecordLogInstant {
        var copy = self
        return copy.committed(wall: wall, monotonic: monotonic).log
    }

    /// The wall time that belongs to a moment of the log under the present offset, for people to read.
    package func wallTime(of instant: RecordLogInstant) -> Timestamp {
        Timestamp(milliseconds: instant.milliseconds.clampedDifference(state?.offset ?? 0))
    }

    private mutating func begin(at log: RecordLogInstant, _ present: Moment, before previous: State?) -> Reading {
        let begun = State(log: log, wall: present.wall)
        state = begun
        anchor = present
        last = present.monotonic
        return Reading(
            log: log, wall: present.wall, newOffset: begun.offset == previous?.offset ? nil : begun.offset)
    }
}

/// A moment on the log's clock, which only moves forward and which no setting of the wall clock moves.
///
/// It is stored with each commit, so a decision that depends on time comes
/// out the same however late it is made, and again after a crash.
package struct RecordLogInstant: InstantProtocol {
    package var milliseconds: Int64

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

/// A moment on the machine's monotonic clock, by which everything is paced that has to do with the outside.
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

extension Int64 {
    /// The sum, or the nearest number there is.
    package func clampedSum(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        guard overflow else { return sum }
        return other < 0 ? .min : .max
    }

    /// The difference, or the nearest number there is.
    func clampedDifference(_ other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        guard overflow else { return difference }
        return other < 0 ? .max : .min
    }

    /// The product, or the nearest number there is.
    func clampedProduct(_ other: Int64) -> Int64 {
        let (product, overflow) = multipliedReportingOverflow(by: other)
        guard overflow else { return product }
        return (self < 0) == (other < 0) ? .max : .min
    }
}
