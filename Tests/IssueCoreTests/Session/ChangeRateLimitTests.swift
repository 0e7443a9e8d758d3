import Testing

@testable import IssueCore

@Suite("How often a user may change issues")
struct ChangeRateLimitTests {
    private let start = MonotonicInstant(sinceBoot: .seconds(1000))

    @Test(
        "A user may make as many changes as the burst at once, then one per interval, whatever others do",
        arguments: ChangeRateLimit.Kind.allCases)
    func limit(kind: ChangeRateLimit.Kind) {
        var limit = ChangeRateLimit()
        for _ in 0..<kind.burst { #expect(limit.take(kind, user: 1, at: start) == nil) }
        #expect(limit.take(kind, user: 1, at: start) == kind.interval)
        #expect(limit.take(kind, user: 2, at: start) == nil)
        for other in ChangeRateLimit.Kind.allCases where other != kind {
            #expect(limit.take(other, user: 1, at: start) == nil)
        }
        let later = start.advanced(by: kind.interval)
        #expect(limit.take(kind, user: 1, at: later) == nil)
        #expect(limit.take(kind, user: 1, at: later) == kind.interval)
        let muchLater = later.advanced(by: kind.interval * Int(kind.burst))
        for _ in 0..<kind.burst { #expect(limit.take(kind, user: 1, at: muchLater) == nil) }
        #expect(limit.take(kind, user: 1, at: muchLater) != nil)
    }

    @Test("Many users do not reset the limit of one")
    func users() {
        var limit = ChangeRateLimit()
        for _ in 0..<ChangeRateLimit.Kind.grouping.burst { _ = limit.take(.grouping, user: 1, at: start) }
        for user in 2..<10_000 { _ = limit.take(.grouping, user: UInt32(user), at: start) }
        #expect(limit.take(.grouping, user: 1, at: start) != nil)
    }
}
