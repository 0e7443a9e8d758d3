import IssueCore
import IssueProtocol
import Testing

@Suite("Refused lines")
struct RefusedLinesTests {
    private static var unlimited: ForwardSettings {
        var settings = ForwardSettings()
        settings.sendRate = .unlimited
        return settings
    }

    @Test(
        "If fewer than half of the lines of a batch are refused, only the refused lines are given up",
        arguments: [1, 33, 40, 100, 200, 249])
    func partly(bad: Int) {
        for seed in 0..<10 as Range<UInt64> {
            var traffic = SeededGenerator(seed: seed)
            var run = ForwardingRun(Self.unlimited, seed: seed)
            while run.poison.count < bad { run.poison.insert(Int(traffic.number(below: 500))) }
            run.report(500)
            run.run(until: 600)
            #expect(run.dead == bad, "seed \(seed)")
            #expect(run.delivered == 500 - bad, "seed \(seed)")
            #expect(run.requests.count <= 1 + bad * 18)
        }
    }

    @Test("All good lines are delivered even if the bad lines are adjacent, at the start or at the end")
    func together() {
        for first in [0, 460] {
            var run = ForwardingRun(Self.unlimited, seed: 1)
            run.poison = Set(first..<first + 40)
            run.report(500)
            run.run(until: 600)
            #expect(run.dead == 40)
            #expect(run.delivered == 460)
        }
    }

    @Test("A destination that refuses a whole batch stays unhealthy, even if it accepted a priority record meanwhile")
    func allRefused() {
        var run = ForwardingRun(Self.unlimited, seed: 3)
        run.poison = Set(0..<500)
        run.report(500)
        run.run(until: 30)
        run.report(1, isPriority: true)
        run.run(until: 20 * 3600)
        #expect(run.delivered == 1)
        #expect(run.dead == 0)
        #expect(run.requests.count > 20)
        #expect(!run.requests.contains { $0.looksHealthy })
        #expect(run.forwarding.view.reason == "many_lines_refused")
    }

    @Test("If the majority is refused, the destination is paused, no line is given up, and priority records go out")
    func mostly() {
        var run = ForwardingRun(Self.unlimited, seed: 2)
        run.poison = Set(0..<500).subtracting([10, 20, 499])
        run.report(500)
        run.run(until: 30)
        #expect(run.forwarding.view.reason == "many_lines_refused")
        #expect(run.dead == 0)
        let before = run.requests.count
        run.report(1, isPriority: true)
        #expect(run.requests.count == before + 1)
        #expect(run.requests.last?.isPriority == true)
        #expect(run.requests.last?.isTaken == true)
        // The state is unchanged: the status does not show a healthy destination.
        #expect(run.forwarding.view.reason == "many_lines_refused")
        // Each attempt tries other lines, so the good ones arrive.
        run.run(until: 20 * 3600)
        #expect(run.dead == 0)
        #expect(run.delivered == 4)
    }

    @Test("A line that gets no response is given up, and the others are delivered and may have arrived twice")
    func unanswered() {
        var run = ForwardingRun(Self.unlimited, seed: 5)
        run.unanswerable = [250]
        run.report(500)
        run.run(until: 3600)
        #expect(run.dead == 1)
        #expect(run.delivered == 499)
        #expect(run.possibleDuplicates == 499)
    }

    @Test("If only a line without a response is left in a batch, other records are sent, and then the line is given up")
    func blocked() {
        var run = ForwardingRun(Self.unlimited, seed: 6)
        run.unanswerable = [1]
        run.report(3)
        run.run(until: 60)
        #expect(run.delivered == 2)
        #expect(run.dead == 0)
        for round in 1...4 {
            run.report(3)
            run.run(until: 60 * Double(round + 1))
            #expect(run.delivered == 2 + 3 * round)
        }
        #expect(run.dead == 1)
        #expect(run.pendingLines == 0)
    }

    @Test("If only a line without a response is left in a batch, other records are not sent one at a time")
    func blockedBatchSize() {
        var run = ForwardingRun(Self.unlimited, seed: 10)
        run.unanswerable = [1]
        run.report(3)
        run.run(until: 60)
        let before = run.requests.count
        run.report(100)
        run.run(until: 70)
        #expect(run.delivered == 102)
        #expect(run.requests.dropFirst(before).filter(\.isTaken).map(\.lines) == [1, 10, 20, 40, 29])
    }

