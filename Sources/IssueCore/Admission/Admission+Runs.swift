package import IssueProtocol

extension Admission {
    /// What follows for the next records of the same series from one that was held back; nothing where each has to be
    /// judged.
    package func run(after candidate: Candidate, heldFor reason: SuppressionReason, at now: LogInstant) -> HeldRun? {
        // Reserved shares are asked one by one.
        guard candidate.severity != .critical else { return nil }
        switch reason {
        case .groupRate:
            guard let group = groups.peek(candidate.group) else { return nil }
            return HeldRun(of: candidate, reason, until: group.bucket.whenNext(after: now), untilNext: false)
        case .applicationRate:
            guard let bucket = accounts.peek(candidate.account)?.buckets[.common] else { return nil }
            return HeldRun(of: candidate, reason, until: bucket.tokens.whenNext(after: now), untilNext: true)
        case .globalRate:
            guard let bucket = global[.common] else { return nil }
            let until = bucket.whenNext(for: candidate.user, after: now)
            return HeldRun(of: candidate, reason, until: until, untilNext: true)
        case .dailyBytes, .cardinality:
            return nil
        }
    }

    /// Counts what a run has held back.
    ///
    /// It comes before anything else that its group is asked, and before windows are closed.
    package mutating func count(_ run: HeldRun) {
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
