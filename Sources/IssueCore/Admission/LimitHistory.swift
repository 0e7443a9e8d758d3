package import IssueProtocol

/// The number of records that the limits of one destination have held back in the last 24 hours. It is not stored.
///
/// A limit gets an entry with the first record that it holds back. The tables are bounded. While a table is full, only
/// every 64th call of `held` for a limit without an entry creates one. The new entry replaces that of the limit that
/// has held back the fewest records.
package struct LimitHistory: Sendable {
    /// The limit of a group or an application.
    struct Entry: Sendable {
        var account: AccountID
        var demand: BucketDemand
    }

    struct Table<Key: Hashable & Sendable>: Sendable {
        /// The maximum number of entries.
        static var capacity: Int { 256 }
        /// Finding the smallest entry is expensive, so only one in this many calls of `held` for a key without an entry
        /// does it.
        private static var missesPerSearch: UInt64 { 64 }

        private(set) var entries: [Key: Entry] = [:]
        private var misses: UInt64 = 0

        /// Counts records that passed, if the limit has an entry.
        mutating func passed(_ key: Key, _ count: Int64, at now: RecordLogInstant) {
            guard !entries.isEmpty else { return }
            entries[key]?.demand.add(count, held: 0, at: now)
        }

        /// Counts records that were held back.
        ///
        /// - Parameters:
        ///   - key: The group or application.
        ///   - count: The number of records.
        ///   - now: The log time.
        ///   - make: Creates the entry from the state of the bucket before the records; nil if the bucket is unlimited
        ///     or not in memory.
        /// - Returns: The number of records that have no entry now: `count` if no entry was created, plus the records
        ///   of a replaced entry.
        mutating func held(_ key: Key, _ count: Int64, at now: RecordLogInstant, make: () -> Entry?) -> Int64 {
            if entries[key] == nil {
                var replaced: Int64 = 0
                if entries.count >= Self.capacity {
                    misses += 1
                    guard misses % Self.missesPerSearch == 1 else { return count }
                    let least = entries.lazy.map { (key: $0.key, held: $0.value.demand.held(at: now)) }
                        .min { $0.held < $1.held }
                    guard let least else { return count }
                    entries[least.key] = nil
                    replaced = least.held
                }
                guard let entry = make() else { return count.clampedSum(replaced) }
                entries[key] = entry
                entries[key]?.demand.add(count, held: count, at: now)
                return replaced
            }
            entries[key]?.demand.add(count, held: count, at: now)
            return 0
        }

        /// Removes the entry of a limit. Returns the number of records that the limit has held back in the last 24
        /// hours; 0 if there is no entry.
        mutating func remove(_ key: Key, at now: RecordLogInstant) -> Int64 {
            entries.removeValue(forKey: key)?.demand.held(at: now) ?? 0
        }

        /// Removes the entries of limits that have held back nothing in the last 24 hours.
        mutating func removeExpired(at now: RecordLogInstant) {
            guard entries.values.contains(where: { $0.demand.held(at: now) == 0 }) else { return }
            entries = entries.filter { $0.value.demand.held(at: now) > 0 }
        }
    }

    /// The limits that the history belongs to, without maximum ages. When they change, a new history begins.
    private let settings: LimitSettings
    /// When counting began; nil until it is set.
    package internal(set) var start: IssueTimestamp?
    var groups = Table<GroupID>()
    var applications = Table<AccountID>()
    var global: BucketDemand?
    /// The records that the destination's rate limit has held back, by user.
    var users: [UInt32: HourlyDemand] = [:]
    /// The records that the daily byte limit has held back, by user.
    var byteUsers: [UInt32: HourlyDemand] = [:]
    /// The records that the daily byte limit has held back. The peak is the demand of a day, in bytes.
    var bytes = HourlyDemand()
    /// The records that limits without an entry have held back.
    var unlisted = HourlyDemand()
    /// A day, and the estimated size in bytes of the records that the daily byte limit has held back on that day.
    private var heldBytes: (day: Int64, bytes: Int64) = (0, 0)
    /// The number of the lines that were sent, and their total size in bytes.
    private var lines: (count: Int64, bytes: Int64) = (0, 0)

    /// The assumed size of a line in bytes, until the first line has been sent.
    private static let assumedLineBytes: Int64 = 512
    /// The maximum size of `users` and of `byteUsers`. Further users are not counted.
    private static let maxUsers = 256

    package init(settings: LimitSettings) {
        self.settings = settings.withoutAges
    }

    /// Returns `true` if the history can be continued with these settings.
    func isValid(with settings: LimitSettings) -> Bool { self.settings == settings.withoutAges }

    /// Whether no rate limit has an entry. Records that pass need not be counted then.
    var isEmpty: Bool { groups.entries.isEmpty && applications.entries.isEmpty && global == nil }

    /// Removes the entries of groups and applications whose limits have held back nothing in the last 24 hours.
    mutating func removeExpired(at now: RecordLogInstant) {
        groups.removeExpired(at: now)
        applications.removeExpired(at: now)
    }

    /// Removes the entries of groups and applications that no longer exist, and counts the records held back by their
    /// limits as unlisted.
    mutating func remove(
        accounts gone: Set<AccountID>, groups goneGroups: Set<GroupID>, at now: RecordLogInstant
    ) {
        for account in gone { count(unlisted: applications.remove(account, at: now), at: now) }
        for (group, entry) in groups.entries where gone.contains(entry.account) || goneGroups.contains(group) {
            count(unlisted: groups.remove(group, at: now), at: now)
        }
    }

    /// Counts records held back by limits without an entry.
    mutating func count(unlisted count: Int64, at now: RecordLogInstant) {
        if count > 0 { unlisted.add(held: count, at: now) }
    }

    /// Counts records that the destination's rate limit has held back, for the user they belong to.
    mutating func held(of user: UInt32, _ count: Int64, at now: RecordLogInstant) {
        Self.add(count, of: user, to: &users, at: now)
    }

    /// Counts the bytes of a line that is sent.
    mutating func sent(_ count: Int, _ budget: DailyBudget, at now: RecordLogInstant) {
        lines = (lines.count.clampedSum(1), lines.bytes.clampedSum(Int64(count)))
        if heldBytes.bytes > 0, heldBytes.day == budget.day { noteBytes(budget, at: now) }
    }

    /// Counts a record that the daily byte limit holds back. Its line is assumed to have the average size.
    mutating func heldByBytes(_ budget: DailyBudget, of user: UInt32, at now: RecordLogInstant) {
        let average = lines.count > 0 ? lines.bytes / lines.count : Self.assumedLineBytes
        heldBytes = (budget.day, (heldBytes.day == budget.day ? heldBytes.bytes : 0).clampedSum(average))
        bytes.add(held: 1, at: now)
        Self.add(1, of: user, to: &byteUsers, at: now)
        noteBytes(budget, at: now)
    }

    private mutating func noteBytes(_ budget: DailyBudget, at now: RecordLogInstant) {
        bytes.add(peak: budget.charged.clampedSum(heldBytes.bytes), at: now)
    }

    private static func add(
        _ count: Int64, of user: UInt32, to users: inout [UInt32: HourlyDemand], at now: RecordLogInstant
    ) {
        if users[user] == nil, users.count >= maxUsers {
            users = users.filter { $0.value.held(at: now) > 0 }
            guard users.count < maxUsers else { return }
        }
        users[user, default: HourlyDemand()].add(held: count, at: now)
    }
}