    @Test("A line without a response and a refused line are given up after RetryFor= if nothing else is sent")
    func refusedAndUnanswered() {
        var settings = Self.unlimited
        settings.retryFor = .seconds(3600)
        var run = ForwardingRun(settings, seed: 11)
        run.poison = [0]
        run.unanswerable = [1]
        run.report(2)
        run.run(until: 3000)
        #expect(run.dead == 0)
        run.run(until: 3800)
        #expect(run.dead == 2)
        #expect(run.pendingLines == 0)
    }

    @Test("A refused line in the same batch does not keep a line without a response from being given up")
    func unansweredWithRefused() {
        var run = ForwardingRun(Self.unlimited, seed: 12)
        run.poison = [0]
        run.unanswerable = [1]
        run.report(2)
        run.run(until: 120)
        #expect(run.dead == 0)
        run.report(1, isPriority: true)
        run.run(until: 240)
        for round in 1...6 {
            run.report(1)
            run.run(until: 240 + 60 * Double(round))
        }
        #expect(run.delivered == 7)
        #expect(run.dead == 2)
        #expect(run.pendingLines == 0)
    }

    @Test("A line that gets no response, sent on its own, does not block the records after it")
    func blockedAlone() {
        var run = ForwardingRun(Self.unlimited, seed: 11)
        run.unanswerable = [0]
        run.report(1)
        run.run(until: 60)
        for time in [120.0, 180, 240, 300, 360, 420] {
            run.report(1)
            run.run(until: time)
            #expect(run.delivered == run.reported - 1)
        }
        #expect(run.dead == 1)
        #expect(run.pendingLines == 0)
    }

    @Test(
        "Lines that get no response do not block other records, in however many batches they are", arguments: [2, 30])
    func blockedOneByOne(count: Int) {
        var run = ForwardingRun(Self.unlimited, seed: 13)
        run.areUsersKnown = true
        run.unanswerable = Set(0..<count)
        var time = 0.0
        for _ in 0..<count {
            run.report(1)
            time += 120
            run.run(until: time)
        }
        #expect(run.pendingLines == count)
        // Each other record allows a proof for one of the lines. The first one may wait, as in an outage.
        for number in 1...5 * count {
            run.report(1, isPriority: number.isMultiple(of: 2))
            time += number == 1 ? 3700 : 120
            run.run(until: time)
            #expect(run.delivered == number)
        }
        #expect(run.dead == count)
        #expect(run.pendingLines == 0)
    }

    @Test("After an outage without responses in which records arrived singly, these are not sent one at a time")
    func singleRecordsInOutage() {
        var run = ForwardingRun(Self.unlimited, seed: 14)
        run.mood = { $0 < 20_000 ? .answers(.noAnswer) : .takes }
        for number in 1...100 {
            run.report(1)
            run.run(until: 200 * Double(number))
        }
        let before = run.requests.count
        run.run(until: 20_060)
        #expect(run.delivered == 100)
        #expect(run.dead == 0)
        #expect(run.requests.count - before < 20)
    }

    @Test(
        "Whatever lines get no response and whenever records arrive, all others are delivered, even across restarts",
        arguments: 0..<20 as Range<UInt64>)
    func randomUnanswered(seed: UInt64) {
        var traffic = SeededGenerator(seed: seed)
        var run = ForwardingRun(Self.unlimited, seed: seed)
        run.mood = { Int($0 / 1000).isMultiple(of: 5) ? .silent : .takes }
        run.areUsersKnown = seed.isMultiple(of: 2)
        var time = 0.0
        for _ in 0..<30 {
            let count = 1 + Int(traffic.number(below: traffic.happens(oneIn: 5) ? 50 : 3))
            for line in run.reported..<run.reported + count where traffic.happens(oneIn: 4) {
                run.unanswerable.insert(line)
            }
            run.report(count, isPriority: traffic.happens(oneIn: 4))
            time += Double(1 + traffic.number(below: 300))
            run.run(until: time)
            if traffic.happens(oneIn: 10) { run.restart() }
        }
        let good = run.reported - run.unanswerable.count
        var number = 0
        while run.pendingLines > 0, number < 600 {
            run.report(1)
            time += 60
            run.run(until: time)
            number += 1
        }
        #expect(run.dead == run.unanswerable.count)
        #expect(run.delivered == good + number)
    }

    @Test("A priority record that gets no response does not block the batch that it preempted")
    func blockedByPriority() {
        var run = ForwardingRun(Self.unlimited, seed: 9)
        run.mood = { $0 < 30 ? .answers(.overloaded) : .takes }
        run.unanswerable = [20]
        run.report(20)
        run.run(until: 10)
        run.report(1, isPriority: true)
        run.run(until: 300)
        #expect(run.delivered == 20)
        #expect(run.dead == 0)
        // The next records allow the proofs that are still needed.
        for time in [400.0, 500] {
            run.report(1)
            run.run(until: time)
        }
        #expect(run.delivered == 22)
        #expect(run.dead == 1)
        #expect(run.pendingLines == 0)
    }

