import IssueProtocol

extension Forwarding {
    /// Returns the retry progress, to be stored.
    package func progress(at now: MonotonicInstant) -> RetryProgress {
        // An open circuit breaker must be open after a restart too.
        let attempts = breaker.isOpen ? max(schedule.attempts, CircuitBreaker.threshold) : schedule.attempts
        let unfinished = [current, preempted].compactMap(\.self).filter { !$0.bisection.isDone }
        let spent = unfinished.map { $0.clock.spent(at: now) }.max()
        return RetryProgress(attempts: attempts, spent: spent ?? .zero)
    }

    /// The end of the wait that the destination has requested, to be stored; nil if no batch waits for it.
    package var requestedWaitEnd: MonotonicInstant? {
        switch state {
        case .waiting(let until, let wait), .settling(.wait(let until, let wait)):
            wait.isRequestedByDestination ? until : nil
        case .idle, .batching, .preparing, .sending, .paused, .probing, .settling, .stopped: nil
        }
    }

    /// Returns the state of the pacer, to be stored.
    package func pace(at now: MonotonicInstant) -> SendPacer.Saved { pacer.saved(at: now) }

    /// For each unfinished batch, the lines that may have arrived although the store holds no outcome for them.
    package var unacknowledged: [BatchID: LineSet] {
        var unacknowledged: [BatchID: LineSet] = [:]
        for one in [current, preempted].compactMap(\.self) {
            unacknowledged[one.batch.id] = one.unacknowledged
            unacknowledged[one.batch.id]?.formUnion(one.bisection.repeated)
            // Accepted, but without a stored outcome. After a crash they are sent again.
            unacknowledged[one.batch.id]?.formUnion(LineSet(one.bisection.delivered))
        }
        return unacknowledged
    }

    /// Returns the outcomes so far of the current batch, to store them before the batch is finished; nil unless some of
    /// its lines have an outcome and others do not. Takes uncertain refusals back first.
    package mutating func takeUnstored() -> (batch: BatchID, outcome: BatchOutcome)? {
        current?.bisection.takeBack()
        guard let current, current.bisection.hasPartialOutcome else { return nil }
        return (current.batch.id, current.outcome)
    }

    mutating func stop() -> NextAction {
        state = .stopped
        return .none
    }

    mutating func plan(at now: MonotonicInstant) -> NextAction {
        guard !isStopping else { return stop() }
        guard pending.records > 0 else {
            state = .idle
            isFlushing = false
            return .none
        }
        if let wait = requestedWait, wait.until > now { return waitForRecords(until: wait.until) }
        let due = batchDue(at: now)
        return isFlushing || due <= now ? build(at: now) : waitForRecords(until: due)
    }

    /// Returns when the next batch is due: now if enough records are pending, otherwise when one has waited long
    /// enough.
    private func batchDue(at now: MonotonicInstant) -> MonotonicInstant {
        if pending.records >= settings.batchRecords || pending.bytes >= settings.batchBytes { return now }
        let usual = (pending.oldest ?? now).advanced(by: settings.batchDelay)
        let priority = pending.oldestPriority?.advanced(by: min(settings.criticalDelay, settings.batchDelay))
        return min(usual, priority ?? usual)
    }

