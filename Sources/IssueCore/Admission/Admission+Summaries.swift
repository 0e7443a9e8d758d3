package import IssueProtocol

extension Admission {
    /// The log time from which `dueSummaries` must be called: when a window has ended and, unless too many windows are
    /// open, a token for a summary is available. May be too early if a window was closed before its end. Nil only if no
    /// window is open.
    package var nextSummaryDue: RecordLogInstant? {
        guard let earliestDue else { return nil }
        return isCrowded ? earliestDue : summaryBucket.whenNext(for: nil, after: earliestDue)
    }

    /// Closes or renews the windows that have ended by the log time `now`, as far as the rate limit of summaries
    /// allows. Returns the summaries to store, in the order of their times.
    package mutating func dueSummaries(at now: RecordLogInstant) -> [SummaryDraft] {
        var drafts: [SummaryDraft] = []
        while let due = nextSummaryDue, due <= now { drafts += flush(at: due) }
        return drafts
    }

    /// Closes all windows at the log time `now`, regardless of the rate limit of summaries, and returns the summaries
    /// to store.
    ///
    /// Called when forwarding stops and, for the windows that a crash left open, when it starts.
    package mutating func closeAll(at now: RecordLogInstant) -> [SummaryDraft] {
        let open = windows.values.filter { $0.suppressedCount > 0 }
        let plan = SummaryPlan(open, maxCount: bounds.summaries, tokens: .max)
        let drafts =
            plan.single.map { makeSummary(of: $0, at: now) } + plan.merged.map { makeMergedSummary(of: $0, at: now) }
        // The caller computes `now` from the wall clock. If that clock has jumped, `now` may be days after the last
        // record. The bucket would store that time and would not be refilled before it.
        if let last = open.map(\.lastSeen).max() {
            summaryBucket.takeAvailable(upTo: Int64(drafts.count), at: min(now, last))
            unsaved.buckets.insert(.init(account: nil, role: summaryRole))
        }
        for window in windows.values { close(window, wasReported: window.suppressedCount > 0) }
        earliestDue = nil
        return drafts
    }

    /// Whether too many windows are open. The rate limit of summaries is then ignored, since waiting would use too much
    /// memory.
    private var isCrowded: Bool { windows.count > 2 * bounds.groups }

    private var summaryRole: BucketRole { global[.summary] == nil ? .common : .summary }

    private var summaryBucket: FairBucket {
        get { global[summaryRole] ?? FairBucket(.unlimited, at: RecordLogInstant(milliseconds: 0)) }
        set { global[summaryRole] = newValue }
    }

    /// Closes the ended windows without suppressed records. Summarises the other ended windows, as many as the rate
    /// limit of summaries allows, and renews or closes them.
    private mutating func flush(at now: RecordLogInstant) -> [SummaryDraft] {
        let due = windows.values.filter { $0.due <= now }
        // Suppression has ended if a whole window has no suppressed record.
        for window in due where window.suppressedCount == 0 { close(window, wasReported: false) }

        let plan = SummaryPlan(
            due.filter { $0.suppressedCount > 0 }, maxCount: bounds.summaries,
            tokens: isCrowded ? .max : summaryBucket.tokens.tokens(at: now))
        var drafts: [SummaryDraft] = []
        for window in plan.single {
            drafts.append(makeSummary(of: window, at: now))
            renew(window, wasReported: true, at: now)
        }
        for windows in plan.merged {
            drafts.append(makeMergedSummary(of: windows, at: now))
            for window in windows { renew(window, wasReported: false, at: now) }
        }
        if !drafts.isEmpty {
            summaryBucket.takeAvailable(upTo: Int64(drafts.count), at: now)
            unsaved.buckets.insert(.init(account: nil, role: summaryRole))
        }
        earliestDue = windows.values.lazy.map(\.due).min()
        return drafts
    }

