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
    /// A group has its first critical record, or has regressed with a critical record.
    package static let critical = NotificationKinds(rawValue: 4)
    /// A destination does not accept records until an operator acts.
    package static let destinationPaused = NotificationKinds(rawValue: 8)
    /// The store does not accept reports, or was damaged.
    package static let storeFault = NotificationKinds(rawValue: 16)
    /// A limit of a destination starts or stops holding back records, or a user exceeds a limit on names, groups or
    /// series.
    package static let limitReached = NotificationKinds(rawValue: 32)

    /// A group has had many occurrences within the period that the notifier's configuration sets.
    package static let escalated = NotificationKinds(rawValue: 64)
    /// A destination has not accepted records for too long, although some are pending.
    package static let destinationDelayed = NotificationKinds(rawValue: 128)
    /// A destination that was reported as paused or delayed accepts records again.
    package static let destinationRecovered = NotificationKinds(rawValue: 256)
    /// Records, summaries or corrections became dead letters.
    package static let deadLetters = NotificationKinds(rawValue: 512)

    /// All kinds with their names in the configuration and in messages, the most urgent first.
    package static let named: [(kind: NotificationKinds, name: String)] = [
        (.storeFault, "store-fault"), (.destinationPaused, "destination-paused"),
        (.destinationDelayed, "destination-delayed"), (.critical, "critical"), (.regressed, "regressed"),
        (.escalated, "escalated"), (.deadLetters, "dead-letters"), (.limitReached, "limit-reached"), (.new, "new"),
        (.destinationRecovered, "destination-recovered"),
    ]
    /// The kinds that are not reported by default.
    package static let optional: NotificationKinds = [.deadLetters, .limitReached]
    /// The kinds that report whether a destination accepts records. Of the events of these kinds about a destination, a
    /// message lists only the newest.
    package static let destinationStates: NotificationKinds = [
        .destinationPaused, .destinationDelayed, .destinationRecovered,
    ]

    package static let all = NotificationKinds(named.map(\.kind))

    /// Returns the kind with a name; nil if there is none.
    package init?(name: String) {
        guard let found = Self.named.first(where: { $0.name == name }) else { return nil }
        self = found.kind
    }

    /// The names of the kinds, the most urgent first.
    package var names: [String] { Self.named.filter { contains($0.kind) }.map(\.name) }

    /// Returns the destination that an event is about; nil if it is about none.
    ///
    /// - Parameter text: The text of the event. If the event is about a destination, the text begins with the
    ///   destination's name, which can't contain colons, and a colon.
    package func destination(in text: String) -> String? {
        guard !isDisjoint(with: [.destinationStates, .deadLetters]) else { return nil }
        return text.firstIndex(of: ":").map { String(text[..<$0]) }
    }

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
    package var kinds = NotificationKinds.all.subtracting(.optional)
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