    private mutating func build(at now: MonotonicInstant) -> NextAction {
        let most = min(settings.batchRecords, breaker.lineLimit ?? .max)
        let age = pending.oldest.map { $0.duration(to: now) } ?? .zero
        let isBacklog = age > Self.freshness
        // Priority records are sent before the backlog, and don't use its share of the send rate.
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

    mutating func waitForRecords(until: MonotonicInstant, isPaced: Bool = false) -> NextAction {
        state = .batching(until: until, isPaced: isPaced)
        return .wait(until: until)
    }

    mutating func nextShipment(at now: MonotonicInstant) -> Shipment {
        if let pauseReason { return probe(pauseReason, at: now) }
        return shipment(atMost: breaker.lineLimit, rereadsCredential: false, becoming: .sending, at: now)
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
        let sentAgain = max(0, min(part.range.upperBound, current.sentUpTo) - part.range.lowerBound)
        pacerBefore = pacer
        pacer.sent(part.range.count, again: sentAgain, isBacklog: current.isBacklog, at: now)
        sentBefore = (resent, current.sentUpTo, fullRequestStart)
        resent += Int64(sentAgain)
        current.sentUpTo = max(current.sentUpTo, part.range.upperBound)
        current.requests += 1
        lastRange = part.range
        begun = now
        let isRecent = fullRequestStart.map { $0.duration(to: now) < Self.fullTimeoutInterval } ?? false
        let isShort = breaker.isOpen && isRecent
        if !isShort { fullRequestStart = now }
        self.current = current
        return Shipment(
            batch: current.batch.id, range: part.range, isCut: part.isCut, rereadsCredential: rereadsCredential,
            timeLimit: isShort ? RetrySchedule.outageTimeout : nil)
    }
}

/// Preemption: priority records may be sent before an unfinished batch. If the batch is blocked
/// (`Bisection.isBlocked`), any other records may be sent before it too.
extension Forwarding {
    /// Returns how many priority records may be sent now, before the current batch, or when the next one may be sent;
    /// nil if none are waiting or if the batch can't be preempted.
    func preemptionPace(at now: MonotonicInstant) -> SendPacer.Pace? {
        guard let current, preempted == nil, !isStopping, pending.priorityRecords > 0,
            !current.batch.isPriority || current.bisection.yieldsToPriority
        else { return nil }
        return pacer.paceOfFirst(min(settings.batchRecords, pending.priorityRecords), at: now)
    }

    /// Returns `true` if priority records are waiting and may be sent now, before the current batch.
    func canPreempt(at now: MonotonicInstant) -> Bool {
        if case .now? = preemptionPace(at: now) { true } else { false }
    }

    /// Preempts the current batch and asks for a batch of priority records, as many as the send rate allows.
    mutating func preempt(at now: MonotonicInstant) -> NextAction {
        var records = min(settings.batchRecords, pending.priorityRecords)
        if case .now(let allowed)? = preemptionPace(at: now) { records = min(records, allowed) }
        if case .paused(let reason, let until) = state { preemptedPause = (reason, until) }
        preempted = current
        current = nil
        state = .preparing
        isBuildingBacklog = false
        return .preempt(BatchLimit(records: records, bytes: size.limit(at: now)))
    }

    /// Continues with the preempted batch.
    ///
    /// - Parameter isAnswered: `true` if the destination accepted records of the other batch, so it is reachable and
    ///   accepts the credential.
    mutating func resumePreempted(isAnswered: Bool, at now: MonotonicInstant) -> NextAction {
        current = preempted
        preempted = nil
        let pause = preemptedPause
        preemptedPause = nil
        guard !isStopping else { return stop() }
        // The destination accepted other lines, but it may still reject those of this batch.
        guard let pause, !isAnswered || pause.reason == .manyLinesRefused else {
            // The other batch may have been given up before the end of the wait that the destination requested.
            if let wait = requestedWait, wait.until > now {
                state = .waiting(until: wait.until, Wait(failure: wait.failure, isRequestedByDestination: true))
                return .wait(until: wait.until)
            }
            if isAnswered, current?.bisection.needsOtherRequests == true {
                if canPreempt(at: now) { return preempt(at: now) }
                if let action = overtake(at: now) { return action }
            }
            return .send(nextShipment(at: now))
        }
        if pause.until <= now { return .send(probe(pause.reason, at: now)) }
        state = .paused(pause.reason, until: pause.until)
        return waitInPause(pause.reason, until: pause.until, at: now)
    }