    /// Returns the summary of one window.
    private func makeSummary(of window: WindowRow, at now: RecordLogInstant) -> SummaryDraft {
        SummaryDraft(
            group: window.key.group, account: window.account, reason: window.key.reason, windowStart: window.start,
            windowEnd: max(now, window.lastSeen), suppressedCount: window.suppressedCount,
            suppressedOccurrences: window.suppressedOccurrences, forwardedCount: window.forwardedCount,
            occurrences: groups.peek(window.key.group)?.occurrences ?? window.occurrences,
            summarySequence: window.sequence, firstSeen: window.firstSeen, lastSeen: window.lastSeen,
            samples: window.samples, maxSeverity: window.maxSeverity,
            stillSuppressing: window.isStillSuppressing(at: now), distinctGroups: 1,
            spans: window.records.map {
                [SummaryRange(group: window.key.group, reason: window.key.reason, records: $0)]
            } ?? [])
    }

    /// Returns one summary for windows of one application.
    private mutating func makeMergedSummary(of windows: [WindowRow], at now: RecordLogInstant) -> SummaryDraft {
        let parts = windows.map { makeSummary(of: $0, at: now) }
        guard var sum = parts.first else {
            preconditionFailure("A summary needs at least one window")
        }
        let groups = Dictionary(parts.compactMap { part in part.group.map { ($0, part) } }) { first, _ in first }
        sum.group = nil
        sum.summarySequence = takeNextSequence(of: sum.account)
        sum.distinctGroups = Int64(groups.count)
        sum.occurrences = groups.values.reduce(0) { $0.clampedSum($1.occurrences) }
        sum.samples = Array(parts.flatMap(\.samples).prefix(WindowRow.maxSamples))
        for part in parts.dropFirst() {
            sum.spans += part.spans
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

    private mutating func takeNextSequence(of account: AccountID) -> Int64 {
        let next = (sequences.peek(account) ?? 0) + 1
        unsaved.sequences[account] = next
        _ = sequences.insert(next, for: account)
        return next
    }

    /// Replaces a window that has ended with the next one, which starts now and is twice as long, up to `lastInterval`.
    /// If the group was evicted, closes the window instead.
    private mutating func renew(_ window: WindowRow, wasReported: Bool, at now: RecordLogInstant) {
        guard !window.isGroupEvicted else { return close(window, wasReported: wasReported) }
        let interval = min(window.interval * 2, lastInterval)
        let next = WindowRow(
            key: window.key, account: window.account, start: now, due: now.advanced(by: interval),
            interval: interval, sequence: window.sequence + (wasReported ? 1 : 0))
        windows[window.key] = next
        unsaved.windows.insert(window.key)
        setSequence(window.key, next.sequence)
    }

    /// Closes a window.
    ///
    /// - Parameter wasReported: Whether the window's sequence number is used up. Otherwise, the next window uses it,
    ///   unless the group was evicted.
    private mutating func close(_ window: WindowRow, wasReported: Bool) {
        windows[window.key] = nil
        unsaved.windows.remove(window.key)
        unsaved.closedWindows.insert(window.key)
        guard !window.isGroupEvicted else { return }
        setSequence(window.key, wasReported ? window.sequence : window.sequence - 1)
        _ = groups.alter(window.key.group) { $0.openWindows -= 1 }
    }

    /// Sets the sequence number of a group's open window or last summary, and notes that the group must be stored.
    private mutating func setSequence(_ key: WindowRow.Key, _ sequence: Int64) {
        let wasChanged = groups.alter(key.group) { group in
            defer { group.isChanged = true }
            group.sequences[key.reason] = sequence
            return group.isChanged
        }
        if wasChanged == false { unsaved.groups.append(key.group) }
    }
}

extension Admission {
    /// Returns the changes since the last call. They must be stored in the transaction that moves the cursor.
    package mutating func takeChanges() -> AdmissionChanges {
        var changes = AdmissionChanges()
        let (touched, closed) = (unsaved.buckets, unsaved.closedWindows)
        for (account, keys) in Dictionary(grouping: touched, by: \.account) {
            let roles = Set(keys.map(\.role))
            let limit = account.map { accounts.peek($0)?.buckets } ?? global
            changes.buckets += limit?.rows(account: account, roles: roles) ?? []
        }
        changes.buckets += unsaved.evictedBuckets.values
        changes.buckets.sort { Self.order($0.key) < Self.order($1.key) }

        for id in unsaved.groups {
            let row = groups.alter(id) { group -> GroupRow? in
                guard group.isChanged else { return nil }
                group.isChanged = false
                return Self.row(of: group, id: id)
            }
            if let row = row ?? nil { changes.groups.append(row) }
        }
        changes.groups += unsaved.evictedGroups.values
        changes.groups.sort { ($0.lastRecord, $0.group) < ($1.lastRecord, $1.group) }

        changes.windows = unsaved.windows.sorted { Self.order($0) < Self.order($1) }.compactMap { windows[$0] }
        changes.closedWindows = closed.sorted { Self.order($0) < Self.order($1) }
        changes.accountSequences = unsaved.sequences
        unsaved = DirtySet()
        return changes
    }

    private static func order(_ key: BucketRow.Key) -> (Int64, UInt8) {
        (key.account?.rawValue ?? .min, key.role.rawValue)
    }

    private static func order(_ key: WindowRow.Key) -> (GroupID, String) {
        (key.group, key.reason.rawValue)
    }
}

/// The content of a summary: how many records were suppressed, in which groups, since when and why.
package struct SummaryDraft: Equatable, Sendable {
    /// The group's id; nil for a shared summary (`SummaryPlan.merged`), even if it covers only one group.
    package var group: GroupID?
    package var account: AccountID
    /// The reason. In a shared summary, the reason of the window with the most suppressed records.
    package var reason: SuppressionReason
    package var windowStart: RecordLogInstant
    package var windowEnd: RecordLogInstant
    package var suppressedCount: Int64
    package var suppressedOccurrences: Int64
    /// The number of the group's records that were sent since the window started. In a shared summary, the sum over its
    /// windows.
    package var forwardedCount: Int64
    /// The group's total number of occurrences so far or, if the group was evicted, up to the last record counted in
    /// the window. In a shared summary, the sum over its groups.
    package var occurrences: Int64
    /// Ascends per group and reason or, for a shared summary, per application.
    package var summarySequence: Int64
    package var firstSeen: RecordLogInstant
    package var lastSeen: RecordLogInstant
    /// The row ids of some suppressed records.
    package var samples: [RowID]
    package var maxSeverity: IssueLevel
    /// Whether records were suppressed in the second half of a window, so that the suppression is probably not over.
    package var stillSuppressing: Bool
    /// The number of groups covered.
    package var distinctGroups: Int64
    /// The row ranges of the suppressed records. Stored for queries about single records; not sent.
    package var spans: [SummaryRange] = []
}

/// Decides which windows get a summary of their own and which share one.
///
/// The windows with the most suppressed records get their own summary. The others share one per application. Windows
/// for which no token is left wait for the next flush.
struct SummaryPlan: Equatable {
    private(set) var single: [WindowRow] = []
    /// Windows that share a summary. Each element holds windows of one application.
    private(set) var merged: [[WindowRow]] = []

    /// - Parameters:
    ///   - windows: The windows to summarise.
    ///   - maxCount: The maximum number of windows that get their own summary.
    ///   - tokens: The number of summaries that the rate limit allows now.
    init(_ windows: [WindowRow], maxCount: Int, tokens: Int64) {
        let sorted = windows.sorted(by: Self.hasMoreSuppressed)
        let room = Int(clamping: tokens)
        if sorted.count <= min(maxCount, room) {
            single = sorted
            return
        }
        let accounts = Set(sorted.map(\.account)).count
        single = Array(sorted.prefix(max(0, min(maxCount, room - accounts))))
        let rest = Dictionary(grouping: sorted.dropFirst(single.count), by: \.account).values
            .sorted { left, right in
                let (more, less) = (Self.total(left), Self.total(right))
                return more == less ? left[0].account < right[0].account : more > less
            }
        merged = Array(rest.prefix(max(0, room - single.count)))
    }

    private static func total(_ windows: [WindowRow]) -> Int64 {
        windows.reduce(0) { $0 + $1.suppressedCount }
    }

    private static func hasMoreSuppressed(_ left: WindowRow, _ right: WindowRow) -> Bool {
        if left.suppressedCount != right.suppressedCount { return left.suppressedCount > right.suppressedCount }
        if left.key.group != right.key.group { return left.key.group < right.key.group }
        return left.key.reason.rawValue < right.key.reason.rawValue
    }
}

/// A range of rows that a summary covers. The summary counts all records in the range that belong to the group and were
/// suppressed for the reason.
package struct SummaryRange: Equatable, Sendable {
    package var group: GroupID
    package var reason: SuppressionReason
    package var records: ClosedRange<RowID>
}

/// A stored window: the counters of one group's records that were suppressed for one reason since the window started.
package struct WindowRow: Equatable, Sendable {
    package struct Key: Hashable, Sendable {
        package var group: GroupID
        package var reason: SuppressionReason

        package init(group: GroupID, reason: SuppressionReason) {
            self.group = group
            self.reason = reason
        }
    }

    /// The maximum number of row ids in `samples`.
    package static let maxSamples = 3

    package let key: Key
    package var account: AccountID
    package var start: RecordLogInstant
    /// The planned end. The window stays open longer while the rate limit of summaries does not allow its summary.
    package var due: RecordLogInstant
    /// The length of the window. The next one is twice as long, up to `Admission.lastInterval`.
    package var interval: Duration
    package var suppressedCount: Int64 = 0
    package var suppressedOccurrences: Int64 = 0
    /// The number of the group's records that were sent since the window started.
    package var forwardedCount: Int64 = 0
    /// The group's total number of occurrences when the last record was counted here.
    package var occurrences: Int64 = 0
    package var firstSeen: RecordLogInstant
    package var lastSeen: RecordLogInstant
    /// The row ids of some suppressed records, at most `maxSamples`.
    package var samples: [RowID] = []
    /// The row ids of the first and the last record counted here; nil if none was. No other window counts a record of
    /// this group and reason between them.
    package var records: ClosedRange<RowID>?
    package var maxSeverity: IssueLevel = .debug
    /// The sequence number of the window's summary, unless the window shares a summary with others.
    package var sequence: Int64
    /// Whether the group was evicted from the table. The window is then due at once, and it is closed instead of
    /// renewed.
    package var isGroupEvicted = false

    package init(
        key: Key, account: AccountID, start: RecordLogInstant, due: RecordLogInstant, interval: Duration,
        sequence: Int64
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

    /// Returns `true` if the last suppressed record is in the second half of the window, which ends at `end`.
    func isStillSuppressing(at end: RecordLogInstant) -> Bool {
        start.duration(to: lastSeen) * 2 >= start.duration(to: max(end, lastSeen))
    }

    /// Counts the records of a run. Runs of several series of the group may overlap.
    mutating func count(_ run: SuppressedRun, occurrences total: Int64) {
        firstSeen = suppressedCount == 0 ? run.first : min(firstSeen, run.first)
        lastSeen = max(lastSeen, run.last)
        suppressedCount += run.records
        suppressedOccurrences = suppressedOccurrences.clampedSum(run.occurrences)
        occurrences = total
        let known = records ?? run.rows
        records = min(known.lowerBound, run.rows.lowerBound)...max(known.upperBound, run.rows.upperBound)
        maxSeverity = max(maxSeverity, run.severity)
        samples = Array((samples + run.samples).sorted().prefix(Self.maxSamples))
    }
}

/// The changes to admission since the last call of `takeChanges()`.
struct DirtySet: Sendable {
    var buckets: Set<BucketRow.Key> = []
    /// Contains every group in the table whose `Group.isChanged` is true. May also contain evicted groups, and the same
    /// group more than once.
    var groups: [GroupID] = []
    var windows: Set<WindowRow.Key> = []
    var closedWindows: Set<WindowRow.Key> = []
    var sequences: [AccountID: Int64] = [:]
    /// Groups that were evicted from the table before their changes were stored.
    var evictedGroups: [GroupID: GroupRow] = [:]
    var evictedBuckets: [BucketRow.Key: BucketRow] = [:]

    /// Keeps the changed buckets of an application that was evicted from the table.
    mutating func evict(_ limit: SharedLimit, of account: AccountID) {
        let changed = buckets.filter { $0.account == account }
        for row in limit.rows(account: account, roles: Set(changed.map(\.role))) { evictedBuckets[row.key] = row }
        buckets.subtract(changed)
    }

    /// Removes and returns the evicted, not yet stored buckets of an application that returns to the table.
    mutating func takeEvictedBuckets(of account: AccountID) -> [BucketRow] {
        let rows = evictedBuckets.filter { $0.key.account == account }
        for key in rows.keys {
            evictedBuckets[key] = nil
            // The bucket still has to be stored.
            buckets.insert(key)
        }
        return Array(rows.values)
    }
}

extension Admission {
    /// Returns a run for the records that follow a suppressed record in the same series.
    ///
    /// - Parameters:
    ///   - candidate: The suppressed record.
    ///   - reason: Why it was suppressed.
    ///   - now: The log time of the record.
    /// - Returns: An empty run, or nil if each of the following records must be evaluated on its own.
    package func makeRun(
        after candidate: AdmissionCandidate, heldFor reason: SuppressionReason, at now: RecordLogInstant
    ) -> SuppressedRun? {
        // Critical records may use reserves, so each of them is evaluated.
        if candidate.severity == .critical { return nil }
        switch reason {
        case .groupRate:
            guard let group = groups.peek(candidate.group) else { return nil }
            return SuppressedRun(
                of: candidate, reason, until: group.bucket.whenNext(after: now), endsWithAdmission: false)
        case .applicationRate:
            guard let bucket = accounts.peek(candidate.account)?.buckets[.common] else { return nil }
            return SuppressedRun(
                of: candidate, reason, until: bucket.tokens.whenNext(after: now), endsWithAdmission: true)
        case .globalRate:
            guard let bucket = global[.common] else { return nil }
            let until = bucket.whenNext(for: candidate.user, after: now)
            return SuppressedRun(of: candidate, reason, until: until, endsWithAdmission: true)
        case .dailyBytes, .cardinality:
            return nil
        }
    }

    /// Adds the records of a run to the counters and the open window of their group.
    ///
    /// Must be called before another record of the group is evaluated and before windows are closed.
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
/// The results are known in advance: a bucket that has refused a record refuses the next ones until it has a token
/// again, and a refused record takes no tokens from other buckets.
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
    /// Whether the run ends as soon as any record is admitted, because that could change the reason.
    package let endsWithAdmission: Bool

    package private(set) var records: Int64 = 0
    package private(set) var occurrences: Int64 = 0
    /// The log time of the first record.
    private(set) var first = RecordLogInstant(milliseconds: 0)
    private(set) var last = RecordLogInstant(milliseconds: 0)
    private(set) var rows: ClosedRange<RowID> = 0...0
    private(set) var samples: [RowID] = []

    init(
        of candidate: AdmissionCandidate, _ reason: SuppressionReason, until: RecordLogInstant, endsWithAdmission: Bool
    ) {
        group = candidate.group
        account = candidate.account
        user = candidate.user
        severity = candidate.severity
        self.reason = reason
        reasonIndex = SuppressionReason.allCases.firstIndex(of: reason) ?? 0
        self.until = until
        self.endsWithAdmission = endsWithAdmission
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
