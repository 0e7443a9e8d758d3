import IssueCore
import Testing

@Suite("A subscriber's query")
struct ChangePollGateTests {
    /// Returns a gate whose first query has found nothing.
    private func idle() -> ChangePollGate {
        var pollGate = ChangePollGate()
        pollGate.polled(mayBeMore: false)
        return pollGate
    }

    @Test("A subscriber's query is not repeated while nothing changes")
    func idleness() {
        var pollGate = idle()
        for _ in 0..<3 { #expect(pollGate.shouldPoll() == false) }
        #expect(!pollGate.isPolling)
    }

    @Test("A subscriber's query is repeated once for all changes since the last one")
    func once() {
        var pollGate = idle()
        pollGate.happened()
        pollGate.happened()
        #expect(pollGate.shouldPoll() == true)
        pollGate.polled(mayBeMore: false)
        #expect(pollGate.shouldPoll() == false)
    }

    @Test("A subscriber's query is repeated for changes during a query, which may have missed them")
    func meanwhile() {
        for isFirst in [true, false] {
            var pollGate = isFirst ? ChangePollGate() : idle()
            if !isFirst {
                pollGate.happened()
                #expect(pollGate.shouldPoll() == true)
            }
            pollGate.happened()
            #expect(pollGate.shouldPoll() == false, "There must never be two queries at the same time")
            pollGate.polled(mayBeMore: false)
            #expect(pollGate.shouldPoll() == true)
        }
    }

    @Test("A subscriber's query is repeated after it returned the maximum number of results")
    func more() {
        var pollGate = ChangePollGate()
        pollGate.polled(mayBeMore: true)
        #expect(pollGate.shouldPoll() == true)
        pollGate.polled(mayBeMore: false)
        #expect(pollGate.shouldPoll() == false)
    }
}
