import HTTPTransfer
import IssueCore
import IssueProtocol
import IssueStore
import Synchronization

extension ForwardingLoop where Destination: ~Copyable {
    /// Sends a batch or a part of it, waits for the reply, and returns the next action.
    func send(_ shipment: Forwarding.Shipment) throws -> Forwarding.NextAction {
        makeCurrent(shipment.batch)
        try dropErasedLines()
        guard try hasLines(shipment) else {
            let now = Clock.monotonic
            let action = machine.requestSkipped(at: now)
            countResent()
            return try perform(
                action, DeliveryResult(.accepted, ResponseSummary("all records were removed")), at: now)
        }
        try markUnacknowledged(shipment)
        if shipment.rereadsCredential { _ = shipper.rereadCredential() }
        let before = (budget: budget, requests: state.requests)
        let answer = try answer(to: shipment)
        if service.cancellation.isCancelled, answer.isFailure {
            // The cancellation by a stop or reload says nothing about the destination.
            machine.requestCancelled(mayHaveArrived: answer.mayHaveArrived)
            countResent()
            return .none
        }
        // An error of the store must not discard the reply.
        if machine.isInParts, let pending = try? pending() { machine.learned(pending) }
        let now = Clock.monotonic
        let action = machine.answered(answer, unit: random, at: now)
        if answer.verdict.isUnsent { count(before.budget, requests: before.requests) }
        countResent()
        state.batchAttempts += 1
        state.lastAnswer = answer.summary.text
        switch answer.verdict {
        case .partial, .tooLarge: current?.refusal = answer.summary.text
        case .accepted, .unconfirmed: current?.acceptance = answer.summary.text
        case .paused, .again, .ambiguous: break
        }
        if answer.rejected > 0 {
            service.log.warning(
                .destinationPartiallyRejected,
                [
                    "destination": service.destination.name, "count": "\(answer.rejected)",
                    "of": "\(shipment.range.count)", "answer": answer.summary.text,
                ])
        }
        logChange(after: action)
        let next = try perform(action, answer, at: now)
        try reportEvents()
        return next
    }

    // MARK: Requests

    /// If this is the preempted batch, makes it the current one. The previous current batch, if there is one, becomes
    /// the preempted one.
    func makeCurrent(_ id: BatchID) {
        guard current?.batch.id != id, let other = preempted else { return }
        preempt()
        current = other
        state.batchAttempts = other.attempts
    }

    /// Keeps the current batch, if there is one, as the preempted batch, so that another batch can be sent first.
    func preempt() {
        preempted = current
        preempted?.attempts = state.batchAttempts
        current = nil
        state.batchAttempts = 0
    }

    /// Stores that these lines may have arrived. This happens before the first request with them, because the daemon
    /// may crash during the request.
    private func markUnacknowledged(_ shipment: Forwarding.Shipment) throws {
        guard let known = state.unacknowledged[shipment.batch], !known.contains(shipment.range) else { return }
        // A request with a single line marks only that line. Any other request marks all lines of the batch, by
        // removing the entry, so that later requests need not store anything.
        state.unacknowledged[shipment.batch] = nil
        if shipment.range.count == 1 {
            var known = known
            known.insert(shipment.range)
            state.unacknowledged[shipment.batch] = known
        }
        try saveState()
    }

    /// Sends lines and waits for the reply.
    private func answer(to shipment: Forwarding.Shipment) throws -> DeliveryResult {
        guard let lines = current?.lines else { preconditionFailure("Only lines of the current batch are sent") }
        let range = shipment.range
        if let whole = lines.body(for: range) {
            count(lines.bytes, for: lines.users)
            return shipper.send(whole, within: shipment.timeLimit)
        }
        let all = try allLines()
        let part = all[range].compactMap(\.self)
        let body = shipper.prepare()
        for line in part { body.add(line) }
        let bytes = part.reduce(0) { $0 + $1.count + 1 }
        count(bytes, for: lines.users(in: bytes))
        let answer = shipper.send(body, within: shipment.timeLimit)
        guard part.count < range.count else { return answer }
        let sent = range.filter { all[$0] != nil }.map { $0 - range.lowerBound }
        return answer.ofPart(count: range.count, sent: sent)
    }

    /// Returns `false` if the records of all lines of a shipment were removed.
    private func hasLines(_ shipment: Forwarding.Shipment) throws -> Bool {
        guard let lines = current?.lines, lines.body(for: shipment.range) == nil else { return true }
        return try allLines()[shipment.range].contains { $0 != nil }
    }

