package import IssueProtocol

/// Limits the number of new groups and series per application, and the number of new application names and sender kinds
/// per accountable user. A sender kind is a combination of properties that the kernel reports about a process. The
/// limits are applied when records are stored.
///
/// A fault in an application could otherwise create a group for each record. Records above a limit are combined in an
/// overflow group, series, application or sender, in which they are stored whole and counted. Because a user can invent
/// application names, all applications of a user together may create only `userLimitFactor` times as many groups and
/// series as one application. Counting windows start at multiples of their length, so that after a restart the store
/// can count what was created in the current window.
package struct CardinalityGuard: Sendable {
    package enum SeriesVerdict: Equatable, Sendable {
        case allow
        /// The record joins an overflow series of its group.
        case overflowSeries
        /// The record joins the application's overflow group because of this limit.
        case overflowGroup(CardinalityOverflow.Kind)
    }

    package enum ApplicationVerdict: Equatable, Sendable {
        case allow
        /// The record joins the user's overflow application or overflow sender.
        case overflow
    }

    private struct WindowCount: Sendable {
        /// The number of the window, counted from the origin of log time.
        var window = Int64.min
        var count: Int64 = 0
    }

    private struct Account: Sendable {
        var groups = WindowCount()
        var series = WindowCount()
    }

    private struct User: Sendable {
        var applications = WindowCount()
        var senders = WindowCount()
        /// The new groups of all applications of the user together. The same applies to `series`.
        var groups = WindowCount()
        var series = WindowCount()
    }

    /// The period over which a user's application names and sender kinds are counted.
    package static let applicationPeriod: Duration = .seconds(86_400)
    /// The limit for new sender kinds, as a multiple of the limit for application names. Sender kinds are limited
    /// because a process can choose its own command name, and a service manager can create any number of units.
    package static let senderLimitFactor: Int64 = 20

    /// The limit for all applications of a user together, as a multiple of the limit for one application.
    package static let userLimitFactor: Int64 = 5

    private var newGroups: Rate
    private var newSeries: Rate
    private var applications: Rate
    private var accounts: RecencyTable<AccountID, Account>
    private var users: RecencyTable<UInt32, User>

    /// - Parameters:
    ///   - settings: The limits.
    ///   - accounts: The maximum number of applications remembered.
    ///   - users: The maximum number of users remembered.
    package init(settings: LimitSettings, accounts: Int = 4096, users: Int = 4096) {
        newGroups = settings.newGroupsPerApplication
        newSeries = settings.newSeriesPerApplication
        applications = Self.applicationLimit(settings)
        self.accounts = RecencyTable(capacity: accounts)
        self.users = RecencyTable(capacity: users)
    }

    /// Applies new limits. The counters of a limit whose period has changed start again at zero, because their windows
    /// are numbered by the old period.
    package mutating func reload(_ settings: LimitSettings) {
        let (oldGroups, oldSeries) = (newGroups, newSeries)
        newGroups = settings.newGroupsPerApplication
        newSeries = settings.newSeriesPerApplication
        if newGroups.windowLength != oldGroups.windowLength {
            accounts.updateAll { $1.groups = WindowCount() }
            users.updateAll { $1.groups = WindowCount() }
        }
        if newSeries.windowLength != oldSeries.windowLength {
            accounts.updateAll { $1.series = WindowCount() }
            users.updateAll { $1.series = WindowCount() }
        }
        applications = Self.applicationLimit(settings)
    }

    /// Decides whether a new series may be created. If so, counts it, and its group if that is new too.
    ///
    /// - Parameters:
    ///   - account: The account id of the application.
    ///   - user: The user accountable for the sender.
    ///   - isNewGroup: `true` if the series would also create a group.
    ///   - now: The current log time.
    package mutating func admitSeries(
        account: AccountID, user: UInt32, isNewGroup: Bool, at now: RecordLogInstant
    ) -> SeriesVerdict {
        var known = accounts.peek(account) ?? Account()
        var owner = users.peek(user) ?? User()
        let hasSeries = Self.isBelowLimit(known.series, owner.series, newSeries, at: now)
        let hasGroups = Self.isBelowLimit(known.groups, owner.groups, newGroups, at: now)
        // A new group has a new series. If each new group got an overflow series instead, the limit on series would not
        // limit the number of overflow series.
        if isNewGroup, !hasSeries || !hasGroups { return .overflowGroup(hasGroups ? .variants : .issues) }
        guard hasSeries else { return .overflowSeries }
        Self.count(&known.series, newSeries, at: now)
        Self.count(&owner.series, newSeries, at: now)
        if isNewGroup {
            Self.count(&known.groups, newGroups, at: now)
            Self.count(&owner.groups, newGroups, at: now)
        }
        _ = accounts.insert(known, for: account)
        _ = users.insert(owner, for: user)
        return .allow
    }

    /// Decides whether a new application name of an accountable user may be created, and counts it if so.
    package mutating func admitApplication(uid: UInt32, at now: RecordLogInstant) -> ApplicationVerdict {
        admit(\.applications, applications, of: uid, at: now)
    }

    /// Decides whether a new sender kind of an accountable user may be created, and counts it if so.
    package mutating func admitSender(uid: UInt32, at now: RecordLogInstant) -> ApplicationVerdict {
        admit(\.senders, senders, of: uid, at: now)
    }

    private mutating func admit(
        _ window: WritableKeyPath<User, WindowCount>, _ limit: Rate, of uid: UInt32, at now: RecordLogInstant
    ) -> ApplicationVerdict {
        var user = users.peek(uid) ?? User()
        guard Self.isBelowLimit(user[keyPath: window], limit, at: now) else { return .overflow }
        Self.count(&user[keyPath: window], limit, at: now)
        _ = users.insert(user, for: uid)
        return .allow
    }

    /// The limit for a user's new application names.
    static func applicationLimit(_ settings: LimitSettings) -> Rate {
        Rate(settings.applicationsPerUser, per: applicationPeriod)
    }

    private var senders: Rate { applications.times(Self.senderLimitFactor) }

    /// Returns when the current windows began. After a restart, the store counts what was created since then. `names`
    /// is for application names and sender kinds.
    package func windowStarts(at now: RecordLogInstant) -> (
        groups: RecordLogInstant, series: RecordLogInstant, names: RecordLogInstant
    ) {
        (
            Self.start(of: newGroups, at: now), Self.start(of: newSeries, at: now),
            Self.start(of: applications, at: now)
        )
    }

    /// Returns the log time at which the window for groups or that for series ends, whichever is first. New groups or
    /// series may be allowed again then. A window without a limit never ends.
    package func windowEnd(at now: RecordLogInstant) -> RecordLogInstant {
        min(Self.end(of: newGroups, at: now), Self.end(of: newSeries, at: now))
    }

    /// Returns the log time at which the window for application names and sender kinds ends. A window without a limit
    /// never ends.
    package func namesEnd(at now: RecordLogInstant) -> RecordLogInstant { Self.end(of: applications, at: now) }

    /// Restores an application's counters from what the store has counted since the current windows began. Must not be
    /// called twice for an application, because the counts are also added to its user's counters.
    package mutating func restore(
        account: AccountID, user: UInt32, newGroups groups: Int64, newSeries series: Int64, at now: RecordLogInstant
    ) {
        let known = Account(
            groups: WindowCount(window: newGroups.window(at: now), count: groups),
            series: WindowCount(window: newSeries.window(at: now), count: series))
        _ = accounts.insert(known, for: account)
        var owner = users.peek(user) ?? User()
        Self.count(&owner.groups, newGroups, at: now, by: groups)
        Self.count(&owner.series, newSeries, at: now, by: series)
        _ = users.insert(owner, for: user)
    }

    /// Counts new application names of a user that were stored since the start of the current window.
    package mutating func restore(uid: UInt32, newApplications: Int64, at now: RecordLogInstant) {
        var user = users.peek(uid) ?? User()
        Self.count(&user.applications, applications, at: now, by: newApplications)
        _ = users.insert(user, for: uid)
    }

    /// Counts new sender kinds of a user that were stored since the start of the current window.
    package mutating func restore(uid: UInt32, newSenders: Int64, at now: RecordLogInstant) {
        var user = users.peek(uid) ?? User()
        Self.count(&user.senders, senders, at: now, by: newSenders)
        _ = users.insert(user, for: uid)
    }

    /// Returns the number of groups that the limit on groups still lets an application of a user create in the current
    /// window; nil if there is no limit.
    package func groupsLeft(account: AccountID, user: UInt32, at now: RecordLogInstant) -> Int64? {
        guard newGroups.count > 0 else { return nil }
        func left(_ counted: WindowCount?, _ limit: Rate) -> Int64 {
            guard let counted, counted.window >= limit.window(at: now) else { return limit.count }
            return max(0, limit.count - counted.count)
        }
        return min(
            left(accounts.peek(account)?.groups, newGroups),
            left(users.peek(user)?.groups, newGroups.times(Self.userLimitFactor)))
    }

    /// Returns `true` if neither the application nor its user has reached the limit.
    private static func isBelowLimit(_ own: WindowCount, _ user: WindowCount, _ limit: Rate, at now: RecordLogInstant)
        -> Bool
    {
        isBelowLimit(own, limit, at: now) && isBelowLimit(user, limit.times(userLimitFactor), at: now)
    }

    private static func isBelowLimit(_ counted: WindowCount, _ limit: Rate, at now: RecordLogInstant) -> Bool {
        limit.isUnlimited || counted.window < limit.window(at: now) || counted.count < limit.count
    }

    private static func count(
        _ counted: inout WindowCount, _ limit: Rate, at now: RecordLogInstant, by count: Int64 = 1
    ) {
        let present = limit.window(at: now)
        if counted.window < present { counted = WindowCount(window: present, count: 0) }
        counted.count = counted.count.clampedSum(count)
    }

    private static func end(of limit: Rate, at now: RecordLogInstant) -> RecordLogInstant {
        guard !limit.isUnlimited else { return RecordLogInstant(milliseconds: .max) }
        return RecordLogInstant(milliseconds: limit.window(at: now).clampedSum(1).clampedProduct(limit.windowLength))
    }

    private static func start(of limit: Rate, at now: RecordLogInstant) -> RecordLogInstant {
        RecordLogInstant(milliseconds: limit.window(at: now).clampedProduct(limit.windowLength))
    }
}

