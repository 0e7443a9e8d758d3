import IssueCore
import Testing

@Suite("How much one commit takes")
struct CommitPaceTests {
    private func at(_ milliseconds: Int) -> MonotonicInstant {
        MonotonicInstant(sinceBoot: .milliseconds(milliseconds))
    }

    @Test("The most, as long as all who report do so without a pause")
    func alone() {
        var pace = CommitPace(most: 8192, shared: 2048)
        for time in stride(from: 0, to: 5000, by: 10) {
            for connection: UInt64 in 1...4 { pace.arrived(200, connection: connection, at: at(time)) }
            #expect(pace.limit(at: at(time)) == 8192)
        }
    }

    @Test("The most, too, where one begins late and another ends early")
    func edges() {
        var pace = CommitPace(most: 8192, shared: 2048)
        for time in stride(from: 0, to: 10_000, by: 10) {
            if time < 5000 { pace.arrived(200, connection: 1, at: at(time)) }
            if time >= 4990 { pace.arrived(200, connection: 2, at: at(time)) }
            if time < 7010 { pace.arrived(200, connection: 3, at: at(time)) }
            #expect(pace.limit(at: at(time)) == 8192)
        }
    }

    @Test("Less, where somebody reports little besides, and for a minute after that")
    func shared() {
        var pace = CommitPace(most: 8192, shared: 2048)
        func flood(_ pace: inout CommitPace, from start: Int, to end: Int) {
            for time in stride(from: start, to: end, by: 10) { pace.arrived(800, connection: 1, at: at(time)) }
        }
        flood(&pace, from: 0, to: 500)
        pace.arrived(1, connection: 2, at: at(500))
        #expect(pace.limit(at: at(500)) == 8192)
        flood(&pace, from: 500, to: 2500)
        #expect(pace.limit(at: at(2500)) == 2048)
        flood(&pace, from: 2500, to: 60_000)
        #expect(pace.limit(at: at(60_000)) == 2048)
        flood(&pace, from: 60_000, to: 63_000)
        #expect(pace.limit(at: at(63_000)) == 8192)
    }
}
