package import IssueProtocol

/// The log's clock: it gives each commit its time, and tells when the way from wall time to log time changes.
///
/// The store keeps a record's wall time, and an offset (`log = wall + offset`)
/// that holds for all records until the next one. The offset changes only at
/// a start and when the wall clock jumps. Within one offset the times given
/// out never go backwards.
package struct LogClock: Equatable, Sendable {
    /// What has to be stored for the clock to go on after a restart.
    package struct State: Equatable, Sendable {
        package var log: LogInstant
        package var wall: Timestamp

        package init(log: LogInstant, wall: Timestamp) {
            self.log = log
            self.wall = wall
        }

        /// What the wall time lacks to be log time.
        package var offset: Int64 { log.milliseconds.clampedDifference(wall.milliseconds) }
    }

    /// The time of one commit.
    package struct Reading: Equatable, Sendable {
        package var log: LogInstant
        /// The wall time to store, which may be held up a little so that it does not go backwards.
        package var wall: Timestamp
        /// Set when this commit and those after it have another offset than those before.
        package var newOffset: Int64?

        package init(log: LogInstant, wall: Timestamp, newOffset: Int64?) {
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
            return begin(at: LogInstant(milliseconds: wall.milliseconds), present, before: nil)
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
        let log = LogInstant(milliseconds: held.milliseconds.clampedSum(previous.offset))
        state = State(log: log, wall: held)
        self.last = max(last, monotonic)
        return Reading(log: log, wall: held, newOffset: nil)
    }

    /// What the log's clock shows, without a commit: for timers.
    package func now(wall: Timestamp, monotonic: MonotonicInstant) -> LogInstant {
        var copy = self
        return copy.committed(wall: wall, monotonic: monotonic).log
    }

    /// The wall time that belongs to a moment of the log under the present offset, for people to read.
    package func wallTime(of instant: LogInstant) -> Timestamp {
        Timestamp(milliseconds: instant.milliseconds.clampedDifference(state?.offset ?? 0))
    }

    private mutating func begin(at log: LogInstant, _ present: Moment, before previous: State?) -> Reading {
        let begun = State(log: log, wall: present.wall)
        state = begun
        anchor = present
        last = present.monotonic
        return Reading(
            log: log, wall: present.wall, newOffset: begun.offset == previous?.offset ? nil : begun.offset)
    }
}