extension Admission {
    /// Records the demand of a record on each limit that was checked.
    mutating func note(_ verdict: LimitVerdict, _ candidate: AdmissionCandidate, at now: RecordLogInstant) {
        switch verdict.decision {
        case .withhold: break
        case .admit:
            guard !history.isEmpty else { return }
            notePassed(candidate, 1, application: verdict.application, global: verdict.global, at: now)
        case .suppress(let reason):
            noteHeld(
                candidate, 1, reason, group: verdict.group, application: verdict.application, global: verdict.global,
                at: now)
        }
    }

    /// Records the demand of a run of suppressed records.
    mutating func note(_ run: SuppressedRun, _ candidate: AdmissionCandidate, in group: Group) {
        noteHeld(
            candidate, run.records, run.reason, group: group, application: .common, global: .common, at: run.first)
    }

    private mutating func notePassed(
        _ candidate: AdmissionCandidate, _ count: Int64, application: BucketRole?, global: BucketRole?,
        at now: RecordLogInstant
    ) {
        if !candidate.isFirstOfGroup { history.groups.passed(candidate.group, count, at: now) }
        if application == .common { history.applications.passed(candidate.account, count, at: now) }
        if global == .common { history.global?.add(count, held: 0, at: now) }
    }

    private mutating func noteHeld(
        _ candidate: AdmissionCandidate, _ count: Int64, _ reason: SuppressionReason, group: Group,
        application: BucketRole?,
        global used: BucketRole?, at now: RecordLogInstant
    ) {
        let limits = limits(of: candidate.account)
        switch reason {
        case .groupRate:
            let missed = history.groups.held(candidate.group, count, at: now) {
                BucketDemand(behind: group.bucket, limits.group, at: now).map {
                    LimitHistory.Entry(account: candidate.account, demand: $0)
                }
            }
            history.count(unlisted: missed, at: now)
        case .applicationRate:
            notePassed(candidate, count, application: nil, global: nil, at: now)
            let bucket = accounts.peek(candidate.account)?.buckets[.common]?.tokens
            let limit = Self.common(of: limits.application, reserves: settings.applicationReserves)
            let missed = history.applications.held(candidate.account, count, at: now) {
                bucket.flatMap { BucketDemand(behind: $0, limit, at: now) }.map {
                    LimitHistory.Entry(account: candidate.account, demand: $0)
                }
            }
            history.count(unlisted: missed, at: now)
        case .globalRate:
            notePassed(candidate, count, application: application, global: nil, at: now)
            if history.global == nil, let bucket = global[.common]?.tokens {
                let limit = Self.common(of: settings.global, reserves: settings.globalReserves)
                history.global = BucketDemand(behind: bucket, limit, .shared, at: now)
            }
            history.global?.add(count, held: count, at: now)
            history.held(of: candidate.user, count, at: now)
        case .dailyBytes:
            notePassed(candidate, count, application: application, global: used, at: now)
            history.heldByBytes(dailyBytes, of: candidate.user, at: now)
        case .cardinality: break
        }
    }

