package import IssueProtocol

/// The kinds of events that notifiers report. The raw values are stored in the database.
package struct NotificationKinds: OptionSet, Hashable, Sendable {
    package let rawValue: Int64

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// The first record of a group.
    package static let new = NotificationKinds(rawValue: 1)
    /// A resolved group was reported again, or a mute ended with a newer version or after a number of occurrences.
    package static let regressed = NotificationKinds(rawValue: 2)
    /// A group has its first critical record, or a critical group has regressed.
    package static let critical = NotificationKinds(rawValue: 4)
    /// A destination does not accept records until an operator acts.
    package static let destinationPaused = NotificationKinds(rawValue: 8)
    /// The store does not accept reports, or was damaged.
    package static let storeFault = NotificationKinds(rawValue: 16)
    /// A limit of a destination starts or stops holding back records, or a user reports too many different names.
    package static let limitReached = NotificationKinds(rawValue: 32)

    /// A group has had many occurrences within the period that the notifier's configuration sets.
    package static let escalated = NotificationKinds(rawValue: 64)

    /// All kinds with their names in the configuration and in messages, the most urgent first.
    package static let named: [(kind: NotificationKinds, name: String)] = [
        (.storeFault, "store-fault"), (.destinationPaused, "destination-paused"), (.critical, "critical"),
        (.regressed, "regressed"), (.escalated, "escalated"), (.limitReached, "limit-reached"), (.new, "new"),
    ]

    package static let all = NotificationKinds(named.map(\.kind))

    /// Returns the kind with a name; nil if there is none.
    package init?(name: String) {
        guard let found = Self.named.first(where: { $0.name == name }) else { return nil }
        self = found.kind
    }

    /// The names of the kinds, the most urgent first.
    package var names: [String] { Self.named.filter { contains($0.kind) }.map(\.name) }

    /// The index of the most urgent kind in `named`, where 0 is the most urgent; `named.count` if there is none.
    package var urgency: Int {
        Self.named.firstIndex { contains($0.kind) } ?? Self.named.count
    }
}

/// The attributes of a record that filters and silences examine.
package struct NotificationSubject: Equatable, Sendable {
    package var kinds: NotificationKinds
    /// The name of the account: the claimed application, or else the command.
    package var app: String
    package var environment: String?
    package var severity: IssueLevel
    /// The systemd unit of the sender.
    package var unit: String?
    /// The id of the group, as clients see it.
    package var group: String

    package init(
        kinds: NotificationKinds, app: String, environment: String?, severity: IssueLevel, unit: String?, group: String
    ) {
        self.kinds = kinds
        self.app = app
        self.environment = environment
        self.severity = severity
        self.unit = unit
        self.group = group
    }
}

/// Selects the events that a notifier reports.
package struct NotificationFilter: Hashable, Sendable {
    package var kinds: NotificationKinds = [.new, .regressed, .critical, .escalated, .destinationPaused, .storeFault]
    /// The names of applications, environments and units to report. An empty list matches all. A name may end with `*`.
    package var apps: [String] = []
    package var environments: [String] = []
    package var units: [String] = []
    /// The lowest severity to report.
    package var severity: IssueLevel = .debug

    package init() {}

    /// Returns `true` if the notifier reports an event of an issue.
    package func admits(_ subject: NotificationSubject) -> Bool { exclusion(of: subject) == nil }

    /// Returns the configuration key that excludes an event of an issue; nil if the notifier reports the event.
    package func exclusion(of subject: NotificationSubject) -> String? {
        if kinds.isDisjoint(with: subject.kinds) { return "On" }
        if subject.severity < severity { return "Severity" }
        if !NamePattern.matches(apps, subject.app) { return "Apps" }
        if !NamePattern.matches(environments, subject.environment) { return "Environments" }
        return NamePattern.matches(units, subject.unit) ? nil : "Units"
    }

    /// Returns `true` if the notifier reports an event without a record. Only the kind matters.
    package func admits(_ kind: NotificationKinds) -> Bool { !kinds.isDisjoint(with: kind) }
}

/// Matches names with patterns. A pattern may end with `*`, which matches any ending.
enum NamePattern {
    /// Returns `true` if there are no patterns or one of them matches.
    static func matches(_ patterns: [String], _ name: String?) -> Bool {
        patterns.isEmpty
            || patterns.contains { pattern in
                pattern.last == "*" ? (name ?? "").hasPrefix(pattern.dropLast()) : pattern == name
            }
    }
}

extension IssueSilence {
    /// The maximum number of silences in effect, and of those of one user.
    package static let maxCount = 256
    package static let maxCountOfUser = 64
    /// The maximum length of the reason, in Unicode scalars.
    package static let maxReason = 500
    /// The maximum length of a name, and of all names together, in bytes.
    package static let maxName = 256
    package static let maxNames = 8192
    /// The maximum time from now until the end of a silence.
    package static let maxTime: Duration = .seconds(maxDays * 86_400)

    /// Returns `true` if this silence applies to an event, so that no notifier reports it.
    ///
    /// Events without a record have no subject and are never silenced.
    package func covers(_ subject: NotificationSubject, at now: IssueTimestamp) -> Bool {
        now < until && NamePattern.matches(apps, subject.app)
            && NamePattern.matches(environments, subject.environment) && NamePattern.matches(units, subject.unit)
            && (groups.isEmpty || groups.contains(subject.group))
    }

    /// Returns the name of an invalid parameter; nil if there is none.
    package func invalidParameter(at now: IssueTimestamp) -> String? {
        if until <= now || until > now.advanced(by: Self.maxTime) { return "until" }
        if reason.allSatisfy(\.isWhitespace) || reason.unicodeScalars.count > Self.maxReason { return "reason" }
        let lists = [("apps", apps), ("environments", environments), ("units", units)]
        if lists.allSatisfy(\.1.isEmpty), groups.isEmpty { return "apps" }
        if let wrong = lists.first(where: { $0.1.count > 50 || !$0.1.allSatisfy(Self.isPattern) }) { return wrong.0 }
        if groups.count > 50 || !groups.allSatisfy(IssueGroup.isID) { return "groups" }
        let bytes = (apps + environments + units).reduce(0) { $0 + $1.utf8.count }
        return bytes > Self.maxNames ? lists.max { $0.1.count < $1.1.count }?.0 : nil
    }

    /// Returns `true` for a name of valid length that has a `*` only at its end and no control characters.
    private static func isPattern(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.count <= maxName && !name.dropLast().contains("*")
            && !name.unicodeScalars.contains { $0.properties.generalCategory == .control }
    }
}
