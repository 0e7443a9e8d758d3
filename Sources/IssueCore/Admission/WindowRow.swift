package import IssueProtocol

/// What was held back of a group for one reason and has not been told yet; this is also how it is stored.
package struct WindowRow: Equatable, Sendable {
    package struct Key: Hashable, Sendable {
        package var group: Int64
        package var reason: SuppressionReason

        package init(group: Int64, reason: SuppressionReason) {
            self.group = group
            self.reason = reason
        }
    }

    package static let mostSamples = 3

    package let key: Key
    package var account: Int64
    package var start: LogInstant
    package var due: LogInstant
    /// How long it lasts; the next one lasts twice as long, up to a limit.
    package var interval: Duration
    package var suppressedCount: Int64 = 0
    package var suppressedOccurrences: Int64 = 0
    package var forwardedCount: Int64 = 0
    /// The group's running total when something was last counted here.
    package var occurrences: Int64 = 0
    package var firstSeen: LogInstant
    package var lastSeen: LogInstant
    package var samples: [Int64] = []
    /// The first and the last record counted here; between them lies no record of its group and reason that another
    /// window counted. Nothing where none was.
    package var records: ClosedRange<Int64>?
    package var maxSeverity: Severity = .debug
    /// The number of the summary that will tell it.
    package var sequence: Int64
    /// Its group has left the table; it is told at the next flush and does not go on.
    package var isOrphan = false

    package init(
        key: Key, account: Int64, start: LogInstant, due: LogInstant, interval: Duration, sequence: Int64
    ) {
        self.key = key
        self.account = account
        self.start = start
        self.due = due
        self.interval = interval
        self.sequence = sequence
        firstSeen = start
        lastSeen = start
    }

    /// Whether something was held back in its second half, so that it has not come to rest.
    func isLively(at end: LogInstant) -> Bool {
        start.duration(to: lastSeen) * 2 >= start.duration(to: max(end, lastSeen))
    }

    /// Counts what a run has held back, of which each record lies behind all that was counted when the run began.
    mutating func count(_ run: HeldRun, occurrences total: Int64) {
        firstSeen = suppressedCount == 0 ? run.first : min(firstSeen, run.first)
        lastSeen = max(lastSeen, run.last)
        suppressedCount += run.records
        suppressedOccurrences = suppressedOccurrences.clampedSum(run.occurrences)
        occurrences = total
        let known = records ?? run.rows
        records = min(known.lowerBound, run.rows.lowerBound)...max(known.upperBound, run.rows.upperBound)
        maxSeverity = max(maxSeverity, run.severity)
        samples = Array((samples + run.samples).sorted().prefix(Self.mostSamples))
    }

    mutating func count(_ candidate: Candidate, occurrences total: Int64, at now: LogInstant) {
        if suppressedCount == 0 { firstSeen = now }
        lastSeen = max(lastSeen, now)
        suppressedCount += 1
        suppressedOccurrences = suppressedOccurrences.clampedSum(candidate.count)
        occurrences = total
        let first = records?.lowerBound ?? candidate.record
        records = min(first, candidate.record)...max(records?.upperBound ?? first, candidate.record)
        maxSeverity = max(maxSeverity, candidate.severity)
        if samples.count < Self.mostSamples { samples.append(candidate.record) }
    }
}
