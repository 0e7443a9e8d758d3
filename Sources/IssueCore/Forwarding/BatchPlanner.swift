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

    package func plan(_ pending: PendingFacts, at now: MonotonicInstant) -> Plan {
        guard pending.records > 0 else { return .nothing }
        if pending.records >= settings.batchRecords || pending.bytes >= settings.batchBytes { return .send }
        let usual = (pending.oldest ?? now).advanced(by: settings.batchDelay)
        let express = pending.oldestExpress?.advanced(by: min(settings.criticalDelay, settings.batchDelay))
        let due = min(usual, express ?? usual)
        return due <= now ? .send : .wait(until: due)
    }
}