    /// Removes the lines of records that were erased since the lines were made. Compares with the store only if
    /// records were erased since the last call.
    private func dropErasedLines() throws {
        guard service.takeErasure() else { return }
        // If this throws, the next `ForwardingLoop` makes all lines from the store.
        if let batch = current?.batch {
            let made = try remakeLines(of: batch)
            current?.lines.drop(missingFrom: made)
        }
        if let batch = preempted?.batch {
            let made = try remakeLines(of: batch)
            preempted?.lines.drop(missingFrom: made)
        }
    }

    /// Makes all lines of a batch again from the store, and returns them; nil for lines whose record was removed.
    private func remakeLines(of batch: StoredBatch) throws -> [[UInt8]?] {
        var all: [[UInt8]?] = []
        // In one snapshot, because another purge may be in progress.
        try reader.snapshot { try makeLines(of: batch) { line, _ in all.append(line) } }
        return all
    }

    /// Returns all lines of the current batch; nil for lines whose record was removed. Makes them when they are first
    /// needed.
    private func allLines() throws -> [[UInt8]?] {
        guard let current else { return [] }
        if let all = current.lines.all { return all }
        var all: [[UInt8]?] = []
        all.reserveCapacity(current.lines.count)
        try makeLines(of: current.batch) { line, _ in all.append(line) }
        self.current?.lines.all = all
        return all
    }

    // MARK: Settling batches

    private func perform(
        _ action: Forwarding.AnswerAction, _ answer: DeliveryResult, at now: MonotonicInstant
    ) throws -> Forwarding.NextAction {
        switch action {
        case .settle(let id, let outcome):
            // The batch may be the preempted one, if its time for retries has elapsed.
            makeCurrent(id)
            return try settle(outcome, answer, at: now)
        case .send(let shipment): return .send(shipment)
        case .cut(let line, let shipment):
            if let whole = try allLines()[line], let shorter = shipper.cut(whole) {
                current?.lines.replace(line, by: shorter)
            }
            return .send(shipment)
        case .preempt(let limit): return .preempt(limit)
        case .wait(let until, let progress):
            try save(progress)
            return .wait(until: until)
        case .pause(_, let until, let progress):
            try save(progress)
            deadline = until
            return machine.credentialReread(changed: shipper.rereadCredential(), at: now)
        case .stop, .none: return .none
        }
    }

    private func save(_ progress: RetryProgress) throws {
        state.progress = progress
        state.retryAt = requestedRetry
        state.unacknowledged.merge(machine.unacknowledged) { $1 }
        try saveState()
    }

    private func settle(
        _ outcome: BatchOutcome, _ answer: DeliveryResult, at now: MonotonicInstant
    ) throws -> Forwarding.NextAction {
        let rest = try storeOutcome(outcome, answer.summary.text, at: now)
        if outcome.unfinished.isEmpty {
            service.log.info(
                .destinationBatchFinished,
                [
                    "destination": service.destination.name, "lines": "\(current?.lines.count ?? 0)",
                    "answer": answer.summary.text,
                ])
        }
        if let rest {
            current?.lines.keep(outcome.unfinished)
            current?.batch = rest
        } else {
            current = nil
        }
        fatesChanged()
        let left = current.map {
            ForwardingBatch(id: $0.batch.id, count: $0.lines.count, bytes: $0.lines.bytes)
        }
        return machine.settled(try pending(), rest: left, at: now)
    }

