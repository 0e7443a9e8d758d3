import IssueCore
import Testing

@Suite("Fair eviction")
struct FairnessTests {
    private func holding(
        _ range: Int64, _ user: UInt32, _ bytes: Int64, isSettled: Bool = true
    ) -> RetentionSnapshot.Holding {
        RetentionSnapshot.Holding(
            range: RetentionSnapshot.ClosedRange(
                id: range, firstID: RowID(100 * range), lastID: RowID(100 * range + 99),
                newest: RecordLogInstant(milliseconds: range),
                isUnderWay: false),
            user: user, bytes: bytes, isSettled: isSettled)
    }

    @Test("There is no candidate if no user has data")
    func nobody() {
        #expect(EvictionPolicy.evictionCandidate([]) == nil)
        #expect(EvictionPolicy.evictionCandidate([holding(1, 5, 0)]) == nil)
        #expect(EvictionPolicy.noisiest([:]).isEmpty)
    }

    @Test("The user with the most data comes first, with the oldest range of at least average size")
    func evictionCandidate() {
        let holdings = [holding(1, 5, 90), holding(1, 6, 30), holding(2, 6, 100), holding(3, 6, 100)]
        #expect(EvictionPolicy.evictionCandidate(holdings) == holdings[2])
    }

    @Test("Ranges without pending records come first, even if they are newer or smaller")
    func settled() {
        let holdings = [holding(1, 5, 100, isSettled: false), holding(2, 5, 10)]
        #expect(EvictionPolicy.evictionCandidate(holdings) == holdings[1])
        #expect(EvictionPolicy.evictionCandidate([holdings[0]]) == holdings[0])
    }

    @Test("Only the largest user loses records, and never from a range below that user's average")
    func properties() {
        var traffic = SeededGenerator(seed: 17)
        for _ in 0..<500 {
            let holdings = (0..<Int(traffic.number(below: 40) + 1)).map { _ in
                holding(
                    Int64(traffic.number(below: 12)), UInt32(traffic.number(below: 5)),
                    Int64(traffic.number(below: 1000)),
                    isSettled: traffic.number(below: 3) > 0)
            }
            let sums = Dictionary(grouping: holdings, by: \.user).mapValues { $0.reduce(0) { $0 + $1.bytes } }
                .filter { $0.value > 0 }
            guard let evictionCandidate = EvictionPolicy.evictionCandidate(holdings) else {
                #expect(sums.isEmpty)
                continue
            }
            let sum = sums[evictionCandidate.user] ?? 0
            #expect(sum == sums.values.max())
            #expect(evictionCandidate.bytes > 0)
            let own = holdings.filter {
                $0.user == evictionCandidate.user && $0.bytes > 0 && $0.isSettled == evictionCandidate.isSettled
            }
            #expect(evictionCandidate.bytes >= own.reduce(0) { $0 + $1.bytes } / Int64(own.count))
            if !evictionCandidate.isSettled {
                #expect(!holdings.contains { $0.user == evictionCandidate.user && $0.isSettled && $0.bytes > 0 })
            }
        }
    }

    @Test("The largest groups are at least as large as all others and make up seven eighths of the volume")
    func noisiest() {
        var traffic = SeededGenerator(seed: 18)
        for _ in 0..<500 {
            let pairs = (0..<Int64(traffic.number(below: 20) + 1)).map {
                (GroupID($0), Int64(traffic.number(below: 50) + 1))
            }
            let groups = Dictionary(uniqueKeysWithValues: pairs)
            let noisiest = EvictionPolicy.noisiest(groups)
            #expect(!noisiest.isEmpty)
            let least = noisiest.compactMap { groups[$0] }.min() ?? 0
            #expect(groups.allSatisfy { noisiest.contains($0.key) || $0.value < least })
            let gone = noisiest.reduce(0) { $0 + (groups[$1] ?? 0) }
            let enough = groups.values.reduce(0, +) - groups.values.reduce(0, +) / 8
            #expect(gone >= enough)
            // Without the smallest of them it would be too little.
            let quietest = noisiest.filter { groups[$0] == least }.reduce(0) { $0 + (groups[$1] ?? 0) }
            #expect(gone - quietest < enough)
        }
        #expect(EvictionPolicy.noisiest([1: 5, 2: 5, 3: 5]) == [1, 2, 3])
        #expect(EvictionPolicy.noisiest([1: 100, 2: 5, 3: 5]) == [1])
    }
}
