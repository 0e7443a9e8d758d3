/// The properties of a stored batch that the forwarding state machine needs.
package struct ForwardingBatch: Equatable, Sendable {
    package var id: BatchID
    /// The number of its lines.
    package var count: Int
    /// The size of all its lines in bytes, before compression.
    package var bytes: Int
    /// Whether it consists of priority records, which are sent before the backlog.
    package var isPriority: Bool
    /// Lines that may have arrived at the destination before the forwarder was started.
    package var unacknowledged: LineSet
    /// The accountable user of each line, nil for a summary or a correction; empty if the users are unknown.
    package var users: [UInt32?]

    package init(
        id: BatchID, count: Int, bytes: Int, isPriority: Bool = false, unacknowledged: LineSet = LineSet(),
        users: [UInt32?] = []
    ) {
        self.id = id
        self.count = count
        self.bytes = bytes
        self.isPriority = isPriority
        self.unacknowledged = unacknowledged
        self.users = users
    }
}

/// What a batch was built from.
package enum BatchKind: Int64, CaseIterable, Hashable, Sendable {
    /// Records that the destination's cursor reached, and possibly summaries and corrections.
    case walk
    /// Only summaries and corrections.
    case summaries
    /// Priority records, which are sent before the backlog.
    case priority
    /// Dead letters that an operator requeued, the unfinished lines of a batch, or two batches that were merged.
    case requeued
}

/// The maximum size of a batch.
package struct BatchLimit: Equatable, Sendable {
    /// The maximum number of records.
    package var records: Int
    /// The size in bytes at which a batch is full.
    package var bytes: Int
}

/// The outcome of the lines of one batch. Lines are numbered from 0 in the order in which they were stored.
package struct BatchOutcome: Equatable, Sendable {
    package struct Dead: Equatable, Sendable {
        /// The index of the line in the batch.
        package var line: Int
        package var reason: DeadLetterReason
    }

    /// The delivered lines, and lines that were not sent because their records were removed.
    package var delivered: [Range<Int>]
    package var dead: [Dead]
    /// Lines without an outcome yet. They continue as a batch of their own.
    package var unfinished = LineSet()
    /// The number of delivered lines that may have been delivered twice, without the lines of removed records.
    package var possibleDuplicates = 0
    /// Whether the delivered lines are known to have arrived, because no response left that open.
    package var isConfirmed = true

    /// Whether some of the lines may have been delivered twice.
    package var maybeDuplicate: Bool { possibleDuplicates > 0 }
    /// Whether every line was given up.
    package var isRejected: Bool { !dead.isEmpty && delivered.isEmpty && unfinished.isEmpty }
}

/// The progress of one batch.
struct BatchProgress: Sendable {
    let batch: ForwardingBatch
    var bisection: Bisection
    /// Measures how long the batch has been retried without success.
    var clock: RetryStopwatch
    /// The time at which lines were first refused after the last failure or pause; nil if none were.
    var bisectingSince: MonotonicInstant?
    /// The number of requests made since the batch was stored or loaded.
    var requests = 0
    /// Lines with a lower index count as sent before, although some may not have been sent yet.
    var sentUpTo = 0
    /// Lines that may have arrived although no response confirmed it.
    var unacknowledged: LineSet
    var isConfirmed = true
    /// Whether the batch is old and uses the backlog's share of the send rate.
    var isBacklog: Bool

    init(
        _ batch: ForwardingBatch, spent: Duration = .zero, isBacklog: Bool = false, unansweredUsers: Set<UInt32> = []
    ) {
        self.batch = batch
        self.isBacklog = isBacklog
        bisection = Bisection(count: batch.count, users: batch.users, unansweredUsers: unansweredUsers)
        clock = RetryStopwatch(spent: spent)
        unacknowledged = batch.unacknowledged
        sentUpTo = batch.unacknowledged.ranges.last?.upperBound ?? 0
    }

    /// Creates the progress of the batch that remains after some lines had an outcome.
    init(_ rest: ForwardingBatch, of current: BatchProgress) {
        let left = current.bisection.left
        var rest = rest
        rest.isPriority = current.batch.isPriority
        batch = rest
        bisection = current.bisection
        bisection.removeFinished()
        clock = current.clock
        bisectingSince = current.bisectingSince
        unacknowledged = current.unacknowledged.counted(among: left)
        isConfirmed = current.isConfirmed
        isBacklog = current.isBacklog
        sentUpTo = LineSet([0..<current.sentUpTo]).counted(among: left).count
    }

    /// Creates the progress of a batch that was merged from two others.
    init(
        _ merged: ForwardingBatch, of first: BatchProgress, and second: BatchProgress, order: MergedLines,
        at now: MonotonicInstant
    ) {
        batch = merged
        bisection = first.bisection
        bisection.merge(second.bisection, order: order)
        // With the longer time, lines of the newer batch would be given up long before they have been retried for
        // `RetryFor=`.
        clock = first.clock.spent(at: now) < second.clock.spent(at: now) ? first.clock : second.clock
        unacknowledged = order.lines(ofFirst: first.unacknowledged, ofSecond: second.unacknowledged)
        isConfirmed = first.isConfirmed && second.isConfirmed
        isBacklog = first.isBacklog && second.isBacklog
        sentUpTo = merged.count
    }

