package import IssueProtocol

/// A limit of a destination that holds back the records of an application or of a user.
package struct ReachedLimit: Hashable, Sendable {
    /// The application; nil for a limit that is shared by users.
    package var account: AccountID?
    /// The user accountable for the records.
    package var user: UInt32
    package var reason: SuppressionReason

    /// Nil for the limit of a single issue, because that limit is not one of the application.
    package init?(_ reason: SuppressionReason, account: AccountID, user: UInt32) {
        switch reason {
        case .groupRate, .cardinality: return nil
        case .applicationRate: self.account = account
        case .globalRate, .dailyBytes: self.account = nil
        }
        (self.user, self.reason) = (user, reason)
    }
}

/// Decides when notifiers report that a limit of a destination begins or stops holding records back.
///
/// A limit is over when it has held nothing back for `quietTime`, so a limit that is reached again and again causes one
/// pair of events. Each user causes a limited number of events, at all destinations together. The end of a limit is
/// reported only if its beginning was.
package struct LimitWatch: Sendable {
    package static let quietTime: Duration = .seconds(600)
    /// The maximum number of limits that are reported as reached per user in `period`.
    package static let maxBeginsOfUser = 5
    package static let period: Duration = .seconds(3600)
    /// The maximum number of limits that are reported as reached at the same time, and of users.
    package static let maxEntries = 1000

    private struct Key: Hashable {
        var destination: String
        var limit: ReachedLimit
    }

    /// When each reported limit has last held something back.
    private var lastHeld: [Key: MonotonicInstant] = [:]
    private var begins: [UInt32: (count: Int, since: MonotonicInstant)] = [:]

    package init() {}

    /// Notes the limits that have held back records of a destination. Returns those to report as reached.
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

    /// Removes the limits of a destination that are over, and returns them.
    package mutating func ended(of destination: String, at now: MonotonicInstant) -> [ReachedLimit] {
        let ended = lastHeld.filter {
            $0.key.destination == destination && $0.value.duration(to: now) >= Self.quietTime
        }
        for key in ended.keys { lastHeld[key] = nil }
        return ended.keys.map(\.limit)
    }

    /// Returns when the next limit of a destination is over, unless it holds something back until then; nil if none is
    /// reached.
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
