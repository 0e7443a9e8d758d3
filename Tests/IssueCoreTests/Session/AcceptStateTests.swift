import IssueCore
import Testing

@Suite("Accepting connections")
struct AcceptStateTests {
    private func time(_ milliseconds: Int) -> MonotonicInstant {
        MonotonicInstant(sinceBoot: .milliseconds(milliseconds))
    }

    @Test("A shortage pauses accepting for a second, and is reported once until no connection waits in the kernel")
    func shortage() {
        var state = AcceptState()
        #expect(state.emptiedBacklog() == false && state.deadline == nil)
        #expect(state.failed(at: time(0)) == .pauseAndReport)
        #expect(state.deadline == time(1000))
        #expect(state.deadlineReached(at: time(999)) == .none)
        #expect(state.deadlineReached(at: time(1000)) == .resume)
        #expect(state.deadline == nil)
        #expect(state.failed(at: time(1000)) == .pause)
        #expect(state.failed(at: time(1500)) == .pause, "The new listening socket is tried at once")
        #expect(state.deadline == time(2500))
        #expect(state.emptiedBacklog() == false)
        #expect(state.deadlineReached(at: time(2500)) == .resume)
        #expect(state.emptiedBacklog() == true)
        #expect(state.emptiedBacklog() == false)
        #expect(state.failed(at: time(3000)) == .pauseAndReport)
    }

    @Test("A closed connection ends the pause")
    func freed() {
        var state = AcceptState()
        state.freedDescriptor(at: time(1))
        #expect(state == AcceptState())
        _ = state.failed(at: time(0))
        state.freedDescriptor(at: time(300))
        #expect(state.deadlineReached(at: time(300)) == .resume)
    }

    @Test("No connection is accepted once the daemon stops")
    func stops() {
        var state = AcceptState()
        #expect(!state.isStopped)
        _ = state.failed(at: time(0))
        state.stopped()
        #expect(state.isStopped && state.deadline == nil)
        #expect(state.failed(at: time(0)) == .none)
        #expect(state.deadlineReached(at: time(9000)) == .none)
        #expect(state.emptiedBacklog() == false)
        state.freedDescriptor(at: time(1))
        #expect(state.isStopped)
    }

    @Test("A turn accepts connections until its time is over, but always a minimum number of them")
    func turn() {
        let end = time(0).advanced(by: AcceptTurn.length)
        var quick = AcceptTurn(from: time(0))
        for _ in 0..<1000 {
            let isAccepted = quick.mayAccept(at: end.advanced(by: .nanoseconds(-1)))
            #expect(isAccepted)
        }
        let isAcceptedLate = quick.mayAccept(at: end)
        #expect(!isAcceptedLate)

        var slow = AcceptTurn(from: time(0))
        let accepted = (0..<100).count { _ in slow.mayAccept(at: end) }
        #expect(accepted == AcceptTurn.minConnections)
    }

    @Test("An event that happens often is logged once a minute, with the number of times")
    func repeated() {
        var counter = RepeatedEventCounter()
        #expect(counter.happened(at: time(0)) == 1)
        #expect(counter.happened(3, at: time(59_999)) == nil)
        #expect(counter.happened(at: time(60_000)) == 4)
        #expect(counter.happened(at: time(60_001)) == nil)
    }
}
