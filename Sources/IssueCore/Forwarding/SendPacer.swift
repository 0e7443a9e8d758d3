package import IssueProtocol

/// Limits the number of records sent per period of real time.
///
/// It counts records and not requests, because services count records to detect abuse, and one request may hold one
/// record or five hundred. Records that are sent again count again. A token bucket limits all records. A second one
/// limits the backlog to its share of rate and burst. A third one counts only records that are sent for the first time.
/// It alone limits priority records that preempt a batch, so that they need not wait because lines of that batch are
/// resent.
///
/// The rate is halved each time the destination asks the sender to slow down, but not below a tenth of the full rate.
/// Accepted requests then raise it by a twentieth of the full rate per minute.
package struct SendPacer: Equatable, Sendable {
    package enum Pace: Equatable, Sendable {
        /// This many records may be sent now.
        case now(Int)
        case wait(until: MonotonicInstant)
    }

    /// The stored state, so that a restart does not allow another burst.
    package struct Saved: Equatable, Sendable {
        /// The factor applied to the rate, from 0.1 to 1.
        package var factor: Double
        /// The level of the bucket for all records, in records. Negative if more were sent than were available.
        package var level: Double
        /// The level of the backlog's bucket, in records.
        package var backlog: Double

        package init(factor: Double, level: Double, backlog: Double) {
            self.factor = factor
            self.level = level
            self.backlog = backlog
        }
    }

    private static let minFactor = 0.1
    private static let recoveryPerMinute = 0.05
    /// The records that the rate allows in this time, but at most those of a full batch, may be sent at once.
    private static let burst: Duration = .seconds(5)

    /// The maximum wait, in milliseconds. With an extremely low rate, the level is checked again each day.
    private static let maxWait = 86_400_000.0

    private let rate: Rate
    private let capacity: Double
    private let share: Double
    /// How far a level may fall below zero, in records.
    private let maxDebt: Double
    /// The factor currently applied to the rate, from 0.1 to 1.
    package private(set) var factor = 1.0
    private var level: Double
    private var backlog: Double
    /// The level of the bucket of records that are sent for the first time. Never below zero.
    private var first: Double
    private var at: MonotonicInstant
    private var adaptedAt: MonotonicInstant

    package init(settings: ForwardSettings, at now: MonotonicInstant) {
        rate = settings.sendRate
        let burst = rate.isUnlimited ? 0 : Double(rate.count) * (Self.burst / rate.period)
        capacity = min(max(1, burst.rounded(.down)), Double(max(1, settings.batchRecords)))
        share = Double(max(1, settings.backlogShare.percent)) / 100
        maxDebt = Double(max(1, settings.batchRecords))
        level = capacity
        first = capacity
        backlog = max(1, capacity * share)
        at = now
        adaptedAt = now
    }

    /// Continues from a stored state.
    ///
    /// - Parameter elapsed: The time since it was stored.
    package init(settings: ForwardSettings, from saved: Saved, after elapsed: Duration, at now: MonotonicInstant) {
        self.init(settings: settings, at: now)
        guard saved.factor.isFinite, saved.level.isFinite, saved.backlog.isFinite else { return }
        factor = min(max(saved.factor, Self.minFactor), 1)
        level = min(max(saved.level, -maxDebt), capacity)
        first = max(0, level)
        backlog = min(max(saved.backlog, -maxDebt), backlogCapacity)
        at = now.advanced(by: .zero - max(.zero, elapsed))
        adaptedAt = now
        settle(at: now)
    }

    /// Returns the state to store.
    package func saved(at now: MonotonicInstant) -> Saved {
        Saved(factor: factor, level: filled(at: now), backlog: filledBacklog(at: now))
    }

    /// Returns how many of the wanted records may be sent now, or until when to wait before asking again.
    ///
    /// - Parameters:
    ///   - wanted: The number of records to send.
    ///   - isBacklog: `true` if they are backlog.
    ///   - now: The current time.
    package func pace(of wanted: Int, isBacklog: Bool = false, at now: MonotonicInstant) -> Pace {
        guard !rate.isUnlimited else { return .now(wanted) }
        let portion = min(Double(max(1, wanted)), (isBacklog ? backlogCapacity : capacity).rounded(.down))
        var seconds = (portion - filled(at: now)) / perSecond
        if isBacklog { seconds = max(seconds, (portion - filledBacklog(at: now)) / (perSecond * share)) }
        // A billionth of a second is the rounding error of the calculation.
        guard seconds > 1e-9 else { return .now(Int(portion)) }
        return .wait(until: now.advanced(by: .milliseconds(Int64(min(seconds * 1000, Self.maxWait)) + 1)))
    }

    /// Returns how many of the wanted records may be sent now, ahead of another batch, or until when to wait before
    /// asking again. The wanted records must not have been sent before.
    package func paceOfFirst(_ wanted: Int, at now: MonotonicInstant) -> Pace {
        guard !rate.isUnlimited else { return .now(wanted) }
        let available = filledFirst(at: now)
        // A billionth of a record is the rounding error of the calculation.
        guard available < 1 - 1e-9 else { return .now(min(max(1, wanted), max(1, Int(available)))) }
        let seconds = (1 - available) / perSecond
        return .wait(until: now.advanced(by: .milliseconds(Int64(min(seconds * 1000, Self.maxWait)) + 1)))
    }

    /// Takes sent records from the levels. A batch that is sent again may exceed a level; the following batches then
    /// wait.
    ///
    /// - Parameters:
    ///   - count: The number of records sent.
    ///   - again: The number of those that were sent before.
    ///   - isBacklog: `true` if they are backlog.
    ///   - now: The current time.
    package mutating func sent(_ count: Int, again: Int = 0, isBacklog: Bool = false, at now: MonotonicInstant) {
        guard !rate.isUnlimited else { return }
        settle(at: now)
        level = max(-maxDebt, level - Double(count))
        first = max(0, first - Double(max(0, count - again)))
        if isBacklog { backlog = max(-maxDebt, backlog - Double(count)) }
    }

    /// Halves the rate, down to a tenth, because the destination asked the sender to slow down.
    package mutating func slowedDown(at now: MonotonicInstant) {
        settle(at: now)
        factor = max(Self.minFactor, factor / 2)
        adaptedAt = now
    }

    /// Raises the rate towards its full value, because the destination accepted records.
    package mutating func succeeded(at now: MonotonicInstant) {
        settle(at: now)
        guard factor < 1 else { return adaptedAt = now }
        let minutes = max(.zero, adaptedAt.duration(to: now)) / .seconds(60)
        factor = min(1, factor + minutes * Self.recoveryPerMinute)
        adaptedAt = now
    }

    private var perSecond: Double { Double(rate.count) / (rate.period / .seconds(1)) * factor }

    /// At least one record; otherwise the backlog might never be sent.
    private var backlogCapacity: Double { max(1, capacity * share) }

    private mutating func settle(at now: MonotonicInstant) {
        guard !rate.isUnlimited else { return }
        (level, backlog, first) = (filled(at: now), filledBacklog(at: now), filledFirst(at: now))
        at = max(at, now)
    }

    private func filled(at now: MonotonicInstant) -> Double {
        min(capacity, level + seconds(until: now) * perSecond)
    }

    private func filledFirst(at now: MonotonicInstant) -> Double {
        min(capacity, first + seconds(until: now) * perSecond)
    }

    private func filledBacklog(at now: MonotonicInstant) -> Double {
        min(backlogCapacity, backlog + seconds(until: now) * perSecond * share)
    }

    private func seconds(until now: MonotonicInstant) -> Double { max(.zero, at.duration(to: now)) / .seconds(1) }
}