/// A user whose records the guard combines because they exceed a limit, and the kind of this limit. If a record exceeds
/// the limits on groups and on series, the kind is that of the limit on groups.
package struct CardinalityOverflow: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable {
        /// Too many application names.
        case applications
        /// Too many sender kinds.
        case senders
        /// Too many new groups.
        case issues
        /// Too many new series.
        case variants
    }

    /// The user accountable for these records, to whom the limit applies. If this were the sender's own id, a user with
    /// many subordinate ids could fill the tables that have an entry for each user.
    package var uid: UInt32
    package var kind: Kind

    package init(uid: UInt32, kind: Kind) {
        self.uid = uid
        self.kind = kind
    }
}

/// Decides which overflows are logged: each kind at most once an hour per user.
package struct OverflowWarningLimiter: Sendable {
    private var loggedAt: [CardinalityOverflow: MonotonicInstant] = [:]

    package static let interval: Duration = .seconds(3600)
    /// The maximum number of overflows remembered. While all of them are recent, others are not logged.
    private static let maxEntries = 1024

    package init() {}

    /// Returns `true` if an overflow should be logged, and then remembers the time.
    package mutating func shouldLog(_ overflow: CardinalityOverflow, at now: MonotonicInstant) -> Bool {
        if let last = loggedAt[overflow], last.duration(to: now) < Self.interval { return false }
        if loggedAt.count >= Self.maxEntries {
            loggedAt = loggedAt.filter { $0.value.duration(to: now) < Self.interval }
        }
        guard loggedAt.count < Self.maxEntries || loggedAt[overflow] != nil else { return false }
        loggedAt[overflow] = now
        return true
    }
}

