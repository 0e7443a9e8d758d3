package import UnixIO

/// A listener on the loopback interface that behaves like the HTTP listener of Logz.io, and simulates the faults of a
/// plan.
///
/// It enforces the rules that the service documents. It shares only `IssueProtocol` (JSON and timestamps), `UnixIO` and
/// zlib with the sender under test.
package final class FakeLogz: Sendable {
    let control: ListenerControl
    private let controlDoor: ControlledPort

    /// Starts listening, and returns when both ports are open. If the plan begins with a port fault, that fault is then
    /// in effect.
    ///
    /// - Throws: `Errno`, for example if a port is taken or the ledger file cannot be opened.
    package init(_ options: FakeLogzOptions = FakeLogzOptions()) throws(Errno) {
        let rules = ListenerRules(limitScope: options.limitAppliesTo, emptyLineIsError: options.emptyLineIsError)
        let ledger: LedgerFile? =
            if let path = options.ledger { try LedgerFile(path) } else { nil }
        let core = try ListenerCore(
            ListenerState(tokens: options.tokens, plan: FaultPlan(), ledger: ledger), rules: rules,
            isStrict: options.isStrict)
        let controlledPort = try ControlledPort(port: options.port, name: "fake-logz") {
            controlledPort, socket, number in
            let control = ListenerControl(core: core, controlledPort: controlledPort)
            ConnectionService(control: control, socket: socket, number: number).run()
        }
        let control = ListenerControl(core: core, controlledPort: controlledPort)
        do throws(Errno) {
            controlDoor = try ControlledPort(port: options.controlPort, name: "fake-control") { _, socket, _ in
                ControlService(control: control, socket: socket).run()
            }
            self.control = control
            if !options.plan.isEmpty { try control.plan(options.plan) }
        } catch {
            core.end()
            controlledPort.end()
            throw error
        }
    }

    deinit {
        stop()
    }

    /// Closes both ports and all connections, and joins all threads.
    package func stop() {
        control.core.end()
        control.controlledPort.end()
        controlDoor.end()
    }

    package var port: UInt16 { control.controlledPort.port }
    package var controlPort: UInt16 { controlDoor.port }

    // MARK: Faults

    /// Replaces the plan. Applies its port fault if one is due, and otherwise opens the port.
    package func plan(_ steps: [FaultStep]) throws(Errno) {
        try control.plan(steps)
    }

    package func plan(_ steps: FaultStep...) throws(Errno) {
        try control.plan(steps)
    }

    /// Closes the port and all its connections. ``up()``, ``reset()`` or a new plan reopens the port.
    package func down() throws(Errno) {
        try control.down()
    }

    /// Reopens the same port. Throws `Errno.addressInUse` if another process has taken it meanwhile.
    package func up() throws(Errno) {
        try control.up()
    }

    package func addToken(_ token: String) {
        control.changeTokens(adding: [token], revoking: [])
    }

    package func revokeToken(_ token: String) {
        control.changeTokens(adding: [], revoking: [token])
    }

    /// Discards the plan, the requests and the accepted lines, and reopens the port. Keeps the tokens and the ledger
    /// file; the numbers of requests and connections continue. Must not be called during a request.
    package func reset() throws(Errno) {
        try control.reset()
    }

    // MARK: Observations

    package var tokens: Set<String> { control.core.state.withLock { $0.tokens } }
    package var accepted: [AcceptedLine] { control.core.state.withLock { $0.accepted } }
    package var requests: [RecordedRequest] { control.core.state.withLock { $0.requests } }
    package var stats: FakeLogzStats { control.stats }

    /// Compares the accepted lines with the expected values of `event_id`.
    package func compare(with ids: [String]) -> Expectation {
        control.compare(with: ids)
    }

    /// Waits until `count` lines have been accepted. Returns `false` at the deadline, or when the listener stops.
    package func waitForAccepted(_ count: Int, deadline: KernelInstant) -> Bool {
        control.wait(accepted: count, requests: 0, deadline: deadline)
    }

    package func waitForAccepted(_ count: Int, within time: Duration = .seconds(120)) -> Bool {
        waitForAccepted(count, deadline: MonotonicClock.now.advanced(by: time))
    }

    /// Waits until the result of `count` requests is decided; their responses may follow later. Returns `false` at the
    /// deadline, or when the listener stops.
    package func waitForRequests(_ count: Int, within time: Duration = .seconds(120)) -> Bool {
        control.wait(accepted: 0, requests: count, deadline: MonotonicClock.now.advanced(by: time))
    }
}

extension FakeLogz: CustomReflectable {
    /// Has no children, because a failed expectation reflects the listener, and Swift traps when it copies the state,
    /// which is not copyable.
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
