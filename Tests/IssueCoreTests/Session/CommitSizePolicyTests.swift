import IssueCore
import Testing

@Suite("The cost of a report for the writer")
struct ReportCostTests {
    @Test("A record of a known series costs 1, and more if it is larger than usual")
    func plain() {
        #expect(ReportCost.of(records: 50, bytes: 25_000, newSeries: 0, overflowed: 0) == 50)
        #expect(ReportCost.of(records: 1, bytes: 250 << 10, newSeries: 0, overflowed: 0) == 250)
        // A call whose records were all rejected.
        #expect(ReportCost.of(records: 0, bytes: 0, newSeries: 0, overflowed: 0) == 1)
    }

    @Test("New series cost the most, and a record in an overflow series costs more than other records")
    func unusual() {
        let new = ReportCost.of(records: 1000, bytes: 250_000, newSeries: 1000, overflowed: 0)
        let overflowed = ReportCost.of(records: 1000, bytes: 250_000, newSeries: 0, overflowed: 1000)
        #expect(new > overflowed && overflowed > 1000)
        let mixed = ReportCost.of(records: 1000, bytes: 250_000, newSeries: 1, overflowed: 1)
        #expect(mixed == 998 + (new + overflowed) / 1000)
    }
}

@Suite("The size of a commit")
struct CommitSizePolicyTests {
    /// Milliseconds until a connection that reports without a pause is known to do so.
    private static let moment = 350

    private func at(_ milliseconds: Int) -> MonotonicInstant {
        MonotonicInstant(sinceBoot: .milliseconds(milliseconds))
    }

    @Test("The size of a commit is the maximum while all connections report without a pause")
    func alone() {
        var pace = CommitSizePolicy(bulk: 8192, shared: 2048)
        for time in stride(from: 0, to: 5000, by: 10) {
            for connection: UInt64 in 1...4 { pace.arrived(200, connection: connection, at: at(time)) }
            if time >= Self.moment { #expect(pace.limit(at: at(time)) == 8192) }
        }
    }

    @Test("The size of a commit is reduced at most for a moment if one connection starts late and another stops early")
    func edges() {
        var pace = CommitSizePolicy(bulk: 8192, shared: 2048)
        for time in stride(from: 0, to: 10_000, by: 10) {
            if time < 5000 { pace.arrived(200, connection: 1, at: at(time)) }
            if time >= 4990 { pace.arrived(200, connection: 2, at: at(time)) }
            if time < 7010 { pace.arrived(200, connection: 3, at: at(time)) }
            // At first, the late connection is not known to report without a pause.
            if time >= Self.moment, !(4990..<4990 + Self.moment).contains(time) {
                #expect(pace.limit(at: at(time)) == 8192)
            }
        }
    }

    @Test("The size of a commit is reduced for a moment after each of the first reports of a new connection")
    func new() {
        var pace = CommitSizePolicy(bulk: 8192, shared: 2048)
        for time in stride(from: 0, to: 700, by: 10) { pace.arrived(800, connection: 1, at: at(time)) }
        #expect(pace.limit(at: at(700)) == 8192)
        pace.arrived(1, connection: 2, at: at(700))
        #expect(pace.limit(at: at(700)) == 2048)
        pace.arrived(1, connection: 2, at: at(900))
        #expect(pace.limit(at: at(1149)) == 2048)
        #expect(pace.limit(at: at(1150)) == 8192)
    }

    @Test("The size of a commit is reduced while a low-volume connection reports, and for a minute afterwards")
    func shared() {
        var pace = CommitSizePolicy(bulk: 8192, shared: 2048)
        func flood(_ pace: inout CommitSizePolicy, from start: Int, to end: Int) {
            for time in stride(from: start, to: end, by: 10) { pace.arrived(800, connection: 1, at: at(time)) }
        }
        flood(&pace, from: 0, to: 500)
        #expect(pace.limit(at: at(500)) == 8192)
        pace.arrived(1, connection: 2, at: at(500))
        flood(&pace, from: 500, to: 2500)
        #expect(pace.limit(at: at(2500)) == 2048)
        flood(&pace, from: 2500, to: 60_000)
        #expect(pace.limit(at: at(60_000)) == 2048)
        flood(&pace, from: 60_000, to: 63_000)
        #expect(pace.limit(at: at(63_000)) == 8192)
    }
}
