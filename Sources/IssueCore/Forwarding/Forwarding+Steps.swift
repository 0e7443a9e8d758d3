import IssueProtocol

extension Forwarding {
    /// Returns the retry progress, to be stored.
    package func progress(at now: MonotonicInstant) -> RetryProgress {
        // A destination that was probed carefully must be probed carefully after a restart too.
        let attempts = breaker.isOpen ? max(schedule.attempts, CircuitBreaker.threshold) : schedule.attempts
        return RetryProgress(attempts: attempts, spent: (preempted ?? current)?.clock.spent(at: now) ?? .zero)
    }

    /// Returns the state of the pacer, to be stored.
    package func pace(at now: MonotonicInstant) -> SendPacer.Saved { pacer.saved(at: now) }

    /// The lines of each unfinished batch that may have arrived although no response confirmed it.
    package var unacknowledged: [BatchID: LineSet] {
        var unacknowledged: [BatchID: LineSet] = [:]
        for one in [current, preempted].compactMap(\.self) {
            unacknowledged[one.batch.id] = one.unacknowledged
            unacknowledged[one.batch.id]?.formUnion(one.bisection.repeated)
        }
        return unacknowledged
    }

    /// Returns the outcomes so far of a batch that is being bisected, to store them before the batch is finished. Nil
    /// if no bisection is under way.
    package mutating func takeUnstored() -> (batch: BatchID, outcome: BatchOutcome)? {
        current?.bisection.takeBack()
        guard let current, current.bisection.isUnderWay else { return nil }
        return (current.batch.id, current.outcome)
    }

    mutating func plan(at now: MonotonicInstant) -> NextAction {
        guard !isStopping else {
            state = .stopped
            return .none
        }
        switch planner.plan(pending, at: now) {
        case .nothing:
            state = .idle
            isFlushing = false
            return .none
        case .wait(let until):
            return isFlushing ? build(at: now) : waitForRecords(until: until)
        case .send:
            return build(at: now)
        }
    }

    private mutating func build(at now: MonotonicInstant) -> NextAction {
        let most = min(settings.batchRecords, breaker.lineLimit ?? .max)
        let age = pending.oldest.map { $0.duration(to: now) } ?? .zero
        let isBacklog = age > Self.freshness
        // Priority records are sent first, and not at the pace of old records.
        let priority = min(pending.priorityRecords, most)
        if isBacklog, priority > 0, !settings.sendRate.isUnlimited,
            case .now(let records) = pacer.pace(of: priority, at: now)
        {
            return prepare(records, isBacklog: false, at: now)
        }
        switch pacer.pace(of: min(pending.records, most), isBacklog: isBacklog, at: now) {
        case .now(let records):
            return prepare(records, isBacklog: isBacklog, at: now)
        case .wait(let until):
            // Priority records need not wait until the pacer allows all the others.
            guard priority > 0 else { return waitForRecords(until: until, isPaced: true) }
            switch pacer.pace(of: priority, at: now) {
            case .now(let records): return prepare(records, isBacklog: false, at: now)
            case .wait(let sooner): return waitForRecords(until: min(until, sooner), isPaced: true)
            }
        }
    }

    private mutating func prepare(_ records: Int, isBacklog: Bool, at now: MonotonicInstant) -> NextAction {
        state = .preparing
        isBuildingBacklog = isBacklog
        return .build(BatchLimit(records: records, bytes: size.limit(at: now)))
    }

    private mutating func waitForRecords(until: MonotonicInstant, isPaced: Bool = false) -> NextAction {
        state = .batching(until: until, isPaced: isPaced)
        return .wait(until: until)
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
        guard let part = current?.bisection.next(atMost: limit), var current = current.take() else {
            preconditionFailure("An unfinished batch had no lines left to send")
        }
        state = next
        pacer.sent(part.range.count, isBacklog: current.isBacklog, at: now)
        sentBefore = (resent, current.sentUpTo)
        resent += Int64(max(0, min(part.range.upperBound, current.sentUpTo) - part.range.lowerBound))
        requests += 1
        current.sentUpTo = max(current.sentUpTo, part.range.upperBound)
        current.requests += 1
        current.requestsSinceStored += 1
        lastRange = part.range
        begun = now
        let isShort = breaker.isOpen && fullRequestStart.duration(to: now) < Self.fullTimeoutInterval
        if !isShort { fullRequestStart = now }
        self.current = current
        return Shipment(
            batch: current.batch.id, range: part.range, isCut: part.isCut, rereadsCredential: rereadsCredential,
            timeLimit: isShort ? RetrySchedule.probeLimit : nil)
    }
}

