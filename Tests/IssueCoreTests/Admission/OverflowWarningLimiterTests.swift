import IssueCore
import IssueProtocol
import Testing

@Suite("Warnings about cardinality overflows")
struct OverflowWarningLimiterTests {
    private let start = MonotonicInstant(sinceBoot: .seconds(50))

    @Test("Warnings are logged once per user and kind, and again after an hour")
    func once() {
        var limiter = OverflowWarningLimiter()
        let issues = CardinalityOverflow(uid: 1, kind: .issues)
        let logged = [
            limiter.shouldLog(issues, at: start), limiter.shouldLog(issues, at: start.advanced(by: .seconds(3599))),
            limiter.shouldLog(CardinalityOverflow(uid: 2, kind: .issues), at: start),
            limiter.shouldLog(CardinalityOverflow(uid: 1, kind: .senders), at: start),
            limiter.shouldLog(issues, at: start.advanced(by: .seconds(3600))),
        ]
        #expect(logged == [true, false, true, true, true])
    }

    @Test("Warnings are limited to about a thousand per hour for all users")
    func bounded() {
        var limiter = OverflowWarningLimiter()
        let logged = (0..<5000).count {
            limiter.shouldLog(CardinalityOverflow(uid: UInt32($0), kind: .senders), at: start)
        }
        #expect(logged == 1024)
        let isLoggedLater = limiter.shouldLog(
            CardinalityOverflow(uid: 4999, kind: .senders), at: start.advanced(by: OverflowWarningLimiter.interval))
        #expect(isLoggedLater)
    }
}