/// Detects groups with many occurrences in a period, for the event `escalated` of one notifier.
///
/// A period consists of `slotCount` slots: the current one and those before it. Their counts are added, so all counted
/// occurrences happened within one period. A group in memory is reported at most once per period.
///
/// The number of groups in memory is limited. When the table is full and no group has expired, half of the groups of
/// the user with the most groups are removed. A user therefore cannot displace the groups of users who have fewer.
package struct EscalationCounter: Sendable {
    /// The stored form of a group's counts.
    package struct Entry: Equatable, Sendable {
        package var group: GroupID
        /// The user accountable for the record with which counting began.
        package var uid: UInt32
        /// The index of the slot of the last occurrence, counted from the origin of log time.
        package var slot: Int64
        /// The occurrences in `slot` and in the slots before it, the latest slot first. Must not be empty.
        package var counts: [Int64]
        /// The log time of the last report; nil if there was none.
        package var reportedAt: RecordLogInstant?

        package init(
            group: GroupID, uid: UInt32, slot: Int64, counts: [Int64], reportedAt: RecordLogInstant? = nil
        ) {
            self.group = group
            self.uid = uid
            self.slot = slot
            self.counts = counts
            self.reportedAt = reportedAt
        }

        var sum: Int64 { counts.reduce(0) { $0.clampedSum($1) } }

        /// Adds occurrences, and returns `true` if the group is to be reported.
        fileprivate mutating func add(
            _ occurrences: Int64, in current: Int64, at now: RecordLogInstant, _ rate: Rate
        ) -> Bool {
            if current > slot {
                let passed = Int(clamping: min(current - slot, EscalationCounter.slotCount))
                counts = Array((Array(repeating: 0, count: passed) + counts).prefix(Int(EscalationCounter.slotCount)))
                slot = current
            }
            counts[0] = counts[0].clampedSum(occurrences)
            guard sum >= rate.count, reportedAt.map({ $0.duration(to: now) >= rate.period }) ?? true else {
                return false
            }
            reportedAt = now
            return true
        }
    }

    /// The changes since the last call of `takeChanges(at:)`.
    package struct Changes: Equatable, Sendable {
        /// The entries that were added or changed.
        package var entries: [Entry] = []
        /// The groups whose entries were removed.
        package var removed: [GroupID] = []

        package init() {}
    }

    package static let slotCount: Int64 = 12
    package static let maxGroups = 4096

    private let rate: Rate
    private let maxGroups: Int
    /// The length of a slot, in milliseconds.
    private let slotLength: Int64
    private var entries: [GroupID: Entry] = [:]
    private var groupCounts: [UInt32: Int] = [:]
    private var changed: Set<GroupID> = []
    private var removed: Set<GroupID> = []

    /// - Parameters:
    ///   - rate: A group is reported once it has this number of occurrences within this period.
    ///   - entries: The stored counts. They must have been counted with slots of the same length.
    ///   - maxGroups: The maximum number of groups in memory.
    package init(_ rate: Rate, entries: [Entry] = [], maxGroups: Int = Self.maxGroups) {
        self.rate = rate
        self.maxGroups = maxGroups
        slotLength = Self.slotLength(of: rate)
        for entry in entries {
            self.entries[entry.group] = entry
            groupCounts[entry.uid, default: 0] += 1
        }
    }

    /// Returns the length of a slot, in milliseconds.
    package static func slotLength(of rate: Rate) -> Int64 {
        max(rate.period.wholeMilliseconds / slotCount, 1)
    }

    /// The number of groups in memory.
    package var count: Int { entries.count }

    /// Counts the occurrences of a record. Returns `true` if the group is to be reported because of them.
    ///
    /// - Parameters:
    ///   - occurrences: The number of occurrences in the record.
    ///   - group: The group of the record.
    ///   - uid: The user accountable for the record.
    ///   - now: The log time of the record.
    package mutating func count(
        _ occurrences: Int64, of group: GroupID, uid: UInt32, at now: RecordLogInstant
    ) -> Bool {
        let slot = now.milliseconds / slotLength
        if entries[group] == nil { insert(Entry(group: group, uid: uid, slot: slot, counts: [0]), at: now) }
        changed.insert(group)
        return entries[group]?.add(occurrences, in: slot, at: now, rate) ?? false
    }

    /// Returns the changes to store, and forgets groups that have neither occurred nor been reported for a period.
    package mutating func takeChanges(at now: RecordLogInstant) -> Changes {
        for entry in entries.values where isExpired(entry, at: now) { remove(entry) }
        var changes = Changes()
        changes.entries = changed.sorted().compactMap { entries[$0] }
        changes.removed = removed.sorted()
        changed = []
        removed = []
        return changes
    }

    private mutating func insert(_ entry: Entry, at now: RecordLogInstant) {
        if entries.count >= maxGroups { makeRoom(for: entry.uid, at: now) }
        entries[entry.group] = entry
        groupCounts[entry.uid, default: 0] += 1
        removed.remove(entry.group)
    }

    private mutating func makeRoom(for uid: UInt32, at now: RecordLogInstant) {
        for entry in entries.values where isExpired(entry, at: now) { remove(entry) }
        guard entries.count >= maxGroups else { return }
        let owner = groupCounts.max { left, right in
            (left.value, left.key == uid ? 1 : 0, left.key) < (right.value, right.key == uid ? 1 : 0, right.key)
        }
        // Reported groups are kept longest, so that they are not reported twice in a period.
        let candidates = entries.values.filter { $0.uid == owner?.key }.sorted { left, right in
            let (first, second) = (left.reportedAt != nil, right.reportedAt != nil)
            return first == second ? (left.sum, left.group) < (right.sum, right.group) : second
        }
        for entry in candidates.prefix(max(candidates.count / 2, 1)) { remove(entry) }
    }

    private mutating func remove(_ entry: Entry) {
        entries[entry.group] = nil
        let rest = (groupCounts[entry.uid] ?? 1) - 1
        groupCounts[entry.uid] = rest > 0 ? rest : nil
        changed.remove(entry.group)
        removed.insert(entry.group)
    }

    private func isExpired(_ entry: Entry, at now: RecordLogInstant) -> Bool {
        now.milliseconds / slotLength - entry.slot >= Self.slotCount
            && entry.reportedAt.map { $0.duration(to: now) >= rate.period } ?? true
    }
}

