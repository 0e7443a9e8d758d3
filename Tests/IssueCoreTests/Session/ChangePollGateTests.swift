import IssueCore
import Testing

@Suite("Whoever waits for news")
struct LookoutTests {
    /// One whose first look has found nothing.
    private func idle() -> ChangePollGate {
        var lookout = ChangePollGate()
        lookout.looked(mayBeMore: false)
        return lookout
    }

    @Test("costs nothing while nothing happens")
    func idleness() {
        var lookout = idle()
        for _ in 0..<3 { #expect(lookout.mayLook() == .none) }
        #expect(!lookout.isLooking)
    }

    @Test("is looked after once for all that has happened since the last look")
    func once() {
        var lookout = idle()
        lookout.happened()
        lookout.happened()
        #expect(lookout.mayLook() == .look)
        lookout.looked(mayBeMore: false)
        #expect(lookout.mayLook() == .none)
    }

    @Test("misses nothing that happens while a look is under way, which may not have seen it")
    func meanwhile() {
        for isFirst in [true, false] {
            var lookout = isFirst ? ChangePollGate() : idle()
            if !isFirst {
                lookout.happened()
                #expect(lookout.mayLook() == .look)
            }
            lookout.happened()
            #expect(lookout.mayLook() == .none, "Never two looks at a time")
            lookout.looked(mayBeMore: false)
            #expect(lookout.mayLook() == .look)
        }
    }

    @Test("is looked after again where a look has found as much as it may")
    func more() {
        var lookout = ChangePollGate()
        lookout.looked(mayBeMore: true)
        #expect(lookout.mayLook() == .look)
        lookout.looked(mayBeMore: false)
        #expect(lookout.mayLook() == .none)
    }
}
