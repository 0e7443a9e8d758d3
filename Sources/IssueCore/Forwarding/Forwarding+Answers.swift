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
            if answer.mayHaveArrivedTwice { course?.unacknowledged.insert(lastRange) }
            if answer.verdict.isUnsent {
                resent = sentBefore.resent
                course?.sentUpTo = sentBefore.upTo
            }
            return act(on: answer.verdict, unit: unit, at: now)
        case .stopped:
            // The response arrived after the shutdown. The store still holds the batch, so nothing
            // is lost: the next start sends it again.
            return .rest
        case .idle, .batching, .preparing, .waiting, .paused, .settling:
            preconditionFailure("A response arrived in a state without a request")
        }
    }

    private mutating func act(on verdict: DeliveryVerdict, unit: Double, at now: MonotonicInstant) -> AnswerAction {
        switch verdict {
        case .accepted, .unconfirmed:
            if verdict == .unconfirmed { course?.isConfirmed = false }
            isAcceptingRecords = true
            destinationResponded()
            pacer.succeeded(at: now)
            return go(on: course?.bisection.accepted(), at: now)
        case .partial(let answer):
            // A response without counters does not tell.
            if let successful = answer.successful { isAcceptingRecords = successful > 0 }
            destinationResponded()
            let since = course?.bisectingSince ?? now
            course?.bisectingSince = since
            let step = course?.bisection.partiallyAccepted(answer)
            let isLong = since.duration(to: now) >= Self.bisectionTimeout
            guard step == .proceed, isLong, course?.bisection.isMajorityAccepted == false else {
                return go(on: step, at: now)
            }
            course?.bisection.stop()
            return go(on: .stop, at: now)
        case .tooLarge:
            destinationResponded()
            // A single line that is too large gives no information about batches.
            if let batch = course?.batch, lastRange.count > 1 {
                size.lower(from: batch.bytes / batch.count * lastRange.count, at: now)
            }
            return go(on: course?.bisection.tooLarge(), at: now)
        case .paused(let reason):
            course?.bisection.requestFailed()
            return pause(reason, at: now)
        case .again(let failure, let retryAfter):
            course?.bisection.requestFailed()
            return retry(failure, retryAfter: retryAfter, unit: unit, at: now)
        case .ambiguous(let failure):
            course?.unacknowledged.insert(lastRange)
            course?.bisection.requestFailed()
            return retry(failure, retryAfter: nil, unit: unit, at: now)
        }
    }

    /// Resets the failure state: the destination is reachable and accepts the credential.
    private mutating func destinationResponded() {
        schedule.succeeded()
        breaker.succeeded(full: settings.batchRecords)
        course?.clock = RetryStopwatch()
        aside?.clock = RetryStopwatch()
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
            if let course, course.requestsSinceStored >= Self.maxUnstoredRequests, course.bisection.isUnderWay,
                course.bisection.isMajorityAccepted
            {
                return settle(then: .goOn)
            }
            if canPreempt, case .overtake(let limit) = overtake(at: now) { return .overtake(limit) }
            return .send(nextShipment(at: now))
        case .cut(let line):
            return isStopping ? end() : .cut(line: line, thenSend: nextShipment(at: now))
        }
    }

    /// Records that the destination does not accept records now, and discards what depended on the
    /// opposite.
    private mutating func markUnavailable(failing failure: FailureClass?) {
        isAcceptingRecords = false
        failing = failure
        preemptedPause = nil
        course?.bisectingSince = nil
    }

    private mutating func retry(
        _ failure: FailureClass, retryAfter: Duration?, unit: Double, at now: MonotonicInstant
    ) -> AnswerAction {
        markUnavailable(failing: failure)
        course?.clock.run(at: now)
        aside?.clock.run(at: now)
        breaker.failed(opens: failure.mayHaveTimedOut)
        if failure.slowsDown { pacer.slowedDown(at: now) }
        if isStopping { return end() }
        if let clock = course?.clock, clock.spent(at: now) < settings.retryFor, isOver(aside, at: now) {
            swap(&course, &aside)
        }
        if isOver(course, at: now) {
            course?.bisection.giveUp(.retriesExpired)
            return settle(then: .plan)
        }
        let isRequestedByDestination = retryAfter.map { $0 > .zero } ?? false
        let until = schedule.failed(failure, unit: unit, retryAfter: retryAfter, begun: begun, at: now)
        let wait = Wait.failure(failure, isRequestedByDestination: isRequestedByDestination)
        course?.bisection.takeBack()
        guard course?.bisection.isUnderWay == false else { return settle(then: .wait(until: until, wait)) }
        state = .waiting(until: until, wait)
        return .wait(until: until, progress(at: now))
    }

    private func isOver(_ course: BatchProgress?, at now: MonotonicInstant) -> Bool {
        course.map { $0.clock.spent(at: now) >= settings.retryFor } ?? false
    }

    private mutating func pause(_ reason: PauseReason, at now: MonotonicInstant) -> AnswerAction {
        markUnavailable(failing: nil)
        course?.clock.stand(at: now)
        aside?.clock.stand(at: now)
        if isStopping { return end() }
        let until = now.advanced(by: probeDelay)
        probeDelay = min(probeDelay * 2, Self.maxProbeDelay)
        course?.bisection.takeBack()
        guard course?.bisection.isUnderWay == false else { return settle(then: .pause(reason, until: until)) }
        state = .paused(reason, until: until)
        return .pause(reason, until: until, progress(at: now))
    }

    private mutating func settle(then followUp: NextStep) -> AnswerAction {
        guard let course else { preconditionFailure("A batch was settled that never began") }
        state = .settling(followUp)
        return .settle(batch: course.batch.id, course.outcome)
    }

    private mutating func end() -> AnswerAction {
        state = .stopped
        return .stop
    }
}