/// A limit of a destination that holds back the records of an application or of a user.
package struct ReachedLimit: Hashable, Sendable {
    /// The application; nil for a limit that is shared by users.
    package var account: AccountID?
    /// The user accountable for the records.
    package var user: UInt32
    package var reason: SuppressionReason

    /// Returns nil for a limit of a single group (`groupRate`), which notifiers do not report, and for a limit on new
    /// names, groups or series (`cardinality`), which is not a limit of a destination.
    package init?(_ reason: SuppressionReason, account: AccountID, user: UInt32) {
        switch reason {
        case .groupRate, .cardinality: return nil
        case .applicationRate: self.account = account
        case .globalRate, .dailyBytes: self.account = nil
        }
        (self.user, self.reason) = (user, reason)
    }
}

/// Decides when notifiers report that a limit of a destination starts or stops holding back records.
///
/// A limit is over when it has held nothing back for `quietTime`, so a limit that is reached again within that time
/// causes only one pair of events. The number of events that a user causes at all destinations together is limited. The
/// end of a limit is reported only if its beginning was reported.
package struct LimitWatch: Sendable {
    /// The time after which a limit that holds nothing back is over.
    package static let quietTime: Duration = .seconds(600)
    /// The maximum number of limits per user that are reported as reached in one `period`.
    package static let maxBeginsOfUser = 5
    package static let period: Duration = .seconds(3600)
    /// The maximum number of reported limits that are not over, and of users remembered.
    package static let maxEntries = 1000

    private struct Key: Hashable {
        var destination: String
        var limit: ReachedLimit
    }

    /// When each reported limit last held something back.
    private var lastHeld: [Key: MonotonicInstant] = [:]
    /// The number of limits reported as reached for each user, and the start of the period in which they were counted.
    private var begins: [UInt32: (count: Int, since: MonotonicInstant)] = [:]

    package init() {}

    /// Records the limits that have held back records of a destination. Returns those to report as reached.
    package mutating func heldBack(
        _ limits: Set<ReachedLimit>, by destination: String, at now: MonotonicInstant
    ) -> [ReachedLimit] {
        var begun: [ReachedLimit] = []
        for limit in limits {
            let key = Key(destination: destination, limit: limit)
            if lastHeld[key] != nil {
                lastHeld[key] = now
            } else if lastHeld.count < Self.maxEntries, mayReport(limit.user, at: now) {
                lastHeld[key] = now
                begun.append(limit)
            }
        }
        return begun
    }

    /// Removes and returns the limits of a destination that are over.
    package mutating func ended(of destination: String, at now: MonotonicInstant) -> [ReachedLimit] {
        let ended = lastHeld.filter {
            $0.key.destination == destination && $0.value.duration(to: now) >= Self.quietTime
        }
        for key in ended.keys { lastHeld[key] = nil }
        return ended.keys.map(\.limit)
    }

    /// Returns when the next limit of a destination is over if it holds nothing back until then; nil if the destination
    /// has no reported limit.
    package func nextEnd(of destination: String) -> MonotonicInstant? {
        let last = lastHeld.lazy.filter { $0.key.destination == destination }.map(\.value).min()
        return last.map { $0.advanced(by: Self.quietTime) }
    }

    /// Forgets the limits of destinations that are not in the set. The ends of these limits are not reported.
    package mutating func keep(_ destinations: Set<String>) {
        lastHeld = lastHeld.filter { destinations.contains($0.key.destination) }
    }

    private mutating func mayReport(_ user: UInt32, at now: MonotonicInstant) -> Bool {
        if let own = begins[user], own.since.duration(to: now) < Self.period {
            guard own.count < Self.maxBeginsOfUser else { return false }
            begins[user] = (own.count + 1, own.since)
            return true
        }
        if begins.count >= Self.maxEntries {
            begins = begins.filter { $0.value.since.duration(to: now) < Self.period }
        }
        guard begins.count < Self.maxEntries else { return false }
        begins[user] = (1, now)
        return true
    }
}

