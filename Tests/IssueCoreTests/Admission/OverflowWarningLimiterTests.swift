import IssueCore
import IssueProtocol
import Testing

@Suite("That something is kept together")
struct CrowdingNewsTests {
    private let start = MonotonicInstant(sinceBoot: .seconds(50))

    @Test("is told once of each user and kind, and again after an hour")
    func once() {
        var news = OverflowWarningLimiter()
        let issues = CardinalityOverflow(uid: 1, kind: .issues)
        let told = [
            news.came(issues, at: start), news.came(issues, at: start.advanced(by: .seconds(3599))),
            news.came(CardinalityOverflow(uid: 2, kind: .issues), at: start),
            news.came(CardinalityOverflow(uid: 1, kind: .senders), at: start),
            news.came(issues, at: start.advanced(by: .seconds(3600))),
        ]
        #expect(told == [true, false, true, true, true])
    }

    @Test("is told of no more than a thousand in an hour, whoever they are")
    func bounded() {
        var news = OverflowWarningLimiter()
        let told = (0..<5000).count { news.came(CardinalityOverflow(uid: UInt32($0), kind: .senders), at: start) }
        #expect(told == 1024)
        let isToldLater = news.came(
            CardinalityOverflow(uid: 4999, kind: .senders), at: start.advanced(by: OverflowWarningLimiter.interval))
        #expect(isToldLater)
    }
}
