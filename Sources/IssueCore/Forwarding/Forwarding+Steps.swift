import IssueProtocol

extension Forwarding {
    /// How far the trying has come, to be stored.
    package func progress(at now: MonotonicInstant) -> RetryProgress {
        RetryProgress(attempts: schedule.attempts, spent: clock.spent(at: now))
    }

    /// What of the pace is to be stored.
    package func pace(at now: MonotonicInstant) -> SendPacer.Saved { pacer.saved(at: now) }

    /// What `status` says.
    package var view: ForwardingView {
        var view = ForwardingView(
            state: .idle, lastAnswer: lastAnswer?.text, requests: requests, resent: resent)
        switch state {
        case .idle, .lingering, .stopped:
            break
        case .preparing, .sending, .settling:
            view.state = .sending
        case .waiting(let until, let wait):
            view.state = .waiting
            view.nextAttempt = until
            switch wait {
            case .resuming: view.reason = "resuming"
            case .failure(let failure, _): view.reason = failure.rawValue
            }
        case .paused(let reason, let until):
            view.state = .paused
            view.reason = reason.rawValue
            view.advice = reason.advice
            view.nextAttempt = until
        case .probing(let reason):
            view.state = .paused
            view.reason = reason.rawValue
            view.advice = reason.advice
        }
        return view
    }

    /// How much the batch may hold that comes next if all of this one is taken; nothing where that may be another one, or
    /// less, or later.
    package func limitAhead(at now: MonotonicInstant) -> BatchLimit? {
        guard state == .sending, !isStopping, let batch, requestsOfBatch == 1, lastCount == batch.count,
            breaker.lineLimit == nil, settings.sendRate.isUnlimited
        else { return nil }
        return BatchLimit(records: settings.batchRecords, bytes: size.limit(at: now))
    }

    mutating func plan(at now: MonotonicInstant) -> PlanAction {
        guard !isStopping else {
            state = .stopped
            return .rest
        }
        switch planner.plan(pending, at: now) {
        case .nothing:
            state = .idle
            isFlushing = false
            return .rest
        case .wait(let until):
            return isFlushing ? build(at: now) : linger(until: until)
        case .send:
            return build(at: now)
        }
    }

    private mutating func build(at now: MonotonicInstant) -> PlanAction {
        let most = min(settings.batchRecords, breaker.lineLimit ?? .max)
        let age = pending.oldest.map { $0.duration(to: now) } ?? .zero
        let isBacklog = pending.oldestExpress == nil && age > Self.freshness
        switch pacer.pace(of: min(pending.records, most), isBacklog: isBacklog, at: now) {
        case .now(let records):
            return prepare(records, at: now)
        case .wait(let until):
            // What is express need not wait until there is room for all the rest.
            let express = min(pending.expressRecords, most)
            guard express > 0, case .now(let records) = pacer.pace(of: express, at: now) else {
                return linger(until: until)
            }
            return prepare(records, at: now)
        }
    }

    private mutating func prepare(_ records: Int, at now: MonotonicInstant) -> PlanAction {
        state = .preparing
        return .build(BatchLimit(records: records, bytes: size.limit(at: now)))
    }

    private mutating func linger(until: MonotonicInstant) -> PlanAction {
        state = .lingering(until: until)
        return .wait(until: until)
    }

    mutating func take(_ batch: ForwardingBatch, _ progress: RetryProgress) {
        self.batch = batch
        bisection = Bisection(count: batch.count)
        requestsOfBatch = 0
        sentUpTo = 0
        maybeDuplicate = false
        isConfirmed = true
        schedule = RetrySchedule(attempts: progress.attempts)
        clock = RetryClock(spent: progress.spent)
    }

    mutating func nextShipment(at now: MonotonicInstant) -> Shipment {
        shipment(atMost: breaker.lineLimit, rereadsCredential: false, becoming: .sending, at: now)
    }

    mutating func probe(_ reason: PauseReason, at now: MonotonicInstant) -> Shipment {
        shipment(
            atMost: CircuitBreaker.probeLines, rereadsCredential: true, becoming: .probing(reason), at: now)
    }

    private mutating func shipment(
        atMost limit: Int?, rereadsCredential: Bool, becoming next: State, at now: MonotonicInstant
    ) -> Shipment {
        guard let batch, let part = bisection?.next(atMost: limit) else {
            preconditionFailure("There was nothing left to send of a batch that has not come to its end")
        }
        state = next
        pacer.sent(part.range.count, at: now)
        sentBefore = (resent, sentUpTo)
        resent += Int64(max(0, min(part.range.upperBound, sentUpTo) - part.range.lowerBound))
        sentUpTo = max(sentUpTo, part.range.upperBound)
        lastCount = part.range.count
        requestsOfBatch += 1
        requests += 1
        return Shipment(
            batch: batch.id, range: part.range, isCut: part.isCut, rereadsCredential: rereadsCredential)
    }
}

extension Forwarding.NextAction {
    init(_ action: Forwarding.PlanAction) {
        switch action {
        case .build(let limit): self = .build(limit)
        case .wait(let until): self = .wait(until: until)
        case .rest: self = .rest
        }
    }
}
