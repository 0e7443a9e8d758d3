import IssueCore
import IssueProtocol
import Testing

@Suite("Delays, recoveries and dead letters of a destination")
struct DestinationWatchTests {
    private func at(_ minutes: Int64, seconds: Int64 = 0) -> IssueTimestamp {
        IssueTimestamp(millisecondsSince1970: 1_700_000_000_000 + (minutes * 60 + seconds) * 1000)
    }

    /// Returns the event at a minute.
    private func event(
        _ watch: inout DestinationWatch, oldest: Int64?, isAccepting: Bool = false, isPaused: Bool = false,
        at minute: Int64
    ) -> DestinationWatch.Event? {
        watch.event(oldest: oldest.map { at($0) }, isAccepting: isAccepting, isPaused: isPaused, at: at(minute))
    }

    @Test(
        "A delay is reported once, at the age at which health is degraded, whatever the cause",
        arguments: [true, false])
    func delay(isAccepting: Bool) {
        var watch = DestinationWatch()
        #expect(DestinationWatch.maxAge == HealthThresholds().degradedAge)
        #expect(event(&watch, oldest: nil, isAccepting: isAccepting, at: 0) == nil)
        let early = watch.event(
            oldest: at(0), isAccepting: isAccepting, isPaused: false, at: at(14, seconds: 59))
        #expect(early == nil)
        #expect(event(&watch, oldest: 0, isAccepting: isAccepting, at: 15) == .delayed(.seconds(900)))
        for minute in 16...600 as ClosedRange<Int64> {
            #expect(event(&watch, oldest: 0, isAccepting: isAccepting, at: minute) == nil)
        }
    }

    @Test("A delay ends when records are accepted and none has waited that long, or none is pending")
    func endOfDelay() {
        for oldest in [nil, 30] as [Int64?] {
            var watch = DestinationWatch()
            #expect(event(&watch, oldest: 0, at: 20) == .delayed(.seconds(1200)))
            // Records were removed, but none was accepted.
            #expect(event(&watch, oldest: nil, at: 30) == nil)
            #expect(event(&watch, oldest: 5, isAccepting: true, at: 35) == nil)
            #expect(event(&watch, oldest: oldest, isAccepting: true, at: 40) == .recovered(.seconds(2400)))
            #expect(event(&watch, oldest: oldest, isAccepting: true, at: 41) == nil)
        }
    }

    @Test("A paused destination is not delayed, and its pause ends when records are accepted")
    func pause() {
        var watch = DestinationWatch()
        // A pause that was not reported.
        #expect(event(&watch, oldest: 0, isPaused: true, at: 20) == nil)
        watch.paused(since: at(1))
        watch.paused(since: at(21))
        #expect(event(&watch, oldest: 0, isPaused: true, at: 22) == nil)
        // The pause was lifted, but nothing was accepted yet.
        #expect(event(&watch, oldest: 0, at: 23) == nil)
        #expect(event(&watch, oldest: 0, isAccepting: true, at: 31) == .recovered(.seconds(1800)))
        // It may catch up for a while.
        #expect(event(&watch, oldest: 0, isAccepting: true, at: 45) == nil)
        #expect(event(&watch, oldest: 0, isAccepting: true, at: 46) == .delayed(.seconds(2760)))
    }

    @Test("A pause during a delay is part of the same outage")
    func pauseInDelay() {
        var watch = DestinationWatch()
        #expect(event(&watch, oldest: 0, at: 15) == .delayed(.seconds(900)))
        watch.paused(since: at(16))
        #expect(event(&watch, oldest: 0, isAccepting: true, at: 20) == nil)
        #expect(event(&watch, oldest: 19, isAccepting: true, at: 21) == .recovered(.seconds(1260)))
    }

    @Test("A destination that keeps recovering and failing is reported as delayed at most four times per hour")
    func flapping() {
        var watch = DestinationWatch()
        var counts = (delayed: 0, recovered: 0)
        for minute in 0..<6000 as Range<Int64> {
            let isUp = minute.isMultiple(of: 2)
            switch event(&watch, oldest: isUp ? nil : minute - 20, isAccepting: isUp, at: minute) {
            case .delayed: counts.delayed += 1
            case .recovered: counts.recovered += 1
            case .deadLetters, nil: break
            }
        }
        #expect(counts.delayed > 300 && counts.delayed <= 400)
        #expect(counts.recovered == counts.delayed)
    }

    @Test("Dead letters are reported at most once per hour, with their number since the last event")
    func deadLetters() {
        var watch = DestinationWatch()
        #expect(watch.deadLettersEvent(at: at(0)) == nil)
        #expect(watch.deadLettersEvent(adding: 3, at: at(0)) == .deadLetters(3))
        #expect(watch.deadLettersEvent(adding: 2, at: at(10)) == nil)
        #expect(watch.nextCheck(oldest: nil, at: at(10)) == DestinationWatch.maxAge)
        #expect(watch.deadLettersEvent(adding: 5, at: at(59)) == nil)
        #expect(watch.deadLettersEvent(at: at(60)) == .deadLetters(7))
        #expect(watch.deadLettersEvent(at: at(180)) == nil)
        #expect(watch.nextCheck(oldest: nil, at: at(180)) == nil)
    }

    @Test("A time in the future, stored while the clock was wrong, prevents no event")
    func wrongClock() {
        var watch = DestinationWatch()
        watch.recoveredAt = at(10_000)
        watch.deadLettersReportedAt = at(10_000)
        #expect(event(&watch, oldest: 0, at: 15) == .delayed(.seconds(900)))
        #expect(watch.deadLettersEvent(adding: 1, at: at(15)) == .deadLetters(1))
        watch.outageSince = at(10_000)
        #expect(event(&watch, oldest: nil, isAccepting: true, at: 16) == .recovered(.zero))
    }

    @Test("The next check is when the oldest record could be late, or soon during an outage")
    func nextCheck() {
        var watch = DestinationWatch()
        #expect(watch.nextCheck(oldest: at(0), at: at(5)) == .seconds(600))
        #expect(watch.nextCheck(oldest: at(0), at: at(15)) == DestinationWatch.shortInterval)
        #expect(watch.nextCheck(oldest: at(9), at: at(0)) == DestinationWatch.maxAge)
        #expect(watch.nextCheck(oldest: nil, at: at(0)) == nil)
        watch.paused(since: at(0))
        #expect(watch.nextCheck(oldest: nil, at: at(0)) == DestinationWatch.shortInterval)
    }
}
