package import IssueProtocol

/// Decides for one destination which records are sent and which are suppressed and counted.
///
/// The records are evaluated in the order of the record log, except that a priority record may be sent before the
/// backlog (`evaluatePriority`). A record must pass four checks: the group's bucket, the application's buckets, the
/// destination's buckets, and the daily byte limit. A record that one of them refuses takes no tokens. The
/// application's and the destination's limits have reserves for critical records, and for new groups and regressions;
/// the destination's limit also has one for summaries (`SharedLimit`). The first record of a group and a regression
/// skip the group's bucket. Users share the destination's limit and the daily bytes fairly (`FairBucket`,
/// `DailyBudget`).
///
/// A suppressed record is counted in a window (`WindowRow`) of its group and the reason for the suppression. When a
/// window ends, its counts become a summary.
///
/// All times, including those of summaries, are log times. If a record's time is `nextSummaryDue` or later, the caller
/// must call `dueSummaries(at:)` before it calls `evaluate`. Buckets refill with log time, so processing the log later,
/// or again after a crash, does not let more records pass.
package struct Admission: Sendable {
    /// The maximum numbers of groups and applications in memory, and of separate summaries. The state of an evicted
    /// group or application is stored. Suppressed records of an evicted group are reported in the next summaries.
    package struct Bounds: Equatable, Sendable {
        /// The maximum number of groups.
        package var groups = 20_000
        /// The maximum number of applications.
        package var accounts = 4096
        /// The maximum number of windows that get a summary of their own at a time. The others share one summary per
        /// application.
        package var summaries = 200

        package init() {}
    }

    /// The state of a group; see `GroupRow`.
    struct Group: Sendable {
        var account: AccountID
        var bucket: TokenBucket
        var occurrences: Int64 = 0
        var suppressedBefore: Int64 = 0
        var sequences: [SuppressionReason: Int64] = [:]
        var lastRecord: RowID = 0
        /// The number of windows of the group in `windows`.
        var openWindows = 0
        /// Whether the group is in `DirtySet.groups`.
        var isChanged = false
    }

    struct Account: Sendable {
        var limits: ApplicationLimits
        var buckets: SharedLimit
    }

    package internal(set) var settings: LimitSettings
    /// How much of the daily byte limit each user has used. Set by the caller, since it depends on the calendar day.
    package var dailyBytes = DailyBudget(limit: 0)

    let bounds: Bounds
    var groups: RecencyTable<GroupID, Group>
    var accounts: RecencyTable<AccountID, Account>
    /// The sequence number of each application's last shared summary (`SummaryPlan.merged`).
    var sequences: RecencyTable<AccountID, Int64>
    var global: SharedLimit
    var windows: [WindowRow.Key: WindowRow] = [:]
    /// A lower bound of the end times of all windows; nil only if there are no windows. It avoids a search for each
    /// record.
    var earliestDue: RecordLogInstant?
    /// The changes that `takeChanges()` has not returned yet.
    var unsaved = DirtySet()
    /// The numbers of records that the limits have held back. Not stored.
    package internal(set) var history: LimitHistory

    /// - Parameters:
    ///   - settings: The limits.
    ///   - state: The stored state.
    ///   - bounds: The maximum sizes of the tables in memory.
    ///   - history: The history so far, which is discarded if the limits have changed; nil to start a new one.
    ///   - limits: Returns the limits of an application, by its account id.
    package init(
        settings: LimitSettings, state: AdmissionState = AdmissionState(), bounds: Bounds = Bounds(),
        history: LimitHistory? = nil, limits: (_ account: AccountID) -> ApplicationLimits
    ) {
        self.settings = settings
        // The history cannot be continued with other limits, because the unit of a bucket's excess depends on its
        // limit.
        self.history = history.flatMap { $0.isValid(with: settings) ? $0 : nil } ?? LimitHistory(settings: settings)
        self.bounds = bounds
        groups = RecencyTable(capacity: bounds.groups)
        accounts = RecencyTable(capacity: bounds.accounts)
        sequences = RecencyTable(capacity: bounds.accounts * 4)
        for (account, number) in state.accountSequences { _ = sequences.insert(number, for: account) }
        global = SharedLimit(
            settings.global, reserves: settings.globalReserves,
            levels: Self.levels(state.buckets.filter { $0.key.account == nil }), at: RecordLogInstant(milliseconds: 0))

        let known = Dictionary(grouping: state.buckets, by: \.key.account)
        let lastUse = { (account: AccountID) in known[account]?.map(\.at).max() ?? RecordLogInstant(milliseconds: 0) }
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
        self.init(settings: settings, state: state, bounds: bounds) { _ in settings.defaultApplicationLimits }
    }

    /// Returns whether the states of a candidate's account and group must be loaded from the store and passed to
    /// `adopt` before the record is evaluated.
    ///
    /// Changes nothing. It is `mutating` so that the value is passed by reference and not copied.
    package mutating func lacks(_ candidate: AdmissionCandidate) -> (account: Bool, group: Bool) {
        (!knows(account: candidate.account), !knows(group: candidate.group))
    }

    /// Returns `true` if a group's state is in memory. Otherwise its stored state, if there is one, must be adopted
    /// before one of its records is evaluated.
    package func knows(group: GroupID) -> Bool {
        groups.contains(group) || unsaved.evictedGroups[group] != nil
    }

    /// Returns `true` if an application's state is in memory. Otherwise it must be adopted before one of its records is
    /// evaluated.
    package func knows(account: AccountID) -> Bool {
        accounts.contains(account)
    }

    /// Returns the number of occurrences of a group in the records evaluated so far; nil if the group is not in memory.
    package func occurrences(of group: GroupID) -> Int64? {
        groups.peek(group)?.occurrences ?? unsaved.evictedGroups[group]?.occurrences
    }

    /// Restores the stored state of a group. Has no effect if the group is already in memory.
    package mutating func adopt(_ row: GroupRow) {
        guard !knows(group: row.group) else { return }
        put(row, limits: limits(of: row.account))
    }

    /// Adds an application with its limits and the stored levels of its buckets. Has no effect if it is already in
    /// memory.
    ///
    /// - Parameters:
    ///   - account: The account id of the application.
    ///   - limits: The application's limits.
    ///   - buckets: The stored buckets; empty if there are none.
    package mutating func adopt(account: AccountID, limits: ApplicationLimits, buckets: [BucketRow] = []) {
        guard !knows(account: account) else { return }
        let evicted = unsaved.takeEvictedBuckets(of: account)
        let shared = SharedLimit(
            limits.application, reserves: settings.applicationReserves,
            levels: Self.levels(buckets + evicted), at: RecordLogInstant(milliseconds: 0))
        if let gone = accounts.insert(Account(limits: limits, buckets: shared), for: account) {
            unsaved.evict(gone.value.buckets, of: gone.key)
        }
    }

    /// Sets the start of the history unless it is already set.
    package mutating func historyBegan(at now: IssueTimestamp) {
        history.start = history.start ?? now
    }

    /// Removes from the history the groups and applications whose limits held back nothing in the last 24 hours.
    package mutating func removeExpiredHistory(at now: RecordLogInstant) {
        history.removeExpired(at: now)
    }

    /// Removes from the history the given groups and applications, which no longer exist.
    package mutating func removeHistory(
        accounts: Set<AccountID>, groups: Set<GroupID>, at now: RecordLogInstant
    ) {
        history.remove(accounts: accounts, groups: groups, at: now)
    }

    static func levels(_ rows: [BucketRow]) -> [BucketRole: BucketRow] {
        Dictionary(rows.map { ($0.key.role, $0) }) { $1 }
    }

    func limits(of account: AccountID) -> ApplicationLimits {
        accounts.peek(account)?.limits ?? settings.defaultApplicationLimits
    }

    /// Inserts or replaces a group in the table. If another group is evicted, the evicted group's windows with
    /// suppressed records are due at once.
    mutating func put(_ group: Group, for id: GroupID) {
        guard let (goneID, left) = groups.insert(group, for: id) else { return }
        var gone = left
        for reason in SuppressionReason.allCases where gone.openWindows > 0 {
            let key = WindowRow.Key(group: goneID, reason: reason)
            guard let window = windows[key] else { continue }
            unsaved.windows.insert(key)
            if window.suppressedCount == 0 {
                // There is nothing to report; the next window reuses the sequence number.
                windows[key] = nil
                unsaved.windows.remove(key)
                unsaved.closedWindows.insert(key)
                gone.sequences[reason] = window.sequence - 1
                gone.isChanged = true
                continue
            }
            windows[key]?.isGroupEvicted = true
            windows[key]?.due = min(window.due, window.lastSeen)
            earliestDue = min(earliestDue ?? window.lastSeen, window.lastSeen)
        }
        if gone.isChanged { unsaved.evictedGroups[goneID] = Self.row(of: gone, id: goneID) }
    }

    private mutating func put(_ row: GroupRow, limits: ApplicationLimits, isChanged: Bool = false) {
        var group = Group(
            account: row.account,
            bucket: TokenBucket(limits.group, level: row.level, maxLevel: row.maxLevel, at: row.at))
        group.occurrences = row.occurrences
        group.suppressedBefore = row.suppressedBefore
        group.sequences = row.sequences
        group.lastRecord = row.lastRecord
        group.isChanged = isChanged
        for reason in SuppressionReason.allCases {
            let key = WindowRow.Key(group: row.group, reason: reason)
            guard windows[key] != nil else { continue }
            group.openWindows += 1
            windows[key]?.isGroupEvicted = false
            unsaved.windows.insert(key)
        }
        put(group, for: row.group)
    }

    static func row(of group: Group, id: GroupID) -> GroupRow {
        GroupRow(
            group: id, account: group.account, lastRecord: group.lastRecord, occurrences: group.occurrences,
            suppressedBefore: group.suppressedBefore, sequences: group.sequences, level: group.bucket.level,
            maxLevel: group.bucket.maxLevel, at: group.bucket.at)
    }

    /// Returns the state of the candidate's group, or a new state if the group is not in memory.
    mutating func group(of candidate: AdmissionCandidate, limits: ApplicationLimits, at now: RecordLogInstant) -> Group
    {
        if let known = groups.peek(candidate.group) { return known }
        if let row = unsaved.evictedGroups.removeValue(forKey: candidate.group) {
            // The evicted state is not stored yet and must remain marked as changed.
            put(row, limits: limits, isChanged: true)
            unsaved.groups.append(candidate.group)
            if let back = groups.peek(candidate.group) { return back }
        }
        return Group(account: candidate.account, bucket: TokenBucket(limits.group, at: now))
    }
}