/// The bytes sent on one UTC day, in total and for each user, and the daily limit.
///
/// The more bytes a user has used in relation to those that are left, the fewer of their records are sent (`State`). An
/// eighth of the limit is reserved for users who have used at most a 512th of it, which suffices for 64 of them
/// whatever others use. A tenth is reserved for system users.
package struct DailyBudget: Equatable, Sendable {
    /// How much of their share of the day's bytes a user has left.
    package enum State: Equatable, Sendable {
        case plenty
        /// Only first occurrences, regressions, and records with at least the severity `error` are sent.
        case scarce
        /// Only critical records are sent.
        case critical
        /// No records are sent, only summaries.
        case spent
    }

    private static let day: Int64 = 86_400_000
    /// The maximum number of users remembered. A further user takes the place and the count of the one with the
    /// smallest count. So a count may be too high, but no user can escape theirs by being forgotten.
    private static let maxUsers = 256
    /// The limits of the states, as multiples of the bytes left without the reserves. They let a single user have 62 %,
    /// 69 % and 73 % of a day's bytes.
    private static let (plenty, scarce, critical): (Int64, Int64, Int64) = (4, 8, 16)

    private let limit: Int64
    /// The day, in days since 1970-01-01 UTC.
    package private(set) var day: Int64
    /// All bytes sent, including summaries and resent records.
    package private(set) var bytes: Int64
    /// The bytes sent for each user. Not counted if there is no limit.
    package private(set) var users: [UInt32: Int64]
    /// The sum of the bytes sent for all users.
    package private(set) var charged: Int64

    /// - Parameters:
    ///   - limit: The daily limit in bytes; zero or less for no limit.
    ///   - day: The day, in days since 1970-01-01 UTC.
    ///   - bytes: The bytes sent on that day.
    ///   - users: The bytes sent for each user.
    ///   - charged: The bytes sent for all users, including forgotten ones. The sum of `users` is used if it is larger.
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
    /// The limit in bytes; nil for none.
    package var limitBytes: Int64? { isUnlimited ? nil : limit }

    /// Counts the bytes of a request.
    ///
    /// - Parameters:
    ///   - count: The number of bytes sent.
    ///   - shares: The number of those bytes sent for each user.
    ///   - now: The wall time.
    package mutating func sent(_ count: Int, for shares: [UInt32: Int] = [:], at now: IssueTimestamp) {
        self = today(at: now)
        bytes = bytes.clampedSum(Int64(count))
        for (user, count) in shares.sorted(by: { $0.key < $1.key }) { charge(count, to: user) }
    }

    /// Counts bytes for a user on `day`, without adding them to `bytes`. Does nothing if there is no limit.
    package mutating func charge(_ count: Int, to user: UInt32) {
        guard !isUnlimited, count > 0 else { return }
        charged = charged.clampedSum(Int64(count))
        var used = users[user] ?? 0
        if used == 0, users.count >= Self.maxUsers,
            let least = users.min(by: { ($0.value, $0.key) < ($1.value, $1.key) })
        {
            users[least.key] = nil
            used = least.value
        }
        users[user] = used.clampedSum(Int64(count))
    }

    /// Returns the budget of the day of `now`: this one, or an unused one if the day has changed.
    package func today(at now: IssueTimestamp) -> DailyBudget {
        let today = Self.day(of: now)
        // An earlier day is a new one, too: a clock that was once a year ahead must not block the destination for a
        // year.
        return today == day ? self : DailyBudget(limit: limit, day: today)
    }

    /// Returns how much of their share a user has left.
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

    private static func day(of now: IssueTimestamp) -> Int64 {
        now.millisecondsSince1970.flooredQuotient(by: day)
    }
}

