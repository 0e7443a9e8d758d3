import IssueCore
import Testing

@Suite("Fair eviction")
struct EvictionPolicyTests {
    private func holding(
        _ range: Int64, _ user: UInt32, _ bytes: Int64, isSettled: Bool = true
    ) -> RetentionSnapshot.Holding {
        RetentionSnapshot.Holding(
            range: RetentionSnapshot.ClosedRange(
                id: range, firstID: RowID(100 * range), lastID: RowID(100 * range + 99),
                newest: RecordLogInstant(milliseconds: range),
                hasBatchInFlight: false),
            user: user, bytes: bytes, isSettled: isSettled)
    }

    @Test("There is no candidate if no user has data")
    func nobody() {
        #expect(EvictionPolicy.evictionCandidate([]) == nil)
        #expect(EvictionPolicy.evictionCandidate([holding(1, 5, 0)]) == nil)
        #expect(EvictionPolicy.groupsToRemove([:]).isEmpty)
    }

    @Test("The user with the most data comes first, with the oldest range of at least half the average size")
    func evictionCandidate() {
        let holdings = [holding(1, 5, 90), holding(1, 6, 30), holding(2, 6, 100), holding(3, 6, 100)]
        #expect(EvictionPolicy.evictionCandidate(holdings) == holdings[2])
    }

    @Test("All ids with the same accountable user count as one user")
    func owners() {
        let users = AccountableUsers(
            subordinates: Array("anna:100000:65536\n".utf8), users: Array("anna:x:1000:1000::/:/bin/sh\n".utf8))
        let own = (1...10).map { holding($0, 100_000 + UInt32($0), 20) }
        let holdings = [holding(1, 1000, 10), holding(1, 1001, 150)] + own
        #expect(EvictionPolicy.evictionCandidate(holdings, users) == holdings[0])
        #expect(EvictionPolicy.evictionCandidate(holdings) == holdings[1])
    }

    @Test("Of ranges of about the same size, the oldest one comes first")
    func similarSizes() {
        let holdings = [holding(1, 5, 97), holding(2, 5, 100), holding(3, 5, 103)]
        #expect(EvictionPolicy.evictionCandidate(holdings) == holdings[0])
    }

    @Test("Only the oldest part of a range is removed if the rest would be at least a quarter of what remains")
    func part() {
        let only = holding(1, 5, 1600)
        #expect(EvictionPolicy.fractionToRemove(of: only, [only], excess: 400) == 0.25)
        #expect(EvictionPolicy.fractionToRemove(of: only, [only], excess: 1599) == 1599.0 / 1600)
        #expect(EvictionPolicy.fractionToRemove(of: only, [only], excess: 1600) == nil)
        #expect(EvictionPolicy.fractionToRemove(of: only, [only], excess: .max) == nil)
        // At least a sixteenth is removed.
        #expect(EvictionPolicy.fractionToRemove(of: only, [only], excess: 0) == 1.0 / 16)
        let ranges = [1600, 1500, 1500, 1500].enumerated().map { holding(Int64($0), 5, $1) }
        #expect(EvictionPolicy.fractionToRemove(of: ranges[0], ranges, excess: 100) == 1.0 / 16)
        #expect(EvictionPolicy.fractionToRemove(of: ranges[0], ranges, excess: 200) == nil)
        // With as many ranges as usual, each is removed as a whole.
        let usual = (1...8).map { holding($0, 5, 1600) }
        #expect(EvictionPolicy.fractionToRemove(of: usual[0], usual, excess: 1) == nil)
    }

    @Test("Ranges without pending records come first, even if they are newer or smaller")
    func settled() {
        let holdings = [holding(1, 5, 100, isSettled: false), holding(2, 5, 10)]
        #expect(EvictionPolicy.evictionCandidate(holdings) == holdings[1])
        #expect(EvictionPolicy.evictionCandidate([holdings[0]]) == holdings[0])
    }

    @Test("Only the largest user loses records, and never from a range below half of that user's average")
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
            let mean = own.reduce(0) { $0 + $1.bytes } / Int64(own.count)
            #expect(evictionCandidate.bytes >= mean / 2)
            #expect(!own.contains { $0.range.id < evictionCandidate.range.id && $0.bytes >= mean / 2 })
            if !evictionCandidate.isSettled {
                #expect(!holdings.contains { $0.user == evictionCandidate.user && $0.isSettled && $0.bytes > 0 })
            }
        }
    }

    @Test("All groups except rare ones lose their records, and the rare ones too if they make up most of the volume")
    func groupsToRemove() {
        var traffic = SeededGenerator(seed: 18)
        for _ in 0..<500 {
            let pairs = (0..<Int64(traffic.number(below: 20) + 1)).map {
                let records = Int64(traffic.number(below: 50) + 1)
                let size = Int64(traffic.number(below: 200) + 1)
                return (GroupID($0), GroupVolume(records: records, bytes: records * size))
            }
            let groups = Dictionary(uniqueKeysWithValues: pairs)
            let removed = EvictionPolicy.groupsToRemove(groups)
            let left = groups.filter { !removed.contains($0.key) }
            func volume(_ groups: [GroupID: GroupVolume]) -> Int64 { groups.values.reduce(0) { $0 + $1.bytes } }
            #expect(2 * volume(left) <= volume(groups))
            let limit = (0...16).last { limit in
                groups.values.map(\.records).filter { $0 <= limit }.reduce(0, +) <= 64
            }
            let rare = groups.filter { $0.value.records <= limit ?? 0 }
            #expect(left == (2 * volume(rare) <= volume(groups) ? rare : [:]))
        }
        #expect(EvictionPolicy.groupsToRemove(groups([5, 5, 5])) == [0, 1, 2])
        #expect(EvictionPolicy.groupsToRemove(groups([100, 16, 17])) == [0, 2])
        #expect(EvictionPolicy.groupsToRemove(groups([17, 9, 9])) == [0, 1, 2])
    }

    /// Groups with these numbers of records, all of the same size.
    private func groups(_ records: [Int64]) -> [GroupID: GroupVolume] {
        Dictionary(
            uniqueKeysWithValues: records.enumerated().map {
                (GroupID(Int64($0)), GroupVolume(records: $1, bytes: 100 * $1))
            })
    }

    @Test("If all rare groups together would have more than 64 records and more than a 1,024th of all, fewer are rare")
    func rareRecordsInTotal() {
        func kept(_ sizes: [Int64], _ frequent: Int64) -> [Int64] {
            let groups = groups(sizes + [frequent])
            let removed = EvictionPolicy.groupsToRemove(groups)
            return groups.filter { !removed.contains($0.key) }.map(\.value.records).sorted()
        }
        #expect(kept([16, 16, 16, 16], 10_000) == [16, 16, 16, 16])
        #expect(kept([1, 16, 16, 16, 16], 10_000) == [1])
        #expect(kept([1, 1, 9, 9, 9, 9, 9, 9, 9], 10_000) == [1, 1])
        #expect(kept([1, 16, 16, 16, 16], 1024 * 65 - 65) == [1, 16, 16, 16, 16])
        #expect(kept([1, 16, 16, 16, 16], 1024 * 65 - 66) == [1])
        #expect(kept([Int64](repeating: 1, count: 65), 10_000) == [])
    }
}
