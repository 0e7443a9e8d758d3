import IssueCore
import Testing

@Suite("Shared memory budget")
struct MemoryBudgetTests {
    private func holding(_ connection: UInt64, _ owner: UInt32, _ bytes: Int, at seconds: Int) -> MemoryReservation {
        MemoryReservation(
            connection: connection, owner: owner, bytes: bytes, since: MonotonicInstant(sinceBoot: .seconds(seconds)))
    }

    @Test("However many users take all they may, the budget holds and a new user has the minimum")
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
        #expect(budget.allowance >= 256 << 10)
        #expect(held.allSatisfy { $0 >= 256 << 10 })
    }

    @Test("Connections without progress for the longest time are closed first, only of users above an equal share")
    func excess() {
        let holdings =
            (0..<8).map { holding(UInt64($0), 1, 100, at: 10 + $0) } + [holding(100, 2, 100, at: 1)]
            + [holding(200, 3, 400, at: 50)]
        // 1,300 bytes of three users; 200 have to be freed.
        let chosen = MemoryReservation.excess(of: holdings, above: 1100, guaranteed: 10)
        #expect(chosen == [0, 1])
        #expect(MemoryReservation.excess(of: holdings, above: 1300, guaranteed: 10) == [])
    }

    @Test("A user within the minimum loses nothing, even if the rest then exceeds the target")
    func minimum() {
        let holdings = (1...10).map { holding(UInt64($0), UInt32($0), 100, at: $0) }
        #expect(MemoryReservation.excess(of: holdings, above: 500, guaranteed: 100) == [])
        #expect(MemoryReservation.excess(of: holdings, above: 500, guaranteed: 99) == [1, 2, 3, 4, 5])
        #expect(MemoryReservation.excess(of: [], above: 0, guaranteed: 0) == [])
    }

    @Test("A message that is being sent survives many that were left half-sent")
    func fresh() {
        let stale = (0..<70).map { holding(UInt64($0), UInt32(1000 + $0), 1 << 20, at: 1) }
        let fresh = holding(500, 5, 2 << 20, at: 100)
        let chosen = MemoryReservation.excess(of: stale + [fresh], above: 56 << 20, guaranteed: 256 << 10)
        #expect(!chosen.contains(500))
        #expect(chosen.count == 16)
    }
}