    @Test(
        "A critical record waits about a minute at most for lines of another user that get no response",
        arguments: [(false, false), (true, false), (false, true), (true, true)])
    func criticalOfOtherUser(isSilent: Bool, isPriority: Bool) {
        // Lines that arrive at once or one after another, while the destination gets few, no or many other records.
        for (count, interval) in [(1, 1), (8, 25), (40, 0), (60, 6)] as [(Int, Double)] {
            for other in [4.0, 30, 10_000] {
                for critical in [108.0, 155, 296] {
                    var run = ForwardingRun(Self.unlimited, seed: UInt64(critical))
                    run.areUsersKnown = true
                    run.areUnanswerableSilent = isSilent
                    let lines = (0..<count).map { number in
                        ForwardingRun.Arrival(
                            at: 10 + Double(number) * interval, isPriority: isPriority || number % 2 == 1,
                            isUnanswerable: true)
                    }
                    let others = stride(from: 3, to: critical + 60, by: other).map {
                        ForwardingRun.Arrival(at: $0, isPriority: false)
                    }
                    let all = (lines + others + [ForwardingRun.Arrival(at: critical + 0.5)]).sorted { $0.at < $1.at }
                    run.arrivals = all
                    run.run(until: critical + 60.5)
                    let line = all.firstIndex { $0.isPriority && !$0.isUnanswerable } ?? 0
                    #expect(
                        run.acceptedAt[line] != nil, "\(count) lines, \(interval) s, others \(other) s, \(critical) s")
                }
            }
        }
    }

    @Test("In an outage without responses, a critical record every ten seconds causes few attempts with other lines")
    func criticalInOutage() {
        var run = ForwardingRun(Self.unlimited, seed: 15)
        run.mood = { $0 < 3610 ? .silent : .takes }
        run.areUsersKnown = true
        run.report(100)
        run.arrivals = (1...360).map { ForwardingRun.Arrival(at: 10 * Double($0)) }
        run.run(until: 3800)
        #expect(run.pendingLines == 0)
        #expect(run.dead == 0)
        #expect(run.possibleDuplicates <= 250)
    }

    @Test("In an outage without responses no line is given up, even if lines of the batch were accepted before")
    func noOutage() {
        var run = ForwardingRun(Self.unlimited, seed: 7)
        run.mood = { $0 > 7200 ? .takes : (60..<66).contains($0) ? .slow(1.5) : .answers(.noAnswer) }
        run.report(500)
        run.run(until: 7200)
        #expect(run.dead == 0)
        #expect((1..<500).contains(run.delivered))
        run.run(until: 7300)
        #expect(run.dead == 0)
        #expect(run.delivered == 500)
    }

    @Test("Priority records that preempt a batch do not exceed the send rate")
    func pacedPreemption() {
        var run = ForwardingRun(seed: 8)
        run.unanswerable = Set(0..<50)
        run.report(50)
        run.run(until: 30)
        run.report(500, isPriority: true)
        run.run(until: 60)
        // The rate is 10 a second, and a burst is 50.
        #expect(run.delivered <= 50 + 10 * 30)
        #expect(run.delivered >= 50)
    }

    @Test("Critical records are sent before the next part of a batch that is being bisected")
    func overtaking() {
        var run = ForwardingRun(Self.unlimited, seed: 3)
        run.poison = Set(stride(from: 0, to: 500, by: 12))
        run.mood = { _ in .slow(1) }
        run.arrivals = [20, 61.5].map { ForwardingRun.Arrival(at: $0) }
        run.report(500)
        run.run(until: 600)
        for time in [20, 61.5] {
            #expect(run.requests.first { $0.isPriority && $0.begun >= time }.map { $0.begun < time + 1.1 } == true)
        }
        #expect(run.dead == run.poison.count)
        #expect(run.pendingLines == 0)
    }

    @Test("Outcomes are stored before the batch is finished, so a restart does not start over")
    func progress() {
        var run = ForwardingRun(Self.unlimited, seed: 4)
        run.poison = Set(stride(from: 0, to: 500, by: 12))
        var answers = 0
        run.mood = { $0 < 2 ? .takes : $0 < 50 ? .answers(.serverError) : .takes }
        run.report(500)
        run.run(until: 20)
        answers = run.delivered + run.dead
        #expect(answers > 0)
        run.restart()
        run.run(until: 600)
        #expect(run.dead == run.poison.count)
        #expect(run.delivered == 500 - run.poison.count)
    }
}