    /// The outcome so far.
    var outcome: BatchOutcome {
        var maybe = unacknowledged
        maybe.formUnion(bisection.repeated)
        let delivered = (bisection.delivered + bisection.skipped).sorted { $0.lowerBound < $1.lowerBound }
        return BatchOutcome(
            delivered: delivered,
            dead: (bisection.dead + bisection.finallyDead).sorted { $0.line < $1.line }, unfinished: bisection.left,
            possibleDuplicates: maybe.counted(among: LineSet(bisection.delivered)).count, isConfirmed: isConfirmed)
    }
}

/// The order of the lines of two batches that become one: the summaries and corrections of both, then the records of
/// both by their ids.
package struct MergedLines: Equatable, Sendable {
    /// The new index of each line of the first batch.
    private var first: [Int]
    /// The new index of each line of the second batch.
    private var second: [Int]

    /// - Parameters:
    ///   - summaries: The numbers of summaries and corrections in the first and in the second batch. Their lines
    ///     precede the records.
    ///   - firstRecords: The records of the first batch, in ascending order.
    ///   - secondRecords: The records of the second batch, in ascending order.
    package init(summaries: (first: Int, second: Int), _ firstRecords: [RowID], _ secondRecords: [RowID]) {
        first = Array(0..<summaries.first)
        second = Array(summaries.first..<summaries.first + summaries.second)
        var (taken, next) = (0, summaries.first + summaries.second)
        for record in firstRecords {
            while taken < secondRecords.count, secondRecords[taken] < record {
                second.append(next)
                (taken, next) = (taken + 1, next + 1)
            }
            first.append(next)
            next += 1
        }
        second += next..<next + secondRecords.count - taken
    }

    /// Returns the new indexes of lines of the two batches.
    package func lines(ofFirst first: LineSet = LineSet(), ofSecond second: LineSet = LineSet()) -> LineSet {
        let lines = first.ranges.flatMap { self.first[$0] } + second.ranges.flatMap { self.second[$0] }
        return LineSet(lines.map { $0..<$0 + 1 })
    }

    /// Returns the values of all lines of both batches in the new order; empty if the values of either batch are
    /// unknown.
    package func values<Value>(ofFirst first: [Value], ofSecond second: [Value]) -> [Value] {
        guard first.count == self.first.count, second.count == self.second.count else { return [] }
        let values = zip(self.first + self.second, first + second)
        return values.sorted { $0.0 < $1.0 }.map(\.1)
    }
}

/// A set of lines of one batch.
///
/// The destination's responses determine how many separate ranges there are, up to one for every second line.
/// Therefore, no method compares each range with every other.
package struct LineSet: Equatable, Sendable {
    /// In ascending order. No range is empty, and no two ranges are adjacent.
    package private(set) var ranges: [Range<Int>] = []

    package init() {}

    /// Creates a set from ranges in any order, which may overlap.
    package init(_ ranges: [Range<Int>]) {
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) { insert(range) }
    }

    /// Returns the lines below `count` that are not among `lines`, which must be in ascending order.
    package static func lines(missingFrom lines: [Int], count: Int) -> LineSet {
        var missing = LineSet()
        var start = 0
        for line in lines {
            if start < line { missing.insert(start..<line) }
            start = line + 1
        }
        if start < count { missing.insert(start..<count) }
        return missing
    }

    package var isEmpty: Bool { ranges.isEmpty }
    package var count: Int { ranges.reduce(0) { $0 + $1.count } }

    package func contains(_ line: Int) -> Bool {
        let index = ranges.firstPosition { $0.upperBound > line }
        return index < ranges.count && ranges[index].contains(line)
    }

    /// Returns `true` if the set contains all lines of a range.
    package func contains(_ lines: Range<Int>) -> Bool {
        let index = ranges.firstPosition { $0.upperBound >= lines.upperBound }
        return index < ranges.count && ranges[index].lowerBound <= lines.lowerBound
    }

    /// Adds a range. Appending after all other ranges takes constant time.
    package mutating func insert(_ lines: Range<Int>) {
        guard !lines.isEmpty else { return }
        guard let last = ranges.last, lines.lowerBound <= last.upperBound else {
            ranges.append(lines)
            return
        }
        let first = ranges.firstPosition { $0.upperBound >= lines.lowerBound }
        let end = ranges.firstPosition { $0.lowerBound > lines.upperBound }
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

    /// Returns the lines that are also in `left`, numbered by their index in `left`.
    package func counted(among left: LineSet) -> LineSet {
        var counted = LineSet()
        var before = 0
        var index = 0
        for range in left.ranges {
            while index < ranges.count, ranges[index].upperBound <= range.lowerBound { index += 1 }
            while index < ranges.count, ranges[index].lowerBound < range.upperBound {
                let common = range.clamped(to: ranges[index])
                let first = before + common.lowerBound - range.lowerBound
                counted.insert(first..<first + common.count)
                // The rest of this range may be in the next range of `left`.
                guard ranges[index].upperBound <= range.upperBound else { break }
                index += 1
            }
            before += range.count
        }
        return counted
    }
}

extension Array {
    /// Returns the index of the first element that fulfils a condition; the count if none does. All following elements
    /// must fulfil the condition too.
    func firstPosition(where isMet: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = low + (high - low) / 2
            if isMet(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
