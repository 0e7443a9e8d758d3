/// How much one commit takes: the most, unless somebody who reports little would wait for it.
///
/// A large commit costs the least for each record, and its length is what
/// everybody waits who reports meanwhile. Where only connections report that
/// fill one commit after the other, that harms nobody.
package struct CommitPace: Sendable {
    private let most: Int
    private let shared: Int
    private var counts: [UInt64: Int] = [:]
    /// The same of the interval before, and of the one before that.
    private var last: [UInt64: Int] = [:]
    private var beforeLast: [UInt64: Int] = [:]
    private var end: MonotonicInstant?
    private var sharedUntil: MonotonicInstant?

    /// How long is counted before it is judged.
    package static let interval: Duration = .seconds(1)
    /// How long whoever reports little is reckoned with.
    package static let memory: Duration = .seconds(60)
    /// Up to so much in an interval is little.
    private static let little = 1000

    /// - Parameters:
    ///   - most: What a commit takes where all who report do so without a pause.
    ///   - shared: What it takes where somebody does not.
    package init(most: Int, shared: Int) {
        self.most = most
        self.shared = shared
    }

    /// What the next commit takes.
    package func limit(at now: MonotonicInstant) -> Int {
        guard let sharedUntil, now < sharedUntil else { return most }
        return shared
    }

    /// A connection has reported something.
    package mutating func arrived(_ cost: Int, connection: UInt64, at now: MonotonicInstant) {
        if let end, now >= end { judge(at: now) }
        if end == nil { end = now.advanced(by: Self.interval) }
        counts[connection, default: 0] += cost
    }

    private mutating func judge(at now: MonotonicInstant) {
        // A flood is little, too, in the interval in which it begins or ends.
        let isShared = last.contains { connection, count in
            max(count, beforeLast[connection] ?? 0, counts[connection] ?? 0) <= Self.little
        }
        if isShared { sharedUntil = now.advanced(by: Self.memory) }
        (beforeLast, last, counts) = (last, counts, [:])
        end = nil
    }
}
