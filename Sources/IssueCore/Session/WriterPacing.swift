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

/// When the log is copied into the database: once so much was added to it, and whenever there is no space for more.
package struct CheckpointPace: Equatable, Sendable {
    package enum Step: Equatable, Sendable {
        case rest
        /// What no reader still needs is copied, and nobody waited for.
        case copy
        /// Who reads is waited for, for a moment, so that the log begins anew.
        case restart
    }

    /// What is added to the log mostly before it is copied.
    private let pages: Int
    /// How long it was when it was copied last.
    private var copied = 0
    private var lacksSpace = false

    package init(pages: Int) {
        self.pages = pages
    }

    /// What is to be done with a log that holds so many pages.
    package func next(logPages: Int) -> Step {
        guard logPages > 0, lacksSpace || added(logPages) >= pages else { return .rest }
        // Who reads one snapshot after the other keeps it from its beginning for as long as he does.
        return lacksSpace || logPages >= 2 * pages ? .restart : .copy
    }

    /// It was copied, as far as that went, or that was tried.
    package mutating func copied(logPages: Int) {
        copied = logPages
        lacksSpace = false
    }

    /// There was no space for something: a log that is copied begins anew, where there is space already.
    package mutating func lackedSpace() { lacksSpace = true }

    private func added(_ logPages: Int) -> Int {
        // A log that has become shorter has begun anew.
        logPages < copied ? logPages : logPages - copied
    }
}

/// How large the write-ahead log (WAL) may become, and what must happen on the way there.
///
/// SQLite can restart the WAL only while no reader holds a snapshot of it, so a
/// long-running reader makes it grow by everything that is reported meanwhile.
package struct WALLimits: Equatable, Sendable {
    package enum Pressure: Int, Comparable, Sendable {
        case none
        /// No new snapshot may be taken until the WAL has begun anew.
        case closed
        /// Questions that hold a snapshot are interrupted.
        case interrupting
        /// Nothing is committed until the WAL has begun anew.
        case full

        package static func < (left: Pressure, right: Pressure) -> Bool { left.rawValue < right.rawValue }
    }

    /// The size that the WAL does not reach.
    package static let maxBytes: Int64 = 64 << 20
    /// The same while a backup holds its snapshot, which only operators can start.
    package static let maxBytesDuringBackup: Int64 = 512 << 20
    /// The length to which the WAL's file is truncated when it restarts.
    package static let typicalBytes: Int64 = 16 << 20

    /// A frame's header (sqlite.org/fileformat2.html, 4.1).
    private static let frameHeaderBytes: Int64 = 24

    private let frameBytes: Int64
    private let maxFrames: Int64

    package init(pageBytes: Int64, maxBytes: Int64 = Self.maxBytes) {
        precondition(pageBytes > 0, "A page has bytes")
        frameBytes = pageBytes + Self.frameHeaderBytes
        maxFrames = maxBytes / frameBytes
    }

    /// Returns what must happen while the WAL has this many frames.
    package func pressure(frames: Int) -> Pressure {
        let frames = Int64(frames)
        if frames >= maxFrames / 4 * 3 { return .full }
        if frames >= maxFrames / 2 { return .interrupting }
        return frames >= maxFrames / 8 * 3 ? .closed : .none
    }

    /// No transaction may begin while the WAL has as many frames.
    ///
    /// The last sixteenth is room for the transaction that begins just below.
    package var frameLimit: Int { Int(maxFrames / 16 * 15) }
}
