import IssueCore
import IssueProtocol
import Testing

struct DailyBudgetTests {
    private static let midnight = IssueTimestamp(millisecondsSince1970: 20_000 * 86_400_000)

    /// Sends records of a user until no more are allowed, and returns the number of bytes sent.
    private func exhaust(_ budget: inout DailyBudget, _ user: UInt32, by bytes: Int = 1000) -> Int64 {
        var sent: Int64 = 0
        while budget.state(of: user) != .spent {
            budget.sent(bytes, for: [user: bytes], at: Self.midnight)
            sent += Int64(bytes)
        }
        return sent
    }

    @Test("A single user's less important records are held back first, then all but the critical ones, then all")
    func steps() {
        var budget = DailyBudget(limit: 1_000_000)
        var reached: [DailyBudget.State: Int] = [:]
        for percent in 0..<100 {
            reached[budget.state(of: 1001)] = percent
            budget.sent(10_000, for: [1001: 10_000], at: Self.midnight)
        }
        #expect(reached[.plenty] == 61)
        #expect(reached[.scarce] == 68)
        #expect(reached[.critical] == 72)
        #expect(budget.state(of: 1001) == .spent)
    }

    @Test("However many users exhaust their share, others have bytes left, and system users have more")
    func floods() {
        var budget = DailyBudget(limit: 500 << 20)
        for user in 1001...1060 as ClosedRange<UInt32> { _ = exhaust(&budget, user) }

        #expect(budget.charged < 500 << 20)
        #expect(budget.state(of: 2000) == .plenty)
        #expect(exhaust(&budget, 0) > 40 << 20)
        #expect(budget.state(of: 2000) == .plenty)
    }

    @Test("A flood by a single user leaves part of the daily limit to others")
    func oneFlood() {
        var budget = DailyBudget(limit: 500 << 20)
        _ = exhaust(&budget, 1001)

        #expect(exhaust(&budget, 1002) > 20 << 20)
        #expect(budget.state(of: 1003) == .plenty)
    }

    @Test("A user's byte count survives a restart, and starts at zero on a new UTC day")
    func days() {
        var budget = DailyBudget(limit: 1_000_000)
        _ = exhaust(&budget, 1001)
        let restored = DailyBudget(
            limit: 1_000_000, day: budget.day, bytes: budget.bytes, users: budget.users, charged: budget.charged)
        #expect(restored == budget)

        let evening = Self.midnight.advanced(by: .seconds(86_399))
        #expect(budget.today(at: evening).state(of: 1001) == .spent)
        let next = Self.midnight.advanced(by: .seconds(86_400))
        #expect(budget.today(at: next).state(of: 1001) == .plenty)
        #expect(budget.today(at: next).bytes == 0)
        #expect(DailyBudget(limit: 0, day: 20_000, bytes: .max, users: [1001: .max]).state(of: 1001) == .plenty)
    }

    @Test("Bytes without a user, such as those of summaries, count only for the day")
    func nobodys() {
        var budget = DailyBudget(limit: 1000)
        budget.sent(5000, at: Self.midnight)
        #expect(budget.today(at: Self.midnight).bytes == 5000)
        #expect(budget.state(of: 1001) == .plenty)
    }

    @Test("A limited number of users is remembered, and the bytes of the others still count")
    func bounded() {
        var budget = DailyBudget(limit: 1_000_000)
        for user in 1000..<3000 as Range<UInt32> { budget.sent(10, for: [user: Int(user) / 100], at: Self.midnight) }
        #expect(budget.users.count <= 256)
        #expect(budget.charged == (1000..<3000).reduce(0) { $0 + $1 / 100 })
    }

    @Test("A user beyond the maximum number takes the place of another one, and is limited, too")
    func oneTooMany() {
        var budget = DailyBudget(limit: 50 << 20)
        for user in 1001...1256 as ClosedRange<UInt32> { budget.sent(2000, for: [user: 2000], at: Self.midnight) }
        _ = exhaust(&budget, 2000)
        #expect(budget.state(of: 2000) == .spent)
        #expect(budget.state(of: 2001) == .plenty)
        #expect(budget.users.count == 256)
    }
}

struct RoundRobinOrderTests {
    @Test("Users take turns, system users come first in each round, and each user's order is kept")
    func turns() {
        #expect(RoundRobinOrder.order([1001, 1001, 1001, 1002, 0, 1002, 0]) == [4, 0, 3, 6, 1, 5, 2])
        #expect(RoundRobinOrder.order([]) == [])
    }
}