    /// Waits for the end of a pause or, if the reason is `manyLinesRefused`, for the time at which priority records may
    /// be sent before the batch, whichever is earlier.
    func waitInPause(_ reason: PauseReason, until: MonotonicInstant, at now: MonotonicInstant) -> NextAction {
        guard reason == .manyLinesRefused, let pace = preemptionPace(at: now) else { return .wait(until: until) }
        switch pace {
        // Not immediately, because the last build may have found no priority records.
        case .now: return .wait(until: min(now.advanced(by: Self.minEmptyBuildDelay), until))
        case .wait(let sooner): return .wait(until: min(sooner, until))
        }
    }

    /// Retries the batch. If no batch is preempted yet, priority records may be sent first or, if the batch is blocked,
    /// any other records. If two batches are unfinished, perhaps only one of them causes the failures, so a batch that
    /// gets no response is swapped with the other one, unless the two are merged (`mergeBlocked`).
    mutating func tryAgain(at now: MonotonicInstant) -> NextAction {
        if let action = mergeBlocked(at: now) { return action }
        if canPreempt(at: now) { return preempt(at: now) }
        if let action = overtake(at: now) { return action }
        if preempted != nil, current?.bisection.isStuck == true || isPriorityStuckBehindCurrent {
            swap(&current, &preempted)
        }
        return .send(nextShipment(at: now))
    }

    /// Whether a priority batch got no response, and the batch that it had preempted is being sent in the meantime.
    private var isPriorityStuckBehindCurrent: Bool {
        guard let current, let preempted else { return false }
        return preempted.batch.isPriority && !current.batch.isPriority && preempted.bisection.isStuck
    }

    /// Retries the priority batch that got no response, once enough requests of the other batch were accepted.
    private mutating func resumeStuckPriority() {
        guard isPriorityStuckBehindCurrent, preempted?.bisection.needsOtherRequests == false else { return }
        swap(&current, &preempted)
    }

    /// Preempts the current batch if it is blocked, and asks for a batch of any other records. If the new batch is
    /// accepted, the lines of the preempted one are probably the cause. Returns nil if the current batch is not
    /// blocked, or if no other records may be sent now.
    private mutating func overtake(at now: MonotonicInstant) -> NextAction? {
        guard let blocked = current, blocked.bisection.isBlocked, preempted == nil, !isStopping, pending.records > 0
        else { return nil }
        guard blocked.bisection.isProven || mayOvertake(at: now) else { return nil }
        let isBacklog = pending.oldest.map { $0.duration(to: now) > Self.freshness } ?? false
        // The breaker limits each request, not the batch. Otherwise only one record would be sent for each request with
        // the blocked lines, and a single record is more likely to be from the same user as the blocked lines.
        var wanted = min(pending.records, settings.batchRecords)
        if !blocked.bisection.isProven { wanted = min(wanted, maxMergedLines - blocked.batch.count) }
        guard wanted > 0 else { return nil }
        guard case .now(let records) = pacer.pace(of: wanted, isBacklog: isBacklog, at: now) else { return nil }
        preempted = blocked
        current = nil
        return prepare(records, isBacklog: isBacklog, at: now)
    }

    private func mayOvertake(at now: MonotonicInstant) -> Bool { nextOvertaking.map { $0 <= now } ?? true }

    /// Sets `nextOvertaking` if `batch` is sent before a blocked one without a proof that the blocked lines are the
    /// cause.
    mutating func delayOvertaking(after batch: ForwardingBatch, at now: MonotonicInstant) {
        guard let preempted, !batch.isPriority, !preempted.bisection.isProven else { return }
        nextOvertaking = now.advanced(by: overtakingDelay)
        overtakingDelay = min(overtakingDelay * 2, Self.maxOvertakingDelay)
    }

    private var maxMergedLines: Int { 2 * settings.batchRecords }

