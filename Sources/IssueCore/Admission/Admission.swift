import IssueProtocol

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
    var earliestDue: LogInstant?
    var unsaved = Unsaved()

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
            levels: Self.levels(state.buckets.filter { $0.key.account == nil }), at: LogInstant(milliseconds: 0))

        let known = Dictionary(grouping: state.buckets, by: \.key.account)
        let lastUse = { (account: Int64) in known[account]?.map(\.at).max() ?? LogInstant(milliseconds: 0) }
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
            levels: Self.levels(buckets + evicted), at: LogInstant(milliseconds: 0))
        if let gone = accounts.insert(Account(limits: limits, buckets: shared), for: account) {
            unsaved.evict(gone.value.buckets, of: gone.key)
        }
    }

    /// The limits were read again; what the buckets hold stays.
    package mutating func reload(
        _ settings: LimitSettings, at now: LogInstant, limits: (_ account: Int64) -> ApplicationLimits
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
    mutating func group(of candidate: Candidate, limits: ApplicationLimits, at now: LogInstant) -> Group {
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
