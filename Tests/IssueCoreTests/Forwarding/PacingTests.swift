import IssueCore
import IssueProtocol
import Testing

struct PacingTests {
    private func at(_ seconds: Double) -> MonotonicInstant {
        MonotonicInstant(sinceBoot: .seconds(1000) + .milliseconds(Int64((seconds * 1000).rounded())))
    }

    @Test("A batch goes when it is full by count or bytes, when its oldest waited 5 s, or 1 s for what is express")
    func planning() {
        let planner = BatchPlanner(settings: ForwardSettings())

        #expect(planner.plan(.nothing, at: at(0)) == .nothing)
        #expect(planner.plan(PendingFacts(records: 500, oldest: at(0)), at: at(0)) == .send)
        #expect(planner.plan(PendingFacts(records: 2, bytes: 1 << 20, oldest: at(0)), at: at(0)) == .send)
        #expect(planner.plan(PendingFacts(records: 1, oldest: at(0)), at: at(2)) == .wait(until: at(5)))
        #expect(planner.plan(PendingFacts(records: 1, oldest: at(0)), at: at(5)) == .send)
        #expect(
            planner.plan(PendingFacts(records: 2, oldest: at(0), expressRecords: 1, oldestExpress: at(1)), at: at(1))
                == .wait(until: at(2)))
        #expect(
            planner.plan(
                PendingFacts(records: 2, oldest: at(0), expressRecords: 1, oldestExpress: at(4.5)), at: at(4.6))
                == .wait(until: at(5)))
    }

    @Test("A builder is full once its lines or their bytes reach the limit; a line that was admitted always goes")
    func building() {
        var builder = BatchBuilder(limit: BatchLimit(records: 3, bytes: 100))
        builder.add(bytes: 500)
        #expect(builder.isFull)
        #expect(builder.count == 1)

        builder = BatchBuilder(limit: BatchLimit(records: 3, bytes: 100))
        #expect(builder.isEmpty)
        for _ in 1...2 { builder.add(bytes: 33) }
        #expect(!builder.isFull)
        builder.add(bytes: 33)
        #expect(builder.isFull)
        #expect(builder.bytes == 99)
    }

    @Test("A pace that was stored goes on where it was: no fresh burst, what was sent too much is still owed")
    func restoredPace() {
        let settings = ForwardSettings()
        var pacer = SendPacer(settings: settings, at: at(0))
        pacer.sent(500, at: at(0))
        pacer.slowedDown(at: at(0))
        let saved = pacer.saved(at: at(0))
        #expect(saved == SendPacer.Saved(factor: 0.5, level: 0))

        // 600 a minute at half the rate are five a second.
        let back = SendPacer(settings: settings, from: saved, after: .seconds(10), at: at(3))
        #expect(back.saved(at: at(3)) == SendPacer.Saved(factor: 0.5, level: 50))
        #expect(back.pace(of: 50, at: at(3)) == .now(50))
        #expect(back.pace(of: 100, at: at(3)) != .now(100))
        let odd = SendPacer.Saved(factor: .nan, level: .infinity)
        #expect(
            SendPacer(settings: settings, from: odd, after: .zero, at: at(0))
                == SendPacer(settings: settings, at: at(0)))
    }

    @Test("Waits are drawn below a limit that doubles from 1 s to 300 s, never below 250 ms")
    func retry() {
        var schedule = RetrySchedule()
        let longest = (0..<12).map { _ in schedule.failed(unit: 1) }

        #expect(longest.prefix(9).map(\.wholeMilliseconds) == (0..<9).map { 1000 << $0 })
        #expect(longest.suffix(3).allSatisfy { $0 == .seconds(300) })
        #expect(schedule.failed(unit: 0) == .milliseconds(250))
        schedule.succeeded()
        #expect(schedule.failed(unit: 0.5) == .milliseconds(500))
    }

    @Test("What the destination asks for is honoured, up to an hour")
    func retryAfter() {
        var schedule = RetrySchedule()

        #expect(schedule.failed(unit: 0, retryAfter: .seconds(90)) == .seconds(90))
        #expect(schedule.failed(unit: 0, retryAfter: .seconds(86_400)) == .seconds(3600))
        #expect(schedule.failed(unit: 0, retryAfter: .zero) == .milliseconds(250))
    }

    @Test("After five failures the next batch is the smallest, and success doubles it until it is whole again")
    func breaker() {
        var breaker = CircuitBreaker()
        for _ in 0..<4 { breaker.failed() }
        #expect(breaker.lineLimit == nil)
        breaker.failed()
        #expect(breaker.isOpen)

        var sizes: [Int?] = []
        for _ in 0..<8 {
            sizes.append(breaker.lineLimit)
            breaker.succeeded(full: 500)
        }
        #expect(sizes == [10, 20, 40, 80, 160, 320, nil, nil])

        breaker = CircuitBreaker(failures: 5)
        breaker.succeeded(full: 500)
        breaker.failed()
        #expect(breaker.lineLimit == 10)
    }

    @Test("A full batch may go at once, and then no more than the rate")
    func pacing() {
        var pacer = SendPacer(settings: ForwardSettings(), at: at(0))

        #expect(pacer.pace(of: 500, at: at(0)) == .now(500))
        pacer.sent(500, at: at(0))
        #expect(pacer.pace(of: 10, at: at(0)) == .wait(until: at(1.001)))
        #expect(pacer.pace(of: 10, at: at(1.001)) == .now(10))
        #expect(pacer.pace(of: 9999, at: at(51)) == .now(500))
    }

    @Test("The backlog leaves a fifth of the burst to what is fresh")
    func backlog() {
        var pacer = SendPacer(settings: ForwardSettings(), at: at(0))

        #expect(pacer.pace(of: 500, isBacklog: true, at: at(0)) == .now(400))
        pacer.sent(400, at: at(0))
        #expect(pacer.pace(of: 1, isBacklog: true, at: at(0)) == .wait(until: at(0.101)))
        #expect(pacer.pace(of: 100, at: at(0)) == .now(100))
    }

    @Test("429 and 503 halve the rate down to a tenth, and success brings back a twentieth a minute")
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

    @Test("A rate of nothing is no limit")
    func unlimited() {
        var pacer = SendPacer(settings: .withoutLimits, at: at(0))
        pacer.sent(1_000_000, at: at(0))

        #expect(pacer.pace(of: 10_000, at: at(0)) == .now(10_000))
    }

    @Test("The day's bytes are scarce from 80 % and spent at 100 %, and a new UTC day begins with nothing")
    func dailyBytes() {
        let midnight = Timestamp(milliseconds: 20_000 * 86_400_000)
        var budget = DailyBudget(limit: 1000)

        budget.sent(799, at: midnight)
        #expect(budget.state(at: midnight) == .plenty)
        budget.sent(1, at: midnight)
        #expect(budget.state(at: midnight) == .scarce)
        budget.sent(200, at: midnight.advanced(by: .seconds(86_399)))
        #expect(budget.state(at: midnight.advanced(by: .seconds(86_399))) == .spent)
        #expect(budget.state(at: midnight.advanced(by: .seconds(86_400))) == .plenty)

        let restored = DailyBudget(limit: 1000, day: budget.day, bytes: budget.bytes)
        #expect(restored == budget)
        #expect(DailyBudget(limit: 0, day: 20_000, bytes: .max).state(at: midnight) == .plenty)
    }

    @Test("An answer's words are cut, and hold no control characters")
    func summary() {
        #expect(AnswerSummary("503 \u{1B}[31mbusy\r\n").text == "503  [31mbusy  ")
        #expect(AnswerSummary(String(repeating: "é", count: 10_000)).text.count == AnswerSummary.mostCharacters)
    }
}
