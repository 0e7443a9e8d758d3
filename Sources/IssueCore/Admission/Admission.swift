package import IssueProtocol

/// Decides for one destination, record by record as its cursor walks the log, what goes and what is held back and
/// counted.
///
/// Four checks, all or nothing: the group's bucket, the application's, the
/// destination's, the bytes of the day. A record that one of them refuses
/// takes nothing from the others. Of the application's and the destination's
/// limits, shares are kept for what is critical, for groups never seen before
/// and for summaries (`SharedLimit`). The first record of a group skips the
/// group's bucket. Users share the destination's limits and the day's bytes
/// fairly (`FairBucket`, `DailyBudget`), whatever severity they claim.
///
/// Its clock is the log's, and summaries become due by the same clock. The
/// shell calls `dueSummaries(at:)` before it judges a record that lies behind
/// `nextSummaryDue`; so the same log gives the same decisions whenever it is
/// walked, also after a crash.
package struct Admission: Sendable {
    /// How much it remembers; what no longer fits is told first, then forgotten here and kept by the store.
    package struct Bounds: Equatable, Sendable {
        package var groups = 20_000
        package var accounts = 4096
        /// Summaries of single groups in one flush; the rest is told in one for each application.
        package var summaries = 200

        package init() {}
    }

    struct Group: Sendable {
        var account: Int64
        var bucket: TokenBucket
        var occurrences: Int64 = 0
        var suppressedBefore: Int64 = 0
        var sequences: [SuppressionReason: Int64] = [:]
        var lastRecord: Int64 = 0
        var openWindows = 0
        var isChanged = false
    }

    struct Account: Sendable {
        var limits: ApplicationLimits
        var buckets: SharedLimit
    }

    package internal(set) var settings: LimitSettings
    /// Who used how much of the day's bytes; set from outside, as it goes by the real day.
    package var dailyBytes = DailyBudget(limit: 0)

    let bounds: Bounds
    var groups: RecencyTable<Int64, Group>
    var accounts: RecencyTable<Int64, Account>
    /// The number of the last summary that spoke for several groups of an application.
    var sequences: RecencyTable<Int64, Int64>
    var global: SharedLimit
    var windows: [WindowRow.Key: WindowRow] = [:]
    /// The earliest end of a window, or earlier; so that not every record has all windows looked through.
    var earliestDue: RecordLogInstant?
    var unsaved = DirtySet()

    package init(
        settings: LimitSettings, state: AdmissionState = AdmissionState(), bounds: Bounds = Bounds(),
        limits: (_ account: Int64) -> ApplicationLimits
    ) {
        self.settings = settings
        self.bounds = bounds
        groups = RecencyTable(capacity: bounds.groups)
        accounts = RecencyTable(capacity: bounds.accounts)
        sequences = RecencyTable(capacity: bounds.accounts * 4)
        for (account, number) in state.accountSequences { _ = sequences.insert(number, for: account) }
        global = SharedLimit(
            settings.global, reserves: settings.globalReserves,
            levels: Self.levels(state.buckets.filter { $0.key.account == nil }), at: RecordLogInstant(milliseconds: 0))

        let known = Dictionary(grouping: state.buckets, by: \.key.account)
        let lastUse = { (account: Int64) in known[account]?.map(\.at).max() ?? RecordLogInstant(milliseconds: 0) }
        let seen = known.keys.compactMap(\.self)
        for account in seen.sorted(by: { (lastUse($0), $0) < (lastUse($1), $1) }).suffix(bounds.accounts) {
            adopt(account: account, limits: limits(account), buckets: known[account] ?? [])
        }
        for row in state.groups.suffix(bounds.groups) { put(row, limits: limits(row.account)) }
        for window in state.windows {
            windows[window.key] = window
            _ = groups.alter(window.key.group) { $0.openWindows += 1 }
            earliestDue = min(earliestDue ?? window.due, window.due)
        }
    }

    package init(settings: LimitSettings, state: AdmissionState = AdmissionState(), bounds: Bounds = Bounds()) {
        self.init(settings: settings, state: state, bounds: bounds) { _ in settings.ofAnyApplication }
    }

    /// What the store knows and this does not, so that it has to be adopted before a record is judged.
    ///
    /// It changes nothing. But where it is lent to be changed, it isn't copied to be asked.
    package mutating func lacks(_ candidate: Candidate) -> (account: Bool, group: Bool) {
        (!knows(account: candidate.account), !candidate.isFirstOfGroup && !knows(group: candidate.group))
    }

    /// Whether a group is remembered; if not, what the store knows of it has to be adopted before it is judged.
    package func knows(group: Int64) -> Bool {
        groups.contains(group) || unsaved.evictedGroups[group] != nil
    }

    /// Whether an application is remembered; if not, it has to be adopted before it is judged.
    package func knows(account: Int64) -> Bool {
        accounts.contains(account)
    }

    /// How often a group has occurred, as far as it has been judged and is remembered.
    package func occurrences(of group: Int64) -> Int64? {
        groups.peek(group)?.occurrences ?? unsaved.evictedGroups[group]?.occurrences
    }

    /// Goes on with a group where the store left it.
    package mutating func adopt(_ row: GroupRow) {
        guard !knows(group: row.group) else { return }
        put(row, limits: limits(of: row.account))
    }

    /// Takes up an application with its limits and, if the store knows it, what its buckets hold.
    package mutating func adopt(account: Int64, limits: ApplicationLimits, buckets: [BucketRow] = []) {
        guard !knows(account: account) else { return }
        let evicted = unsaved.takeEvictedBuckets(of: account)
        let shared = SharedLimit(
            limits.application, reserves: settings.applicationReserves,
            levels: Self.levels(buckets + evicted), at: RecordLogInstant(milliseconds: 0))
        if let gone = accounts.insert(Account(limits: limits, buckets: shared), for: account) {
            unsaved.evict(gone.value.buckets, of: gone.key)
        }
    }

    /// The limits were read again; what the buckets hold stays.
    package mutating func reload(
        _ settings: LimitSettings, at now: RecordLogInstant, limits: (_ account: Int64) -> ApplicationLimits
    ) {
        self.settings = settings
        global = global.under(settings.global, reserves: settings.globalReserves, at: now)
        accounts.updateAll { key, account in
            account.limits = limits(key)
            account.buckets = account.buckets.under(
                account.limits.application, reserves: settings.applicationReserves, at: now)
        }
        groups.updateAll { _, group in group.bucket = group.bucket.under(limits(group.account).group) }
    }

    static func levels(_ rows: [BucketRow]) -> [BucketRole: BucketRow] {
        Dictionary(rows.map { ($0.key.role, $0) }) { $1 }
    }

    func limits(of account: Int64) -> ApplicationLimits {
        accounts.peek(account)?.limits ?? settings.ofAnyApplication
    }

    /// Puts a group into the table; the windows of the one that has to go are told at the next flush.
    mutating func put(_ group: Group, for id: Int64) {
        guard let (goneID, left) = groups.insert(group, for: id) else { return }
        var gone = left
        for reason in SuppressionReason.allCases where gone.openWindows > 0 {
            let key = WindowRow.Key(group: goneID, reason: reason)
            guard let window = windows[key] else { continue }
            unsaved.windows.insert(key)
            if window.suppressedCount == 0 {
                // There is nothing to tell, and the number goes to the next one.
                windows[key] = nil
                unsaved.windows.remove(key)
                unsaved.closedWindows.insert(key)
                gone.sequences[reason] = window.sequence - 1
                gone.isChanged = true
                continue
            }
            windows[key]?.isOrphan = true
            windows[key]?.due = min(window.due, window.lastSeen)
            earliestDue = min(earliestDue ?? window.lastSeen, window.lastSeen)
        }
        if gone.isChanged { unsaved.evictedGroups[goneID] = Self.row(of: gone, id: goneID) }
    }

    private mutating func put(_ row: GroupRow, limits: ApplicationLimits, isChanged: Bool = false) {
        var group = Group(account: row.account, bucket: TokenBucket(limits.group, level: row.level, at: row.at))
        group.occurrences = row.occurrences
        group.suppressedBefore = row.suppressedBefore
        group.sequences = row.sequences
        group.lastRecord = row.lastRecord
        group.isChanged = isChanged
        for reason in SuppressionReason.allCases {
            let key = WindowRow.Key(group: row.group, reason: reason)
            guard windows[key] != nil else { continue }
            group.openWindows += 1
            windows[key]?.isOrphan = false
            unsaved.windows.insert(key)
        }
        put(group, for: row.group)
    }

    static func row(of group: Group, id: Int64) -> GroupRow {
        GroupRow(
            group: id, account: group.account, lastRecord: group.lastRecord, occurrences: group.occurrences,
            suppressedBefore: group.suppressedBefore, sequences: group.sequences, level: group.bucket.level,
            at: group.bucket.at)
    }

    /// The group as it is known, or as one that was never seen.
    mutating func group(of candidate: Candidate, limits: ApplicationLimits, at now: RecordLogInstant) -> Group {
        if let known = groups.peek(candidate.group) { return known }
        if let row = unsaved.evictedGroups.removeValue(forKey: candidate.group) {
            // It was not stored yet and still has to be.
            put(row, limits: limits, isChanged: true)
            unsaved.groups.append(candidate.group)
            if let back = groups.peek(candidate.group) { return back }
        }
        return Group(account: candidate.account, bucket: TokenBucket(limits.group, at: now))
    }
}

