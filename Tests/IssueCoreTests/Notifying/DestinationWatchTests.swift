import IssueCore
import IssueProtocol
import Testing

@Suite("Delays, recoveries and dead letters of a destination")
struct DestinationWatchTests {
    private func at(_ minutes: Int64, seconds: Int64 = 0) -> IssueTimestamp {
        IssueTimestamp(millisecondsSince1970: 1_700_000_000_000 + (minutes * 60 + seconds) * 1000)
    }

    /// Returns the event after a response at a minute. `since` is the minute of the first failure.
    private func event(
        _ watch: inout DestinationWatch, failingSince since: Int64? = nil, isAccepting: Bool = false,
        isPaused: Bool = false, at minute: Int64
    ) -> DestinationWatch.Event? {
        watch.answered(
            isAccepting: isAccepting, isPaused: isPaused, failingSince: since.map { at($0) }, at: at(minute))
    }

    @Test("A delay is reported once, after 15 minutes without accepted records")
    func delay() {
        var watch = DestinationWatch()
        #expect(event(&watch, at: 0) == nil)
        let early = watch.answered(
            isAccepting: false, isPaused: false, failingSince: at(0), at: at(14, seconds: 59))
        #expect(early == nil)
        #expect(event(&watch, failingSince: 0, at: 15) == .delayed(.seconds(900)))
        for minute in 16...600 as ClosedRange<Int64> {
            #expect(event(&watch, failingSince: 0, at: minute) == nil)
        }
        #expect(event(&watch, isAccepting: true, at: 601) == .recovered(.seconds(36_060)))
        #expect(event(&watch, isAccepting: true, at: 602) == nil)
    }

    @Test("A destination that accepts records is not delayed, however long records wait")
    func slow() {
        var watch = DestinationWatch()
        for minute in 0...600 as ClosedRange<Int64> {
            #expect(event(&watch, isAccepting: true, at: minute) == nil)
        }
    }

    @Test("A pause ends once records are accepted and the destination is not paused")
    func pause() {
        var watch = DestinationWatch()
        watch.paused(since: at(1))
        watch.paused(since: at(21))
        #expect(event(&watch, failingSince: 1, isPaused: true, at: 22) == nil)
        // A priority record is accepted during the pause.
        #expect(event(&watch, failingSince: 1, isAccepting: true, isPaused: true, at: 23) == nil)
        // The pause was lifted, but nothing was accepted yet.
        #expect(event(&watch, failingSince: 1, at: 24) == nil)
        #expect(event(&watch, isAccepting: true, at: 31) == .recovered(.seconds(1800)))
    }

    @Test("A pause whose beginning was not reported is reported as a delay")
    func unreportedPause() {
        var watch = DestinationWatch()
        #expect(event(&watch, failingSince: 0, isPaused: true, at: 14) == nil)
        #expect(event(&watch, failingSince: 0, isPaused: true, at: 16) == .delayed(.seconds(960)))
        #expect(event(&watch, failingSince: 0, isPaused: true, at: 30) == nil)
    }

    @Test("A pause during a delay is part of the same outage")
    func pauseInDelay() {
        var watch = DestinationWatch()
        #expect(event(&watch, failingSince: 0, at: 15) == .delayed(.seconds(900)))
        watch.paused(since: at(16))
        #expect(event(&watch, isAccepting: true, at: 21) == .recovered(.seconds(1260)))
    }

    @Test("Dead letters are reported at most once per hour, with their number since the last event")
    func deadLetters() {
        var watch = DestinationWatch()
        #expect(watch.deadLettersStored(0, at: at(0)) == nil)
        #expect(watch.deadLettersStored(3, at: at(0)) == .deadLetters(3))
        #expect(watch.deadLettersStored(2, at: at(10)) == nil)
        #expect(watch.deadLettersStored(5, at: at(59)) == nil)
        #expect(watch.deadLettersStored(0, at: at(60)) == .deadLetters(7))
        #expect(watch.deadLettersStored(0, at: at(180)) == nil)
    }

    @Test("A time in the future, stored while the clock was wrong, prevents no event")
    func wrongClock() {
        var watch = DestinationWatch()
        watch.deadLettersReportedAt = at(10_000)
        #expect(watch.deadLettersStored(1, at: at(15)) == .deadLetters(1))
        watch.outageSince = at(10_000)
        #expect(event(&watch, isAccepting: true, at: 16) == .recovered(.zero))
    }
}