    /// Stores the two unfinished batches as one.
    func merge(_ firstID: BatchID, with secondID: BatchID) throws -> Forwarding.NextAction {
        makeCurrent(secondID)
        _ = try allLines()
        makeCurrent(firstID)
        _ = try allLines()
        guard var first = current, let second = preempted else {
            preconditionFailure("Two batches are merged, but not both were stored")
        }
        let order = MergedLines(
            summaries: (first.batch.summaries.count, second.batch.summaries.count), first.batch.sent.map(\.row),
            second.batch.sent.map(\.row))
        let now = Clock.monotonic
        state.progress = machine.progress(at: now)
        updatePace(at: now)
        // Nil if one of the batches has no entry, because each of its lines may have been delivered.
        var unacknowledged: LineSet?
        if state.unacknowledged[firstID] != nil, state.unacknowledged[secondID] != nil {
            let known = machine.unacknowledged
            unacknowledged = order.lines(
                ofFirst: known[firstID] ?? LineSet(), ofSecond: known[secondID] ?? LineSet())
        }
        let both = first.batch.merged(with: second.batch, order: order)
        let (known, state, id, wall) = (unacknowledged, state, service.destination.id, Clock.wall)
        let merged = try service.writer.perform {
            try $0.merge(
                [firstID, secondID], into: both, unacknowledged: known, destination: id, state, at: wall)
        }
        for batch in [firstID, secondID] { self.state.unacknowledged[batch] = nil }
        preempted = nil
        self.state.batchAttempts = max(self.state.batchAttempts, second.attempts)
        if let merged {
            self.state.unacknowledged[merged.id] = unacknowledged
            first.lines.merge(second.lines, order: order)
            first.batch = merged
            first.refusal = first.refusal ?? second.refusal
            first.acceptance = first.acceptance ?? second.acceptance
            first.hasDelivered = first.hasDelivered || second.hasDelivered
            current = first
        } else {
            current = nil
        }
        machine.learned(try pending())
        return machine.merged(into: current?.fresh, order: order, at: now)
    }

    /// Stores the fates of a batch, or of its finished lines. Returns the batch with the remaining lines, if any.
    @discardableResult
    func storeOutcome(_ outcome: BatchOutcome, _ answer: String, at now: MonotonicInstant) throws -> StoredBatch? {
        if !outcome.unfinished.isEmpty { _ = try allLines() }
        guard let current else { preconditionFailure("The finished batch was never stored") }
        let (batch, removed) = (current.batch, current.lines.removed)
        // Lines whose records were removed count as delivered, but were not sent.
        let isAnyDelivered = outcome.delivered.contains { lines in lines.contains { !removed.contains($0) } }
        let wall = Clock.wall
        if isAnyDelivered {
            state.lastSuccess = wall
            self.current?.hasDelivered = true
        }
        state.maybeDuplicate += Int64(outcome.possibleDuplicates)
        state.progress = machine.progress(at: now)
        if !machine.isStopped { state.retryAt = requestedRetry }
        if outcome.unfinished.isEmpty, preempted == nil { state.progress.spent = .zero }
        let unacknowledged = machine.unacknowledged
        state.unacknowledged = unacknowledged.filter { $0.key != batch.id && state.unacknowledged[$0.key] != nil }
        updatePace(at: now)
        var dead: [Int: [UInt8]] = [:]
        for line in outcome.dead where !removed.contains(line.line) { dead[line.line] = try allLines()[line.line] }
        // The last reply may be only about rejected or only about accepted lines, so the last reply of each kind was
        // kept.
        let rejection = dead.isEmpty ? answer : current.refusal ?? answer
        let acceptance =
            isAnyDelivered ? current.acceptance ?? "accepted, while others were rejected" : rejection
        let attempts = state.batchAttempts
        if outcome.unfinished.isEmpty { state.batchAttempts = 0 }
        if !dead.isEmpty {
            state.lastDeadLetter = wall
            // The health of a destination depends on whether `lastSuccess` or `lastDeadLetter` is later. If the
            // destination has accepted other lines of the batch, even some time ago, the rejected lines are the cause.
            if current.hasDelivered { state.lastSuccess = wall }
            service.log.warning(
                .destinationDeadLetters,
                ["destination": service.destination.name, "count": "\(dead.count)", "answer": rejection])
        }
        let event = dead.isEmpty ? nil : state.watch.deadLettersStored(Int64(dead.count), at: wall)
        var settlement = BatchSettlement(
            batch: batch, outcome: outcome, attempts: attempts, answer: acceptance, refusal: rejection,
            deadLines: dead, unsendable: removed, at: wall, state: state)
        settlement.unacknowledgedOfRest = unacknowledged[batch.id]?.counted(among: outcome.unfinished) ?? LineSet()
        let (stored, id) = (settlement, service.destination.id)
        let rest = try service.writer.perform { try $0.settle(stored, destination: id) }
        if let rest { state.unacknowledged[rest.id] = settlement.unacknowledgedOfRest }
        if let event { report(event, answer: rejection) }
        return rest
    }

    private func count(_ bytes: Int, for users: [UInt32: Int]) {
        var budget = budget
        budget.sent(bytes, for: users, at: Clock.wall)
        count(budget, requests: state.requests + 1)
    }

