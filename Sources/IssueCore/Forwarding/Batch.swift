/// A stored batch, as far as the forwarding machine has to know it.
package struct ForwardingBatch: Equatable, Sendable {
    package var id: Int64
    /// Its lines.
    package var count: Int
    /// Of all its lines, before compression.
    package var bytes: Int
    /// It goes before all others.
    package var isPriority: Bool
    /// Lines that were sent in the time before the start, and of which nobody knows whether they arrived.
    package var unacknowledged: LineSet

    package init(id: Int64, count: Int, bytes: Int, isPriority: Bool = false, unacknowledged: LineSet = LineSet()) {
        self.id = id
        self.count = count
        self.bytes = bytes
        self.isPriority = isPriority
        self.unacknowledged = unacknowledged
    }
}

/// Why the records of a batch are in it.
package enum BatchKind: Int64, CaseIterable, Hashable, Sendable {
    /// The cursor came by.
    case walk
    /// It carries summaries alone.
    case summaries
    /// They are critical or new, and go before the backlog.
    case priority
    /// They were dead letters, and somebody wants them to go once more.
    case requeued
}

/// The most that one batch may hold.
package struct BatchLimit: Equatable, Sendable {
    package var records: Int
    package var bytes: Int

    package init(records: Int, bytes: Int) {
        self.records = records
        self.bytes = bytes
    }
}

/// What became of the lines of one batch, counted from nothing in the order in which they were stored.
package struct BatchOutcome: Equatable, Sendable {
    package struct Dead: Equatable, Sendable {
        package var line: Int
        package var reason: DeadLetterReason

        package init(line: Int, reason: DeadLetterReason) {
            self.line = line
            self.reason = reason
        }
    }

    package var delivered: [Range<Int>]
    package var dead: [Dead]
    /// Lines that nothing has become of as yet; they go on as a batch of their own.
    package var left: LineSet
    /// Some of the lines may be at the destination twice.
    package var maybeDuplicate: Bool
    /// How many of the lines that were delivered those are.
    package var possibleDuplicates: Int
    /// The destination gives answers, so what is called delivered has arrived.
    package var isConfirmed: Bool
    /// Requests made for it since it was stored or found again.
    package var requests: Int

    package init(
        delivered: [Range<Int>], dead: [Dead], left: LineSet = LineSet(), maybeDuplicate: Bool,
        possibleDuplicates: Int = 0,
        isConfirmed: Bool = true, requests: Int
    ) {
        self.delivered = delivered
        self.dead = dead
        self.left = left
        self.maybeDuplicate = maybeDuplicate
        self.possibleDuplicates = possibleDuplicates
        self.isConfirmed = isConfirmed
        self.requests = requests
    }
}

/// How far one batch has come.
struct BatchProgress: Sendable {
    let batch: ForwardingBatch
    var bisection: Bisection
    /// How long it has been tried in vain.
    var clock: RetryStopwatch
    /// Since when lines of it have been refused without a pause between.
    var bisectingSince: MonotonicInstant?
    var requests = 0
    var requestsSinceBooked = 0
    /// The lines before this one were sent at least once.
    var sentUpTo = 0
    /// Lines that may have arrived without an answer that says so.
    var unacknowledged: LineSet
    var isConfirmed = true
    /// What is old, and takes its share of the send rate.
    var isBacklog: Bool

    init(_ batch: ForwardingBatch, spent: Duration = .zero, isBacklog: Bool = false) {
        self.batch = batch
        self.isBacklog = isBacklog
        bisection = Bisection(count: batch.count)
        clock = RetryStopwatch(spent: spent)
        unacknowledged = batch.unacknowledged
        sentUpTo = batch.unacknowledged.ranges.last?.upperBound ?? 0
    }

    /// What was left of one when some of its lines had come to their end, as a batch of its own.
    init(_ rest: ForwardingBatch, of course: BatchProgress) {
        let left = course.bisection.left
        batch = rest
        bisection = course.bisection
        bisection.forgetEnded()
        clock = course.clock
        bisectingSince = course.bisectingSince
        unacknowledged = course.unacknowledged.counted(among: left)
        isConfirmed = course.isConfirmed
        isBacklog = course.isBacklog
        sentUpTo = LineSet([0..<course.sentUpTo]).counted(among: left).count
    }

    /// What has become of it so far.
    var outcome: BatchOutcome {
        var maybe = unacknowledged
        maybe.formUnion(bisection.repeated)
        let delivered = bisection.delivered.sorted { $0.lowerBound < $1.lowerBound }
        let possibleDuplicates = maybe.counted(among: LineSet(delivered)).count
        return BatchOutcome(
            delivered: delivered, dead: bisection.dead.sorted { $0.line < $1.line }, left: bisection.left,
            maybeDuplicate: possibleDuplicates > 0, possibleDuplicates: possibleDuplicates, isConfirmed: isConfirmed,
            requests: requests)
    }
}

/// Some of the lines of one batch.
///
/// A destination's answer decides how many separate ranges there are, up to
/// one for every second line, so nothing here compares each range with each.
package struct LineSet: Equatable, Sendable {
    /// In ascending order, none of them empty, no two of them touching.
    package private(set) var ranges: [Range<Int>] = []

    package init() {}

    package init(_ ranges: [Range<Int>]) {
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) { insert(range) }
    }

    package var isEmpty: Bool { ranges.isEmpty }
    package var count: Int { ranges.reduce(0) { $0 + $1.count } }

    package func contains(_ line: Int) -> Bool {
        let place = firstPlace { $0.upperBound > line }
        return place < ranges.count && ranges[place].contains(line)
    }

    package func contains(_ lines: Range<Int>) -> Bool {
        let place = firstPlace { $0.upperBound >= lines.upperBound }
        return place < ranges.count && ranges[place].lowerBound <= lines.lowerBound
    }

    /// Lines after all others are appended without a look at these.
    package mutating func insert(_ lines: Range<Int>) {
        guard !lines.isEmpty else { return }
        guard let last = ranges.last, lines.lowerBound <= last.upperBound else {
            ranges.append(lines)
            return
        }
        let first = firstPlace { $0.upperBound >= lines.lowerBound }
        let end = firstPlace { $0.lowerBound > lines.upperBound }
        var joined = lines
        if first < end {
            let lower = min(lines.lowerBound, ranges[first].lowerBound)
            joined = lower..<max(lines.upperBound, ranges[end - 1].upperBound)
        }
        ranges.replaceSubrange(first..<end, with: CollectionOfOne(joined))
    }

    package mutating func formUnion(_ other: LineSet) {
        guard !other.isEmpty else { return }
        self = LineSet(ranges + other.ranges)
    }

    /// The same lines, counted among some of the batch's alone.
    package func counted(among left: LineSet) -> LineSet {
        var counted = LineSet()
        var before = 0
        var place = 0
        for range in left.ranges {
            while place < ranges.count, ranges[place].upperBound <= range.lowerBound { place += 1 }
            while place < ranges.count, ranges[place].lowerBound < range.upperBound {
                let common = range.clamped(to: ranges[place])
                let first = before + common.lowerBound - range.lowerBound
                counted.insert(first..<first + common.count)
                // The rest of a range that goes on is in the next one of `left`.
                guard ranges[place].upperBound <= range.upperBound else { break }
                place += 1
            }
            before += range.count
        }
        return counted
    }

    /// Where the first range stands that meets a condition which all ranges after it meet as well.
    private func firstPlace(where isMet: (Range<Int>) -> Bool) -> Int {
        var (low, high) = (0, ranges.count)
        while low < high {
            let middle = low + (high - low) / 2
            if isMet(ranges[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
