import IssueProtocol

extension Forwarding {
    /// How far the trying has come, to be stored.
    package func progress(at now: MonotonicInstant) -> RetryProgress {
        // What had to be tried with care has to be so after a restart.
        let attempts = breaker.isOpen ? max(schedule.attempts, CircuitBreaker.threshold) : schedule.attempts
        return RetryProgress(attempts: attempts, spent: (aside ?? course)?.clock.spent(at: now) ?? .zero)
    }

    /// What of the pace is to be stored.
    package func pace(at now: MonotonicInstant) -> SendPacer.Saved { pacer.saved(at: now) }

    /// Which lines may have arrived without an answer that says so, of each batch that is under way.
    package var unacknowledged: [Int64: LineSet] {
        var unacknowledged: [Int64: LineSet] = [:]
        for one in [course, aside].compactMap(\.self) {
            unacknowledged[one.batch.id] = one.unacknowledged
            unacknowledged[one.batch.id]?.formUnion(one.bisection.repeated)
        }
        return unacknowledged
    }

    /// What became of lines of a batch while others of it have not come to their end: stored before the end.
    package mutating func takeUnstored() -> (batch: Int64, outcome: BatchOutcome)? {
        course?.bisection.takeBack()
        guard let course, course.bisection.isUnderWay else { return nil }
        return (course.batch.id, course.outcome)
    }

    /// How much the batch may hold that comes next if all of this one is taken; nothing where that may be another one,
    /// or less, or later.
    package func limitAhead(at now: MonotonicInstant) -> BatchLimit? {
        guard state == .sending, !isStopping, aside == nil, let course, course.requests == 1,
            lastRange.count == course.batch.count, breaker.lineLimit == nil, settings.sendRate.isUnlimited
        else { return nil }
        return BatchLimit(records: settings.batchRecords, bytes: size.limit(at: now))
    }

    mutating func plan(at now: MonotonicInstant) -> NextAction {
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

    private mutating func build(at now: MonotonicInstant) -> NextAction {
        let most = min(settings.batchRecords, breaker.lineLimit ?? .max)
        let age = pending.oldest.map { $0.duration(to: now) } ?? .zero
        let isBacklog = age > Self.freshness
        // What is express goes first, and not at the pace of what is old.
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
            // What is express need not wait until there is room for all the rest.
            guard priority > 0 else { return linger(until: until, isPaced: true) }
            switch pacer.pace(of: priority, at: now) {
            case .now(let records): return prepare(records, isBacklog: false, at: now)
            case .wait(let sooner): return linger(until: min(until, sooner), isPaced: true)
            }
        }
    }

    private mutating func prepare(_ records: Int, isBacklog: Bool, at now: MonotonicInstant) -> NextAction {
        state = .preparing
        buildsBacklog = isBacklog
        return .build(BatchLimit(records: records, bytes: size.limit(at: now)))
    }

    private mutating func linger(until: MonotonicInstant, isPaced: Bool = false) -> NextAction {
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
        guard let part = course?.bisection.next(atMost: limit), var course = course.take() else {
            preconditionFailure("There was nothing left to send of a batch that has not come to its end")
        }
        state = next
        pacer.sent(part.range.count, isBacklog: course.isBacklog, at: now)
        sentBefore = (resent, course.sentUpTo)
        resent += Int64(max(0, min(part.range.upperBound, course.sentUpTo) - part.range.lowerBound))
        requests += 1
        course.sentUpTo = max(course.sentUpTo, part.range.upperBound)
        course.requests += 1
        course.requestsSinceBooked += 1
        lastRange = part.range
        begun = now
        let isShort = breaker.isOpen && begunInFull.duration(to: now) < Self.fullProbe
        if !isShort { begunInFull = now }
        self.course = course
        return Shipment(
            batch: course.batch.id, range: part.range, isCut: part.isCut, rereadsCredential: rereadsCredential,
            timeLimit: isShort ? RetrySchedule.probeLimit : nil)
    }
}

