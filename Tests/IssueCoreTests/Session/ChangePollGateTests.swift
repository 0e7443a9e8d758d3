import IssueCore
import Testing

@Suite("A subscriber's query")
struct LookoutTests {
    /// Returns a gate whose first query has found nothing.
    private func idle() -> ChangePollGate {
        var lookout = ChangePollGate()
        lookout.looked(mayBeMore: false)
        return lookout
    }

    @Test("is not repeated while nothing changes")
    func idleness() {
        var lookout = idle()
        for _ in 0..<3 { #expect(lookout.mayLook() == .none) }
        #expect(!lookout.isLooking)
    }

    @Test("is repeated once for all changes since the last one")
    func once() {
        var lookout = idle()
        lookout.happened()
        lookout.happened()
        #expect(lookout.mayLook() == .look)
        lookout.looked(mayBeMore: false)
        #expect(lookout.mayLook() == .none)
    }

    @Test("is repeated for changes during a query, which may have missed them")
    func meanwhile() {
        for isFirst in [true, false] {
            var lookout = isFirst ? ChangePollGate() : idle()
            if !isFirst {
                lookout.happened()
                #expect(lookout.mayLook() == .look)
            }
            lookout.happened()
            #expect(lookout.mayLook() == .none, "There must never be two queries at the same time")
            lookout.looked(mayBeMore: false)
            #expect(lookout.mayLook() == .look)
        }
    }

    @Test("is repeated after it returned the maximum number of results")
    func more() {
        var lookout = ChangePollGate()
        lookout.looked(mayBeMore: true)
        #expect(lookout.mayLook() == .look)
        lookout.looked(mayBeMore: false)
        #expect(lookout.mayLook() == .none)
    }
}