    private func count(_ budget: DailyBudget, requests: Int64) {
        self.budget = budget
        state.day = budget.day
        state.dayBytes = budget.bytes
        state.dayUsers = budget.users
        state.dayCharged = budget.charged
        state.requests = requests
    }

    private func countResent() {
        let resent = machine.view.resent
        state.resent += resent - countedResent
        countedResent = resent
    }

    private func updatePace(at now: MonotonicInstant) {
        state.pace = machine.pace(at: now)
        state.pacedAt = Clock.wall
    }

    /// When the wait that the destination has requested ends, by the wall clock; nil if it has requested none.
    var requestedRetry: IssueTimestamp? {
        guard let until = machine.requestedWaitEnd else { return nil }
        let left = Clock.monotonic.duration(to: until).wholeMilliseconds
        return IssueTimestamp(millisecondsSince1970: Clock.wall.millisecondsSince1970 + max(0, left))
    }

    func saveState() throws {
        updatePace(at: Clock.monotonic)
        let (state, id) = (state, service.destination.id)
        try service.writer.perform { try $0.save(state, destination: id) }
    }

    /// Logs a change of the destination's state or of the reason for a failure, but not each failure. The logged state
    /// and the time of the first failure are stored, so that the end of an outage is logged even after a restart.
    private func logChange(after action: Forwarding.AnswerAction) {
        let view = view
        state.failingSince = view.isFailing ? state.failingSince ?? Clock.wall : nil
        let reason = view.reason ?? ""
        let condition: OutageLog.Condition
        switch view.state {
        case .paused: condition = .paused(reason: reason)
        case .waiting:
            // A wait for another reason, such as the send rate, is no outage.
            guard FailureClass(rawValue: reason) != nil else { return }
            condition = .waiting(reason: reason)
        case .idle, .sending:
            if machine.isAcceptingRecords {
                condition = .accepting
            } else if case .settle(_, let outcome) = action, view.reason == nil, outcome.isRejected {
                condition = .rejecting
            } else {
                return
            }
        }
        let (entry, stored) = service.outages.withLock { outages in
            (outages.entry(for: condition, at: Clock.monotonic), outages.stored)
        }
        guard let entry else { return }
        state.lastLoggedState = stored
        log(entry, view)
    }

    private func log(_ entry: OutageLog.Entry, _ view: ForwardingView) {
        let (name, reason, answer) = (service.destination.name, view.reason ?? "", view.lastAnswer ?? "")
        let leftOut = entry.leftOut > 0 ? "\(entry.leftOut)" : nil
        switch entry.condition {
        case .accepting:
            service.log.log(
                .notice, .destinationAvailable,
                present: [
                    "destination": name, "lasted": entry.duration.map { "\($0.components.seconds) s" },
                    "pending": (try? pending()).map { "\($0.records)" },
                ])
        case .rejecting:
            service.log.log(
                .warning, .destinationRejecting,
                present: ["destination": name, "answer": answer, "left_out": leftOut])
        case .paused:
            service.log.log(
                .warning, .destinationPaused,
                present: [
                    "destination": name, "reason": reason, "answer": answer, "advice": view.advice ?? "",
                    "left_out": leftOut,
                ])
            state.watch.paused(since: state.failingSince ?? Clock.wall)
            // A repeated entry was reported to the notifiers by an earlier run.
            guard !entry.isRepeated else { return }
            service.settings.report(.destinationPaused, "\(name): \(reason) (\(answer)). \(view.advice ?? "")")
        case .waiting:
            if let previous = entry.previous {
                service.log.log(
                    .notice, .destinationReasonChanged,
                    present: [
                        "destination": name, "reason": reason, "before": previous, "answer": answer,
                        "left_out": leftOut,
                    ])
                return
            }
            let isReached = FailureClass(rawValue: reason)?.isReached ?? true
            service.log.log(
                .warning, isReached ? .destinationUnavailable : .destinationUnreachable,
                present: ["destination": name, "reason": reason, "answer": answer, "left_out": leftOut])
        }
    }
}

extension DeliveryResult {
    /// `true` if the same request is made again after a delay; `false` for a pause.
    fileprivate var isFailure: Bool {
        switch verdict {
        case .again, .ambiguous: true
        case .accepted, .unconfirmed, .partial, .paused, .tooLarge: false
        }
    }

    /// Whether the lines of a failed request may have arrived.
    fileprivate var mayHaveArrived: Bool {
        if case .ambiguous = verdict { true } else { mayHaveArrivedTwice }
    }
}