extension Admission {
    /// Decides whether the record at the cursor is sent, and counts it.
    ///
    /// - Parameters:
    ///   - candidate: The record.
    ///   - now: The log time of the record.
    package mutating func evaluate(_ candidate: AdmissionCandidate, at now: RecordLogInstant) -> AdmissionDecision {
        var claims = candidate.wasPriority ? [] : Self.reserves(for: candidate)
        claims.append(.common)
        return count(candidate, decide(candidate, claims: claims, at: now), at: now)
    }

    /// Decides whether a priority record may be sent before the backlog.
    ///
    /// Takes tokens only from reserves and from the group's bucket, so that earlier records in the log can still use
    /// the common buckets. If the result is nil, nothing is counted. The caller then sets `wasPriority` and calls
    /// `evaluate` when the cursor reaches the record.
    ///
    /// - Returns: The decision; nil if the record may not be sent before the backlog.
    package mutating func evaluatePriority(_ candidate: AdmissionCandidate, at now: RecordLogInstant)
        -> AdmissionDecision?
    {
        let verdict = decide(candidate, claims: Self.reserves(for: candidate), at: now)
        if case .suppress = verdict.decision { return nil }
        return count(candidate, verdict, at: now)
    }

    /// Counts a record as the verdict says, and returns the decision.
    private mutating func count(
        _ candidate: AdmissionCandidate, _ verdict: LimitVerdict, at now: RecordLogInstant
    ) -> AdmissionDecision {
        note(verdict, candidate, at: now)
        var counted = verdict.group
        switch verdict.decision {
        case .admit: admit(candidate, in: &counted)
        case .suppress(let reason): suppress(candidate, for: reason, in: &counted, at: now)
        case .withhold: break
        }
        store(counted, as: candidate.group)
        return verdict.decision
    }

