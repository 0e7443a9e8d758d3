import IssueProtocol

extension Admission {
    /// When the next summary is due, if something is held back: when its window ends and a summary's token is there.
    package var nextSummaryDue: LogInstant? {
        guard let earliestDue else { return nil }
        return isCrowded ? earliestDue : summaryBucket.whenNext(for: nil, after: earliestDue)
    }

    /// Log time has come this far: closes the windows that ended, each flush at its own time.
    package mutating func dueSummaries(at now: LogInstant) -> [SummaryDraft] {
        var drafts: [SummaryDraft] = []
        while let due = nextSummaryDue, due <= now { drafts += flush(at: due) }
        return drafts
    }

    /// Closes all windows: at a shutdown, and at a start for those that a crash left open.
    package mutating func closeAll(at now: LogInstant) -> [SummaryDraft] {
        let open = windows.values.filter { $0.suppressedCount > 0 }
        let plan = SummaryPlan(open, most: bounds.summaries, tokens: .max)
        let drafts = plan.single.map { single($0, at: now) } + plan.merged.map { merge($0, at: now) }
        summaryBucket.takeUp(to: Int64(drafts.count), at: now)
        unsaved.buckets.insert(.init(account: nil, role: summaryRole))
        for window in windows.values { close(window, wasTold: window.suppressedCount > 0) }
        earliestDue = nil
        return drafts
    }

    /// So many windows are open that they are told without regard to the limit, which would cost more memory than it
    /// is worth.
    private var isCrowded: Bool { windows.count > 2 * bounds.groups }

    private var summaryRole: BucketRole { global[.summary] == nil ? .common : .summary }

    private var summaryBucket: FairBucket {
        get { global[summaryRole] ?? FairBucket(.unlimited, at: LogInstant(milliseconds: 0)) }
        set { global[summaryRole] = newValue }
    }

    private mutating func flush(at now: LogInstant) -> [SummaryDraft] {
        let due = windows.values.filter { $0.due <= now }
        // It was quiet for a whole window: suppression is over.
        for window in due where window.suppressedCount == 0 { close(window, wasTold: false) }

        let plan = SummaryPlan(
            due.filter { $0.suppressedCount > 0 }, most: bounds.summaries,
            tokens: isCrowded ? .max : summaryBucket.tokens.tokens(at: now))
        var drafts: [SummaryDraft] = []
        for window in plan.single {
            drafts.append(single(window, at: now))
            renew(window, wasTold: true, at: now)
        }
        for windows in plan.merged {
            drafts.append(merge(windows, at: now))
            for window in windows { renew(window, wasTold: false, at: now) }
        }
        if !drafts.isEmpty {
            summaryBucket.takeUp(to: Int64(drafts.count), at: now)
            unsaved.buckets.insert(.init(account: nil, role: summaryRole))
        }
        earliestDue = windows.values.lazy.map(\.due).min()
        return drafts
    }

    private func single(_ window: WindowRow, at now: LogInstant) -> SummaryDraft {
        SummaryDraft(
            group: window.key.group, account: window.account, reason: window.key.reason, windowStart: window.start,
            windowEnd: max(now, window.lastSeen), suppressedCount: window.suppressedCount,
            suppressedOccurrences: window.suppressedOccurrences, forwardedCount: window.forwardedCount,
            occurrences: groups.peek(window.key.group)?.occurrences ?? window.occurrences,
            summarySequence: window.sequence, firstSeen: window.firstSeen, lastSeen: window.lastSeen,
            samples: window.samples, maxSeverity: window.maxSeverity,
            stillSuppressing: window.isLively(at: now), distinctGroups: 1,
            stretches: window.records.map {
                [SummaryStretch(group: window.key.group, reason: window.key.reason, records: $0)]
            } ?? [])
    }

    /// One summary for several windows of one application.
    private mutating func merge(_ windows: [WindowRow], at now: LogInstant) -> SummaryDraft {
        let parts = windows.map { single($0, at: now) }
        guard var sum = parts.first else {
            preconditionFailure("A summary was made of no window")
        }
        let groups = Dictionary(parts.compactMap { part in part.group.map { ($0, part) } }) { first, _ in first }
        sum.group = nil
        sum.summarySequence = nextSequence(of: sum.account)
        sum.distinctGroups = Int64(groups.count)
        sum.occurrences = groups.values.reduce(0) { $0.clampedSum($1.occurrences) }
        sum.samples = Array(parts.flatMap(\.samples).prefix(WindowRow.mostSamples))
        for part in parts.dropFirst() {
            sum.stretches += part.stretches
            sum.windowStart = min(sum.windowStart, part.windowStart)
            sum.windowEnd = max(sum.windowEnd, part.windowEnd)
            sum.suppressedCount += part.suppressedCount
            sum.suppressedOccurrences = sum.suppressedOccurrences.clampedSum(part.suppressedOccurrences)
            sum.forwardedCount += part.forwardedCount
            sum.firstSeen = min(sum.firstSeen, part.firstSeen)
            sum.lastSeen = max(sum.lastSeen, part.lastSeen)
            sum.maxSeverity = max(sum.maxSeverity, part.maxSeverity)
            sum.stillSuppressing = sum.stillSuppressing || part.stillSuppressing
        }
        return sum
    }

    private mutating func nextSequence(of account: Int64) -> Int64 {
        let next = (sequences.peek(account) ?? 0) + 1
        unsaved.sequences[account] = next
        _ = sequences.insert(next, for: account)
        return next
    }

    /// The window was told; the next one begins where it ended and lasts twice as long.
    private mutating func renew(_ window: WindowRow, wasTold: Bool, at now: LogInstant) {
        guard !window.isOrphan else { return close(window, wasTold: wasTold) }
        let interval = min(window.interval * 2, lastInterval)
        let next = WindowRow(
            key: window.key, account: window.account, start: now, due: now.advanced(by: interval),
            interval: interval, sequence: window.sequence + (wasTold ? 1 : 0))
        windows[window.key] = next
        unsaved.windows.insert(window.key)
        number(window.key, next.sequence)
    }

    /// - Parameter wasTold: Whether the window's number was used; otherwise it is given back.
    private mutating func close(_ window: WindowRow, wasTold: Bool) {
        windows[window.key] = nil
        unsaved.windows.remove(window.key)
        unsaved.closedWindows.insert(window.key)
        guard !window.isOrphan else { return }
        number(window.key, wasTold ? window.sequence : window.sequence - 1)
        _ = groups.alter(window.key.group) { $0.openWindows -= 1 }
    }

    private mutating func number(_ key: WindowRow.Key, _ sequence: Int64) {
        let wasChanged = groups.alter(key.group) { group in
            defer { group.isChanged = true }
            group.sequences[key.reason] = sequence
            return group.isChanged
        }
        if wasChanged == false { unsaved.groups.append(key.group) }
    }
}
