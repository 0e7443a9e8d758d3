import IssueCore
import IssueProtocol
import Testing

@Suite("Outages of a destination")
struct OutageTests {
    static let moods: [ForwardingRun.ServerBehaviour] = [
        .refuses, .silent, .answers(.overloaded), .answers(.serverError), .answers(.requestTimeout), .answers(.reset),
        .answers(.tls), .answers(.unreachable),
    ]

    /// Runs an outage. Returns the run, the time at which the outage ended, and whether the last request before that
    /// time had the full timeout and ended later.
    private func outage(
        _ mood: ForwardingRun.ServerBehaviour, seed: UInt64, restarts: Bool = false
    ) -> (run: ForwardingRun, end: Double, isHungInFull: Bool) {
        var traffic = SeededGenerator(seed: seed)
        var run = ForwardingRun(seed: seed &+ 1)
        // Seconds, minutes, or hours.
        let length = Double(traffic.number(below: [90, 900, 7200][Int(seed % 3)]) + 1)
        let end = 10 + length
        run.mood = { $0 < 10 || $0 >= end ? .takes : mood }
        run.report(3)
        run.run(until: 10)
        run.report(150)
        if restarts {
            for quarter in 1...3 {
                run.run(until: 10 + length * Double(quarter) / 4)
                run.restart()
            }
        }
        run.run(until: max(10, end - 6))
        run.report(1, isPriority: true)
        run.run(until: end)
        let last = run.requests.last
        run.run(until: end + 60)
        return (run, end, last.map { $0.ended > end && $0.isInFull } ?? false)
    }

    @Test(
        "After an outage of any length, the first record is sent within five seconds, and priority records come first",
        arguments: moods)
    func return5(mood: ForwardingRun.ServerBehaviour) throws {
        var hung = 0
        for seed in 0..<36 as Range<UInt64> {
            let (run, end, isHungInFull) = outage(mood, seed: seed, restarts: seed % 4 == 0)
            let first = try #require(run.requests.first { $0.begun >= end && $0.isTaken }, "seed \(seed)")
            // One attempt in ten minutes gets the full timeout. If it is in flight at the end, the record waits for it.
            if isHungInFull { hung += 1 } else { #expect(first.ended - end <= 5, "seed \(seed)") }
            #expect(first.isPriority || end < 16 + 6, "seed \(seed)")
            #expect(first.lines == 1 || end < 30, "seed \(seed)")
        }
        #expect(hung <= (mood == .silent ? 12 : 0))
    }

    @Test(
        "In an outage, one line is sent every few seconds, and only lines that may have arrived are possible duplicates"
    )
    func politeness() {
        for mood in Self.moods {
            var run = ForwardingRun(seed: 7)
            run.mood = { _ in mood }
            run.report(500)
            run.run(until: 3600)
            let probes = run.requests.filter { $0.begun > 200 }
            #expect(probes.allSatisfy { $0.lines == 1 })
            for (one, next) in zip(probes, probes.dropFirst()) where !one.isInFull {
                #expect((2.2...4.6).contains(next.begun - one.begun), "\(mood)")
            }
            #expect(probes.count { $0.isInFull } <= 6)
            run.mood = { _ in .takes }
            run.run(until: 5000)
            #expect(run.pendingLines == 0)
            switch mood {
            // The first request contained 50 lines. After it, eight lines of each of a few batches were tried.
            case .silent: #expect((50...50 + 6 * 8).contains(run.possibleDuplicates))
            default: #expect(run.possibleDuplicates == 0)
            }
        }
    }

    @Test("A destination that is only slow is not cut off permanently")
    func slow() {
        var run = ForwardingRun(seed: 3)
        run.mood = { $0 < 60 ? .silent : .slow(8) }
        run.report(5)
        run.run(until: 700)
        #expect(run.delivered == 5)
    }

    @Test("After repeated 429 responses, the delays are random, and their maximum doubles from 1 s up to 300 s")
    func tooManyRequests() {
        var run = ForwardingRun(seed: 5)
        run.mood = { _ in .answers(.tooManyRequests) }
        run.report(100)
        run.run(until: 7200)
        let delays = zip(run.requests, run.requests.dropFirst()).map { $1.begun - $0.ended }
        for (number, delay) in delays.enumerated() {
            #expect(delay <= min(Double(1 << min(number, 9)), 300) + 0.01, "delay \(number)")
        }
        let last = delays.dropFirst(9)
        #expect(last.contains { $0 > 240 } && last.contains { $0 < 60 })
        #expect((100...200).contains(last.reduce(0, +) / Double(last.count)))
    }

    @Test("After RetryFor= the records are given up, which does not make the destination look healthy")
    func givenUp() {
        var settings = ForwardSettings()
        settings.retryFor = .seconds(8)
        var run = ForwardingRun(settings, seed: 5)
        run.mood = { _ in .answers(.serverError) }
        run.report(40)
        run.run(until: 300)
        #expect(run.dead == 40)
        #expect(!run.forwarding.isAcceptingRecords)
        #expect(run.forwarding.view.state == .idle)
        #expect(run.forwarding.view.reason == "server_error")
    }

    @Test("During an attempt the status shows neither an expired wait nor a healthy destination")
    func view() {
        var forwarding = Forwarding(settings: ForwardSettings(), at: ForwardingRun.at(0))
        _ = forwarding.recordsArrived(PendingCounts(records: 500, oldest: ForwardingRun.at(0)), at: ForwardingRun.at(0))
        _ = forwarding.batchStored(ForwardingBatch(id: 1, count: 50, bytes: 100), at: ForwardingRun.at(0))
        #expect(forwarding.view.state == .sending)
        let failure = DeliveryResult(.ambiguous(.noAnswer), ResponseSummary("no answer"))
        _ = forwarding.answered(failure, unit: 0, at: ForwardingRun.at(30))
        #expect(forwarding.view.nextAttempt == ForwardingRun.at(30.25))
        _ = forwarding.waited(at: ForwardingRun.at(31))
        #expect(forwarding.view.state == .waiting)
        #expect(forwarding.view.reason == "no_answer")
        #expect(forwarding.view.nextAttempt == nil)
    }
}
