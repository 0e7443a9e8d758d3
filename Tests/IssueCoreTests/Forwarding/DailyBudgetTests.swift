import IssueCore
import IssueProtocol
import Testing

struct DailyBudgetTests {
    private static let midnight = Timestamp(milliseconds: 20_000 * 86_400_000)

    /// Sends for a user for as long as anything of theirs goes.
    private func exhaust(_ budget: inout DailyBudget, _ user: UInt32, by bytes: Int = 1000) -> Int64 {
        var sent: Int64 = 0
        while budget.state(of: user) != .spent {
            budget.sent(bytes, for: [user: bytes], at: Self.midnight)
            sent += Int64(bytes)
        }
        return sent
    }

    @Test("A user alone first loses what can be missed, then all but critical records, then those")
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

    @Test("However many users use up what they can have, there is something left for others, and more for the system")
    func floods() {
        var budget = DailyBudget(limit: 500 << 20)
        for user in 1001...1060 as ClosedRange<UInt32> { _ = exhaust(&budget, user) }

        #expect(budget.charged < 500 << 20)
        #expect(budget.state(of: 2000) == .plenty)
        #expect(exhaust(&budget, 0) > 40 << 20)
        #expect(budget.state(of: 2000) == .plenty)
    }

    @Test("Of one flood a part of the day is left to others, from the first byte on")
    func oneFlood() {
        var budget = DailyBudget(limit: 500 << 20)
        _ = exhaust(&budget, 1001)

        #expect(exhaust(&budget, 1002) > 20 << 20)
        #expect(budget.state(of: 1003) == .plenty)
    }

    @Test("What a user has used holds after a restart, and a new UTC day begins with nothing")
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
        #expect(budget.bytes(at: next) == 0)
        #expect(DailyBudget(limit: 0, day: 20_000, bytes: .max, users: [1001: .max]).state(of: 1001) == .plenty)
    }

    @Test("Summaries and what was sent again count for the day, and are nobody's")
    func nobodys() {
        var budget = DailyBudget(limit: 1000)
        budget.sent(5000, at: Self.midnight)
        #expect(budget.bytes(at: Self.midnight) == 5000)
        #expect(budget.state(of: 1001) == .plenty)
    }

    @Test("So many users are remembered and no more, and what the others used stays used")
    func bounded() {
        var budget = DailyBudget(limit: 1_000_000)
        for user in 1000..<3000 as Range<UInt32> { budget.sent(10, for: [user: Int(user) / 100], at: Self.midnight) }
        #expect(budget.users.count <= 256)
        #expect(budget.charged == (1000..<3000).reduce(0) { $0 + $1 / 100 })
    }
}

struct UserTurnsTests {
    @Test("Users take turns, system users come first in each, and each user's own order stays")
    func turns() {
        #expect(RoundRobinOrder.order([1001, 1001, 1001, 1002, 0, 1002, 0]) == [4, 0, 3, 6, 1, 5, 2])
        #expect(RoundRobinOrder.order([]) == [])
    }
}
