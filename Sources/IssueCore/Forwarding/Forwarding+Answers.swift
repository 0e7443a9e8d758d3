extension Forwarding {
    /// The destination answered, or could not be reached.
    ///
    /// - Parameter unit: A number drawn from 0 up to 1.
    package mutating func answered(
        _ answer: DeliveryAnswer, unit: Double, at now: MonotonicInstant
    ) -> AnswerAction {
        switch state {
        case .sending, .probing:
            lastAnswer = answer.summary
            if answer.mayHaveArrivedTwice { maybeDuplicate = true }
            if answer.verdict.isUnsent { (resent, sentUpTo) = sentBefore }
            return act(on: answer.verdict, unit: unit, at: now)
        case .stopped:
            // The request outlived the end. The store still holds the batch,
            // so nothing is lost: the next start sends it again.
            return .rest
        case .idle, .lingering, .preparing, .waiting, .paused, .settling:
            preconditionFailure("An answer came to a request that this machine never asked for")
        }
    }

    private mutating func act(on verdict: DeliveryVerdict, unit: Double, at now: MonotonicInstant) -> AnswerAction {
        switch verdict {
        case .accepted, .unconfirmed:
            if verdict == .unconfirmed { isConfirmed = false }
            tookPart(at: now)
            pacer.succeeded(at: now)
            return go(on: bisection?.accepted(), at: now)
        case .partial(let answer):
            tookPart(at: now)
            let since = bisectingSince ?? now
            bisectingSince = since
            let step = bisection?.partlyAccepted(answer)
            guard step == .proceed, since.duration(to: now) >= Self.longestBisection else {
                return go(on: step, at: now)
            }
            bisection?.stop()
            return go(on: .stop, at: now)
        case .tooLarge:
            tookPart(at: now)
            // A single line that is too large says nothing about batches.
            if let batch, lastCount > 1 { size.lower(from: batch.bytes / batch.count * lastCount, at: now) }
            return go(on: bisection?.tooLarge(), at: now)
        case .paused(let reason):
            bisection?.notTaken()
            return pause(reason, at: now)
        case .again(let failure, let retryAfter):
            bisection?.notTaken()
            return retry(failure, retryAfter: retryAfter, unit: unit, at: now)
        case .ambiguous(let failure):
            maybeDuplicate = true
            bisection?.notTaken()
            return retry(failure, retryAfter: nil, unit: unit, at: now)
        }
    }

    /// It answered in substance, so it is there and lets us in.
    private mutating func tookPart(at now: MonotonicInstant) {
        schedule.succeeded()
        breaker.succeeded(full: settings.batchRecords)
        clock = RetryClock()
        probeDelay = Self.firstProbe
    }

    private mutating func go(on step: Bisection.Step?, at now: MonotonicInstant) -> AnswerAction {
        guard let step else { preconditionFailure("A request was under way without a batch") }
        switch step {
        case .done:
            return settle()
        case .stop:
            return pause(.manyLinesRefused, at: now)
        case .proceed:
            return isStopping ? end() : .send(nextShipment(at: now))
        case .cut(let line):
            return isStopping ? end() : .cut(line: line, thenSend: nextShipment(at: now))
        }
    }

    private mutating func retry(
        _ failure: FailureClass, retryAfter: Duration?, unit: Double, at now: MonotonicInstant
    ) -> AnswerAction {
        clock.run(at: now)
        bisectingSince = nil
        breaker.failed()
        if failure.slowsDown { pacer.slowedDown(at: now) }
        if isStopping { return end() }
        if clock.spent(at: now) >= settings.retryFor {
            bisection?.giveUp(.retriesExpired)
            return settle()
        }
        let isAsked = retryAfter.map { $0 > .zero } ?? false
        let until = now.advanced(by: schedule.failed(unit: unit, retryAfter: retryAfter))
        state = .waiting(until: until, .failure(failure, isAsked: isAsked))
        return .wait(until: until, watching: failure.isSilence && !isAsked, progress(at: now))
    }

    private mutating func pause(_ reason: PauseReason, at now: MonotonicInstant) -> AnswerAction {
        clock.stand(at: now)
        bisectingSince = nil
        if isStopping { return end() }
        let until = now.advanced(by: probeDelay)
        probeDelay = min(probeDelay * 2, Self.lastProbe)
        state = .paused(reason, until: until)
        return .pause(reason, until: until, progress(at: now))
    }

    private mutating func settle() -> AnswerAction {
        guard let batch, let bisection else { preconditionFailure("A batch ended that was never begun") }
        state = .settling
        bisectingSince = nil
        let outcome = BatchOutcome(
            delivered: bisection.delivered.sorted { $0.lowerBound < $1.lowerBound },
            dead: bisection.dead.sorted { $0.line < $1.line },
            maybeDuplicate: maybeDuplicate || bisection.hasRepeatedTaken, isConfirmed: isConfirmed,
            requests: requestsOfBatch)
        return .settle(batch: batch.id, outcome)
    }

    private mutating func end() -> AnswerAction {
        state = .stopped
        return .stop
    }
}
