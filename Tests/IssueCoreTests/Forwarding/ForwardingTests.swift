import IssueCore
import IssueProtocol
import Testing

struct ForwardingTests {
    private func at(_ seconds: Double) -> MonotonicInstant {
        MonotonicInstant(sinceBoot: .seconds(1000) + .milliseconds(Int64((seconds * 1000).rounded())))
    }

    private func answer(_ verdict: DeliveryVerdict) -> DeliveryAnswer {
        DeliveryAnswer(verdict, AnswerSummary("an answer"))
    }

    private func pending(_ records: Int, since: Double) -> PendingFacts {
        PendingFacts(records: records, bytes: records * 100, oldest: at(since))
    }

    private func batch(_ id: Int64, _ count: Int) -> ForwardingBatch {
        ForwardingBatch(id: id, count: count, bytes: count * 100)
    }

    /// A forwarder whose batch of so many lines is on its way.
    private func sending(_ count: Int, settings: ForwardSettings = ForwardSettings()) -> Forwarding {
        var forwarding = Forwarding(settings: settings, at: at(0))
        _ = forwarding.recordsArrived(pending(500, since: 0), at: at(0))
        _ = forwarding.batchStored(batch(1, count), at: at(0))
        return forwarding
    }

    @Test("Records wait for company, are stored as a batch, sent, settled, and the next ones follow")
    func goodDay() {
        var forwarding = Forwarding(settings: ForwardSettings(), at: at(0))

        #expect(forwarding.recordsArrived(pending(3, since: 0), at: at(0)) == .wait(until: at(5)))
        #expect(forwarding.waited(at: at(5)) == .build(BatchLimit(records: 3, bytes: 1 << 20)))
        #expect(forwarding.batchStored(batch(1, 3), at: at(5)) == .send(.init(batch: 1, range: 0..<3)))
        #expect(forwarding.recordsArrived(pending(1, since: 5), at: at(5)) == .rest)
        #expect(
            forwarding.answered(answer(.accepted), unit: 0, at: at(6))
                == .settle(
                    batch: 1, BatchOutcome(delivered: [0..<3], dead: [], maybeDuplicate: false, requests: 1)))
        #expect(forwarding.settled(pending(1, since: 5), at: at(6)) == .wait(until: at(10)))
        #expect(forwarding.view.requests == 1)
        #expect(forwarding.view.lastAnswer == "an answer")
    }

    @Test("Who refuses lines for five minutes without a pause is paused, and no line is given up")
    func longBisection() {
        var forwarding = sending(400)
        let some = answer(.partial(PartialAnswer(successful: nil)))
        var time = 0.0
        while time < 300 {
            guard case .send = forwarding.answered(some, unit: 0, at: at(time)) else {
                Issue.record("It stopped after \(time) s")
                return
            }
            time += 30
        }
        guard case .pause(.manyLinesRefused, _, _) = forwarding.answered(some, unit: 0, at: at(300)) else {
            Issue.record("It goes on")
            return
        }
        // From its next try on it has as long again.
        guard case .send = forwarding.waited(at: at(360)) else {
            Issue.record("It was not tried again")
            return
        }
        guard case .send = forwarding.answered(some, unit: 0, at: at(361)) else {
            Issue.record("It stopped at once")
            return
        }
    }

    @Test("When all that the cursor met was held back, it goes on waiting")
    func nothingToSend() {
        var forwarding = Forwarding(settings: ForwardSettings(), at: at(0))
        _ = forwarding.recordsArrived(pending(500, since: 0), at: at(0))

        #expect(forwarding.nothingToSend(.nothing, at: at(0)) == .rest)
        #expect(forwarding.view.state == .idle)
    }

    @Test("After a failure the same lines go again; what was sent without an answer may be there twice")
    func retry() {
        var forwarding = sending(3)

        #expect(
            forwarding.answered(answer(.ambiguous(.noAnswer)), unit: 1, at: at(30))
                == .wait(until: at(31), watching: false, RetryProgress(attempts: 1)))
        #expect(forwarding.view.state == .waiting)
        #expect(forwarding.view.nextAttempt == at(31))
        #expect(forwarding.waited(at: at(30.5)) == .wait(until: at(31)))
        #expect(forwarding.waited(at: at(31)) == .send(.init(batch: 1, range: 0..<3)))
        #expect(
            forwarding.answered(answer(.accepted), unit: 0, at: at(32))
                == .settle(
                    batch: 1, BatchOutcome(delivered: [0..<3], dead: [], maybeDuplicate: true, requests: 2)))
        #expect(forwarding.view.resent == 3)
    }

    @Test("An answer to a request that was made twice leaves the lines maybe twofold, whatever it says")
    func madeTwice() {
        for verdict in [DeliveryVerdict.accepted, .again(.overloaded, retryAfter: nil)] {
            var forwarding = sending(3)
            var twofold = answer(verdict)
            twofold.mayHaveArrivedTwice = true

            var action = forwarding.answered(twofold, unit: 0, at: at(30))
            if verdict != .accepted {
                _ = forwarding.waited(at: at(60))
                action = forwarding.answered(answer(.accepted), unit: 0, at: at(61))
            }

            guard case .settle(_, let outcome) = action else {
                Issue.record("The batch did not end, but: \(action)")
                continue
            }
            #expect(outcome.maybeDuplicate)
        }
    }

    @Test("What the destination asks for is waited for, and neither a flush nor a connection shortens it")
    func retryAfter() {
        var forwarding = sending(3)

        #expect(
            forwarding.answered(answer(.again(.overloaded, retryAfter: .seconds(120))), unit: 0, at: at(0))
                == .wait(until: at(120), watching: false, RetryProgress(attempts: 1)))
        #expect(forwarding.flushRequested(at: at(1)) == .wait(until: at(120)))
        #expect(forwarding.reachedAgain(at: at(2)) == .rest)
    }

    @Test("While nobody is there a bare connection tells, and after five failures ten lines go first")
    func breaker() {
        var forwarding = sending(100)
        for attempt in 1...5 {
            let action = forwarding.answered(answer(.again(.refused, retryAfter: nil)), unit: 1, at: at(0))
            guard case .wait(let until, watching: true, let progress) = action else {
                Issue.record("\(action)")
                return
            }
            #expect(progress.attempts == attempt)
            if attempt < 5 { _ = forwarding.waited(at: until) }
        }

        #expect(forwarding.reachedAgain(at: at(1)) == .send(.init(batch: 1, range: 0..<10)))
        #expect(
            forwarding.answered(answer(.accepted), unit: 0, at: at(2)) == .send(.init(batch: 1, range: 10..<30)))
        #expect(
            forwarding.answered(answer(.accepted), unit: 0, at: at(2)) == .send(.init(batch: 1, range: 30..<70)))
        #expect(
            forwarding.answered(answer(.accepted), unit: 0, at: at(2)) == .send(.init(batch: 1, range: 70..<100)))
        #expect(
            forwarding.answered(answer(.accepted), unit: 0, at: at(2))
                == .settle(
                    batch: 1,
                    BatchOutcome(
                        delivered: [0..<10, 10..<30, 30..<70, 70..<100], dead: [], maybeDuplicate: false,
                        requests: 9)))
        // What found nobody has never left.
        #expect(forwarding.view.resent == 0)
    }

    @Test("A refused credential pauses with a reason and an advice; probes come from 60 s doubling to 15 min")
    func pause() {
        var forwarding = sending(100)
        var now = 0.0
        var delays: [Double] = []
        for _ in 0..<6 {
            let action = forwarding.answered(answer(.paused(.unauthorised)), unit: 0, at: at(now))
            guard case .pause(.unauthorised, let until, RetryProgress()) = action else {
                Issue.record("\(action)")
                return
            }
            delays.append(at(now).duration(to: until) / .seconds(1))
            now += delays[delays.count - 1]
            #expect(forwarding.view.state == .paused)
            #expect(forwarding.view.advice == PauseReason.unauthorised.advice)
            #expect(
                forwarding.waited(at: at(now)) == .send(.init(batch: 1, range: 0..<10, rereadsCredential: true)))
        }
        #expect(delays == [60, 120, 240, 480, 900, 900])

        #expect(
            forwarding.answered(answer(.accepted), unit: 0, at: at(now)) == .send(.init(batch: 1, range: 10..<100)))
        #expect(forwarding.view.state == .sending)
    }

    @Test("A new credential is tried at once, the same one is not")
    func credential() {
        var forwarding = sending(3)
        _ = forwarding.answered(answer(.paused(.forbidden)), unit: 0, at: at(0))

        #expect(forwarding.credentialReread(changed: false, at: at(1)) == .wait(until: at(60)))
        #expect(
            forwarding.credentialReread(changed: true, at: at(2))
                == .send(.init(batch: 1, range: 0..<3, rereadsCredential: true)))
        #expect(forwarding.credentialReread(changed: true, at: at(2)) == .rest)
    }

    @Test("When RetryFor is over the rest is given up; the time spent paused does not count")
    func expiry() {
        var settings = ForwardSettings()
        settings.retryFor = .seconds(600)
        var forwarding = sending(2, settings: settings)
        let failure = answer(.again(.serverError, retryAfter: nil))

        _ = forwarding.answered(failure, unit: 0, at: at(0))
        _ = forwarding.waited(at: at(500))
        _ = forwarding.answered(answer(.paused(.unauthorised)), unit: 0, at: at(500))
        _ = forwarding.waited(at: at(100_000))
        #expect(
            forwarding.answered(failure, unit: 0, at: at(100_000))
                == .wait(
                    until: at(100_000.25), watching: false, RetryProgress(attempts: 2, spent: .seconds(500))))
        _ = forwarding.waited(at: at(100_100))

        #expect(
            forwarding.answered(failure, unit: 0, at: at(100_100))
                == .settle(
                    batch: 1,
                    BatchOutcome(
                        delivered: [],
                        dead: [.init(line: 0, reason: .retriesExpired), .init(line: 1, reason: .retriesExpired)],
                        maybeDuplicate: false, requests: 4)))
    }

    @Test("After a partial answer the bad line is found, and all others are delivered")
    func partial() {
        var forwarding = sending(4)

        #expect(
            forwarding.answered(answer(.partial(PartialAnswer(successful: 3))), unit: 0, at: at(0))
                == .send(.init(batch: 1, range: 0..<2)))
        // The left half is clean, so the bad line is known to be in the right one.
        #expect(
            forwarding.answered(answer(.accepted), unit: 0, at: at(0)) == .send(.init(batch: 1, range: 2..<3)))
        #expect(
            forwarding.answered(answer(.partial(PartialAnswer(successful: 0))), unit: 0, at: at(0))
                == .send(.init(batch: 1, range: 3..<4)))
        #expect(
            forwarding.answered(answer(.accepted), unit: 0, at: at(0))
                == .settle(
                    batch: 1,
                    BatchOutcome(
                        delivered: [0..<2, 3..<4], dead: [.init(line: 2, reason: .refused)], maybeDuplicate: true,
                        requests: 4)))
    }

    @Test("A batch that is too large is halved, the next ones are smaller, and a single line is cut")
    func tooLarge() {
        var forwarding = sending(2)

        #expect(
            forwarding.answered(answer(.tooLarge), unit: 0, at: at(0)) == .send(.init(batch: 1, range: 0..<1)))
        #expect(
            forwarding.answered(answer(.tooLarge), unit: 0, at: at(0))
                == .cut(line: 0, thenSend: .init(batch: 1, range: 0..<1, isCut: true)))
        #expect(forwarding.answered(answer(.accepted), unit: 0, at: at(0)) == .send(.init(batch: 1, range: 1..<2)))
        _ = forwarding.answered(answer(.accepted), unit: 0, at: at(0))

        guard case .build(let limit) = forwarding.settled(pending(500, since: 0), at: at(600)) else {
            Issue.record("The next batch was not built")
            return
        }
        #expect(limit.bytes < 20_000)
    }

    @Test("A batch whose answer a crash took is sent again, marked, with the failures it had")
    func resuming() {
        var forwarding = Forwarding(settings: ForwardSettings(), at: at(0))

        #expect(
            forwarding.started(
                resuming: batch(7, 100), RetryProgress(attempts: 5, spent: .seconds(9)), unit: 0.5, at: at(0))
                == .wait(until: at(2.5)))
        #expect(forwarding.waited(at: at(2.5)) == .send(.init(batch: 7, range: 0..<10)))
        #expect(forwarding.progress(at: at(3)) == RetryProgress(attempts: 5, spent: .seconds(9)))
        _ = forwarding.answered(answer(.accepted), unit: 0, at: at(3))
        #expect(forwarding.view.resent == 30)
    }

    @Test("A flush sends what waits without waiting for company, until nothing is left")
    func flush() {
        var forwarding = Forwarding(settings: ForwardSettings(), at: at(0))
        _ = forwarding.recordsArrived(pending(3, since: 0), at: at(0))

        #expect(forwarding.flushRequested(at: at(0)) == .build(BatchLimit(records: 3, bytes: 1 << 20)))
        _ = forwarding.batchStored(batch(1, 3), at: at(0))
        _ = forwarding.answered(answer(.accepted), unit: 0, at: at(0))
        #expect(
            forwarding.settled(pending(1, since: 0), at: at(0)) == .build(BatchLimit(records: 1, bytes: 1 << 20)))
        #expect(forwarding.nothingToSend(.nothing, at: at(0)) == .rest)
        #expect(forwarding.recordsArrived(pending(1, since: 1), at: at(1)) == .wait(until: at(6)))
    }

    @Test("The send rate holds the next batch back, and what is express need not wait for all of it")
    func pacing() {
        var forwarding = sending(500)
        _ = forwarding.answered(answer(.accepted), unit: 0, at: at(0))

        #expect(forwarding.settled(pending(500, since: 0), at: at(0)) == .wait(until: at(50.001)))
        var facts = pending(500, since: 0)
        facts.expressRecords = 2
        facts.oldestExpress = at(0)
        #expect(forwarding.recordsArrived(facts, at: at(1)) == .build(BatchLimit(records: 2, bytes: 1 << 20)))
    }

    @Test("A stop ends at once what waits, and lets an answer or a store that is under way come in")
    func stop() {
        var idle = Forwarding(settings: ForwardSettings(), at: at(0))
        #expect(idle.stopRequested() == .stop)
        #expect(idle.recordsArrived(pending(500, since: 0), at: at(0)) == .rest)

        var busy = sending(3)
        #expect(busy.stopRequested() == .awaitAnswer)
        #expect(
            busy.answered(answer(.accepted), unit: 0, at: at(1))
                == .settle(
                    batch: 1, BatchOutcome(delivered: [0..<3], dead: [], maybeDuplicate: false, requests: 1)))
        #expect(busy.settled(pending(500, since: 0), at: at(1)) == .rest)
        #expect(busy.isStopped)

        var failing = sending(3)
        _ = failing.stopRequested()
        #expect(failing.answered(answer(.again(.reset, retryAfter: nil)), unit: 0, at: at(1)) == .stop)

        var preparing = Forwarding(settings: ForwardSettings(), at: at(0))
        _ = preparing.recordsArrived(pending(500, since: 0), at: at(0))
        #expect(preparing.stopRequested() == .awaitStore)
        #expect(preparing.batchStored(batch(1, 3), at: at(1)) == .rest)
        #expect(preparing.isStopped)
    }

    @Test("An answer that outlives the end changes nothing")
    func abandoned() {
        var forwarding = sending(3)
        forwarding.abandoned()

        #expect(forwarding.answered(answer(.accepted), unit: 0, at: at(1)) == .rest)
        #expect(forwarding.waited(at: at(1)) == .rest)
    }

    @Test(
        "Whatever a destination answers, every line of every batch ends exactly once",
        arguments: 0..<40 as Range<UInt64>)
    func property(seed: UInt64) {
        var traffic = Traffic(seed: seed)
        var settings = ForwardSettings()
        settings.sendRate = .unlimited
        settings.retryFor = .seconds(3600)
        var forwarding = Forwarding(settings: settings, at: at(0))
        var now = 0.0
        var ended = 0

        for id in 1...30 as ClosedRange<Int64> {
            let count = Int(traffic.number(below: 500)) + 1
            let poison = traffic.happens(oneIn: 3) ? Int(traffic.number(below: Int64(count))) : nil
            guard case .build = forwarding.recordsArrived(pending(500, since: now), at: at(now)) else { break }
            guard case .send(var shipment) = forwarding.batchStored(batch(id, count), at: at(now)) else { break }
            var outcome: BatchOutcome?
            while outcome == nil {
                now += 1
                let isBad = poison.map(shipment.range.contains) ?? false
                let verdict: DeliveryVerdict =
                    switch traffic.number(below: 12) {
                    case 0: .again(.refused, retryAfter: nil)
                    case 1: .again(.tooManyRequests, retryAfter: .seconds(5))
                    case 2: .ambiguous(.noAnswer)
                    case 3: .paused(.unauthorised)
                    case 4 where shipment.range.count > 100: .tooLarge
                    default: isBad ? .partial(PartialAnswer(successful: shipment.range.count - 1)) : .accepted
                    }
                switch forwarding.answered(answer(verdict), unit: 0.3, at: at(now)) {
                case .settle(batch: id, let settled): outcome = settled
                case .send(let next), .cut(_, thenSend: let next): shipment = next
                case .wait(let until, _, _), .pause(_, let until, _):
                    now = until.sinceBoot / .seconds(1) - 1000
                    guard case .send(let next) = forwarding.waited(at: until) else { return }
                    shipment = next
                case .settle, .stop, .rest: return
                }
            }
            let delivered = (outcome?.delivered ?? []).flatMap { Array($0) }
            let dead = (outcome?.dead ?? []).map(\.line)
            #expect((delivered + dead).sorted() == Array(0..<count))
            #expect(dead == (poison.map { [$0] } ?? []))
            _ = forwarding.settled(.nothing, at: at(now))
            ended += 1
        }
        #expect(ended == 30)
    }
}