    /// Returns the part of a limit that is not reserved.
    static func common(of limit: BucketLimit, reserves: [BucketRole: Percentage]) -> BucketLimit {
        let reserved = reserves.values.reduce(0) { $0 + $1.percent }
        return BucketLimit(
            burst: limit.burst, refill: limit.refill, share: Percentage(percent: max(1, 100 - reserved)))
    }
}

/// A snapshot of the limits of one destination, from which queries compute the current levels and counts.
///
/// It is a copy, so that a query does not wait for the forwarding thread.
package struct LimitView: Sendable {
    /// The user and the name of an application.
    package typealias Application = (uid: UInt32, app: String)

    private let settings: LimitSettings
    package let history: LimitHistory
    private let global: SharedLimit
    private let dailyBytes: DailyBudget
    private let applications: [(account: AccountID, state: Admission.Account)]
    private let groups: [GroupID: TokenBucket]
    private let groupLimits: [AccountID: ApplicationLimits]
    /// Log time minus wall time, in milliseconds.
    private let offset: Int64
    /// The applications of `accounts`, set by the caller. Accounts without an entry are not listed.
    package var names: [AccountID: Application] = [:]
    /// The ids that clients see for the groups in `groupIDs`, set by the caller. Groups without such an id are not
    /// listed.
    package var groupNames: [GroupID: String] = [:]

    /// The maximum number of listed applications without an entry in the history.
    private static let maxQuietApplications = 256

    /// - Parameters:
    ///   - admission: The limits.
    ///   - offset: Log time minus wall time, in milliseconds.
    ///   - now: The current log time.
    package init(_ admission: Admission, offset: Int64, at now: RecordLogInstant) {
        settings = admission.settings
        history = admission.history
        global = admission.global
        dailyBytes = admission.dailyBytes
        self.offset = offset
        let tracked = history.applications.entries
        var applications: [(account: AccountID, state: Admission.Account)] = []
        var quiet = 0
        for (account, state) in admission.accounts.all {
            if tracked[account] == nil {
                guard quiet < Self.maxQuietApplications, let common = state.buckets[.common]?.tokens,
                    !common.isUnlimited
                else { continue }
                quiet += 1
            }
            applications.append((account, state))
        }
        self.applications = applications
        var (buckets, limits) = ([GroupID: TokenBucket](), [AccountID: ApplicationLimits]())
        for (id, entry) in history.groups.entries {
            buckets[id] = admission.groups.peek(id)?.bucket
            limits[entry.account] = admission.limits(of: entry.account)
        }
        (groups, groupLimits) = (buckets, limits)
    }

    /// The accounts whose names are needed.
    package var accounts: Set<AccountID> { Set(applications.map(\.account)).union(groupLimits.keys) }
    /// The groups that need an entry in `groupNames`.
    package var groupIDs: [GroupID] { Array(history.groups.entries.keys) }

    /// Returns the status of each listed limit, and the number of records that limits without an entry have held back.
    ///
    /// - Parameters:
    ///   - destination: The name of the destination.
    ///   - wall: The current wall time.
    package func statuses(destination: String, wall: IssueTimestamp) -> (limits: [LimitStatus], unlisted: Int64) {
        let now = RecordLogInstant(milliseconds: wall.millisecondsSince1970.clampedSum(offset))
        var all = globalStatuses(destination, at: now) + byteStatuses(destination, wall, at: now)
        for (account, state) in applications {
            guard let name = names[account] else { continue }
            let demand = history.applications.entries[account]?.demand
            var status = LimitStatus(
                .applicationRate, destination: destination, app: name.app, uid: name.uid,
                held: demand?.held(at: now) ?? 0, needed: demand?.needed(at: now) ?? [])
            guard Self.fill(&status, state.buckets, state.limits.application, at: now) else { continue }
            all.append(status)
        }
        for (id, entry) in history.groups.entries {
            guard let name = names[entry.account], let group = groupNames[id], let limits = groupLimits[entry.account]
            else { continue }
            let held = entry.demand.held(at: now)
            guard held > 0 else { continue }
            all.append(
                LimitStatus(
                    .groupRate, destination: destination, app: name.app, uid: name.uid, group: group,
                    level: groups[id].map { $0.tokens(at: now) }, capacity: limits.group.burst,
                    refill: limits.group.refill.count, period: limits.group.refill.period, held: held,
                    needed: entry.demand.needed(at: now)))
        }
        return (all, history.unlisted.held(at: now))
    }

    private func globalStatuses(_ destination: String, at now: RecordLogInstant) -> [LimitStatus] {
        var all = LimitStatus(
            .globalRate, destination: destination, held: history.global?.held(at: now) ?? 0,
            needed: history.global?.needed(at: now) ?? [])
        guard Self.fill(&all, global, settings.global, at: now) else { return [] }
        return [all] + Self.parts(.globalRate, destination, used: global.uses(at: now), history.users, at: now)
    }

    private func byteStatuses(
        _ destination: String, _ wall: IssueTimestamp, at now: RecordLogInstant
    ) -> [LimitStatus] {
        let today = dailyBytes.today(at: wall)
        guard let limit = today.limitBytes else { return [] }
        let held = history.bytes.held(at: now)
        let all = LimitStatus(
            .dailyBytes, destination: destination, level: max(0, limit.clampedDifference(today.charged)),
            capacity: limit, period: .seconds(86_400), held: held,
            needed: held > 0
                ? [LimitNeed(capacity: DailyBudget.limit(forBytes: history.bytes.peak(at: now)))] : [])
        return [all]
            + Self.parts(.dailyBytes, destination, period: all.period, used: today.users, history.byteUsers, at: now)
    }

    /// Returns the parts that users have in a limit that they share.
    private static func parts(
        _ name: LimitStatus.Name, _ destination: String, period: Duration? = nil, used: [UInt32: Int64],
        _ held: [UInt32: HourlyDemand], at now: RecordLogInstant
    ) -> [LimitStatus] {
        Set(used.keys).union(held.keys).map { user in
            var part = LimitStatus(
                name, destination: destination, uid: user, period: period, held: held[user]?.held(at: now) ?? 0)
            part.used = used[user] ?? 0
            return part
        }
    }

    /// Sets levels, capacities and refill. Returns `false` if the limit is unlimited.
    private static func fill(
        _ status: inout LimitStatus, _ buckets: SharedLimit, _ limit: BucketLimit, at now: RecordLogInstant
    ) -> Bool {
        guard !limit.isUnlimited, let common = buckets[.common]?.tokens else { return false }
        let all = BucketRole.allCases.compactMap { buckets[$0]?.tokens }
        status.level = all.reduce(0) { $0.clampedSum($1.tokens(at: now)) }
        status.capacity = all.reduce(0) { $0.clampedSum($1.capacity) }
        (status.refill, status.period) = (limit.refill.count, limit.refill.period)
        if common.capacity != status.capacity {
            (status.commonLevel, status.commonCapacity) = (common.tokens(at: now), common.capacity)
        }
        return true
    }
}

