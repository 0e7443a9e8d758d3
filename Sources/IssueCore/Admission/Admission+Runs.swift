package import IssueProtocol

extension Admission {
    /// What follows for the next records of the same series from one that was held back; nothing where each has to be
    /// judged.
    package func run(after candidate: Candidate, heldFor reason: SuppressionReason, at now: RecordLogInstant)
        -> SuppressedRun?
    {
        // Reserved shares are asked one by one.
        guard candidate.severity != .critical else { return nil }
        switch reason {
        case .groupRate:
            guard let group = groups.peek(candidate.group) else { return nil }
            return SuppressedRun(of: candidate, reason, until: group.bucket.whenNext(after: now), untilNext: false)
        case .applicationRate:
            guard let bucket = accounts.peek(candidate.account)?.buckets[.common] else { return nil }
            return SuppressedRun(of: candidate, reason, until: bucket.tokens.whenNext(after: now), untilNext: true)
        case .globalRate:
            guard let bucket = global[.common] else { return nil }
            let until = bucket.whenNext(for: candidate.user, after: now)
            return SuppressedRun(of: candidate, reason, until: until, untilNext: true)
        case .dailyBytes, .cardinality:
            return nil
        }
    }

    /// Counts what a run has held back.
    ///
    /// It comes before anything else that its group is asked, and before windows are closed.
    package mutating func count(_ run: SuppressedRun) {
        guard run.records > 0 else { return }
        var group = group(
            of: Candidate(
                record: run.rows.upperBound, group: run.group, account: run.account, user: run.user,
                severity: run.severity, isFirstOfGroup: false),
            limits: limits(of: run.account), at: run.first)
        group.occurrences = group.occurrences.clampedSum(run.occurrences)
        group.lastRecord = max(group.lastRecord, run.rows.upperBound)
        group.suppressedBefore += run.records
        let key = open(.init(group: run.group, reason: run.reason), of: run.account, in: &group, at: run.first)
        windows[key]?.count(run, occurrences: group.occurrences)
        store(group, as: run.group)
    }
}

/// Records of one series that are held back one after the other, without each of them being judged.
///
/// A bucket that is empty stays so until it has filled, and what it refuses
/// takes nothing from the others: until then the judgement is known.
package struct SuppressedRun: Sendable {
    package let group: Int64
    package let account: Int64
    package let user: UInt32
    package let severity: Severity
    package let reason: SuppressionReason
    /// Of the reason, among all of them.
    package let place: Int
    /// From then on the next one has to be judged.
    package let until: RecordLogInstant
    /// Whether a record that is let through ends it, since that could change the reason.
    package let endsWithAdmission: Bool

    package private(set) var records: Int64 = 0
    package private(set) var occurrences: Int64 = 0
    private(set) var first = RecordLogInstant(milliseconds: 0)
    private(set) var last = RecordLogInstant(milliseconds: 0)
    private(set) var rows: ClosedRange<Int64> = 0...0
    private(set) var samples: [Int64] = []

    init(of candidate: Candidate, _ reason: SuppressionReason, until: RecordLogInstant, untilNext: Bool) {
        group = candidate.group
        account = candidate.account
        user = candidate.user
        severity = candidate.severity
        self.reason = reason
        place = SuppressionReason.allCases.firstIndex(of: reason) ?? 0
        self.until = until
        endsWithAdmission = untilNext
    }

    /// Counts one more.
    package mutating func add(_ row: Int64, count: Int64, at now: RecordLogInstant) {
        if records == 0 {
            first = now
            last = now
            rows = row...row
        }
        last = max(last, now)
        rows = rows.lowerBound...max(rows.upperBound, row)
        records += 1
        occurrences = occurrences.clampedSum(count)
        if samples.count < WindowRow.maxSamples { samples.append(row) }
    }

    /// Counts some more, in ascending order, of which the first and the last came at those times.
    package mutating func add(_ rows: ArraySlice<Int64>, occurrences: Int64, _ times: ClosedRange<RecordLogInstant>) {
        guard let lowest = rows.first, let highest = rows.last else { return }
        if records == 0 {
            first = times.lowerBound
            last = times.lowerBound
            self.rows = lowest...lowest
        }
        last = max(last, times.upperBound)
        self.rows = self.rows.lowerBound...max(self.rows.upperBound, highest)
        records += Int64(rows.count)
        self.occurrences = self.occurrences.clampedSum(occurrences)
        samples += rows.prefix(max(0, WindowRow.maxSamples - samples.count))
    }

    /// The same with nothing counted.
    package var emptied: SuppressedRun {
        var run = self
        run.records = 0
        run.occurrences = 0
        run.samples.removeAll(keepingCapacity: true)
        return run
    }
}