    /// Returns the reserves that a record may use, in order of preference.
    static func reserves(for candidate: AdmissionCandidate) -> [BucketRole] {
        switch (candidate.severity == .critical, candidate.isFirstOfGroup) {
        case (true, true): [.critical, .novelty]
        case (true, false): [.critical]
        case (false, true): [.novelty]
        case (false, false): []
        }
    }

    /// Counts the record in the returned state of its group and checks the limits in order. Takes tokens only if no
    /// limit refuses the record.
    private mutating func decide(
        _ candidate: AdmissionCandidate, claims: [BucketRole], at now: RecordLogInstant
    ) -> LimitVerdict {
        if !accounts.contains(candidate.account) {
            adopt(account: candidate.account, limits: settings.defaultApplicationLimits)
        }
        let limits = limits(of: candidate.account)
        var group = group(of: candidate, limits: limits, at: now)
        group.occurrences = group.occurrences.clampedSum(candidate.count)
        group.lastRecord = max(group.lastRecord, candidate.record)

        guard candidate.isReportable, !candidate.isMuted else { return LimitVerdict(decision: .withhold, group: group) }
        guard candidate.isFirstOfGroup || group.bucket.has(at: now) else {
            return LimitVerdict(decision: .suppress(.groupRate), group: group)
        }
        guard let fromAccount = accounts.peek(candidate.account)?.buckets.source(for: claims, at: now) else {
            return LimitVerdict(decision: .suppress(.applicationRate), group: group)
        }
        guard let fromGlobal = global.source(for: claims, of: candidate.user, at: now) else {
            return LimitVerdict(decision: .suppress(.globalRate), group: group, application: fromAccount)
        }
        guard allowsBytes(for: candidate) else {
            return LimitVerdict(
                decision: .suppress(.dailyBytes), group: group, application: fromAccount, global: fromGlobal)
        }

        if !candidate.isFirstOfGroup { group.bucket.take(at: now) }
        _ = accounts.update(candidate.account) { $0.buckets.take(from: fromAccount, at: now) }
        global.take(from: fromGlobal, of: candidate.user, at: now)
        unsaved.buckets.insert(.init(account: candidate.account, role: fromAccount))
        unsaved.buckets.insert(.init(account: nil, role: fromGlobal))
        return LimitVerdict(
            decision: .admit(suppressedBefore: group.suppressedBefore, occurrences: group.occurrences), group: group,
            application: fromAccount, global: fromGlobal)
    }