    /// Asks for the two unfinished batches to be merged if enough of their lines got no response, so that other records
    /// can be sent before them.
    private mutating func mergeBlocked(at now: MonotonicInstant) -> NextAction? {
        guard let current, let preempted, canMerge, current.bisection.isMergeable, preempted.bisection.isMergeable
        else { return nil }
        let mayTryOtherRecords =
            pending.records > 0 && current.bisection.isBlocked && preempted.bisection.isBlocked && mayOvertake(at: now)
        guard mayTryOtherRecords || mayMergeForPriority else { return nil }
        state = .settling(.sendNext)
        return .merge(preempted.batch.id, with: current.batch.id)
    }

    /// Whether the two unfinished batches fit into one.
    private var canMerge: Bool {
        guard let current, let preempted, preemptedPause == nil, !isStopping else { return false }
        return current.batch.count + preempted.batch.count <= maxMergedLines
            && current.batch.bytes + preempted.batch.bytes <= Self.maxMergedBytes
    }

    /// Whether the two unfinished batches may be merged because priority records wait. The outcomes that their lines
    /// already have must be stored first.
    private var mayMergeForPriority: Bool {
        guard let current, let preempted, canMerge, pending.priorityRecords > 0 else { return false }
        guard current.batch.isPriority else { return preempted.bisection.yieldsToPriority }
        // A batch that was preempted by priority records gets its turn before the two are merged.
        let isTurnOver =
            preempted.batch.isPriority ? preempted.bisection.yieldsToPriority : current.bisection.isProven
        return current.bisection.yieldsToPriority && isTurnOver
    }

    /// Handles the end of storing two batches as one.
    ///
    /// - Parameters:
    ///   - batch: The merged batch; nil if all its records were removed.
    ///   - order: The order of its lines.
    ///   - now: The current time.
    /// - Returns: The action the caller must perform.
    package mutating func merged(
        into batch: ForwardingBatch?, order: MergedLines, at now: MonotonicInstant
    ) -> NextAction {
        switch state {
        case .settling:
            guard let first = preempted, let second = current else {
                preconditionFailure("Two batches were merged, but fewer were unfinished")
            }
            preempted = nil
            current = batch.map { BatchProgress($0, of: first, and: second, order: order, at: now) }
            guard let known = current?.bisection.suspectUsers else { return plan(at: now) }
            // Lines of other users get their turn before further priority records.
            let hasOthers = current?.bisection.begin(withOtherThan: known) == true
            return hasOthers && !isStopping ? .send(nextShipment(at: now)) : follow(.sendNext, at: now)
        case .stopped: return .none
        case .idle, .batching, .preparing, .sending, .waiting, .paused, .probing:
            preconditionFailure("Batches were merged in a state that did not ask for it")
        }
    }

    /// Ends a pause with a probe. Sends priority records first if any may be sent now.
    mutating func probeAgain(_ reason: PauseReason, at now: MonotonicInstant) -> NextAction {
        // A flush may come before the planned end of the pause. The pause ends now, so that the probe follows as soon
        // as the priority records are sent or none are found.
        state = .paused(reason, until: now)
        if canPreempt(at: now) { return preempt(at: now) }
        // Perhaps only one of the two batches is the cause.
        if reason == .manyLinesRefused, preempted != nil { swap(&current, &preempted) }
        return .send(probe(reason, at: now))
    }

    mutating func follow(_ followUp: NextStep, at now: MonotonicInstant) -> NextAction {
        guard !isStopping else { return stop() }
        switch followUp {
        case .plan: preconditionFailure("A finished batch still has lines left")
        case .sendNext: return tryAgain(at: now)
        case .wait(let until, let wait):
            state = .waiting(until: until, wait)
            return .wait(until: until)
        case .pause(let reason, let until):
            state = .paused(reason, until: until)
            return waitInPause(reason, until: until, at: now)
        }
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

    package var isFull: Bool { count >= limit.records || bytes >= limit.bytes }

    /// Adds a record. With its last record, a batch may exceed the byte limit.
    ///
    /// - Parameter size: The size of its line in bytes.
    package mutating func add(bytes size: Int) {
        count += 1
        bytes += size
    }
}

extension Forwarding {
    /// Handles the result of a request: a response, or the failure to get one.
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
            return act(on: answer.verdict, unsent: answer.unsent, unit: unit, at: now)
        case .stopped:
            // The response arrived after the shutdown. The store still holds the batch, so nothing is lost: the next
            // start sends it again.
            return .none
        case .idle, .batching, .preparing, .waiting, .paused, .settling:
            preconditionFailure("A response arrived in a state without a request")
        }
    }

