package import IssueProtocol

/// The bytes sent in the present UTC day, and which users they were sent for, against what a day may have.
///
/// A user may have used a multiple of what is left. An eighth of the day is
/// kept for users who have used next to nothing (a 512th), so there is
/// something left for 64 of them whatever others do. A tenth is kept for
/// system users.
package struct DailyBudget: Equatable, Sendable {
    /// How much of their share of the day's bytes a user has used, in the steps that matter.
    package enum State: Equatable, Sendable {
        case plenty
        /// Only first occurrences and errors go.
        case scarce
        /// Only critical records go.
        case critical
        case spent
    }

    private static let day: Int64 = 86_400_000
    /// The number of users that are remembered. When there are more, the one with the smallest use is forgotten; what
    /// they used stays used.
    private static let maxUsers = 256
    /// How many times what is left a user may have used. Of a whole day, a
    /// single user gets 62 %, 68 % and 72 % by these.
    private static let (plenty, scarce, critical): (Int64, Int64, Int64) = (4, 8, 16)

    private let limit: Int64
    /// Days since 1970.
    package private(set) var day: Int64
    /// All that was sent, also summaries and what was sent again.
    package private(set) var bytes: Int64
    /// What was sent for each user.
    package private(set) var users: [UInt32: Int64]
    /// The sum of what was sent for users, also for those that were forgotten.
    package private(set) var charged: Int64

    /// - Parameter limit: Nothing or less is no limit.
    package init(
        limit: Int64, day: Int64 = 0, bytes: Int64 = 0, users: [UInt32: Int64] = [:], charged: Int64? = nil
    ) {
        self.limit = limit
        self.day = day
        self.bytes = max(0, bytes)
        self.users = users.filter { $0.value > 0 }
        let sum = self.users.values.reduce(0 as Int64) { $0.clampedSum($1) }
        self.charged = max(sum, charged ?? 0)
    }

    var isUnlimited: Bool { limit <= 0 }

    /// - Parameter shares: How many of the bytes were sent for which user.
    package mutating func sent(_ count: Int, for shares: [UInt32: Int] = [:], at now: Timestamp) {
        self = today(at: now)
        bytes = bytes.clampedSum(Int64(count))
        for (user, count) in shares.sorted(by: { $0.key < $1.key }) { charge(count, to: user) }
    }

    /// Counts what is sent for a user on the same day.
    package mutating func charge(_ count: Int, to user: UInt32) {
        guard !isUnlimited, count > 0 else { return }
        users[user] = (users[user] ?? 0).clampedSum(Int64(count))
        charged = charged.clampedSum(Int64(count))
        guard users.count > Self.maxUsers,
            let least = users.min(by: { ($0.value, $0.key) < ($1.value, $1.key) })?.key
        else { return }
        users[least] = nil
    }

    /// Whether so much of the day is left that a batch more or less changes nothing.
    package func isAmple(at now: Timestamp) -> Bool {
        isUnlimited || today(at: now).charged < limit / 2
    }

    package func bytes(at now: Timestamp) -> Int64 {
        Self.day(of: now) != day ? 0 : bytes
    }

    /// The same on the present day, of which nothing is used when it has just begun.
    package func today(at now: Timestamp) -> DailyBudget {
        let today = Self.day(of: now)
        // Also when the clock was set back: a clock that was once a year
        // ahead must not close the destination for a year.
        return today == day ? self : DailyBudget(limit: limit, day: today)
    }

    /// Returns how much of their share a user has used.
    package func state(of user: UInt32) -> State {
        guard limit > 0 else { return .plenty }
        var left = limit - min(limit, charged)
        let bySystem = users.reduce(0 as Int64) { sum, use in
            SystemUsers.contains(use.key) ? sum.clampedSum(use.value) : sum
        }
        if SystemUsers.contains(user) {
            if left > 0, bySystem < limit / 10 { return .plenty }
        } else {
            left -= max(0, limit / 10 - bySystem)
        }
        guard left > 0 else { return .spent }
        let used = users[user] ?? 0
        if used <= limit / 512 { return .plenty }
        left -= limit / 8
        guard left > 0 else { return .spent }
        if used < left.clampedProduct(Self.plenty) { return .plenty }
        if used < left.clampedProduct(Self.scarce) { return .scarce }
        return used < left.clampedProduct(Self.critical) ? .critical : .spent
    }

    private static func day(of now: Timestamp) -> Int64 {
        let (quotient, remainder) = now.milliseconds.quotientAndRemainder(dividingBy: day)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
