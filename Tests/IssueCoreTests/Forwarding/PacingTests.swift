import IssueProtocol
import Testing

@testable import IssueCore

struct PacingTests: ForwardingSteps {
    @Test("A batch is sent when it is full, or when its oldest record has waited 5 s, or 1 s for a priority record")
    func planning() {
        func plan(_ pending: PendingCounts, at now: MonotonicInstant) -> Forwarding.NextAction {
            var settings = ForwardSettings()
            settings.sendRate = .unlimited
            var forwarding = Forwarding(settings: settings, at: at(0))
            return forwarding.recordsArrived(pending, at: now)
        }
        func build(_ records: Int) -> Forwarding.NextAction {
            .build(BatchLimit(records: records, bytes: 1 << 20))
        }

        #expect(plan(.nothing, at: at(0)) == .none)
        #expect(plan(PendingCounts(records: 500, oldest: at(0)), at: at(0)) == build(500))
        #expect(plan(PendingCounts(records: 2, bytes: 1 << 20, oldest: at(0)), at: at(0)) == build(2))
        #expect(plan(PendingCounts(records: 1, oldest: at(0)), at: at(2)) == .wait(until: at(5)))
        #expect(plan(PendingCounts(records: 1, oldest: at(0)), at: at(5)) == build(1))
        #expect(
            plan(PendingCounts(records: 2, oldest: at(0), priorityRecords: 1, oldestPriority: at(1)), at: at(1))
                == .wait(until: at(2)))
        #expect(
            plan(PendingCounts(records: 2, oldest: at(0), priorityRecords: 1, oldestPriority: at(4.5)), at: at(4.6))
                == .wait(until: at(5)))
    }

    @Test("A builder is full when its lines or bytes reach the limit; an admitted line is always included")
    func building() {
        var builder = BatchBuilder(limit: BatchLimit(records: 3, bytes: 100))
        builder.add(bytes: 500)
        #expect(builder.isFull)
        #expect(builder.count == 1)

        builder = BatchBuilder(limit: BatchLimit(records: 3, bytes: 100))
        #expect(builder.count == 0)
        for _ in 1...2 { builder.add(bytes: 33) }
        #expect(!builder.isFull)
        builder.add(bytes: 33)
        #expect(builder.isFull)
        #expect(builder.bytes == 99)
    }

    @Test("A restored pacer continues where it was: no fresh burst, and excess records still count")
    func restoredPace() {
        let settings = ForwardSettings()
        var pacer = SendPacer(settings: settings, at: at(0))
        pacer.sent(50, at: at(0))
        pacer.slowedDown(at: at(0))
        let saved = pacer.saved(at: at(0))
        #expect(saved == SendPacer.Saved(factor: 0.5, level: 0, backlog: 40))

        // 600 a minute at half the rate are five a second.
        let back = SendPacer(settings: settings, from: saved, after: .seconds(6), at: at(3))
        #expect(back.saved(at: at(3)) == SendPacer.Saved(factor: 0.5, level: 30, backlog: 40))
        #expect(back.pace(of: 30, at: at(3)) == .now(30))
        #expect(back.pace(of: 50, at: at(3)) != .now(50))
        let odd = SendPacer.Saved(factor: .nan, level: .infinity, backlog: 0)
        #expect(
            SendPacer(settings: settings, from: odd, after: .zero, at: at(0))
                == SendPacer(settings: settings, at: at(0)))
    }

    private func failed(
        _ schedule: inout RetrySchedule, _ failure: FailureClass = .serverError, unit: Double,
        retryAfter: Duration? = nil, begun: Double = 0
    ) -> Int64 {
        let until = schedule.failed(failure, unit: unit, retryAfter: retryAfter, begun: at(begun), at: at(0))
        return at(0).duration(to: until).wholeMilliseconds
    }

    @Test("Delays are random below a limit that doubles: from 1 s to 300 s for 429, up to 4.5 s in an outage")
    func retry() {
        var schedule = RetrySchedule()
        let longest = (0..<12).map { _ in failed(&schedule, .tooManyRequests, unit: 1) }
        #expect(longest.prefix(9) == (0..<9).map { 1000 << $0 }[...])
        #expect(longest.suffix(3).allSatisfy { $0 == 300_000 })
        #expect(failed(&schedule, .tooManyRequests, unit: 0) == 250)
        schedule.succeeded()
        #expect((0..<6).map { _ in failed(&schedule, unit: 1) } == [1000, 2000, 4000, 4500, 4500, 4500])
        // When the outage has lasted a while, no retry comes at once, whatever the random number.
        #expect(failed(&schedule, unit: 0) == 2250)
        schedule.succeeded()
        #expect(failed(&schedule, unit: 0) == 250)
    }

    @Test("The duration of an attempt counts, so that a hanging attempt does not delay the next")
    func hanging() {
        var schedule = RetrySchedule(attempts: 9)
        #expect(failed(&schedule, .noAnswer, unit: 1, begun: -4) == 500)
        #expect(failed(&schedule, .noAnswer, unit: 0, begun: -4) == 250)
    }

    @Test("The delay requested by the destination is honoured, up to an hour")
    func retryAfter() {
        var schedule = RetrySchedule()

        #expect(failed(&schedule, unit: 0, retryAfter: .seconds(90)) == 90_000)
        #expect(failed(&schedule, unit: 0, retryAfter: .seconds(86_400)) == 3_600_000)
        schedule.succeeded()
        #expect(failed(&schedule, unit: 0, retryAfter: .zero) == 250)
    }

    @Test("After failures of the store the delay doubles up to a minute; a run of more than a minute resets it")
    func storeRecovery() {
        var recovery = StoreRecovery()
        let delays = (0..<6).map { _ in recovery.failed(after: .seconds(3)) }
        #expect(delays == [5, 10, 20, 40, 60, 60].map { Duration.seconds($0) })
        #expect(recovery.failed(after: .seconds(61)) == .seconds(5))
    }

    @Test("After five failures, or one that hung, the next request has one line, and later ones grow with each success")
    func breaker() {
        var breaker = CircuitBreaker()
        for _ in 0..<4 { breaker.failed() }
        #expect(breaker.lineLimit == nil)
        breaker.failed()
        #expect(breaker.isOpen)

        var sizes: [Int?] = []
        for _ in 0..<9 {
            sizes.append(breaker.lineLimit)
            breaker.succeeded(full: 500)
        }
        #expect(sizes == [1, 10, 20, 40, 80, 160, 320, nil, nil])

        breaker = CircuitBreaker(failures: 5)
        breaker.succeeded(full: 500)
        breaker.failed()
        #expect(breaker.lineLimit == 1)
        breaker = CircuitBreaker()
        breaker.failed(opens: true)
        #expect(breaker.lineLimit == 1)
    }

    @Test(
        "As many records as the rate allows in five seconds may be sent at once, and then no more than the rate allows"
    )
    func pacing() {
        var pacer = SendPacer(settings: ForwardSettings(), at: at(0))

        #expect(pacer.pace(of: 500, at: at(0)) == .now(50))
        pacer.sent(50, at: at(0))
        #expect(pacer.pace(of: 10, at: at(0)) == .wait(until: at(1.001)))
        #expect(pacer.pace(of: 10, at: at(1.001)) == .now(10))
        #expect(pacer.pace(of: 9999, at: at(51)) == .now(50))

        var slow = ForwardSettings()
        slow.sendRate = Rate(1, per: .seconds(3600))
        #expect(SendPacer(settings: slow, at: at(0)).pace(of: 500, isBacklog: true, at: at(0)) == .now(1))
    }

    @Test("Records that are sent again do not delay new records that preempt them")
    func firstPace() {
        var pacer = SendPacer(settings: ForwardSettings(), at: at(0))
        #expect(pacer.paceOfFirst(500, at: at(0)) == .now(50))
        pacer.sent(50, at: at(0))
        #expect(pacer.paceOfFirst(5, at: at(0)) == .wait(until: at(0.101)))
        pacer.sent(50, again: 50, at: at(0))
        #expect(pacer.paceOfFirst(5, at: at(0.35)) == .now(3))
        #expect(pacer.pace(of: 1, at: at(0.35)) != .now(1))
    }

    @Test(
        "In no period is more sent than the rate plus a burst of five seconds, or more backlog than its share of these"
    )
    func stretches() {
        for isMixed in [false, true] {
            var pacer = SendPacer(settings: ForwardSettings(), at: at(0))
            var sent: [(at: Double, count: Int, isOld: Bool)] = []
            for step in 0..<6000 {
                let now = Double(step) / 10
                for isOld in [true, false] where isOld || (isMixed && step % 3 == 0) {
                    guard case .now(let count) = pacer.pace(of: isOld ? 500 : 2, isBacklog: isOld, at: at(now)) else {
                        continue
                    }
                    pacer.sent(count, isBacklog: isOld, at: at(now))
                    sent.append((now, count, isOld))
                }
            }
            for from in stride(from: 0.0, to: 500, by: 7) {
                for length in [1.0, 10, 60, 90] {
                    let within = sent.filter { $0.at >= from && $0.at < from + length }
                    let all = within.reduce(0) { $0 + $1.count }
                    let old = within.reduce(0) { $0 + ($1.isOld ? $1.count : 0) }
                    #expect(Double(all) <= 50 + length * 10 + 1e-6)
                    #expect(Double(old) <= 40 + length * 8 + 1e-6)
                }
            }
            // Nor is much less backlog sent than its share allows.
            let old = sent.reduce(0) { $0 + ($1.isOld ? $1.count : 0) }
            #expect(isMixed ? old > 1500 : old > 4500)
        }
    }

    @Test("429 and 503 halve the rate down to a tenth, and success restores a twentieth per minute")
    func adaptation() {
        var pacer = SendPacer(settings: ForwardSettings(), at: at(0))
        var factors: [Double] = []
        for _ in 0..<5 {
            pacer.slowedDown(at: at(0))
            factors.append(pacer.factor)
        }
        #expect(factors == [0.5, 0.25, 0.125, 0.1, 0.1])

        pacer.succeeded(at: at(60))
        #expect(abs(pacer.factor - 0.15) < 1e-9)
        pacer.succeeded(at: at(60 * 100))
        #expect(pacer.factor == 1)
    }

    @Test("A rate of zero means unlimited")
    func unlimited() {
        var pacer = SendPacer(settings: .withoutLimits, at: at(0))
        pacer.sent(1_000_000, at: at(0))

        #expect(pacer.pace(of: 10_000, at: at(0)) == .now(10_000))
    }

    @Test("A response summary is truncated and contains no control characters")
    func summary() {
        #expect(ResponseSummary("503 \u{1B}[31mbusy\r\n").text == "503  [31mbusy  ")
        #expect(ResponseSummary(String(repeating: "é", count: 10_000)).text.count == ResponseSummary.maxCharacters)
    }
}