/// A batch that can't come to its end for now holds up nothing that is critical or new.
extension Forwarding {
    /// Something waits that may go before the batch that is under way.
    var canOvertake: Bool {
        guard let course, aside == nil, !isStopping else { return false }
        return !course.batch.isPriority && pending.priorityRecords > 0
    }

    /// Lays the batch aside.
    mutating func overtake(at now: MonotonicInstant) -> NextAction {
        if case .paused(let reason, let until) = state { pauseOfPreempted = (reason, until) }
        aside = course
        course = nil
        state = .preparing
        buildsBacklog = false
        let records = min(settings.batchRecords, pending.priorityRecords)
        return .overtake(BatchLimit(records: records, bytes: size.limit(at: now)))
    }

    /// Goes on with the batch that was laid aside.
    ///
    /// - Parameter isAnswered: The other one has come to its end, so the destination lets us in.
    mutating func resumePreempted(isAnswered: Bool, at now: MonotonicInstant) -> NextAction {
        course = aside
        aside = nil
        let pause = pauseOfPreempted
        pauseOfPreempted = nil
        guard !isStopping else {
            state = .stopped
            return .rest
        }
        // That other lines are taken says nothing of these.
        guard let pause, !isAnswered || pause.reason == .manyLinesRefused else { return .send(nextShipment(at: now)) }
        if pause.until <= now { return .send(probe(pause.reason, at: now)) }
        state = .paused(pause.reason, until: pause.until)
        return .wait(until: pause.until)
    }

    /// Whatever could not be sent is tried once more, what is express before it.
    mutating func tryAgain(at now: MonotonicInstant) -> NextAction {
        canOvertake ? overtake(at: now) : .send(nextShipment(at: now))
    }

    mutating func probeAgain(_ reason: PauseReason, at now: MonotonicInstant) -> NextAction {
        if canOvertake { return overtake(at: now) }
        // The lines of one batch may be to blame, and not those of the other.
        if reason == .manyLinesRefused, aside != nil { swap(&course, &aside) }
        return .send(probe(reason, at: now))
    }

    mutating func follow(_ sequel: NextStep, at now: MonotonicInstant) -> NextAction {
        guard !isStopping else {
            state = .stopped
            return .rest
        }
        switch sequel {
        case .plan, .stop: preconditionFailure("A batch came to its end, and some of it is left")
        case .goOn: return tryAgain(at: now)
        case .wait(let until, let wait):
            state = .waiting(until: until, wait)
            return .wait(until: until)
        case .pause(let reason, let until):
            state = .paused(reason, until: until)
            return .wait(until: until)
        }
    }
}

/// Decides when what waits is worth a request: when there is enough of it, or when it has waited long enough.
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

    package func plan(_ pending: PendingCounts, at now: MonotonicInstant) -> Plan {
        guard pending.records > 0 else { return .nothing }
        if pending.records >= settings.batchRecords || pending.bytes >= settings.batchBytes { return .send }
        let usual = (pending.oldest ?? now).advanced(by: settings.batchDelay)
        let priority = pending.oldestPriority?.advanced(by: min(settings.criticalDelay, settings.batchDelay))
        let due = min(usual, priority ?? usual)
        return due <= now ? .send : .wait(until: due)
    }
}

/// Gathers records for one request until it is full.
package struct BatchBuilder: Equatable, Sendable {
    package let limit: BatchLimit
    package private(set) var count = 0
    package private(set) var bytes = 0

    package init(limit: BatchLimit) {
        self.limit = limit
    }

    package var isEmpty: Bool { count == 0 }
    package var isFull: Bool { count >= limit.records || bytes >= limit.bytes }

    /// A record goes with the batch; one that was admitted always does, so the last may lie above the limit.
    package mutating func add(bytes size: Int) {
        count += 1
        bytes += size
    }
}
