import IssueProtocol

/// Limits, at ingest, the number of new groups and series per application, and the number of
/// application names and sender kinds per user.
///
/// An application that puts a number into each message creates a group for each. Records above the
/// limit join the overflow group, where they are still stored in full, counted and sampled. Windows
/// start at multiples of their length, so that the store can count after a restart what the current
/// window has already used.
package struct CardinalityGuard: Sendable {
    package enum SeriesVerdict: Equatable, Sendable {
        case allow
        /// The record joins the group's overflow series.
        case overflowSeries
        /// The record joins the application's overflow group.
        case overflowGroup
    }

    package enum ApplicationVerdict: Equatable, Sendable {
        case allow
        /// The record joins the user's overflow application or overflow sender.
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

    /// The period over which a user's application names and sender kinds are counted.
    package static let applicationPeriod: Duration = .seconds(86_400)
    /// The maximum number of sender kinds per allowed application name. A process can choose its
    /// own name, and a service manager can create any number of units.
    package static let sendersPerApplication: Int64 = 20

    private var newGroups: Rate
    private var newSeries: Rate
    private var applications: Rate
    private var accounts: RecencyTable<Int64, Account>
    private var users: RecencyTable<UInt32, User>

    /// - Parameters:
    ///   - settings: The limits.
    ///   - accounts: The maximum number of applications remembered.
    ///   - users: The maximum number of users remembered.
    package init(settings: LimitSettings, accounts: Int = 4096, users: Int = 4096) {
        newGroups = settings.newGroupsPerApplication
        newSeries = settings.newSeriesPerApplication
        applications = Rate(settings.applicationsPerUser, per: Self.applicationPeriod)
        self.accounts = RecencyTable(capacity: accounts)
        self.users = RecencyTable(capacity: users)
    }

    /// Applies new limits. The counters are kept.
    package mutating func reload(_ settings: LimitSettings) {
        newGroups = settings.newGroupsPerApplication
        newSeries = settings.newSeriesPerApplication
        applications = Rate(settings.applicationsPerUser, per: Self.applicationPeriod)
    }

    /// Decides whether a new series may be created, and counts it if so. A new group is counted
    /// too.
    ///
    /// - Parameters:
    ///   - account: The account id of the application.
    ///   - isNewGroup: `true` if the series would also create a group.
    ///   - now: The current log time.
    package mutating func newSeries(account: Int64, isNewGroup: Bool, at now: RecordLogInstant) -> SeriesVerdict {
        var known =
            accounts.peek(account)
            ?? Account(groups: Tally(window: .min, count: 0), series: Tally(window: .min, count: 0))
        let hasSeries = Self.hasRoom(known.series, newSeries, at: now)
        // A new group needs a series. Giving it the overflow series would make their number
        // unbounded again.
        if isNewGroup, !hasSeries || !Self.hasRoom(known.groups, newGroups, at: now) { return .overflowGroup }
        guard hasSeries else { return .overflowSeries }
        Self.count(&known.series, newSeries, at: now)
        if isNewGroup { Self.count(&known.groups, newGroups, at: now) }
        _ = accounts.insert(known, for: account)
        return .allow
    }

    /// Decides whether a new application name of a user may be created, and counts it if so.
    package mutating func newApplication(uid: UInt32, at now: RecordLogInstant) -> ApplicationVerdict {
        var user = users.peek(uid) ?? User()
        guard Self.hasRoom(user.applications, applications, at: now) else { return .overflow }
        Self.count(&user.applications, applications, at: now)
        _ = users.insert(user, for: uid)
        return .allow
    }

    /// Decides whether a new kind of sender of a user may be created, and counts it if so.
    ///
    /// A kind of sender is a combination of properties that the kernel reports about a process.
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

    /// Returns the starts of the current windows, for the store to count new groups, series and
    /// names after a restart.
    package func windowStarts(at now: RecordLogInstant) -> (
        groups: RecordLogInstant, series: RecordLogInstant, names: RecordLogInstant
    ) {
        (
            Self.start(of: newGroups, at: now), Self.start(of: newSeries, at: now),
            Self.start(of: applications, at: now)
        )
    }

    /// Restores an application's counters, as the store counted them since the starts of the
    /// current windows.
    package mutating func restore(
        account: Int64, newGroups groups: Int64, newSeries series: Int64, at now: RecordLogInstant
    ) {
        let known = Account(
            groups: Tally(window: Self.window(of: newGroups, at: now), count: groups),
            series: Tally(window: Self.window(of: newSeries, at: now), count: series))
        _ = accounts.insert(known, for: account)
    }

    /// Restores the number of new application names of a user since the start of the current
    /// window.
    package mutating func restore(uid: UInt32, newApplications: Int64, at now: RecordLogInstant) {
        var user = users.peek(uid) ?? User()
        user.applications = Tally(window: Self.window(of: applications, at: now), count: newApplications)
        _ = users.insert(user, for: uid)
    }

    /// Restores the number of new kinds of sender of a user since the start of the current window.
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

/// An overflow of a user's limits: the guard merges what exceeds them.
package struct CardinalityOverflow: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable {
        case applications
        case senders
        /// Too many groups in one application.
        case issues
        /// Too many series in one group.
        case variants
    }

    /// The user whose names, groups or series exceed a limit.
    package var uid: UInt32
    package var kind: Kind

    package init(uid: UInt32, kind: Kind) {
        self.uid = uid
        self.kind = kind
    }
}

/// Decides which overflows are logged: each the first time, and again after an hour.
package struct OverflowWarningLimiter: Sendable {
    private var told: [CardinalityOverflow: MonotonicInstant] = [:]

    package static let interval: Duration = .seconds(3600)
    /// The maximum number of overflows remembered. A host has few users.
    private static let most = 1024

    package init() {}

    /// Records an overflow and returns `true` if it should be logged.
    package mutating func came(_ crowding: CardinalityOverflow, at now: MonotonicInstant) -> Bool {
        if let last = told[crowding], last.duration(to: now) < Self.interval { return false }
        if told.count >= Self.most { told = told.filter { $0.value.duration(to: now) < Self.interval } }
        guard told.count < Self.most || told[crowding] != nil else { return false }
        told[crowding] = now
        return true
    }
}
