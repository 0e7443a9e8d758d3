package import IssueProtocol

extension Admission {
    /// Returns a run for the records that follow a suppressed record in the same series.
    ///
    /// - Parameters:
    ///   - candidate: The suppressed record.
    ///   - reason: The reason why it was suppressed.
    ///   - now: The log time of the record.
    /// - Returns: An empty run, or nil if each of the following records must be evaluated on its own.
    package func run(after candidate: AdmissionCandidate, heldFor reason: SuppressionReason, at now: RecordLogInstant)
        -> SuppressedRun?
    {
        // Reserved shares are checked record by record.
        if candidate.severity == .critical { return nil }
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

    /// Adds the records of a run to the counters and the open window of their group.
    ///
    /// Must be called before the group is used again and before windows are closed.
    package mutating func count(_ run: SuppressedRun) {
        guard run.records > 0 else { return }
        let candidate = AdmissionCandidate(
            record: run.rows.upperBound, group: run.group, account: run.account, user: run.user,
            severity: run.severity, isFirstOfGroup: false)
        var group = group(of: candidate, limits: limits(of: run.account), at: run.first)
        note(run, candidate, in: group)
        group.occurrences = group.occurrences.clampedSum(run.occurrences)
        group.lastRecord = max(group.lastRecord, run.rows.upperBound)
        group.suppressedBefore += run.records
        let key = open(.init(group: run.group, reason: run.reason), of: run.account, in: &group, at: run.first)
        windows[key]?.count(run, occurrences: group.occurrences)
        store(group, as: run.group)
    }
}

/// Consecutive records of one series that are suppressed without being evaluated one by one.
///
/// An empty bucket refuses every record until it has refilled, and a refused record takes no tokens from other buckets.
/// So the results are known in advance.
package struct SuppressedRun: Sendable {
    package let group: GroupID
    package let account: AccountID
    package let user: UInt32
    package let severity: IssueLevel
    package let reason: SuppressionReason
    /// The index of `reason` in `SuppressionReason.allCases`.
    package let reasonIndex: Int
    /// The log time from which records must be evaluated again.
    package let until: RecordLogInstant
    /// `true` if the run ends as soon as any record is admitted, because that could change the reason.
    package let endsWithAdmission: Bool

    package private(set) var records: Int64 = 0
    package private(set) var occurrences: Int64 = 0
    /// The log time of the first record.
    private(set) var first = RecordLogInstant(milliseconds: 0)
    private(set) var last = RecordLogInstant(milliseconds: 0)
    private(set) var rows: ClosedRange<RowID> = 0...0
    private(set) var samples: [RowID] = []

    init(of candidate: AdmissionCandidate, _ reason: SuppressionReason, until: RecordLogInstant, untilNext: Bool) {
        group = candidate.group
        account = candidate.account
        user = candidate.user
        severity = candidate.severity
        self.reason = reason
        reasonIndex = SuppressionReason.allCases.firstIndex(of: reason) ?? 0
        self.until = until
        endsWithAdmission = untilNext
    }

    /// Adds one record to the run.
    ///
    /// - Parameters:
    ///   - row: The record's row id.
    ///   - count: The number of its occurrences.
    ///   - now: The log time of the record.
    package mutating func add(_ row: RowID, count: Int64, at now: RecordLogInstant) {
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

    /// The same run with its counters reset.
    package var emptied: SuppressedRun {
        var run = self
        run.records = 0
        run.occurrences = 0
        run.samples.removeAll(keepingCapacity: true)
        return run
    }
}
