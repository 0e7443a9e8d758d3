import IssueCore
import IssueProtocol
import IssueStore

extension ForwardingLoop where Destination: ~Copyable {
    /// Sends a part of the batch, waits for the answer, and does what follows from it.
    func send(_ shipment: Forwarding.Shipment) throws -> Step {
        if shipment.rereadsCredential { _ = shipper.rereadCredential() }
        let part = Array(lines[shipment.range])
        let answer = shipper.send(part, prepared: part.count == lines.count && !shipment.isCut ? prepared : nil)
        prepared = nil
        let now = Clock.monotonic
        count(part)
        let action = machine.answered(answer, unit: random, at: now)
        state.lastAnswer = answer.summary.text
        if answer.verdict.isOfLines { refusal = answer.summary.text }
        let step = try perform(action, answer, at: now)
        logChange()
        return step
    }

    private func perform(_ action: Forwarding.AnswerAction, _ answer: DeliveryAnswer, at now: MonotonicInstant) throws
        -> Step
    {
        switch action {
        case .settle(_, let outcome): return try settle(outcome, answer, at: now)
        case .send(let shipment): return .send(shipment)
        case .cut(let line, let shipment):
            if let shorter = shipper.cut(lines[line]) { lines[line] = shorter }
            return .send(shipment)
        case .wait(let until, let watching, let progress):
            state.progress = progress
            try saveState()
            waitUntil(until)
            watchForReturn(watching, at: now)
            return .rest
        case .pause(_, let until, let progress):
            state.progress = progress
            try saveState()
            waitUntil(until)
            return step(machine.credentialReread(changed: shipper.rereadCredential(), at: now))
        case .stop, .rest: return .rest
        }
    }

    private func settle(_ outcome: BatchOutcome, _ answer: DeliveryAnswer, at now: MonotonicInstant) throws -> Step {
        guard let batch else { preconditionFailure("A batch came to its end that was never stored") }
        let deliveredCount = outcome.delivered.reduce(0) { $0 + $1.count }
        if deliveredCount > 0 { state.lastSuccess = Clock.wall }
        if outcome.maybeDuplicate { state.maybeDuplicate += Int64(lines.count) }
        state.progress = RetryProgress()
        notePace(at: now)
        var dead: [Int: [UInt8]] = [:]
        for line in outcome.dead { dead[line.line] = lines[line.line] }
        // The last answer may be about the lines that were left when the bad ones had been found.
        let words = dead.isEmpty ? answer.summary.text : refusal ?? answer.summary.text
        if !dead.isEmpty {
            service.log.warning(
                "Records were given up, keeping them as dead letters",
                [
                    "destination": service.destination.name, "count": "\(dead.count)", "answer": words,
                ])
        }
        let settlement = BatchSettlement(
            batch: batch, outcome: outcome, attempts: Int64(outcome.requests), answer: words,
            deadLines: dead, at: Clock.wall, state: state)
        let id = service.destination.id
        try service.writer.perform { try $0.settle(settlement, destination: id) }
        service.log.info(
            "A batch has come to its end",
            ["destination": service.destination.name, "lines": "\(lines.count)", "answer": answer.summary.text])
        self.batch = nil
        lines = []
        refusal = nil
        watchForReturn(false, at: now)
        fatesMoved()
        return step(machine.settled(try pending(), at: now))
    }

    private func count(_ part: [[UInt8]]) {
        let bytes = part.reduce(0) { $0 + $1.count + 1 }
        let wall = Clock.wall
        budget.sent(bytes, at: wall)
        state.day = budget.day
        state.dayBytes = budget.bytes
        state.requests += 1
        let resent = machine.view.resent
        state.resent += resent - countedResent
        countedResent = resent
    }

    private func notePace(at now: MonotonicInstant) {
        state.pace = machine.pace(at: now)
        state.pacedAt = Clock.wall
    }

    func saveState() throws {
        notePace(at: Clock.monotonic)
        let (state, id) = (state, service.destination.id)
        try service.writer.perform { try $0.save(state, destination: id) }
    }

    /// One line when the state of the destination changes, not one for each failure.
    private func logChange() {
        let view = machine.view
        let name = service.destination.name
        switch view.state {
        case .paused:
            guard told != .paused(view.reason) else { return }
            told = .paused(view.reason)
            service.log.event(
                .destinationChanged, .warning,
                "A destination is paused, keeping its records until it is set right",
                [
                    "destination": name, "reason": view.reason ?? "", "answer": view.lastAnswer ?? "",
                    "advice": view.advice ?? "",
                ])
        case .waiting:
            // Why may change with each attempt; that it is away is what matters.
            guard told != .away else { return }
            told = .away
            service.log.event(
                .destinationChanged, .warning,
                "A destination can't be reached, keeping its records and trying again",
                [
                    "destination": name, "reason": view.reason ?? "", "answer": view.lastAnswer ?? "",
                ])
        case .idle, .sending:
            guard told != .well else { return }
            told = .well
            service.log.event(
                .destinationChanged, .notice, "A destination takes records again", ["destination": name])
        }
    }
}

extension DeliveryVerdict {
    /// Whether it says that something is wrong with what was sent, and not with the destination.
    fileprivate var isOfLines: Bool {
        switch self {
        case .partial, .tooLarge: true
        case .accepted, .unconfirmed, .paused, .again, .ambiguous: false
        }
    }
}
