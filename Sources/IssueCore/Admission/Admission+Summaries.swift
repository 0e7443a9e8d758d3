package import IssueProtocol

extension Admission {
    /// When the next summary is due, if something is held back: when its window ends and a summary's token is there.
    package var nextSummaryDue: RecordLogInstant? {
        guard let earliestDue else { return nil }
        return isCrowded ? earliestDue : summaryBucket.whenNext(for: nil, after: earliestDue)
    }

    /// Log time has come this far: closes the windows that ended, each flush at its own time.
    package mutating func dueSummaries(at now: RecordLogInstant) -> [SummaryDraft] {
        var drafts: [SummaryDraft] = []
        while let due = nextSummaryDue, due <= now { drafts += flush(at: due) }
        return drafts
    }

    /// Closes all windows: at a shutdown, and at a start for those that a crash left open.
    package mutating func closeAll(at now: RecordLogInstant) -> [SummaryDraft] {
        let open = windows.values.filter { $0.suppressedCount > 0 }
        let plan = SummaryPlan(open, most: bounds.summaries, tokens: .max)
        let drafts = plan.single.map { single($0, at: now) } + plan.merged.map { merge($0, at: now) }
        summaryBucket.resumePreempted(to: Int64(drafts.count), at: now)
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
        get { global[summaryRole] ?? FairBucket(.unlimited, at: RecordLogInstant(milliseconds: 0)) }
        set { global[summaryRole] = newValue }
    }

