import IssueCore
import Testing

@Suite("The order in which connections are read")
struct ReadOrderTests {
    private typealias Candidate = ReadOrder.Candidate

    private func arranged(_ candidates: [Candidate]) -> [Int] {
        var order = ReadOrder()
        for candidate in candidates { order.add(candidate) }
        return order.arranged().map(\.index)
    }

    @Test("One connection of each user comes first, then a second one of each")
    func layers() {
        let flood = (0..<5).map { Candidate(index: $0, user: 7, userRound: 1, round: 1) }
        let pair = (5..<7).map { Candidate(index: $0, user: 8, userRound: 2, round: 2) }
        #expect(arranged(flood + pair) == [0, 5, 1, 6, 2, 3, 4])
    }

    @Test("Among users, and among the connections of a user, the one whose last turn is longest ago is first")
    func longestAgo() {
        let candidates = [
            Candidate(index: 0, user: 7, userRound: 9, round: 9),
            Candidate(index: 1, user: 7, userRound: 9, round: 3),
            Candidate(index: 2, user: 8, userRound: 5, round: 5),
        ]
        #expect(arranged(candidates) == [2, 1, 0])
    }

    @Test("With one turn a round, every connection that is always ready has its turn")
    func noStarvation() {
        var rounds = [UInt64](repeating: 0, count: 20)
        var userRounds: [UInt32: UInt64] = [:]
        var served = Set<Int>()
        for round in 1...60 as ClosedRange<UInt64> {
            var order = ReadOrder()
            for index in rounds.indices {
                // The first has a user of its own, and the others share one.
                let user: UInt32 = index == 0 ? 1 : 2
                order.add(
                    Candidate(index: index, user: user, userRound: userRounds[user, default: 0], round: rounds[index]))
            }
            let next = order.arranged()[0]
            rounds[next.index] = round
            userRounds[next.user] = round
            served.insert(next.index)
            if round > 2 { #expect(round - rounds[0] <= 1, "The quiet user waited for more than one turn") }
        }
        #expect(served.count == 20)
    }

    @Test("After `removeAll`, no connection of the last round is left")
    func reuse() {
        var order = ReadOrder()
        order.add(Candidate(index: 0, user: 1, userRound: 0, round: 0))
        order.removeAll()
        #expect(order.arranged() == [])
    }
}
