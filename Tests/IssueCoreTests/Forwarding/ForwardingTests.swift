import IssueProtocol
import Testing

@testable import IssueCore

struct ForwardingTests: ForwardingSteps {
    /// Returns a forwarder whose batch of this many lines is in flight.
    private func sending(_ count: Int, settings: ForwardSettings = ForwardSettings()) -> Forwarding {
        var forwarding = Forwarding(settings: settings, at: at(0))
        _ = forwarding.recordsArrived(pending(500, since: 0), at: at(0))
        _ = forwarding.batchStored(batch(1, count), at: at(0))
        return forwarding
    }

    @Test("After a restart, a paused destination is probed at once, unless it has requested a wait")
    func resumingPaused() {
        func started(notBefore earliest: MonotonicInstant? = nil) -> Forwarding {
            var forwarding = Forwarding(settings: ForwardSettings(), at: at(0))
            _ = forwarding.started(
                resuming: batch(1, 3), RetryProgress(), notBefore: earliest, pausedFor: .unauthorised, unit: 0.5,
                at: at(0))
            return forwarding
        }
        var forwarding = started()
        #expect(forwarding.view.state == .paused)
        #expect(forwarding.view.reason == "unauthorised")
        #expect(forwarding.view.nextAttempt == at(0))
        #expect(forwarding.waited(at: at(0)) == .send(.init(batch: 1, range: 0..<1, rereadsCredential: true)))
        #expect(forwarding.view.state == .paused)
        var refused = forwarding
        #expect(
            refused.answered(answer(.paused(.unauthorised)), unit: 0, at: at(3))
                == .pause(.unauthorised, until: at(63), RetryProgress()))
        #expect(forwarding.answered(answer(.accepted), unit: 0, at: at(3)) == .send(.init(batch: 1, range: 1..<3)))
        #expect(forwarding.view.state == .sending)

