/// A batch that can't come to its end for now holds up nothing that is critical or new.
extension Forwarding {
    /// Something waits that may go before the batch that is under way.
    var canOvertake: Bool {
        guard let course, aside == nil, !isStopping else { return false }
        return !course.batch.isExpress && pending.expressRecords > 0
    }

    /// Lays the batch aside.
    mutating func overtake(at now: MonotonicInstant) -> NextAction {
        if case .paused(let reason, let until) = state { pauseOfAside = (reason, until) }
        aside = course
        course = nil
        state = .preparing
        buildsBacklog = false
        let records = min(settings.batchRecords, pending.expressRecords)
        return .overtake(BatchLimit(records: records, bytes: size.limit(at: now)))
    }

    /// Goes on with the batch that was laid aside.
    ///
    /// - Parameter isAnswered: The other one has come to its end, so the destination lets us in.
    mutating func takeUp(isAnswered: Bool, at now: MonotonicInstant) -> NextAction {
        course = aside
        aside = nil
        let pause = pauseOfAside
        pauseOfAside = nil
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

    mutating func follow(_ sequel: Sequel, at now: MonotonicInstant) -> NextAction {
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
