import IssueProtocol

/// Bounds, at ingest, how many new groups and series an application can make, and how many names of applications and
/// kinds of sender a user.
///
/// An application that puts a number into each message makes a group of each;
/// what is above its limit joins the overflow group, where it is still stored
/// whole, counted and sampled. Windows begin at whole multiples of their
/// length, so that the store can say after a restart what was taken in the
/// present one.
package struct CardinalityGuard: Sendable {
    package enum SeriesVerdict: Equatable, Sendable {
        case allow
        /// It joins the group's overflow series.
        case overflowSeries
        /// It joins the application's overflow group.
        case overflowGroup
    }

    package enum ApplicationVerdict: Equatable, Sendable {
        case allow
        /// It joins what takes the rest of the user: his overflow application, or his overflow sender.
        case overflow
    }

    private struct Tally: Sendable {
        var window: Int64
        var count: Int64
    }

    private struct Account: Sendable {
        var groups: Tally
        var series: Tally
    }

    private struct User: Sendable {
        var applications = Tally(window: .min, count: 0)
        var senders = Tally(window: .min, count: 0)
    }

    /// How long a user's application names count, and his kinds of sender.
    package static let applicationPeriod: Duration = .seconds(86_400)
    /// How many kinds of sender come on one application name: a process may call itself anything, and a service manager
    /// makes units without end.
    package static let sendersPerApplication: Int64 = 20

    private var newGroups: Rate
    private var newSeries: Rate
    private var applications: Rate
    private var accounts: RecencyTable<Int64, Account>
    private var users: RecencyTable<UInt32, User>

    package init(settings: LimitSettings, accounts: Int = 4096, users: Int = 4096) {
        newGroups = settings.newGroupsPerApplication
        newSeries = settings.newSeriesPerApplication
        applications = Rate(settings.applicationsPerUser, per: Self.applicationPeriod)
        self.accounts = RecencyTable(capacity: accounts)
        self.users = RecencyTable(capacity: users)
    }

    /// The limits were read again; what was taken stays taken.
    package mutating func reload(_ settings: LimitSettings) {
        newGroups = settings.newGroupsPerApplication
        newSeries = settings.newSeriesPerApplication
        applications = Rate(settings.applicationsPerUser, per: Self.applicationPeriod)
    }

    /// Whether a series that was never seen may be made; if so it is counted, and its group with it if that is new.
    package mutating func newSeries(account: Int64, isNewGroup: Bool, at now: RecordLogInstant) -> SeriesVerdict {
        var known =
            accounts.peek(account)
            ?? Account(groups: Tally(window: .min, count: 0), series: Tally(window: .min, count: 0))
        let hasSeries = Self.hasRoom(known.series, newSeries, at: now)
        // A new group needs a series, and overflow series of new groups
        // would be without bound again.
        if isNewGroup, !hasSeries || !Self.hasRoom(known.groups, newGroups, at: now) { return .overflowGroup }
        guard hasSeries else { return .overflowSeries }
        Self.count(&known.series, newSeries, at: now)
        if isNewGroup { Self.count(&known.groups, newGroups, at: now) }
        _ = accounts.insert(known, for: account)
        return .allow
    }

    /// Whether an application name that this user never used may be taken; if so it is counted.
    package mutating func newApplication(uid: UInt32, at now: RecordLogInstant) -> ApplicationVerdict {
        var user = users.peek(uid) ?? User()
        guard Self.hasRoom(user.applications, applications, at: now) else { return .overflow }
        Self.count(&user.applications, applications, at: now)
        _ = users.insert(user, for: uid)
        return .allow
    }

    /// Whether a sender of which the kernel says what it never said may be taken as it is; if so it is counted.
    package mutating func newSender(uid: UInt32, at now: RecordLogInstant) -> ApplicationVerdict {
        var user = users.peek(uid) ?? User()
        guard Self.hasRoom(user.senders, senders, at: now) else { return .overflow }
        Self.count(&user.senders, senders, at: now)
        _ = users.insert(user, for: uid)
        return .allow
    }

    private var senders: Rate {
        Rate(applications.count.clampedProduct(Self.sendersPerApplication), per: applications.period)
    }

    /// Since when the store is to count new groups, new series and new names after a restart.
    package func windowStarts(at now: RecordLogInstant) -> (
        groups: RecordLogInstant, series: RecordLogInstant, names: RecordLogInstant
    ) {
        (
            Self.start(of: newGroups, at: now), Self.start(of: newSeries, at: now),
            Self.start(of: applications, at: now)
        )
    }

    /// The store counted what an application made since the starts of the present windows.
    package mutating func restore(
        account: Int64, newGroups groups: Int64, newSeries series: Int64, at now: RecordLogInstant
    ) {
        let known = Account(
            groups: Tally(window: Self.window(of: newGroups, at: now), count: groups),
            series: Tally(window: Self.window(of: newSeries, at: now), count: series))
        _ = accounts.insert(known, for: account)
    }

    /// The store counted what names a user made since the start of the present window.
    package mutating func restore(uid: UInt32, newApplications: Int64, at now: RecordLogInstant) {
        var user = users.peek(uid) ?? User()
        user.applications = Tally(window: Self.window(of: applications, at: now), count: newApplications)
        _ = users.insert(user, for: uid)
    }

    /// The store counted what kinds of sender a user had since the start of the present window.
    package mutating func restore(uid: UInt32, newSenders: Int64, at now: RecordLogInstant) {
        var user = users.peek(uid) ?? User()
        user.senders = Tally(window: Self.window(of: senders, at: now), count: newSenders)
        _ = users.insert(user, for: uid)
    }

    private static func hasRoom(_ tally: Tally, _ rate: Rate, at now: RecordLogInstant) -> Bool {
        rate.isUnlimited || tally.window < window(of: rate, at: now) || tally.count < rate.count
    }

    private static func count(_ tally: inout Tally, _ rate: Rate, at now: RecordLogInstant) {
        let present = window(of: rate, at: now)
        if tally.window < present { tally = Tally(window: present, count: 0) }
        tally.count = tally.count.clampedSum(1)
    }

    private static func window(of rate: Rate, at now: RecordLogInstant) -> Int64 {
        let length = max(1, rate.period.wholeMilliseconds)
        let (quotient, remainder) = now.milliseconds.quotientAndRemainder(dividingBy: length)
        return remainder < 0 ? quotient - 1 : quotient
    }

    private static func start(of rate: Rate, at now: RecordLogInstant) -> RecordLogInstant {
        RecordLogInstant(milliseconds: window(of: rate, at: now).clampedProduct(max(1, rate.period.wholeMilliseconds)))
    }
}

/// What a user reports under more names than he may, so that the guard keeps the rest together.
package struct CardinalityOverflow: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable {
        case applications
        case senders
        /// Of one application.
        case issues
        /// Of one issue.
        case variants
    }

    package var uid: UInt32
    package var kind: Kind

    package init(uid: UInt32, kind: Kind) {
        self.uid = uid
        self.kind = kind
    }
}

/// Decides which crowding is worth a line: each the first time, and again after an hour.
package struct OverflowWarningLimiter: Sendable {
    private var told: [CardinalityOverflow: MonotonicInstant] = [:]

    package static let interval: Duration = .seconds(3600)
    /// How many are kept in mind: a host has few users.
    private static let most = 1024

    package init() {}

    /// Something was kept together; answers whether that is to be told.
    package mutating func came(_ crowding: CardinalityOverflow, at now: MonotonicInstant) -> Bool {
        if let last = told[crowding], last.duration(to: now) < Self.interval { return false }
        if told.count >= Self.most { told = told.filter { $0.value.duration(to: now) < Self.interval } }
        guard told.count < Self.most || told[crowding] != nil else { return false }
        told[crowding] = now
        return true
    }
}