/// The number of times that application names, sender kinds, groups or series exceeded a limit in the last 24 hours, by
/// user and kind of limit.
package struct OverflowHistory: Sendable {
    private struct Entry: Sendable {
        var hours = HourlyDemand()
        /// The number of the limit's current period, the overflows in it, and the overflows in the period before it.
        var window: (number: Int64, count: Int64, before: Int64) = (.min, 0, 0)
    }

    /// The maximum number of entries. An entry is for one user and kind.
    package static let maxEntries = 256

    private var entries: [CardinalityOverflow: Entry] = [:]

    package init() {}

    /// Counts an overflow. While the table is full, overflows without an entry are not counted.
    package mutating func add(_ overflow: CardinalityOverflow, _ settings: LimitSettings, at now: RecordLogInstant) {
        if entries[overflow] == nil, entries.count >= Self.maxEntries {
            entries = entries.filter { $0.value.hours.held(at: now) > 0 }
            guard entries.count < Self.maxEntries else { return }
        }
        let number = Self.limit(overflow.kind, settings).window(at: now)
        var entry = entries[overflow] ?? Entry()
        if entry.window.number != number {
            entry.window = (number, 0, entry.window.number == number - 1 ? entry.window.count : 0)
        }
        entry.window.count += 1
        // `now` may come from another clock than the guard's, so the guard's windows may begin at other times than
        // these periods. However, each window lies within two consecutive periods. It cannot have more overflows than
        // both together.
        entry.hours.add(held: 1, peak: entry.window.count.clampedSum(entry.window.before), at: now)
        entries[overflow] = entry
    }

    /// Returns the status of each limit, except unlimited ones, for all users together and for each user who exceeded
    /// it in the last 24 hours.
    package func statuses(_ settings: LimitSettings, at now: RecordLogInstant) -> [LimitStatus] {
        let kinds: [CardinalityOverflow.Kind] = [.issues, .variants, .applications, .senders]
        return kinds.flatMap { kind -> [LimitStatus] in
            let limit = Self.limit(kind, settings)
            guard !limit.isUnlimited else { return [] }
            let own = entries.filter { $0.key.kind == kind && $0.value.hours.held(at: now) > 0 }
            var all = LimitStatus(
                Self.name(of: kind), capacity: limit.count, period: limit.period,
                held: own.reduce(0) { $0.clampedSum($1.value.hours.held(at: now)) })
            let users = own.map { overflow, entry in
                LimitStatus(
                    Self.name(of: kind), uid: overflow.uid, capacity: limit.count, period: limit.period,
                    held: entry.hours.held(at: now),
                    needed: [LimitNeed(capacity: limit.count.clampedSum(entry.hours.peak(at: now)))])
            }
            if let capacity = users.compactMap({ $0.needed.first?.capacity }).max() {
                all.needed = [LimitNeed(capacity: capacity)]
            }
            return [all] + users
        }
    }

    private static func name(of kind: CardinalityOverflow.Kind) -> LimitStatus.Name {
        switch kind {
        case .issues: .newGroups
        case .variants: .newSeries
        case .applications: .applications
        case .senders: .senders
        }
    }

    private static func limit(_ kind: CardinalityOverflow.Kind, _ settings: LimitSettings) -> Rate {
        switch kind {
        case .issues: settings.newGroupsPerApplication
        case .variants: settings.newSeriesPerApplication
        case .applications: CardinalityGuard.applicationLimit(settings)
        case .senders: CardinalityGuard.applicationLimit(settings).times(CardinalityGuard.senderLimitFactor)
        }
    }
}