    private mutating func flush(at now: RecordLogInstant) -> [SummaryDraft] {
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
            summaryBucket.resumePreempted(to: Int64(drafts.count), at: now)
            unsaved.buckets.insert(.init(account: nil, role: summaryRole))
        }
        earliestDue = windows.values.lazy.map(\.due).min()
        return drafts
    }

    private func single(_ window: WindowRow, at now: RecordLogInstant) -> SummaryDraft {
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
    private mutating func merge(_ windows: [WindowRow], at now: RecordLogInstant) -> SummaryDraft {
        let parts = windows.map { single($0, at: now) }
        guard var sum = parts.first else {
            preconditionFailure("A summary was made of no window")
        }
        let groups = Dictionary(parts.compactMap { part in part.group.map { ($0, part) } }) { first, _ in first }
        sum.group = nil
        sum.summarySequence = nextSequence(of: sum.account)
        sum.distinctGroups = Int64(groups.count)
        sum.occurrences = groups.values.reduce(0) { $0.clampedSum($1.occurrences) }
        sum.samples = Array(parts.flatMap(\.samples).prefix(WindowRow.maxSamples))
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
    private mutating func renew(_ window: WindowRow, wasTold: Bool, at now: RecordLogInstant) {
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

extension Admission {
    /// What changed since this was last asked; to be stored together with the cursor.
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
        (key.account ?? .min, key.role.rawValue)
    }

    private static func order(_ key: WindowRow.Key) -> (Int64, String) {
        (key.group, key.reason.rawValue)
    }
}

/// What a summary says: how much was held back, of what, since when and why.
package struct SummaryDraft: Equatable, Sendable {
    /// Nothing where it speaks for several groups of an application.
    package var group: Int64?
    package var account: Int64
    /// Of several groups: the reason that held back most.
    package var reason: SuppressionReason
    package var windowStart: RecordLogInstant
    package var windowEnd: RecordLogInstant
    package var suppressedCount: Int64
    package var suppressedOccurrences: Int64
    package var forwardedCount: Int64
    /// The running total; of several groups their sum.
    package var occurrences: Int64
    /// Counted for each group and reason; for what speaks for several groups, for each application.
    package var summarySequence: Int64
    package var firstSeen: RecordLogInstant
    package var lastSeen: RecordLogInstant
    package var samples: [Int64]
    package var maxSeverity: Severity
    /// Something was held back in the second half of the window, so it has not come to rest.
    package var stillSuppressing: Bool
    package var distinctGroups: Int64
    /// Not told, but kept for whoever asks what became of a record.
    package var stretches: [SummaryStretch]

    package init(
        group: Int64?, account: Int64, reason: SuppressionReason, windowStart: RecordLogInstant,
        windowEnd: RecordLogInstant,
        suppressedCount: Int64, suppressedOccurrences: Int64, forwardedCount: Int64, occurrences: Int64,
        summarySequence: Int64, firstSeen: RecordLogInstant, lastSeen: RecordLogInstant, samples: [Int64],
        maxSeverity: Severity, stillSuppressing: Bool, distinctGroups: Int64,
        stretches: [SummaryStretch] = []
    ) {
        self.group = group
        self.account = account
        self.reason = reason
        self.windowStart = windowStart
        self.windowEnd = windowEnd
        self.suppressedCount = suppressedCount
        self.suppressedOccurrences = suppressedOccurrences
        self.forwardedCount = forwardedCount
        self.occurrences = occurrences
        self.summarySequence = summarySequence
        self.firstSeen = firstSeen
        self.lastSeen = lastSeen
        self.samples = samples
        self.maxSeverity = maxSeverity
        self.stillSuppressing = stillSuppressing
        self.distinctGroups = distinctGroups
        self.stretches = stretches
    }
}

/// Which of the windows to be told get a summary of their own, and which are told together.
///
/// The loudest get their own; the rest is told in one for each application.
/// What does not even find a token for that waits for the next flush.
struct SummaryPlan: Equatable {
    private(set) var single: [WindowRow] = []
    /// Windows of one application each.
    private(set) var merged: [[WindowRow]] = []

    init(_ windows: [WindowRow], most: Int, tokens: Int64) {
        let sorted = windows.sorted(by: Self.isLouder)
        let room = Int(clamping: tokens)
        if sorted.count <= min(most, room) {
            single = sorted
            return
        }
        let accounts = Set(sorted.map(\.account)).count
        single = Array(sorted.prefix(max(0, min(most, room - accounts))))
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

    private static func isLouder(_ left: WindowRow, _ right: WindowRow) -> Bool {
        if left.suppressedCount != right.suppressedCount { return left.suppressedCount > right.suppressedCount }
        if left.key.group != right.key.group { return left.key.group < right.key.group }
        return left.key.reason.rawValue < right.key.reason.rawValue
    }
}

/// Which records a summary counts: those of one group that were held back for one reason in a stretch of the log.
package struct SummaryStretch: Equatable, Sendable {
    package var group: Int64
    package var reason: SuppressionReason
    package var records: ClosedRange<Int64>

    package init(group: Int64, reason: SuppressionReason, records: ClosedRange<Int64>) {
        self.group = group
        self.reason = reason
        self.records = records
    }
}

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

    package static let maxSamples = 3

    package let key: Key
    package var account: Int64
    package var start: RecordLogInstant
    package var due: RecordLogInstant
    /// How long it lasts; the next one lasts twice as long, up to a limit.
    package var interval: Duration
    package var suppressedCount: Int64 = 0
    package var suppressedOccurrences: Int64 = 0
    package var forwardedCount: Int64 = 0
    /// The group's running total when something was last counted here.
    package var occurrences: Int64 = 0
    package var firstSeen: RecordLogInstant
    package var lastSeen: RecordLogInstant
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
        key: Key, account: Int64, start: RecordLogInstant, due: RecordLogInstant, interval: Duration, sequence: Int64
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
    func isLively(at end: RecordLogInstant) -> Bool {
        start.duration(to: lastSeen) * 2 >= start.duration(to: max(end, lastSeen))
    }

    /// Counts what a run has held back, of which each record lies behind all that was counted when the run began.
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

    mutating func count(_ candidate: Candidate, occurrences total: Int64, at now: RecordLogInstant) {
        if suppressedCount == 0 { firstSeen = now }
        lastSeen = max(lastSeen, now)
        suppressedCount += 1
        suppressedOccurrences = suppressedOccurrences.clampedSum(candidate.count)
        occurrences = total
        let first = records?.lowerBound ?? candidate.record
        records = min(first, candidate.record)...max(records?.upperBound ?? first, candidate.record)
        maxSeverity = max(maxSeverity, candidate.severity)
        if samples.count < Self.maxSamples { samples.append(candidate.record) }
    }
}

/// What admission changed since its changes were last taken.
struct DirtySet: Sendable {
    var buckets: Set<BucketRow.Key> = []
    /// Each at most once: the group itself knows that it is here.
    var groups: [Int64] = []
    var windows: Set<WindowRow.Key> = []
    var closedWindows: Set<WindowRow.Key> = []
    var sequences: [Int64: Int64] = [:]
    /// Left the table before they were stored.
    var evictedGroups: [Int64: GroupRow] = [:]
    var evictedBuckets: [BucketRow.Key: BucketRow] = [:]

    mutating func evict(_ limit: SharedLimit, of account: Int64) {
        let changed = buckets.filter { $0.account == account }
        for row in limit.rows(account: account, roles: Set(changed.map(\.role))) { evictedBuckets[row.key] = row }
        buckets.subtract(changed)
    }

    mutating func takeEvictedBuckets(of account: Int64) -> [BucketRow] {
        let rows = evictedBuckets.filter { $0.key.account == account }
        for key in rows.keys {
            evictedBuckets[key] = nil
            // Still not stored.
            buckets.insert(key)
        }
        return Array(rows.values)
    }
}