        var flushed = started()
        #expect(flushed.flushRequested(at: at(1)) == .send(.init(batch: 1, range: 0..<1, rereadsCredential: true)))
        #expect(started(notBefore: at(600)).view.state == .waiting)
    }

    @Test("Records wait to fill a batch, are stored, sent and settled, and the next batch follows")
    func goodDay() {
        var forwarding = Forwarding(settings: ForwardSettings(), at: at(0))

        #expect(forwarding.recordsArrived(pending(3, since: 0), at: at(0)) == .wait(until: at(5)))
        #expect(forwarding.waited(at: at(5)) == .build(BatchLimit(records: 3, bytes: 1 << 20)))
        #expect(forwarding.batchStored(batch(1, 3), at: at(5)) == .send(.init(batch: 1, range: 0..<3)))
        #expect(forwarding.recordsArrived(pending(1, since: 5), at: at(5)) == .none)
        #expect(
            forwarding.answered(answer(.accepted), unit: 0, at: at(6))
                == .settle(
                    batch: 1, BatchOutcome(delivered: [0..<3], dead: [])))
        #expect(forwarding.settled(pending(1, since: 5), at: at(6)) == .wait(until: at(10)))
        #expect(forwarding.view.lastAnswer == "an answer")
    }

    @Test("A destination that refuses lines for five minutes without interruption is paused, and no line is given up")
    func longBisection() {
        var forwarding = sending(400)
        let some = answer(.partial(PartialAnswer(successful: nil)))
        var time = 0.0
        while time < 300 {
            guard case .send = forwarding.answered(some, unit: 0, at: at(time)) else {
                Issue.record("The destination was paused after \(time) s")
                return
            }
            time += 30
        }
        guard case .pause(.manyLinesRefused, _, _) = forwarding.answered(some, unit: 0, at: at(300)) else {
            Issue.record("The destination was not paused")
            return
        }
        // From the next attempt, the destination has the full five minutes again.
        guard case .send = forwarding.waited(at: at(360)) else {
            Issue.record("The destination was not tried again after the pause")
            return
        }
        guard case .send = forwarding.answered(some, unit: 0, at: at(361)) else {
            Issue.record("The destination was paused again at once")
            return
        }
    }

    @Test("While many lines are refused, an unchanged credential does not delay priority records")
    func credentialDuringRefusals() {
        var forwarding = sending(400)
        let some = answer(.partial(PartialAnswer(successful: nil)))
        for step in 0...10 { _ = forwarding.answered(some, unit: 0, at: at(Double(step) * 30)) }
        #expect(forwarding.view.state == .paused)
        var counts = pending(400, since: 0)
        (counts.priorityRecords, counts.oldestPriority) = (1, at(300))
        guard case .preempt = forwarding.recordsArrived(counts, at: at(300)) else {
            Issue.record("The priority record waits")
            return
        }
        _ = forwarding.nothingToSend(.nothing, at: at(300))
        forwarding.learned(counts)
        guard case .wait(let until) = forwarding.credentialReread(changed: false, at: at(301)) else {
            Issue.record("The forwarder does not wait")
            return
        }
        #expect(until < at(303))
    }

    @Test("If all pending records were suppressed, the forwarder becomes idle again")
    func nothingToSend() {
        var forwarding = Forwarding(settings: ForwardSettings(), at: at(0))
        _ = forwarding.recordsArrived(pending(500, since: 0), at: at(0))

        #expect(forwarding.nothingToSend(.nothing, at: at(0)) == .none)
        #expect(forwarding.view.state == .idle)
    }

    @Test("After a failure the same lines are sent again; lines sent without a response may be duplicates")
    func retry() {
        var forwarding = sending(3)

        #expect(
            forwarding.answered(answer(.ambiguous(.noAnswer)), unit: 1, at: at(30))
                == .wait(until: at(30.25), RetryProgress(attempts: 5)))
        #expect(forwarding.view.state == .waiting)
        #expect(forwarding.view.nextAttempt == at(30.25))
        #expect(forwarding.waited(at: at(30.1)) == .wait(until: at(30.25)))
        #expect(
            forwarding.waited(at: at(31))
                == .send(.init(batch: 1, range: 0..<1, timeLimit: RetrySchedule.outageTimeout)))
        #expect(forwarding.answered(answer(.accepted), unit: 0, at: at(32)) == .send(.init(batch: 1, range: 1..<3)))
        #expect(
            forwarding.answered(answer(.accepted), unit: 0, at: at(32))
                == .settle(
                    batch: 1,
                    BatchOutcome(
                        delivered: [0..<1, 1..<3], dead: [], possibleDuplicates: 3)))
        #expect(forwarding.view.resent == 3)
    }

    @Test("After a request that was made twice, lines may be duplicates whatever the response")
    func madeTwice() {
        for verdict in [DeliveryVerdict.accepted, .again(.overloaded, retryAfter: nil)] {
            var forwarding = sending(3)
            var possibleDuplicates = answer(verdict)
            possibleDuplicates.mayHaveArrivedTwice = true

            var action = forwarding.answered(possibleDuplicates, unit: 0, at: at(30))
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

    @Test("The delay requested by the destination is honoured, and a flush does not shorten it")
    func retryAfter() {
        var forwarding = sending(3)

        #expect(
            forwarding.answered(answer(.again(.overloaded, retryAfter: .seconds(120))), unit: 0, at: at(0))
                == .wait(until: at(120), RetryProgress(attempts: 1)))
        #expect(forwarding.flushRequested(at: at(1)) == .wait(until: at(120)))
    }

    @Test("If the batch ends meanwhile, the next batch waits for the delay requested by the destination")
    func retryAfterForNextBatch() {
        let failure = answer(.again(.overloaded, retryAfter: .seconds(120)))
        var settings = ForwardSettings()
        settings.retryFor = .seconds(60)
        var expired = sending(3, settings: settings)
        _ = expired.answered(failure, unit: 0, at: at(0))
        _ = expired.waited(at: at(120))
        guard case .settle = expired.answered(failure, unit: 0, at: at(121)) else {
            Issue.record("The batch was not given up")
            return
        }
        #expect(expired.settled(pending(500, since: 0), at: at(121)) == .wait(until: at(241)))
        #expect(expired.flushRequested(at: at(122)) == .wait(until: at(241)))
        guard case .build = expired.waited(at: at(241)) else {
            Issue.record("The next batch was not built")
            return
        }

        // The records of the remaining lines were removed meanwhile.
        var removed = sending(3)
        _ = removed.answered(answer(.tooLarge), unit: 0, at: at(0))
        _ = removed.answered(answer(.accepted), unit: 0, at: at(0))
        guard case .settle = removed.answered(failure, unit: 0, at: at(1)) else {
            Issue.record("The outcome of the first line was not stored")
            return
        }
        #expect(removed.settled(pending(500, since: 0), at: at(1)) == .wait(until: at(121)))
    }

    @Test("After a restart the delay requested by the destination is still honoured, and a flush does not shorten it")
    func retryAfterAcrossRestart() {
        var forwarding = sending(3)
        _ = forwarding.answered(answer(.again(.overloaded, retryAfter: .seconds(120))), unit: 0, at: at(0))
        let earliest = forwarding.requestedWaitEnd
        #expect(earliest == at(120))

        forwarding = Forwarding(settings: ForwardSettings(), at: at(10))
        #expect(
            forwarding.started(
                resuming: batch(1, 3), RetryProgress(attempts: 1), notBefore: earliest, after: .overloaded, unit: 1,
                at: at(10)) == .wait(until: at(120)))
        #expect(forwarding.view.reason == "overloaded" && forwarding.view.advice == ForwardingView.requestedWait)
        #expect(forwarding.requestedWaitEnd == at(120))
        #expect(forwarding.flushRequested(at: at(11)) == .wait(until: at(120)))
        #expect(forwarding.waited(at: at(120)) == .send(.init(batch: 1, range: 0..<3)))
        #expect(forwarding.requestedWaitEnd == nil)
    }

    @Test("Lines whose records were removed before the request do not count as accepted by the destination")
    func skipped() {
        var forwarding = sending(3)
        _ = forwarding.answered(answer(.ambiguous(.noAnswer)), unit: 0, at: at(0))
        _ = forwarding.waited(at: at(60))
        #expect(
            forwarding.requestSkipped(at: at(60))
                == .send(.init(batch: 1, range: 1..<2, timeLimit: RetrySchedule.outageTimeout)))
        #expect(!forwarding.isAcceptingRecords)
        #expect(forwarding.view.reason == "no_answer")
        _ = forwarding.answered(answer(.accepted), unit: 0, at: at(61))
        guard case .settle(1, let outcome) = forwarding.answered(answer(.accepted), unit: 0, at: at(61)) else {
            Issue.record("The batch did not end")
            return
        }
        #expect(outcome.delivered == [0..<1, 1..<2, 2..<3])
        // The line of the removed record was sent only once.
        #expect(outcome.possibleDuplicates == 2)
    }

    @Test("The rest of a batch of priority records is not preempted by other priority records")
    func restOfPriority() {
        var forwarding = Forwarding(settings: ForwardSettings(), at: at(0))
        _ = forwarding.recordsArrived(pending(500, since: 0), at: at(0))
        _ = forwarding.batchStored(ForwardingBatch(id: 1, count: 4, bytes: 400, isPriority: true), at: at(0))
        _ = forwarding.answered(answer(.tooLarge), unit: 0, at: at(0))
        _ = forwarding.answered(answer(.accepted), unit: 0, at: at(0))
        guard case .settle = forwarding.answered(answer(.again(.serverError, retryAfter: nil)), unit: 0, at: at(1))
        else {
            Issue.record("The outcome of the first lines was not stored")
            return
        }
        var counts = pending(500, since: 0)
        counts.priorityRecords = 5
        counts.oldestPriority = at(0)
        guard case .wait(let until) = forwarding.settled(counts, rest: batch(2, 2), at: at(1)) else {
            Issue.record("The rest does not wait")
            return
        }
        #expect(forwarding.waited(at: until) == .send(.init(batch: 2, range: 0..<2)))
    }

    @Test("After five failures a single line is sent, and after a success requests grow step by step")
    func breaker() {
        var forwarding = sending(100)
        var now = 0.0
        for attempt in 1...5 {
            let action = forwarding.answered(answer(.again(.serverError, retryAfter: nil)), unit: 1, at: at(now))
            guard case .wait(let until, let progress) = action else {
                Issue.record("\(action)")
                return
            }
            #expect(progress.attempts == attempt)
            now = until.sinceBoot / .seconds(1) - 1000
            if attempt < 5 { #expect(forwarding.waited(at: until) == .send(.init(batch: 1, range: 0..<100))) }
        }

        #expect(
            forwarding.waited(at: at(now))
                == .send(.init(batch: 1, range: 0..<1, timeLimit: RetrySchedule.outageTimeout)))
        #expect(
            forwarding.answered(answer(.accepted), unit: 0, at: at(now)) == .send(.init(batch: 1, range: 1..<11)))
        #expect(
            forwarding.answered(answer(.accepted), unit: 0, at: at(now)) == .send(.init(batch: 1, range: 11..<31)))
        #expect(
            forwarding.answered(answer(.accepted), unit: 0, at: at(now)) == .send(.init(batch: 1, range: 31..<71)))
        #expect(
            forwarding.answered(answer(.accepted), unit: 0, at: at(now)) == .send(.init(batch: 1, range: 71..<100)))
        #expect(
            forwarding.answered(answer(.accepted), unit: 0, at: at(now))
                == .settle(
                    batch: 1,
                    BatchOutcome(
                        delivered: [0..<1, 1..<11, 11..<31, 31..<71, 71..<100], dead: [])))
        #expect(forwarding.view.resent == 500)
    }

    @Test("A refused credential pauses with a reason and advice; probes are sent after 60 s, doubling up to 15 min")
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
                forwarding.waited(at: at(now)) == .send(.init(batch: 1, range: 0..<1, rereadsCredential: true)))
        }
        #expect(delays == [60, 120, 240, 480, 900, 900])

        #expect(
            forwarding.answered(answer(.accepted), unit: 0, at: at(now)) == .send(.init(batch: 1, range: 1..<100)))
        #expect(forwarding.view.state == .sending)
    }

    @Test("A new credential is tried at once; an unchanged one is not")
    func credential() {
        var forwarding = sending(3)
        _ = forwarding.answered(answer(.paused(.forbidden)), unit: 0, at: at(0))

        #expect(forwarding.credentialReread(changed: false, at: at(1)) == .wait(until: at(60)))
        #expect(
            forwarding.credentialReread(changed: true, at: at(2))
                == .send(.init(batch: 1, range: 0..<1, rereadsCredential: true)))
        #expect(forwarding.credentialReread(changed: true, at: at(2)) == .none)
    }

    @Test("After RetryFor= the remaining lines are given up; paused time does not count")
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
                == .wait(until: at(100_000.25), RetryProgress(attempts: 2, spent: .seconds(500))))
        _ = forwarding.waited(at: at(100_100))

        #expect(
            forwarding.answered(failure, unit: 0, at: at(100_100))
                == .settle(
                    batch: 1,
                    BatchOutcome(
                        delivered: [],
                        dead: [.init(line: 0, reason: .retriesExpired), .init(line: 1, reason: .retriesExpired)])))
    }

    @Test("After a partial response the bad line is found and all others are delivered")
    func partial() {
        var forwarding = sending(4)

        #expect(
            forwarding.answered(answer(.partial(PartialAnswer(successful: 3))), unit: 0, at: at(0))
                == .send(.init(batch: 1, range: 0..<2)))
        // The left half is clean, so the bad line must be in the right one.
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
                        delivered: [0..<2, 3..<4], dead: [.init(line: 2, reason: .refused)],
                        possibleDuplicates: 3)))
    }

    @Test("A batch that is too large is halved, later ones are smaller, and a single line is truncated")
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

    @Test("A batch whose response was lost in a crash is resent as possible duplicates, and keeps its failure count")
    func resuming() {
        var forwarding = Forwarding(settings: ForwardSettings(), at: at(0))
        var unknown = batch(7, 100)
        unknown.unacknowledged = LineSet([0..<100])

        #expect(
            forwarding.started(
                resuming: unknown, RetryProgress(attempts: 5, spent: .seconds(9)), unit: 0.5, at: at(0))
                == .wait(until: at(2.5)))
        // No request of this run has had the full timeout yet.
        #expect(forwarding.waited(at: at(2.5)) == .send(.init(batch: 7, range: 0..<1)))
        #expect(forwarding.progress(at: at(3)) == RetryProgress(attempts: 5, spent: .seconds(9)))
        _ = forwarding.answered(answer(.accepted), unit: 0, at: at(3))
        #expect(forwarding.view.resent == 11)
        _ = forwarding.answered(answer(.accepted), unit: 0, at: at(3))
        _ = forwarding.answered(answer(.accepted), unit: 0, at: at(3))
        _ = forwarding.answered(answer(.accepted), unit: 0, at: at(3))
        guard case .settle(7, let outcome) = forwarding.answered(answer(.accepted), unit: 0, at: at(3)) else {
            Issue.record("The batch did not end")
            return
        }
        #expect(outcome.possibleDuplicates == 100)
    }

    @Test("A failure of the previous run is shown until the destination responds, even during the first request")
    func failedBefore() {
        var forwarding = Forwarding(settings: ForwardSettings(), failing: .timeout, at: at(0))
        #expect(forwarding.view.isFailing)
        _ = forwarding.started(resuming: batch(1, 3), RetryProgress(attempts: 1), unit: 0, at: at(0))
        _ = forwarding.waited(at: at(0))
        #expect(forwarding.view.state == .waiting && forwarding.view.reason == "timeout")
        _ = forwarding.answered(answer(.accepted), unit: 0, at: at(1))
        #expect(!forwarding.view.isFailing)
    }

    @Test("A batch whose requests all got a response is not marked as possible duplicates, even after a restart")
    func resumingAnswered() {
        var forwarding = sending(3)
        _ = forwarding.answered(answer(.paused(.unauthorised)), unit: 0, at: at(1))
        let unacknowledged = forwarding.unacknowledged[1]
        #expect(unacknowledged == LineSet())

        var known = batch(1, 3)
        known.unacknowledged = unacknowledged ?? LineSet([0..<3])
        forwarding = Forwarding(settings: ForwardSettings(), at: at(2))
        _ = forwarding.started(resuming: known, RetryProgress(), unit: 0, at: at(2))
        _ = forwarding.waited(at: at(2))
        guard case .settle(1, let outcome) = forwarding.answered(answer(.accepted), unit: 0, at: at(3)) else {
            Issue.record("The batch did not end")
            return
        }
        #expect(!outcome.maybeDuplicate)
    }

    @Test("A flush sends all pending records without waiting to fill a batch")
    func flush() {
        var forwarding = Forwarding(settings: ForwardSettings(), at: at(0))
        _ = forwarding.recordsArrived(pending(3, since: 0), at: at(0))

        #expect(forwarding.flushRequested(at: at(0)) == .build(BatchLimit(records: 3, bytes: 1 << 20)))
        _ = forwarding.batchStored(batch(1, 3), at: at(0))
        _ = forwarding.answered(answer(.accepted), unit: 0, at: at(0))
        #expect(
            forwarding.settled(pending(1, since: 0), at: at(0)) == .build(BatchLimit(records: 1, bytes: 1 << 20)))
        #expect(forwarding.nothingToSend(.nothing, at: at(0)) == .none)
        #expect(forwarding.recordsArrived(pending(1, since: 1), at: at(1)) == .wait(until: at(6)))
    }

    @Test("A flush probes a paused destination, also if priority records were expected but none are found")
    func flushOfPaused() {
        var forwarding = Forwarding(settings: ForwardSettings(), at: at(0))
        var counts = pending(1, since: 0)
        counts.priorityRecords = 1
        counts.oldestPriority = at(0)
        // The batch consists of the only priority record.
        #expect(forwarding.recordsArrived(counts, at: at(0)) == .wait(until: at(1)))
        _ = forwarding.waited(at: at(1))
        _ = forwarding.batchStored(batch(1, 1), at: at(1))
        _ = forwarding.answered(answer(.paused(.unauthorised)), unit: 0, at: at(1))

        for (time, end) in [(2.0, 122.0), (3.0, 243.0)] {
            var action = forwarding.flushRequested(at: at(time))
            if case .preempt = action { action = forwarding.nothingToSend(.nothing, at: at(time)) }
            #expect(action == .send(.init(batch: 1, range: 0..<1, rereadsCredential: true)))
            #expect(
                forwarding.answered(answer(.paused(.unauthorised)), unit: 0, at: at(time))
                    == .pause(.unauthorised, until: at(end), RetryProgress()))
        }
        #expect(forwarding.isPaused)
    }

    /// Returns a paused forwarder whose records were removed, after a flush at 1 s.
    private func pausedWithoutRecords() -> Forwarding {
        var forwarding = sending(1)
        _ = forwarding.answered(answer(.paused(.unauthorised)), unit: 0, at: at(0))
        #expect(
            forwarding.flushRequested(at: at(1))
                == .send(.init(batch: 1, range: 0..<1, rereadsCredential: true)))
        guard case .settle = forwarding.requestSkipped(at: at(1)) else {
            Issue.record("The batch did not end")
            return forwarding
        }
        #expect(forwarding.settled(.nothing, at: at(1)) == .none)
        return forwarding
    }

    @Test("A paused destination whose records were removed stays paused until it accepts others")
    func pausedWithNothingPending() {
        var forwarding = pausedWithoutRecords()
        #expect(forwarding.isPausedWithoutBatch)
        #expect(forwarding.flushRequested(at: at(2)) == .none)
        #expect(forwarding.view.state == .paused)
        #expect(forwarding.view.reason == "unauthorised")
        #expect(forwarding.view.advice == PauseReason.unauthorised.advice)

        // The next records begin with a probe.
        #expect(forwarding.recordsArrived(pending(2, since: 3), at: at(3)) == .wait(until: at(8)))
        #expect(forwarding.waited(at: at(8)) == .build(BatchLimit(records: 2, bytes: 1 << 20)))
        #expect(forwarding.view.state == .paused)
        #expect(
            forwarding.batchStored(batch(2, 2), at: at(8))
                == .send(.init(batch: 2, range: 0..<1, rereadsCredential: true)))
        #expect(forwarding.view.state == .paused)
        #expect(forwarding.answered(answer(.accepted), unit: 0, at: at(9)) == .send(.init(batch: 2, range: 1..<2)))
        #expect(forwarding.view.state == .sending)
        #expect(!forwarding.isPausedWithoutBatch)
    }

    @Test("A new credential ends the pause of a destination for which nothing is pending")
    func credentialWithNothingPending() {
        var forwarding = pausedWithoutRecords()
        #expect(forwarding.credentialReread(changed: false, at: at(2)) == .none)
        #expect(forwarding.view.state == .paused)
        #expect(forwarding.credentialReread(changed: true, at: at(3)) == .none)
        #expect(forwarding.view.state == .idle)
        #expect(forwarding.view.reason == nil)
    }

    @Test("The send rate delays the next batch and is shown as the reason, but priority records wait less")
    func pacing() {
        var forwarding = sending(50)
        _ = forwarding.answered(answer(.accepted), unit: 0, at: at(0))

        #expect(forwarding.settled(pending(500, since: 0), at: at(0)) == .wait(until: at(5.001)))
        #expect(forwarding.view.state == .waiting)
        #expect(forwarding.view.reason == "send_rate")
        #expect(forwarding.view.nextAttempt == at(5.001))
        var counts = pending(500, since: 0)
        counts.priorityRecords = 2
        counts.oldestPriority = at(0)
        #expect(forwarding.recordsArrived(counts, at: at(1)) == .build(BatchLimit(records: 2, bytes: 1 << 20)))
    }

    @Test("A stop ends waits at once, but completes a request or a store operation in progress")
    func stop() {
        var idle = Forwarding(settings: ForwardSettings(), at: at(0))
        #expect(idle.stopRequested() == .stop)
        #expect(idle.recordsArrived(pending(500, since: 0), at: at(0)) == .none)

        var busy = sending(3)
        #expect(busy.stopRequested() == .awaitAnswer)
        #expect(
            busy.answered(answer(.accepted), unit: 0, at: at(1))
                == .settle(
                    batch: 1, BatchOutcome(delivered: [0..<3], dead: [])))
        #expect(busy.settled(pending(500, since: 0), at: at(1)) == .none)
        #expect(busy.isStopped)

        var failing = sending(3)
        _ = failing.stopRequested()
        #expect(failing.answered(answer(.again(.reset, retryAfter: nil)), unit: 0, at: at(1)) == .stop)

        var preparing = Forwarding(settings: ForwardSettings(), at: at(0))
        _ = preparing.recordsArrived(pending(500, since: 0), at: at(0))
        #expect(preparing.stopRequested() == .awaitStore)
        #expect(preparing.batchStored(batch(1, 3), at: at(1)) == .none)
        #expect(preparing.isStopped)
    }

    @Test("If a build finds nothing and does not move the cursor, the next one waits, although records are pending")
    func emptyBuild() {
        var forwarding = Forwarding(settings: ForwardSettings(), at: at(0))
        let build = Forwarding.NextAction.build(BatchLimit(records: 50, bytes: 1 << 20))
        #expect(forwarding.recordsArrived(pending(500, since: 0), at: at(0)) == build)
        #expect(forwarding.nothingToSend(pending(500, since: 0), at: at(0)) == build)
        #expect(forwarding.nothingToSend(pending(500, since: 0), hasAdvanced: false, at: at(0)) == .wait(until: at(5)))
        #expect(forwarding.waited(at: at(5)) == build)
    }

    @Test("A request that a stop cancels is no failure, but its lines may have arrived")
    func cancelled() {
        for mayHaveArrived in [true, false] {
            var forwarding = sending(3)
            forwarding.requestCancelled(mayHaveArrived: mayHaveArrived)
            #expect(forwarding.unacknowledged[1] == (mayHaveArrived ? LineSet([0..<3]) : LineSet()))
            #expect(forwarding.stopRequested() == .awaitAnswer)
            forwarding.abandoned()
            #expect(forwarding.progress(at: at(1)) == RetryProgress())
            #expect(forwarding.view.reason == nil)
        }
    }

    @Test("A response after the forwarder was abandoned changes nothing")
    func abandoned() {
        var forwarding = sending(3)
        forwarding.abandoned()

        #expect(forwarding.answered(answer(.accepted), unit: 0, at: at(1)) == .none)
        #expect(forwarding.waited(at: at(1)) == .none)
    }
}