/// Preemption: a batch that cannot be finished for now does not hold up critical or new records.
extension Forwarding {
    /// `true` if priority records are waiting that may be sent before the current batch.
    var canPreempt: Bool {
        guard let current, preempted == nil, !isStopping else { return false }
        return !current.batch.isPriority && pending.priorityRecords > 0
    }

    /// Preempts the current batch and asks for a batch of priority records.
    mutating func preempt(at now: MonotonicInstant) -> NextAction {
        if case .paused(let reason, let until) = state { preemptedPause = (reason, until) }
        preempted = current
        current = nil
        state = .preparing
        isBuildingBacklog = false
        let records = min(settings.batchRecords, pending.priorityRecords)
        return .preempt(BatchLimit(records: records, bytes: size.limit(at: now)))
    }

    /// Continues with the preempted batch.
    ///
    /// - Parameter isAnswered: `true` if the other batch was finished, so the destination is reachable and accepts the
    ///   credential.
    mutating func resumePreempted(isAnswered: Bool, at now: MonotonicInstant) -> NextAction {
        current = preempted
        preempted = nil
        let pause = preemptedPause
        preemptedPause = nil
        guard !isStopping else {
            state = .stopped
            return .none
        }
        // The destination accepted other lines, but it may still reject these.
        guard let pause, !isAnswered || pause.reason == .manyLinesRefused else { return .send(nextShipment(at: now)) }
        if pause.until <= now { return .send(probe(pause.reason, at: now)) }
        state = .paused(pause.reason, until: pause.until)
        return .wait(until: pause.until)
    }

    /// Retries the batch, after priority records if there are any.
    mutating func tryAgain(at now: MonotonicInstant) -> NextAction {
        canPreempt ? preempt(at: now) : .send(nextShipment(at: now))
    }

    mutating func probeAgain(_ reason: PauseReason, at now: MonotonicInstant) -> NextAction {
        if canPreempt { return preempt(at: now) }
        // The lines of only one of the batches may be the cause.
        if reason == .manyLinesRefused, preempted != nil { swap(&current, &preempted) }
        return .send(probe(reason, at: now))
    }

    mutating func follow(_ followUp: NextStep, at now: MonotonicInstant) -> NextAction {
        guard !isStopping else {
            state = .stopped
            return .none
        }
        switch followUp {
        case .plan, .stop: preconditionFailure("A finished batch still has lines left")
        case .sendNext: return tryAgain(at: now)
        case .wait(let until, let wait):
            state = .waiting(until: until, wait)
            return .wait(until: until)
        case .pause(let reason, let until):
            state = .paused(reason, until: until)
            return .wait(until: until)
        }
    }
}

/// Decides when pending records are sent: when there are enough of them, or when they have waited long enough.
package struct BatchPlanner: Equatable, Sendable {
    package enum Plan: Equatable, Sendable {
        case send
        case wait(until: MonotonicInstant)
        case nothing
    }

    private let settings: ForwardSettings

    package init(settings: ForwardSettings) {
        self.settings = settings
    }

    /// Returns what to do about the pending records.
    package func plan(_ pending: PendingCounts, at now: MonotonicInstant) -> Plan {
        guard pending.records > 0 else { return .nothing }
        if pending.records >= settings.batchRecords || pending.bytes >= settings.batchBytes { return .send }
        let usual = (pending.oldest ?? now).advanced(by: settings.batchDelay)
        let priority = pending.oldestPriority?.advanced(by: min(settings.criticalDelay, settings.batchDelay))
        let due = min(usual, priority ?? usual)
        return due <= now ? .send : .wait(until: due)
    }
}

/// Counts the records of one batch until it is full.
package struct BatchBuilder: Equatable, Sendable {
    package let limit: BatchLimit
    package private(set) var count = 0
    package private(set) var bytes = 0

    package init(limit: BatchLimit) {
        self.limit = limit
    }

    package var isEmpty: Bool { count == 0 }
    package var isFull: Bool { count >= limit.records || bytes >= limit.bytes }

    /// Adds a record.
    ///
    /// An admitted record always belongs to the batch, so the last one may exceed the byte limit.
    ///
    /// - Parameter size: The size of its line in bytes.
    package mutating func add(bytes size: Int) {
        count += 1
        bytes += size
    }
}
