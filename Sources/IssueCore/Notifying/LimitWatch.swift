package import IssueProtocol

/// A limit of a destination that holds back the records of an application or of a user.
package struct ReachedLimit: Hashable, Sendable {
    /// The application; nil for a limit that is shared by users.
    package var account: AccountID?
    /// The user accountable for the records.
    package var user: UInt32
    package var reason: SuppressionReason

    /// Returns nil for the limit of a single issue, which says nothing about its application.
    package init?(_ reason: SuppressionReason, account: AccountID, user: UInt32) {
        switch reason {
        case .groupRate, .cardinality: return nil
        case .applicationRate: self.account = account
        case .globalRate, .dailyBytes: self.account = nil
        }
        (self.user, self.reason) = (user, reason)
    }
}

/// Decides when notifiers report that a limit of a destination begins or ceases to hold records back.
///
/// A limit ceases when it has held nothing back for `quietTime`, so a limit that is reached again and again causes one
/// pair of events. Each user causes a limited number of events. The end of a limit is reported only if its begin was.
package struct LimitWatch: Sendable {
    package static let quietTime: Duration = .seconds(600)
    /// The maximum number of begins that are reported per user in `period`.
    package static let maxBeginsOfUser = 5
    package static let period: Duration = .seconds(3600)
    /// The maximum number of limits that are reported as reached at the same time, and of users.
    package static let maxEntries = 1000

    /// When each reported limit has last held something back.
    private var lastHeld: [ReachedLimit: MonotonicInstant] = [:]
    private var begins: [UInt32: (count: Int, since: MonotonicInstant)] = [:]

    package init() {}

    /// Notes the limits that have held records back. Returns those whose begin is to be reported.
    package mutating func heldBack(_ limits: Set<ReachedLimit>, at now: MonotonicInstant) -> [ReachedLimit] {
        var begun: [ReachedLimit] = []
        for limit in limits {
            if lastHeld[limit] != nil {
                lastHeld[limit] = now
            } else if lastHeld.count < Self.maxEntries, mayReport(limit.user, at: now) {
                lastHeld[limit] = now
                begun.append(limit)
            }
        }
        return begun
    }

    /// Removes the limits that have ceased, and returns them.
    package mutating func ended(at now: MonotonicInstant) -> [ReachedLimit] {
        let ended = lastHeld.filter { $0.value.duration(to: now) >= Self.quietTime }.map(\.key)
        for limit in ended { lastHeld[limit] = nil }
        return ended
    }

    /// When the next limit ceases, unless it holds something back until then; nil if none is reached.
    package var nextEnd: MonotonicInstant? { lastHeld.values.min().map { $0.advanced(by: Self.quietTime) } }

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
