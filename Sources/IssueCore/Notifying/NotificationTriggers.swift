package import IssueProtocol

/// Detects groups with many occurrences in a period, for the event `escalated` of one notifier.
///
/// A period consists of `slotCount` slots. The counts of the current slot and of the slots before it are added, so all
/// counted occurrences happened within one period. A group in memory is reported at most once per period.
///
/// The number of groups in memory is limited. When the table is full and no group has expired, half of the groups of
/// the user with the most groups are removed. A user therefore cannot displace the groups of users who have fewer.
package struct EscalationCounter: Sendable {
    /// The stored form of a group's counts.
    package struct Entry: Equatable, Sendable {
        package var group: GroupID
        /// The user accountable for the record with which counting began.
        package var uid: UInt32
        /// The index of the current slot, counted from the origin of log time.
        package var slot: Int64
        /// The occurrences in each slot of the period, the current slot first.
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

    /// The changes since the last call of `takeChanges()`.
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
    ///   - rate: The number of occurrences in a period from which a group is reported.
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
/// A limit is over when it has held nothing back for `quietTime`, so a limit that is reached again and again causes
/// only one pair of events. The number of events that a user causes at all destinations together is limited. The end of
/// a limit is reported only if its beginning was reported.
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

    /// When each reported limit has last held something back.
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

    /// Returns when the next limit of a destination is over if it holds nothing back until then; nil if no limit was
    /// reported.
    package func nextEnd(of destination: String) -> MonotonicInstant? {
        let last = lastHeld.lazy.filter { $0.key.destination == destination }.map(\.value).min()
        return last.map { $0.advanced(by: Self.quietTime) }
    }

    /// Forgets the limits of all other destinations. Their ends are not reported.
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