    /// Handles a request that was not made because the records of all its lines were removed.
    ///
    /// - Parameter now: The current time.
    /// - Returns: The action the caller must perform.
    package mutating func requestSkipped(at now: MonotonicInstant) -> AnswerAction {
        switch state {
        case .sending, .probing:
            resent = sentBefore.resent
            current?.sentUpTo = sentBefore.upTo
            current?.requests -= 1
            pacer = pacerBefore
            fullRequestStart = sentBefore.fullRequestStart
            guard let step = current?.bisection.skip() else {
                preconditionFailure("A request was skipped without a batch")
            }
            guard step == .proceed, !isStopping else { return go(on: step, at: now) }
            if case .probing(let reason) = state { return .send(probe(reason, at: now)) }
            return .send(nextShipment(at: now))
        case .stopped: return .none
        case .idle, .batching, .preparing, .waiting, .paused, .settling:
            preconditionFailure("A request was skipped in a state without a request")
        }
    }

    private mutating func act(
        on verdict: DeliveryVerdict, unsent: LineSet, unit: Double, at now: MonotonicInstant
    ) -> AnswerAction {
        switch verdict {
        case .accepted, .unconfirmed:
            if verdict == .unconfirmed { current?.isConfirmed = false }
            isAcceptingRecords = true
            destinationResponded()
            preempted?.bisection.otherRequestEnded(isAccepted: true)
            pacer.succeeded(at: now)
            return go(on: current?.bisection.accepted(unsent: unsent), at: now)
        case .partial(let answer):
            // A response without counters does not state whether records were accepted.
            if let successful = answer.successful { isAcceptingRecords = successful > unsent.count }
            destinationResponded()
            let since = current?.bisectingSince ?? now
            current?.bisectingSince = since
            let step = current?.bisection.partiallyAccepted(answer, unsent: unsent)
            let isLong = since.duration(to: now) >= Self.bisectionTimeout
            guard step == .proceed, isLong, !answer.isFinal, current?.bisection.isMajorityAccepted == false else {
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
            return retry(failure, retryAfter: retryAfter, unit: unit, at: now)
        case .ambiguous(let failure):
            current?.unacknowledged.insert(lastRange)
            return retry(failure, retryAfter: nil, unit: unit, at: now)
        }
    }

    /// Puts the lines of the failed request back.
    ///
    /// - Returns: `true` if the request had only one line, and that line was given up.
    private mutating func takeBackRequest(_ failure: FailureClass) -> Bool {
        guard failure.isWithoutResponse else {
            current?.bisection.requestFailed()
            return false
        }
        guard let hasGivenUp = current?.bisection.unanswered(), hasGivenUp else { return false }
        // Further lines of these users are given up sooner, also in later batches.
        unansweredUsers.formUnion(current?.bisection.unansweredUsers ?? [])
        if unansweredUsers.count > Self.maxUnansweredUsers { unansweredUsers = [] }
        return true
    }

    /// Resets the failure state: the destination is reachable and accepts the credential.
    private mutating func destinationResponded() {
        schedule.succeeded()
        breaker.succeeded(full: settings.batchRecords)
        current?.clock = RetryStopwatch()
        preempted?.clock = RetryStopwatch()
        probeDelay = Self.firstProbeDelay
        failing = nil
        pauseReason = nil
        requestedWait = nil
        nextOvertaking = nil
        overtakingDelay = Self.firstOvertakingDelay
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
            if let current, current.requests >= Self.maxUnstoredRequests || mayMergeForPriority,
                current.bisection.hasPartialOutcome, current.bisection.isMajorityAccepted
            {
                return settle(then: .sendNext)
            }
            if canPreempt(at: now), case .preempt(let limit) = preempt(at: now) { return .preempt(limit) }
            resumeStuckPriority()
            return .send(nextShipment(at: now))
        case .cut(let line):
            return isStopping ? end() : .cut(line: line, thenSend: nextShipment(at: now))
        }
    }

