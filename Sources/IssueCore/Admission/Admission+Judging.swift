import IssueProtocol

extension Admission {
    /// A record is reached by the cursor: says whether it goes.
    package mutating func judge(_ candidate: Candidate, at now: LogInstant) -> Judgement {
        var claims = candidate.wasExpress ? [] : Self.reserves(for: candidate)
        claims.append(.common)
        let (judgement, group) = decide(candidate, claims: claims, at: now)
        var counted = group
        switch judgement {
        case .admit: admit(candidate, in: &counted)
        case .suppress(let reason): suppress(candidate, for: reason, in: &counted, at: now)
        case .withhold: break
        }
        store(counted, as: candidate.group)
        return judgement
    }

    /// A record that is critical or new is to go before the backlog: says whether it may.
    ///
    /// Only the reserved shares are asked, so that the walk finds the common
    /// buckets as if nothing had gone before it. Where the answer is no,
    /// nothing is counted: the record goes back to the walk (`wasExpress`),
    /// which decides.
    package mutating func judgeExpress(_ candidate: Candidate, at now: LogInstant) -> Judgement? {
        let (judgement, group) = decide(candidate, claims: Self.reserves(for: candidate), at: now)
        var counted = group
        switch judgement {
        case .suppress:
            return nil
        case .admit:
            admit(candidate, in: &counted)
            store(counted, as: candidate.group)
            return judgement
        case .withhold:
            store(counted, as: candidate.group)
            return judgement
        }
    }

    private static func reserves(for candidate: Candidate) -> [BucketRole] {
        switch (candidate.severity == .critical, candidate.isFirstOfGroup) {
        case (true, true): [.critical, .novelty]
        case (true, false): [.critical]
        case (false, true): [.novelty]
        case (false, false): []
        }
    }

    /// Looks at all limits, then takes from all.
    private mutating func decide(
        _ candidate: Candidate, claims: [BucketRole], at now: LogInstant
    ) -> (Judgement, Group) {
        if !accounts.contains(candidate.account) {
            adopt(account: candidate.account, limits: settings.ofAnyApplication)
        }
        let limits = limits(of: candidate.account)
        var group = group(of: candidate, limits: limits, at: now)
        group.occurrences = group.occurrences.clampedSum(candidate.count)
        group.lastRecord = max(group.lastRecord, candidate.record)

        guard candidate.isReportable, !candidate.isMuted else { return (.withhold, group) }
        guard candidate.isFirstOfGroup || group.bucket.has(at: now) else { return (.suppress(.groupRate), group) }
        guard let fromAccount = accounts.peek(candidate.account)?.buckets.source(for: claims, at: now) else {
            return (.suppress(.applicationRate), group)
        }
        guard let fromGlobal = global.source(for: claims, of: candidate.user, at: now) else {
            return (.suppress(.globalRate), group)
        }
        guard allowsBytes(for: candidate) else { return (.suppress(.dailyBytes), group) }

        if !candidate.isFirstOfGroup { group.bucket.take(at: now) }
        _ = accounts.update(candidate.account) { $0.buckets.take(from: fromAccount, at: now) }
        global.take(from: fromGlobal, of: candidate.user, at: now)
        unsaved.buckets.insert(.init(account: candidate.account, role: fromAccount))
        unsaved.buckets.insert(.init(account: nil, role: fromGlobal))
        return (.admit(suppressedBefore: group.suppressedBefore, occurrences: group.occurrences), group)
    }

    private func allowsBytes(for candidate: Candidate) -> Bool {
        switch dailyBytes.state(of: candidate.user) {
        case .plenty: true
        case .scarce: candidate.isFirstOfGroup || candidate.severity >= .error
        case .critical: candidate.severity == .critical
        case .spent: false
        }
    }

    private mutating func admit(_ candidate: Candidate, in group: inout Group) {
        group.suppressedBefore = 0
        guard group.openWindows > 0 else { return }
        for reason in SuppressionReason.allCases {
            let key = WindowRow.Key(group: candidate.group, reason: reason)
            guard windows[key] != nil else { continue }
            windows[key]?.forwardedCount += 1
            unsaved.windows.insert(key)
        }
    }

    private mutating func suppress(
        _ candidate: Candidate, for reason: SuppressionReason, in group: inout Group, at now: LogInstant
    ) {
        group.suppressedBefore += 1
        let key = open(.init(group: candidate.group, reason: reason), of: candidate.account, in: &group, at: now)
        windows[key]?.count(candidate, occurrences: group.occurrences, at: now)
    }

    /// A window in which is counted, which begins now where there is none.
    mutating func open(
        _ key: WindowRow.Key, of account: Int64, in group: inout Group, at now: LogInstant
    ) -> WindowRow.Key {
        if windows[key] == nil {
            let number = (group.sequences[key.reason] ?? 0) + 1
            group.sequences[key.reason] = number
            group.openWindows += 1
            let interval = firstInterval
            let window = WindowRow(
                key: key, account: account, start: now, due: now.advanced(by: interval),
                interval: interval, sequence: number)
            windows[key] = window
            earliestDue = min(earliestDue ?? window.due, window.due)
        }
        unsaved.windows.insert(key)
        unsaved.closedWindows.remove(key)
        return key
    }

    mutating func store(_ group: Group, as id: Int64) {
        var changed = group
        if !changed.isChanged {
            changed.isChanged = true
            unsaved.groups.append(id)
        }
        put(changed, for: id)
    }

    /// At least a second, so that no setting makes summaries without end.
    var firstInterval: Duration { max(settings.summaryInterval, .seconds(1)) }
    var lastInterval: Duration { max(settings.summaryIntervalMax, firstInterval) }
}