/// Decides when notifiers report that a destination is delayed, that it has recovered, and that it has dead letters.
///
/// An outage is reported as a pause or, if requests fail and the first failure was at least `maxDelay` ago, as a delay.
/// The outage counts from that first failure. It ends when the destination accepts records and is not paused, so
/// there is at most one delay per `maxDelay`. The properties are stored, so that a restart does not repeat a report.
package struct DestinationWatch: Equatable, Sendable {
    package enum Event: Equatable, Sendable {
        /// The destination has not accepted records for this time.
        case delayed(Duration)
        /// The outage has ended after this time.
        case recovered(Duration)
        /// This number of dead letters were stored since the last such event.
        case deadLetters(Int64)
    }

    /// The time without accepted records after which a destination is delayed.
    package static let maxDelay = HealthThresholds().degradedAge
    /// The minimum time between two events about dead letters.
    package static let deadLetterPeriod: Duration = .seconds(3600)

    /// When the reported outage began: the time of its first failure. Nil if there is none.
    package var outageSince: IssueTimestamp?
    /// The dead letters since the last event about them, and the time of that event.
    package var unreportedDeadLetters: Int64 = 0
    package var deadLettersReportedAt: IssueTimestamp?

    package init() {}

    /// Handles a pause that is reported separately.
    package mutating func paused(since: IssueTimestamp) {
        outageSince = outageSince ?? since
    }

    /// Returns when a delay is due to be reported if the destination accepts no records until then; nil if there was no
    /// failure, or the outage was reported.
    ///
    /// - Parameter failingSince: The time of the first failure, as for `answered`.
    package func delayDue(failingSince: IssueTimestamp?) -> IssueTimestamp? {
        outageSince == nil ? failingSince?.advanced(by: Self.maxDelay) : nil
    }

    /// Handles a response of the destination, the lack of one, or the time `delayDue`. Returns the event to report, if
    /// any.
    ///
    /// - Parameters:
    ///   - isAccepting: Whether the last response has accepted records.
    ///   - isPaused: Whether the destination is paused. Some records may be accepted even during a pause.
    ///   - failingSince: The time of the first failure since records were accepted or rejected; nil if there was none.
    ///   - now: The current time.
    package mutating func answered(
        isAccepting: Bool, isPaused: Bool, failingSince: IssueTimestamp?, at now: IssueTimestamp
    ) -> Event? {
        if let since = outageSince {
            guard isAccepting, !isPaused else { return nil }
            outageSince = nil
            return .recovered(max(.zero, since.duration(to: now)))
        }
        guard let failingSince, let due = delayDue(failingSince: failingSince), due <= now else { return nil }
        outageSince = failingSince
        return .delayed(failingSince.duration(to: now))
    }

    /// Handles new dead letters. Returns the event to report, if any. With a count of zero, the event is about earlier
    /// ones that were not reported yet.
    package mutating func deadLettersStored(_ count: Int64, at now: IssueTimestamp) -> Event? {
        unreportedDeadLetters = unreportedDeadLetters.clampedSum(count)
        // A time in the future was stored while the clock was wrong.
        let age = deadLettersReportedAt?.duration(to: now) ?? Self.deadLetterPeriod
        guard unreportedDeadLetters > 0, age < .zero || age >= Self.deadLetterPeriod else { return nil }
        defer { (unreportedDeadLetters, deadLettersReportedAt) = (0, now) }
        return .deadLetters(unreportedDeadLetters)
    }
}