extension Admission {
    /// A record is reached by the cursor: says whether it goes.
    package mutating func judge(_ candidate: Candidate, at now: RecordLogInstant) -> Judgement {
        var claims = candidate.wasPriority ? [] : Self.reserves(for: candidate)
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
    /// nothing is counted: the record goes back to the walk (`wasPriority`),
    /// which decides.
    package mutating func evaluatePriority(_ candidate: Candidate, at now: RecordLogInstant) -> Judgement? {
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
        _ candidate: Candidate, claims: [BucketRole], at now: RecordLogInstant
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
        _ candidate: Candidate, for reason: SuppressionReason, in group: inout Group, at now: RecordLogInstant
    ) {
        group.suppressedBefore += 1
        let key = open(.init(group: candidate.group, reason: reason), of: candidate.account, in: &group, at: now)
        windows[key]?.count(candidate, occurrences: group.occurrences, at: now)
    }

    /// A window in which is counted, which begins now where there is none.
    mutating func open(
        _ key: WindowRow.Key, of account: Int64, in group: inout Group, at now: RecordLogInstant
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

/// What has to be stored for admission to go on where it is; written in the transaction that moves the cursor.
package struct AdmissionChanges: Equatable, Sendable {
    package var buckets: [BucketRow] = []
    package var groups: [GroupRow] = []
    package var windows: [WindowRow] = []
    package var closedWindows: [WindowRow.Key] = []
    /// The number of the last summary that spoke for several groups, by application.
    package var accountSequences: [Int64: Int64] = [:]

    package init() {}

    package var isEmpty: Bool {
        buckets.isEmpty && groups.isEmpty && windows.isEmpty && closedWindows.isEmpty && accountSequences.isEmpty
    }
}

/// What admission goes on from after a restart.
package struct AdmissionState: Equatable, Sendable {
    package var buckets: [BucketRow]
    /// Oldest first, by the newest record that was judged; no more than the table holds.
    package var groups: [GroupRow]
    package var windows: [WindowRow]
    package var accountSequences: [Int64: Int64]

    package init(
        buckets: [BucketRow] = [], groups: [GroupRow] = [], windows: [WindowRow] = [],
        accountSequences: [Int64: Int64] = [:]
    ) {
        self.buckets = buckets
        self.groups = groups
        self.windows = windows
        self.accountSequences = accountSequences
    }

    /// The state after changes were stored on top of it.
    package mutating func apply(_ changes: AdmissionChanges) {
        let touched = Set(changes.buckets.map(\.key))
        buckets = buckets.filter { !touched.contains($0.key) } + changes.buckets
        let judged = Set(changes.groups.map(\.group))
        groups = (groups.filter { !judged.contains($0.group) } + changes.groups)
            .sorted { ($0.lastRecord, $0.group) < ($1.lastRecord, $1.group) }
        let moved = Set(changes.windows.map(\.key)).union(changes.closedWindows)
        windows = windows.filter { !moved.contains($0.key) } + changes.windows
        accountSequences.merge(changes.accountSequences) { $1 }
    }
}

/// What admission has to know of a record to decide whether it goes.
package struct Candidate: Equatable, Sendable {
    /// The record's row.
    package var record: Int64
    package var group: Int64
    /// The application of one user: a stranger who claims the same name has another one.
    package var account: Int64
    /// The user who answers for the sender (`AccountableUsers`).
    package var user: UInt32
    package var severity: Severity
    /// The first of its group at all, or the one with which it came back.
    package var isFirstOfGroup: Bool
    /// How often it occurred; a coalesced record stands for more than one.
    package var count: Int64
    package var isReportable: Bool
    package var isMuted: Bool
    /// It was refused as express before: then its reserved shares have been asked, and are not asked again.
    package var wasPriority: Bool

    package init(
        record: Int64, group: Int64, account: Int64, user: UInt32, severity: Severity, isFirstOfGroup: Bool,
        count: Int64 = 1, isReportable: Bool = true, isMuted: Bool = false, wasPriority: Bool = false
    ) {
        self.record = record
        self.group = group
        self.account = account
        self.user = user
        self.severity = severity
        self.isFirstOfGroup = isFirstOfGroup
        self.count = count
        self.isReportable = isReportable
        self.isMuted = isMuted
        self.wasPriority = wasPriority
    }
}

/// Whether a record goes to a destination.
package enum Judgement: Equatable, Sendable {
    /// It goes, and says how many of its group were held back since the last one that went, and how often the group
    /// has occurred so far.
    case admit(suppressedBefore: Int64, occurrences: Int64)
    /// It is held back and counted in the open window of its group and this reason.
    case suppress(SuppressionReason)
    /// It is not for this destination at all.
    case withhold
}
