import UnixIO

/// The operations of the control port, which tests can also call directly.
struct ListenerControl: Sendable {
    let core: ListenerCore
    let controlledPort: ControlledPort

    /// Replaces the plan. Applies its port fault if one is due, and otherwise opens the port.
    func plan(_ steps: [FaultStep]) throws(Errno) {
        core.state.withLock { $0.plan = FaultPlan(steps) }
        if applyPortFaults() {
            controlledPort.cutConnections()
        } else {
            try controlledPort.change(to: .open)
        }
    }

    /// Applies the first port fault of the plan that is due. Returns `true` if there was one: the caller must then end
    /// the connections.
    func applyPortFaults() -> Bool {
        guard let change = core.state.withLock({ $0.plan.portFault() }) else { return false }
        try? controlledPort.make(change)
        return true
    }

    func down() throws(Errno) {
        try controlledPort.change(to: .closed)
        controlledPort.cutConnections()
    }

    func up() throws(Errno) {
        try controlledPort.change(to: .open)
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
        let connections = controlledPort.connectionCount
        return core.state.withLock { $0.stats(connections: connections) }
    }

    func compare(with ids: [String]) -> Expectation {
        Expectation(expected: ids, accepted: core.state.withLock { $0.accepted }, isStrict: core.isStrict)
    }

    /// Waits until both counts are reached. Returns `false` at the deadline, or when the listener ends. If the deadline
    /// is nil, the time is not limited.
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
