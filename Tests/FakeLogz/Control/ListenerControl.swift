import UnixIO

/// What a test may ask of the listener, from within or through the control port.
struct ListenerControl: Sendable {
    let core: ListenerCore
    let door: Door

    /// Replaces the plan; a port that an earlier one has closed opens again.
    func plan(_ steps: [FaultStep]) throws(Errno) {
        core.state.withLock { $0.plan = FaultPlan(steps) }
        if applyPortFaults() {
            door.cutConnections()
        } else {
            try door.change(to: .open)
        }
    }

    /// Applies what the plan has for the port now; true when connections must end.
    func applyPortFaults() -> Bool {
        guard let change = core.state.withLock({ $0.plan.portFault() }) else { return false }
        try? door.make(change)
        return true
    }

    func down() throws(Errno) {
        try door.change(to: .closed)
        door.cutConnections()
    }

    func up() throws(Errno) {
        try door.change(to: .open)
    }

    func reset() throws(Errno) {
        core.state.withLock { $0.reset() }
        try up()
    }

    func changeTokens(adding added: [String], revoking revoked: [String]) {
        core.state.withLock { state in
            state.tokens.subtract(revoked)
            state.tokens.formUnion(added)
        }
    }

    var stats: FakeLogzStats {
        let connections = door.connectionCount
        return core.state.withLock { $0.stats(connections: connections) }
    }

    func compare(with ids: [String]) -> Expectation {
        Expectation(expected: ids, accepted: core.state.withLock { $0.accepted }, isStrict: core.isStrict)
    }

    /// Waits until so much has been seen; false at the deadline.
    func wait(accepted: Int, requests: Int, deadline: KernelInstant?) -> Bool {
        core.state.wait(deadline: deadline) { state in
            if state.accepted.count >= accepted && state.requests.count >= requests { return true }
            return state.isEnding ? false : nil
        } ?? false
    }

    func quit() {
        core.quit.signal()
    }
}
