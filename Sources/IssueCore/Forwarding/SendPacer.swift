package import IssueProtocol

/// Paces what leaves by the real clock, in records: after an outage the backlog goes at this rate and no faster.
///
/// It counts records and not requests, since what a service calls spam is
/// records, and one request may hold a single one or five hundred. What is
/// sent again counts again. What is old has a bucket of its own besides, with
/// its share of rate and burst. The rate is halved when the destination asks
/// for less, down to a tenth, and comes back by a twentieth of the whole for
/// each minute without such an answer.
package struct SendPacer: Equatable, Sendable {
    package enum Pace: Equatable, Sendable {
        /// So many records may go now.
        case now(Int)
        case wait(until: MonotonicInstant)
    }

    /// What is stored of it, so that a restart gives nobody a fresh burst.
    package struct Saved: Equatable, Sendable {
        package var factor: Double
        /// In records; below nothing where more was sent than there was.
        package var level: Double
        /// The same of what is old.
        package var backlog: Double

        package init(factor: Double, level: Double, backlog: Double) {
            self.factor = factor
            self.level = level
            self.backlog = backlog
        }
    }

    private static let minFactor = 0.1
    private static let recoveryPerMinute = 0.05
    /// What comes in within so long may go at once.
    private static let burst: Duration = .seconds(5)

    /// In milliseconds: a rate of next to nothing is looked at again each day.
    private static let longestWait = 86_400_000.0

    private let rate: Rate
    private let capacity: Double
    private let share: Double
    /// The most that may be owed.
    private let deepest: Double
    /// How much of the rate is used at present, from a tenth to all of it.
    package private(set) var factor = 1.0
    private var level: Double
    private var backlog: Double
    private var at: MonotonicInstant
    private var adaptedAt: MonotonicInstant

    package init(settings: ForwardSettings, at now: MonotonicInstant) {
        rate = settings.sendRate
        let burst = rate.isUnlimited ? 0 : Double(rate.count) * (Self.burst / rate.period)
        capacity = min(max(1, burst.rounded(.down)), Double(max(1, settings.batchRecords)))
        share = Double(max(1, settings.backlogShare.percent)) / 100
        deepest = Double(max(1, settings.batchRecords))
        level = capacity
        backlog = max(1, capacity * share)
        at = now
        adaptedAt = now
    }

    /// Goes on from what was stored, so long ago.
    package init(settings: ForwardSettings, from saved: Saved, after elapsed: Duration, at now: MonotonicInstant) {
        self.init(settings: settings, at: now)
        guard saved.factor.isFinite, saved.level.isFinite, saved.backlog.isFinite else { return }
        factor = min(max(saved.factor, Self.minFactor), 1)
        level = min(max(saved.level, -deepest), capacity)
        backlog = min(max(saved.backlog, -deepest), backlogCapacity)
        at = now.advanced(by: .zero - max(.zero, elapsed))
        adaptedAt = now
        settle(at: now)
    }

    /// What there is to store.
    package func saved(at now: MonotonicInstant) -> Saved {
        Saved(factor: factor, level: filled(at: now), backlog: filledBacklog(at: now))
    }

    /// Whether so many records may go, or when.
    package func pace(of wanted: Int, isBacklog: Bool = false, at now: MonotonicInstant) -> Pace {
        guard !rate.isUnlimited else { return .now(wanted) }
        let portion = min(Double(max(1, wanted)), (isBacklog ? backlogCapacity : capacity).rounded(.down))
        var seconds = (portion - filled(at: now)) / perSecond
        if isBacklog { seconds = max(seconds, (portion - filledBacklog(at: now)) / (perSecond * share)) }
        // A billionth of a second is the inexactness of the sum.
        guard seconds > 1e-9 else { return .now(Int(portion)) }
        return .wait(until: now.advanced(by: .milliseconds(Int64(min(seconds * 1000, Self.longestWait)) + 1)))
    }

    /// So many records were sent; a batch that is sent again may take more than there is, and what follows waits for
    /// it.
    package mutating func sent(_ count: Int, isBacklog: Bool = false, at now: MonotonicInstant) {
        guard !rate.isUnlimited else { return }
        settle(at: now)
        level = max(-deepest, level - Double(count))
        if isBacklog { backlog = max(-deepest, backlog - Double(count)) }
    }

    /// The destination asked for less.
    package mutating func slowedDown(at now: MonotonicInstant) {
        settle(at: now)
        factor = max(Self.minFactor, factor / 2)
        adaptedAt = now
    }

    /// The destination took what it was sent.
    package mutating func succeeded(at now: MonotonicInstant) {
        settle(at: now)
        guard factor < 1 else { return adaptedAt = now }
        let minutes = max(.zero, adaptedAt.duration(to: now)) / .seconds(60)
        factor = min(1, factor + minutes * Self.recoveryPerMinute)
        adaptedAt = now
    }

    private var perSecond: Double { Double(rate.count) / (rate.period / .seconds(1)) * factor }

    /// One record at least, or nothing old would ever go.
    private var backlogCapacity: Double { max(1, capacity * share) }

    private mutating func settle(at now: MonotonicInstant) {
        guard !rate.isUnlimited else { return }
        (level, backlog) = (filled(at: now), filledBacklog(at: now))
        at = max(at, now)
    }

    private func filled(at now: MonotonicInstant) -> Double {
        min(capacity, level + seconds(until: now) * perSecond)
    }

    private func filledBacklog(at now: MonotonicInstant) -> Double {
        min(backlogCapacity, backlog + seconds(until: now) * perSecond * share)
    }

    private func seconds(until now: MonotonicInstant) -> Double { max(.zero, at.duration(to: now)) / .seconds(1) }
}

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

/// How large a request may be, learnt from what was too large.
struct AdaptiveBodyLimit: Equatable, Sendable {
    private static let least = 16 << 10
    private static let backOff = 0.8
    private static let growthPerHour = 0.05

    private let most: Int
    private var bytes: Double
    private var at: MonotonicInstant?

    init(most: Int) {
        self.most = most
        bytes = Double(most)
    }

    func limit(at now: MonotonicInstant) -> Int {
        guard let at else { return most }
        let hours = max(.zero, at.duration(to: now)) / .seconds(3600)
        return Int(min(Double(most), bytes * (1 + hours * Self.growthPerHour)))
    }

    /// A request of so many bytes was too large.
    mutating func lower(from failed: Int, at now: MonotonicInstant) {
        let lowered = min(Double(limit(at: now)), Double(failed) * Self.backOff)
        bytes = max(lowered, Double(min(Self.least, most)))
        at = now
    }
}

/// Puts what many users wait for in an order in which they take turns.
package enum RoundRobinOrder {
    /// Returns the places of all entries: the first of each user, then the second of each, and so on.
    ///
    /// In each round system users come first, and otherwise the order stays as
    /// it was.
    ///
    /// - Parameter users: Whose each entry is.
    package static func order(_ users: [UInt32]) -> [Int] {
        var rounds: [[Int]] = []
        var counts: [UInt32: Int] = [:]
        for (place, user) in users.enumerated() {
            let round = counts[user, default: 0]
            counts[user] = round + 1
            if round == rounds.count { rounds.append([]) }
            rounds[round].append(place)
        }
        return rounds.flatMap { round in
            round.filter { SystemUsers.contains(users[$0]) } + round.filter { !SystemUsers.contains(users[$0]) }
        }
    }
}
