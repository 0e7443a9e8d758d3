import IssueProtocol
import Testing

@testable import IssueCore

@Suite("Resolving quiet issues")
struct QuietPeriodTests {
    private let now = RecordLogInstant(milliseconds: 1_000_000_000)

    @Test("A period of zero resolves nothing, and checks are a tenth of the period apart, from a minute to an hour")
    func period() {
        #expect(QuietPeriod(.zero).interval == nil)
        #expect(QuietPeriod(.zero).end(at: now) == nil)
        for (duration, interval) in [(60, 60), (1800, 180), (7 * 86_400, 3600)] {
            #expect(QuietPeriod(.seconds(duration)).interval == .seconds(interval))
        }
        #expect(QuietPeriod(.seconds(60)).end(at: now) == RecordLogInstant(milliseconds: 999_940_000))
    }

    @Test("An open issue is resolved if all its series ended before the period, in closed ranges")
    func decision() {
        typealias Activity = QuietPeriod.Activity
        let old = Activity(lastRange: 3, mayBeOpen: false)
        for (state, activities, isResolved) in [
            (.open, [old], true), (.open, [old, Activity(lastRange: 4, mayBeOpen: false)], true),
            (.open, [old, Activity(lastRange: 5, mayBeOpen: false)], false),
            (.open, [old, Activity(lastRange: 3, mayBeOpen: true)], false),
            (.open, [Activity(lastRange: nil, mayBeOpen: false)], false), (.open, [], false),
            (.resolved, [old], false), (.muted, [old], false),
        ] as [(GroupState, [Activity], Bool)] {
            #expect(QuietPeriod.resolves(state, activities, quietThrough: 4) == isResolved)
        }
    }
}
