import IssueCore
import Testing

/// Returns the memory of a connection that has made no progress since this number of seconds after boot.
func holding(_ connection: UInt64, _ owner: UInt32, _ bytes: Int, at seconds: Int) -> MemoryReservation {
    MemoryReservation(
        connection: connection, owner: owner, bytes: bytes, since: MonotonicInstant(sinceBoot: .seconds(seconds)))
}

@Suite("Shared memory budget")
struct MemoryBudgetTests {
    @Test("However many users take all they may, only the guaranteed minimums exceed the budget")
    func shares() {
        var budget = MemoryBudget(limit: 64 << 20, guaranteed: 256 << 10)
        var held: [Int] = []
        for _ in 1...60 {
            var own = 0
            while own < budget.allowance {
                own += 4096
                budget.changed(by: 4096)
            }
            held.append(own)
        }
        #expect(zip(held, held.dropFirst()).allSatisfy { $0 >= $1 })
        #expect(budget.used <= 64 << 20 + 60 * (256 << 10))
        #expect(held.allSatisfy { $0 >= 256 << 10 })
    }

    @Test("Only users above an equal share lose connections, first those without progress for the longest time")
    func excess() {
        let holdings =
            (0..<8).map { holding(UInt64($0), 1, 100, at: 10 + $0) } + [holding(100, 2, 100, at: 1)]
            + [holding(200, 3, 400, at: 50)]
        // 1,300 bytes of three users; 200 have to be freed.
        let chosen = MemoryReservation.excess(of: holdings, above: 1100, guaranteed: 10)
        #expect(chosen == [0, 1])
        #expect(MemoryReservation.excess(of: holdings, above: 1300, guaranteed: 10) == [])
    }

    @Test("A user within the minimum loses nothing, even if the memory in use then stays above the target")
    func minimum() {
        let holdings = (1...10).map { holding(UInt64($0), UInt32($0), 100, at: $0) }
        #expect(MemoryReservation.excess(of: holdings, above: 500, guaranteed: 100) == [])
        #expect(MemoryReservation.excess(of: holdings, above: 500, guaranteed: 99) == [1, 2, 3, 4, 5])
        #expect(MemoryReservation.excess(of: [], above: 0, guaranteed: 0) == [])
    }

    @Test("A message that is being sent is not cut off because of many that were left incomplete")
    func fresh() {
        let stale = (0..<70).map { holding(UInt64($0), UInt32(1000 + $0), 1 << 20, at: 1) }
        let fresh = holding(500, 5, 2 << 20, at: 100)
        let chosen = MemoryReservation.excess(of: stale + [fresh], above: 56 << 20, guaranteed: 256 << 10)
        #expect(!chosen.contains(500))
        #expect(chosen.count == 16)
    }
}

@Suite("The memory for replies")
struct ReplyBudgetTests {
    private let largest = ReplyBudget.maxReply

    /// Lets users make requests in turn until none is allowed. Each leaves replies of this size unread.
    ///
    /// - Returns: The unread bytes per user.
    private func fill(_ budget: inout ReplyBudget, users: ClosedRange<UInt32>, reply: Int) -> [UInt32: Int] {
        var held: [UInt32: Int] = [:]
        var isAnyAllowed = true
        while isAnyAllowed {
            isAnyAllowed = false
            for user in users where budget.decision(user: user, isPrivileged: false) == .begin {
                budget.changed(user: user, by: reply)
                held[user, default: 0] += reply
                isAnyAllowed = true
            }
        }
        return held
    }

    @Test("However many users leave replies unread, the limit holds, and operators can still make requests")
    func limit() {
        var budget = ReplyBudget(limit: 16 << 20, limitPerUser: 16 << 20)
        let held = fill(&budget, users: 1...1000, reply: 1 << 20)
        #expect(budget.used == held.values.reduce(0, +))
        #expect(budget.used + largest <= 16 << 20)
        #expect(budget.decision(user: 5000, isPrivileged: false) == .waitForOthers)
        #expect(budget.decision(user: 0, isPrivileged: true) == .begin)
        #expect(budget.used > budget.maxUnread)
    }

    @Test("One user can't use the whole budget, and has a separate limit")
    func perUser() {
        var small = ReplyBudget(limit: 16 << 20, limitPerUser: 16 << 20)
        _ = fill(&small, users: 1...1, reply: 1 << 20)
        #expect(small.decision(user: 1, isPrivileged: false) == .waitForUser)
        #expect(small.decision(user: 2, isPrivileged: false) == .begin)
        var large = ReplyBudget(limit: 128 << 20, limitPerUser: 16 << 20)
        #expect(fill(&large, users: 1...1, reply: 1 << 20)[1] == 15 << 20)
    }

    @Test("A user with one unread page may make requests as long as any user may")
    func onePage() {
        var budget = ReplyBudget(limit: 16 << 20, limitPerUser: 16 << 20)
        budget.changed(user: 1, by: largest)
        while budget.decision(user: 2, isPrivileged: false) != .waitForOthers {
            #expect(budget.decision(user: 1, isPrivileged: false) == .begin)
            budget.changed(user: 3, by: 4096)
        }
    }

    @Test("With the smallest limit, two replies can be prepared at a time while one page is unread")
    func smallest() {
        var budget = ReplyBudget(limit: 8 << 20, limitPerUser: 16 << 20)
        #expect(budget.maxUnread == largest)
        budget.changed(user: 1, by: budget.maxUnread)
        for user in 2...3 as ClosedRange<UInt32> {
            #expect(budget.decision(user: user, isPrivileged: false) == .begin)
            budget.changed(user: user, by: largest)
        }
        #expect(budget.decision(user: 4, isPrivileged: false) == .waitForOthers)
        #expect(budget.decision(user: 0, isPrivileged: true) == .begin)
        for user in 2...3 as ClosedRange<UInt32> { budget.changed(user: user, by: -largest) }
        #expect(budget.used == largest)
    }
}
