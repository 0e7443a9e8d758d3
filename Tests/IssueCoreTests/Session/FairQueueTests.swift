import IssueCore
import Testing

@Suite("Fair queue of reports")
struct FairQueueTests {
    private func queue() -> FairQueue<String> { FairQueue(userQuantum: 512, connectionQuantum: 128) }

    @Test("Reports of one connection keep their order")
    func order() {
        var queue = queue()
        for number in 0..<500 { queue.append("\(number)", cost: 100, user: 1, connection: 1) }
        var taken: [String] = []
        while !queue.isEmpty { taken += queue.take(upTo: 8192) }
        #expect(taken == (0..<500).map { "\($0)" })
        #expect(queue.cost == 0)
    }

    @Test("A commit exceeds its limit at most by its last item")
    func limit() {
        var queue = queue()
        for _ in 0..<100 { queue.append("x", cost: 230, user: 1, connection: 1) }
        let commit = queue.take(upTo: 8192)
        #expect(commit.count == 36)
        #expect(queue.cost == 64 * 230)
        // An item larger than a commit is taken all the same.
        var large = self.queue()
        large.append("large", cost: 100_000, user: 1, connection: 1)
        let whole = large.take(upTo: 8192)
        #expect(whole == ["large"])
    }

    @Test("A single report is in the next commit, however much other users or connections have sent before")
    func quiet() {
        for (user, connection): (UInt32, UInt64) in [(2, 9), (1, 9)] {
            var queue = queue()
            for number in 0..<5000 { queue.append("flood", cost: 230, user: 1, connection: UInt64(number % 4)) }
            let before = queue.take(upTo: 8192)
            #expect(!before.isEmpty)
            queue.append("quiet", cost: 1, user: user, connection: connection)
            let next = queue.take(upTo: 8192)
            #expect(next.contains("quiet"))
        }
    }

    @Test(
        "A new connection's first report precedes most others of its user's thousand connections, but not its second"
    )
    func quietAmongMany() {
        var queue = queue()
        for connection in 0..<1000 { queue.append("flood", cost: 60, user: 1, connection: UInt64(connection)) }
        queue.append("quiet", cost: 1, user: 1, connection: 5000)
        queue.append("quiet again", cost: 1, user: 1, connection: 5000)
        let commit = queue.take(upTo: 2048)
        #expect(commit.contains("quiet"))
        #expect(!commit.contains("quiet again"))
    }

    @Test("A call of many new series has a commit of its own, and another user's report is in the next one")
    func newSeries() {
        var queue = queue()
        let cost = ReportCost.of(records: 1000, bytes: 250_000, newSeries: 1000, overflowed: 0)
        for number in 0..<60 { queue.append("flood", cost: cost, user: 1, connection: UInt64(number % 6)) }
        for _ in 0..<5 {
            #expect(queue.take(upTo: 2048) == ["flood"])
            queue.append("quiet", cost: 1, user: 2, connection: 9)
            #expect(queue.take(upTo: 2048) == ["quiet"])
        }
        // Two users who report without a pause share the writer's time, not its records.
        for number in 0..<1000 { queue.append("plain", cost: 100, user: 2, connection: UInt64(number % 6)) }
        var taken: [String] = []
        for _ in 0..<40 { taken += queue.take(upTo: 2048) }
        let (floods, plain) = (taken.count { $0 == "flood" }, taken.count { $0 == "plain" })
        #expect(abs(floods * cost - plain * 100) <= 2 * cost)
    }

    @Test("A user with a thousand connections gets no more than a user with one")
    func manyConnections() {
        var queue = queue()
        for connection in 0..<1000 {
            for _ in 0..<10 { queue.append("many", cost: 100, user: 1, connection: UInt64(connection)) }
        }
        for _ in 0..<200 { queue.append("one", cost: 100, user: 2, connection: 5000) }
        let taken = queue.take(upTo: 8192)
        let ones = taken.count { $0 == "one" }
        #expect(abs(ones - taken.count / 2) <= 10)
    }

    @Test("A user who sends large items waits longer for the next turn")
    func large() {
        var queue = queue()
        for _ in 0..<20 { queue.append("large", cost: 4096, user: 1, connection: 1) }
        for _ in 0..<2000 { queue.append("small", cost: 10, user: 2, connection: 2) }
        var spent = (large: 0, small: 0)
        for _ in 0..<3 {
            for item in queue.take(upTo: 8192) {
                if item == "large" { spent.large += 4096 } else { spent.small += 10 }
            }
        }
        #expect(abs(spent.large - spent.small) <= 2 * 4096)
    }

    @Test("Every item is returned exactly once")
    func completeness() {
        var queue = queue()
        var expected = Set<String>()
        var taken: [String] = []
        for number in 0..<3000 {
            let item = "\(number)"
            expected.insert(item)
            queue.append(
                item, cost: 1 + number % 300, user: UInt32(number % 7),
                connection: UInt64(number % 7 * 100 + number % 3))
            if number % 50 == 0 { taken += queue.take(upTo: 1000) }
        }
        while !queue.isEmpty { taken += queue.take(upTo: 1000) }
        #expect(taken.count == 3000)
        #expect(Set(taken) == expected)
        #expect(queue.cost == 0)
        let rest = queue.take(upTo: 1000)
        #expect(rest.isEmpty)
    }
}