/// The maximum body size of a request, in bytes before compression, learned from bodies that were too large. It slowly
/// grows back.
struct AdaptiveBodyLimit: Equatable, Sendable {
    private static let minBytes = 16 << 10
    private static let backOff = 0.8
    private static let growthPerHour = 0.05

    private let maxBytes: Int
    private var bytes: Double
    private var at: MonotonicInstant?

    init(most: Int) {
        maxBytes = most
        bytes = Double(most)
    }

    func limit(at now: MonotonicInstant) -> Int {
        guard let at else { return maxBytes }
        let hours = max(.zero, at.duration(to: now)) / .seconds(3600)
        return Int(min(Double(maxBytes), bytes * (1 + hours * Self.growthPerHour)))
    }

    /// Lowers the limit after a body of this many bytes was too large.
    mutating func lower(from failed: Int, at now: MonotonicInstant) {
        let lowered = min(Double(limit(at: now)), Double(failed) * Self.backOff)
        bytes = max(lowered, Double(min(Self.minBytes, maxBytes)))
        at = now
    }
}

/// Orders the entries of many users round-robin.
package enum RoundRobinOrder {
    /// Returns the indexes of all entries: the first entry of each user, then the second of each, and so on.
    ///
    /// In each round, entries of system users come first. Otherwise, a round keeps the order of the entries.
    ///
    /// - Parameter users: The user of each entry.
    package static func order(_ users: [UInt32]) -> [Int] {
        var rounds: [[Int]] = []
        var counts: [UInt32: Int] = [:]
        for (index, user) in users.enumerated() {
            let round = counts[user, default: 0]
            counts[user] = round + 1
            if round == rounds.count { rounds.append([]) }
            rounds[round].append(index)
        }
        return rounds.flatMap { round in
            round.filter { SystemUsers.contains(users[$0]) } + round.filter { !SystemUsers.contains(users[$0]) }
        }
    }
}