    /// Records that the destination does not accept records now. An earlier pause no longer applies, and the time limit
    /// for bisection starts again.
    ///
    /// - Parameters:
    ///   - failure: Why the request failed; nil if the destination is paused.
    ///   - isOfSuspect: `true` if the request consisted of a line that may itself be the reason.
    private mutating func markUnavailable(failing failure: FailureClass?, isOfSuspect: Bool = false) {
        isAcceptingRecords = false
        failing = failure
        pauseReason = nil
        preemptedPause = nil
        current?.bisectingSince = nil
        preempted?.bisection.otherRequestEnded(isAccepted: false, isOfSuspect: isOfSuspect)
    }

    private mutating func retry(
        _ failure: FailureClass, retryAfter: Duration?, unit: Double, at now: MonotonicInstant
    ) -> AnswerAction {
        let hasGivenUpLine = takeBackRequest(failure)
        let isOfSuspect = failure.isWithoutResponse && current?.bisection.isLastFailureOfSuspect == true
        markUnavailable(failing: failure, isOfSuspect: isOfSuspect)
        let isRequestedByDestination = retryAfter.map { $0 > .zero } ?? false
        if isRequestedByDestination, let retryAfter {
            requestedWait = (now.advanced(by: min(retryAfter, RetrySchedule.maxRetryAfter)), failure)
        }
        current?.clock.resume(at: now)
        preempted?.clock.resume(at: now)
        breaker.failed(opens: failure.mayHaveTimedOut)
        if failure.slowsDown { pacer.slowedDown(at: now) }
        if isStopping { return end() }
        if hasGivenUpLine, current?.bisection.isDone == true { return settle(then: .plan) }
        if !hasGivenUpLine, let clock = current?.clock, clock.spent(at: now) < settings.retryFor,
            isOver(preempted, at: now)
        {
            swap(&current, &preempted)
        }
        if isOver(current, at: now) {
            current?.bisection.giveUp()
            return settle(then: .plan)
        }
        let until = schedule.failed(failure, unit: unit, retryAfter: retryAfter, begun: begun, at: now)
        let wait = Wait(failure: failure, isRequestedByDestination: isRequestedByDestination)
        var keepsRefusals = false
        // The line that was given up stays refused. Uncertain refusals have already been taken back.
        if !hasGivenUpLine {
            if isOfSuspect { keepsRefusals = current?.bisection.keepRefusals() ?? false }
            if !keepsRefusals { current?.bisection.takeBack() }
        }
        guard keepsRefusals || current?.bisection.hasPartialOutcome == false else {
            return settle(then: .wait(until: until, wait))
        }
        state = .waiting(until: until, wait)
        return .wait(until: until, progress(at: now))
    }

    private func isOver(_ current: BatchProgress?, at now: MonotonicInstant) -> Bool {
        current.map { $0.clock.spent(at: now) >= settings.retryFor } ?? false
    }

    private mutating func pause(_ reason: PauseReason, at now: MonotonicInstant) -> AnswerAction {
        markUnavailable(failing: nil)
        pauseReason = reason
        current?.clock.pause(at: now)
        preempted?.clock.pause(at: now)
        if isStopping { return end() }
        let until = now.advanced(by: probeDelay)
        probeDelay = min(probeDelay * 2, Self.maxProbeDelay)
        current?.bisection.takeBack()
        guard current?.bisection.hasPartialOutcome == false else { return settle(then: .pause(reason, until: until)) }
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