    private func allowsBytes(for candidate: AdmissionCandidate) -> Bool {
        switch dailyBytes.state(of: candidate.user) {
        case .plenty: true
        case .scarce: candidate.isFirstOfGroup || candidate.severity >= .error
        case .critical: candidate.severity == .critical
        case .spent: false
        }
    }

    /// Counts the bytes of a line that is sent for a user.
    package mutating func charge(_ count: Int, to user: UInt32, at now: RecordLogInstant) {
        dailyBytes.charge(count, to: user)
        history.sent(count, dailyBytes, at: now)
    }

    private mutating func admit(_ candidate: AdmissionCandidate, in group: inout Group) {
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
        _ candidate: AdmissionCandidate, for reason: SuppressionReason, in group: inout Group, at now: RecordLogInstant
    ) {
        group.suppressedBefore += 1
        let key = open(.init(group: candidate.group, reason: reason), of: candidate.account, in: &group, at: now)
        var run = SuppressedRun(of: candidate, reason, until: now, endsWithAdmission: false)
        run.add(candidate.record, count: candidate.count, at: now)
        windows[key]?.count(run, occurrences: group.occurrences)
    }

    /// Opens a window that starts at `now`, unless the window is already open. Returns its key.
    mutating func open(
        _ key: WindowRow.Key, of account: AccountID, in group: inout Group, at now: RecordLogInstant
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

    /// Puts the changed state of a group into the table, and notes that it must be stored.
    mutating func store(_ group: Group, as id: GroupID) {
        var changed = group
        if !changed.isChanged {
            changed.isChanged = true
            unsaved.groups.append(id)
        }
        put(changed, for: id)
    }

    /// The length of the first window of a suppression: at least one second, so that no configuration causes an endless
    /// series of summaries.
    var firstInterval: Duration { max(settings.summaryInterval, .seconds(1)) }
    var lastInterval: Duration { max(settings.summaryIntervalMax, firstInterval) }
}

/// The changes to the state of admission, to be stored in one transaction with the decisions and summaries that caused
/// them.
package struct AdmissionChanges: Equatable, Sendable {
    package var buckets: [BucketRow] = []
    package var groups: [GroupRow] = []
    package var windows: [WindowRow] = []
    package var closedWindows: [WindowRow.Key] = []
    /// The sequence number of each application's last shared summary (`SummaryPlan.merged`).
    package var accountSequences: [AccountID: Int64] = [:]

    package init() {}

    package var isEmpty: Bool {
        buckets.isEmpty && groups.isEmpty && windows.isEmpty && closedWindows.isEmpty && accountSequences.isEmpty
    }
}

/// The stored state of one group for one destination.
package struct GroupRow: Equatable, Sendable {
    package var group: GroupID
    package var account: AccountID
    /// The row id of the newest evaluated record. If not all groups fit into memory when forwarding starts, the groups
    /// with the newest records are loaded.
    package var lastRecord: RowID
    /// The number of occurrences in the records evaluated so far.
    package var occurrences: Int64
    /// The number of records suppressed since the last one that was sent.
    package var suppressedBefore: Int64
    /// The sequence number of the open window or, if none is open, of the last summary, by reason.
    package var sequences: [SuppressionReason: Int64]
    /// The level of the group's bucket, in tokens; nil if the bucket is unlimited.
    package var level: Double?
    /// The capacity of the bucket, in tokens; nil if it was not stored or the bucket is unlimited.
    package var maxLevel: Double?
    package var at: RecordLogInstant

    package init(
        group: GroupID, account: AccountID, lastRecord: RowID, occurrences: Int64, suppressedBefore: Int64,
        sequences: [SuppressionReason: Int64], level: Double?, maxLevel: Double? = nil, at: RecordLogInstant
    ) {
        self.group = group
        self.account = account
        self.lastRecord = lastRecord
        self.occurrences = occurrences
        self.suppressedBefore = suppressedBefore
        self.sequences = sequences
        self.level = level
        self.maxLevel = maxLevel
        self.at = at
    }
}

/// The stored state from which admission continues after a restart or reload.
package struct AdmissionState: Equatable, Sendable {
    package var buckets: [BucketRow] = []
    /// In ascending order of their newest evaluated record.
    package var groups: [GroupRow] = []
    package var windows: [WindowRow] = []
    package var accountSequences: [AccountID: Int64] = [:]

    package init(buckets: [BucketRow] = []) {
        self.buckets = buckets
    }
}

/// The properties of a record that admission needs for its decision.
package struct AdmissionCandidate: Equatable, Sendable {
    /// The record's row id.
    package var record: RowID
    package var group: GroupID
    /// The account of the application. If two users run applications with the same name, each application has its own.
    package var account: AccountID
    /// The user accountable for the sender (`AccountableUsers`).
    package var user: UInt32
    package var severity: IssueLevel
    /// Whether the record is the first of its group or a regression.
    package var isFirstOfGroup: Bool
    /// The number of occurrences. A coalesced record has more than one.
    package var count: Int64
    /// Whether the sender allows the record to be forwarded.
    package var isReportable: Bool
    /// Whether the record was stored while its group was muted.
    package var isMuted: Bool
    /// Whether `evaluatePriority` has refused the record. The reserves are then not checked again.
    package var wasPriority: Bool

    package init(
        record: RowID, group: GroupID, account: AccountID, user: UInt32, severity: IssueLevel, isFirstOfGroup: Bool,
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

/// The decision about sending a record to a destination.
package enum AdmissionDecision: Equatable, Sendable {
    /// The record is sent, together with two numbers: how many records of its group were suppressed since the last one
    /// sent, and how often the group has occurred so far.
    case admit(suppressedBefore: Int64, occurrences: Int64)
    /// The record is suppressed and counted in the open window of its group and this reason.
    case suppress(SuppressionReason)
    /// The record is not sent because it is not reportable or was stored while its group was muted.
    case withhold
}

/// The decision on a record, and the buckets that have a token for it.
struct LimitVerdict {
    var decision: AdmissionDecision
    /// The state of the record's group, which already counts the record.
    var group: Admission.Group
    /// The application's bucket that has a token; nil if none has or the application's buckets were not checked.
    var application: BucketRole?
    /// The destination's bucket that has a token; nil if none has or the destination's buckets were not checked.
    var global: BucketRole?
}