extension TokenBucket {
    /// The number of whole tokens in a full bucket; 0 if it is unlimited.
    var capacity: Int64 { scale.map { $0.capacity / $0.partsPerToken } ?? 0 }
}

extension SharedLimit {
    /// Returns the tokens of the common bucket that each user has outstanding, rounded up; empty if the bucket is full.
    func uses(at now: RecordLogInstant) -> [UInt32: Int64] {
        guard let bucket = self[.common], bucket.tokens.tokens(at: now) < bucket.tokens.capacity else { return [:] }
        return bucket.outstanding(at: now)
    }
}

extension DailyBudget {
    /// Returns a daily limit under which all users together can send this many bytes, even if one user sends all of
    /// them.
    ///
    /// A user's records are sent, whatever their severity, until the user has used four times the bytes left. The
    /// reserves of a tenth and an eighth of the limit do not count as left. So a single user gets 62 % of the limit.
    package static func limit(forBytes count: Int64) -> Int64 { (count.clampedProduct(81) / 50).clampedSum(1) }
}

extension LimitsReply {
    /// The maximum number of limits in a reply.
    package static let maxLimits = 200

    /// Creates a reply in which the limits that held back the most records are first. Limits that held back the same
    /// number are in ascending order of their level relative to the capacity.
    ///
    /// - Parameters:
    ///   - limits: All limits that the user may see.
    ///   - unlisted: The number of records that limits without an entry have held back.
    ///   - since: When counting began.
    package init(sorting limits: [LimitStatus], unlisted: Int64, since: IssueTimestamp) {
        func fill(_ limit: LimitStatus) -> Double {
            if let level = limit.level, let capacity = limit.capacity {
                return Double(level) / Double(max(1, capacity))
            }
            return limit.used.map { $0 > 0 ? 1 : 2 } ?? 3
        }
        func name(_ limit: LimitStatus) -> (String, String, String, String, UInt32) {
            (limit.name, limit.destination ?? "", limit.app ?? "", limit.group ?? "", limit.uid ?? 0)
        }
        let sorted = limits.map { (limit: $0, fill: fill($0)) }.sorted { left, right in
            if left.limit.held != right.limit.held { return left.limit.held > right.limit.held }
            return left.fill != right.fill ? left.fill < right.fill : name(left.limit) < name(right.limit)
        }.map(\.limit)
        let rest = sorted.dropFirst(Self.maxLimits)
        // No record is counted twice: the records of a user's part (`used`) are also in the entry of the whole limit.
        // If a limit has an entry for all users together, that entry includes the records of each user's entry.
        let sums = Set(limits.lazy.filter { $0.uid == nil && $0.level == nil }.map(\.name))
        let held = rest.filter { $0.used == nil && ($0.uid == nil || !sums.contains($0.name)) }
            .reduce(unlisted) { $0.clampedSum($1.held) }
        self.init(
            limits: Array(sorted.prefix(Self.maxLimits)), others: rest.count, othersHeld: Int(clamping: held),
            since: since)
    }
}
