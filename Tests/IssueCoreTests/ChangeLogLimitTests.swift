import IssueCore
import Testing

@Suite("Rate limit for logged state changes")
struct ChangeLogLimitTests {
    private func instant(_ seconds: Int64) -> MonotonicInstant { MonotonicInstant(sinceBoot: .seconds(seconds)) }

    @Test("A user with many changes does not crowd out others, and the number left out is reported later")
    func limit() {
        var limit = ChangeLogLimit()
        let mine = (0..<1_000).count { _ in limit.changed(by: 1, at: instant(100)).isLogged }
        #expect(mine == ChangeLogLimit.perUser)
        #expect(limit.changed(by: 2, at: instant(101)) == (true, 0))
        #expect(limit.changed(by: 1, at: instant(160)) == (true, 990))
        #expect(limit.changed(by: 1, at: instant(161)) == (true, 0))
    }

    @Test("All users together have a limit too")
    func total() {
        var limit = ChangeLogLimit()
        let all = (0..<10_000).count { limit.changed(by: UInt32($0), at: instant(5)).isLogged }
        #expect(all == ChangeLogLimit.perMinute)
    }
}
