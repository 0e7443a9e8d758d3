/// How far one batch has come.
struct BatchCourse: Sendable {
    let batch: ForwardingBatch
    var bisection: Bisection
    /// How long it has been tried in vain.
    var clock: RetryClock
    /// Since when lines of it have been refused without a pause between.
    var bisectingSince: MonotonicInstant?
    var requests = 0
    var requestsSinceBooked = 0
    /// The lines before this one were sent at least once.
    var sentUpTo = 0
    /// Lines that may have arrived without an answer that says so.
    var doubts: LineSet
    var isConfirmed = true
    /// What is old, and takes its share of the send rate.
    var isBacklog: Bool

    init(_ batch: ForwardingBatch, spent: Duration = .zero, isBacklog: Bool = false) {
        self.batch = batch
        self.isBacklog = isBacklog
        bisection = Bisection(count: batch.count)
        clock = RetryClock(spent: spent)
        doubts = batch.doubts
        sentUpTo = batch.doubts.ranges.last?.upperBound ?? 0
    }

    /// What was left of one when some of its lines had come to their end, as a batch of its own.
    init(_ rest: ForwardingBatch, of course: BatchCourse) {
        let left = course.bisection.left
        batch = rest
        bisection = course.bisection
        bisection.forgetEnded()
        clock = course.clock
        bisectingSince = course.bisectingSince
        doubts = course.doubts.counted(among: left)
        isConfirmed = course.isConfirmed
        isBacklog = course.isBacklog
        sentUpTo = LineSet([0..<course.sentUpTo]).counted(among: left).count
    }

    /// What has become of it so far.
    var outcome: BatchOutcome {
        var maybe = doubts
        maybe.formUnion(bisection.repeated)
        let delivered = bisection.delivered.sorted { $0.lowerBound < $1.lowerBound }
        let twofold = maybe.counted(among: LineSet(delivered)).count
        return BatchOutcome(
            delivered: delivered, dead: bisection.dead.sorted { $0.line < $1.line }, left: bisection.left,
            maybeDuplicate: twofold > 0, twofold: twofold, isConfirmed: isConfirmed, requests: requests)
    }
}
