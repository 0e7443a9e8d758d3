extension Forwarding {
    /// Handles the result of a request: a response, or the failure to reach the destination.
    ///
    /// - Parameters:
    ///   - answer: The result.
    ///   - unit: A random number in 0..<1.
    ///   - now: The current time.
    /// - Returns: The action the caller must perform.
    package mutating func answered(
        _ answer: DeliveryResult, unit: Double, at now: MonotonicInstant
    ) -> AnswerAction {
        switch state {
        case .sending, .probing:
            lastAnswer = answer.summary
            if answer.mayHaveArrivedTwice { current?.unacknowledged.insert(lastRange) }
            if answer.verdict.isUnsent {
                resent = sentBefore.resent
                current?.sentUpTo = sentBefore.upTo
            }
            return act(on: answer.verdict, unit: unit, at: now)
        case .stopped:
            // The response arrived after the shutdown. The store still holds the batch, so nothing is lost: the next
            // start sends it again.
            return .none
        case .idle, .batching, .preparing, .waiting, .paused, .settling:
            preconditionFailure("A response arrived in a state without a request")
        }
    }

    private mutating func act(on verdict: DeliveryVerdict, unit: Double, at now: MonotonicInstant) -> AnswerAction {
        switch verdict {
        case .accepted, .unconfirmed:
            if verdict == .unconfirmed { current?.isConfirmed = false }
            isAcceptingRecords = true
            destinationResponded()
            pacer.succeeded(at: now)
            return go(on: current?.bisection.accepted(), at: now)
        case .partial(let answer):
            // A response without counters does not state whether records were accepted.
            if let successful = answer.successful { isAcceptingRecords = successful > 0 }
            destinationResponded()
            let since = current?.bisectingSince ?? now
            current?.bisectingSince = since
            let step = current?.bisection.partiallyAccepted(answer)
            let isLong = since.duration(to: now) >= Self.bisectionTimeout
            guard step == .proceed, isLong, current?.bisection.isMajorityAccepted == false else {
                return go(on: step, at: now)
            }
            current?.bisection.stop()
            return go(on: .stop, at: now)
        case .tooLarge:
            destinationResponded()
            // A single line that is too large gives no information about batches.
            if let batch = current?.batch, lastRange.count > 1 {
                size.lower(from: batch.bytes / batch.count * lastRange.count, at: now)
            }
            return go(on: current?.bisection.tooLarge(), at: now)
        case .paused(let reason):
            current?.bisection.requestFailed()
            return pause(reason, at: now)
        case .again(let failure, let retryAfter):
            current?.bisection.requestFailed()
            return retry(failure, retryAfter: retryAfter, unit: unit, at: now)
        case .ambiguous(let failure):
            current?.unacknowledged.insert(lastRange)
            current?.bisection.requestFailed()
            return retry(failure, retryAfter: nil, unit: unit, at: now)
        }
    }

    /// Resets the failure state: the destination is reachable and accepts the credential.
    private mutating func destinationResponded() {
        schedule.succeeded()
        breaker.succeeded(full: settings.batchRecords)
        current?.clock = RetryStopwatch()
        preempted?.clock = RetryStopwatch()
        probeDelay = Self.firstProbeDelay
        failing = nil
    }

    private mutating func go(on step: Bisection.Step?, at now: MonotonicInstant) -> AnswerAction {
        guard let step else { preconditionFailure("A request was in flight without a batch") }
        switch step {
        case .done:
            return settle(then: .plan)
        case .stop:
            return pause(.manyLinesRefused, at: now)
        case .proceed:
            if isStopping { return end() }
            if let current, current.requestsSinceStored >= Self.maxUnstoredRequests, current.bisection.isUnderWay,
                current.bisection.isMajorityAccepted
            {
                return settle(then: .sendNext)
            }
            if canPreempt, case .preempt(let limit) = preempt(at: now) { return .preempt(limit) }
            return .send(nextShipment(at: now))
        case .cut(let line):
            return isStopping ? end() : .cut(line: line, thenSend: nextShipment(at: now))
        }
    }

    /// Records that the destination does not accept records now, and discards what depended on the opposite.
    private mutating func markUnavailable(failing failure: FailureClass?) {
        isAcceptingRecords = false
        failing = failure
        preemptedPause = nil
        current?.bisectingSince = nil
    }

    private mutating func retry(
        _ failure: FailureClass, retryAfter: Duration?, unit: Double, at now: MonotonicInstant
    ) -> AnswerAction {
        markUnavailable(failing: failure)
        current?.clock.resume(at: now)
        preempted?.clock.resume(at: now)
        breaker.failed(opens: failure.mayHaveTimedOut)
        if failure.slowsDown { pacer.slowedDown(at: now) }
        if isStopping { return end() }
        if let clock = current?.clock, clock.spent(at: now) < settings.retryFor, isOver(preempted, at: now) {
            swap(&current, &preempted)
        }
        if isOver(current, at: now) {
            current?.bisection.giveUp(.retriesExpired)
            return settle(then: .plan)
        }
        let isRequestedByDestination = retryAfter.map { $0 > .zero } ?? false
        let until = schedule.failed(failure, unit: unit, retryAfter: retryAfter, begun: begun, at: now)
        let wait = Wait.failure(failure, isRequestedByDestination: isRequestedByDestination)
        current?.bisection.takeBack()
        guard current?.bisection.isUnderWay == false else { return settle(then: .wait(until: until, wait)) }
        state = .waiting(until: until, wait)
        return .wait(until: until, progress(at: now))
    }

    private func isOver(_ current: BatchProgress?, at now: MonotonicInstant) -> Bool {
        current.map { $0.clock.spent(at: now) >= settings.retryFor } ?? false
    }

    private mutating func pause(_ reason: PauseReason, at now: MonotonicInstant) -> AnswerAction {
        markUnavailable(failing: nil)
        current?.clock.pause(at: now)
        preempted?.clock.pause(at: now)
        if isStopping { return end() }
        let until = now.advanced(by: probeDelay)
        probeDelay = min(probeDelay * 2, Self.maxProbeDelay)
        current?.bisection.takeBack()
        guard current?.bisection.isUnderWay == false else { return settle(then: .pause(reason, until: until)) }
        state = .paused(reason, until: until)
        return .pause(reason, until: until, progress(at: now))
    }

    private mutating func settle(then followUp: NextStep) -> AnswerAction {
        guard let current else { preconditionFailure("A batch was settled that never began") }
        state = .settling(followUp)
        return .settle(batch: current.batch.id, current.outcome)
    }

    private mutating func end() -> AnswerAction {
        state = .stopped
        return .stop
    }
}
