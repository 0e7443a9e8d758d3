internal import Synchronization
internal import UnixIO

/// The way of this process's issues to the daemon: a buffer and one thread.
///
/// Nothing is made before the first report, and the thread only with it.
/// Whoever reports takes a lock for as long as one entry needs, and never
/// waits. What is sent, and when, is decided by ``Outbox``.
package final class Delivery: Sendable {
    struct State: Sendable {
        var outbox: Outbox<Submission>
        var waker: Waker?
        var unsent = UnsentCount()
        // The thread waits, and must be woken to see what is new.
        var isAsleep = false
        var isStarted = false
        var isStopped = false
        var threadID: Int32?
        var isPickingUp = false
    }

    let paths: [String]
    let trust: ServerTrust
    package let producer = ProducerName.random()
    let state: Monitor<State>
    private let limits: OutboxLimits
    private let gate: SendingGate
    private let processID: Int32
    private let successor = AtomicLazyReference<Delivery>()
    private let hasSeenSocket = Atomic(false)
    let hasComplained = Atomic(false)
    let spillFolder: SpillFolder?
    let hasPickedUp = Atomic(false)

    package init(
        paths: [String], trust: ServerTrust = .process, limits: OutboxLimits = OutboxLimits(),
        gate: SendingGate = .process,
        processID: Int32 = CurrentProcess.pid, spillFolder: SpillFolder? = nil
    ) {
        self.paths = paths
        self.trust = trust
        self.limits = limits
        self.gate = gate
        self.processID = processID
        self.spillFolder = spillFolder
        state = Monitor(State(outbox: Outbox(limits: limits)))
    }

    /// Whether a daemon was there at any time, or its socket is there now.
    var isExpectedToWork: Bool {
        if hasSeenSocket.load(ordering: .relaxed) { return true }
        let isThere = paths.contains { path in
            path.hasPrefix("@") || (try? FileSystem.status(of: path))?.kind == .socket
        }
        if isThere { hasSeenSocket.store(true, ordering: .relaxed) }
        return isThere
    }

    /// The delivery of this process: itself, or another one after a fork.
    ///
    /// A child must not touch what it inherited: the buffer is its parent's to
    /// send, the numbers are its parent's to give, and the lock may have been
    /// held at the moment of the fork by a thread that does not exist here.
    package var ofThisProcess: Delivery {
        let processID = CurrentProcess.pid
        var delivery = self
        while delivery.processID != processID {
            delivery =
                delivery.successor.load()
                ?? delivery.successor.storeIfNil(
                    Delivery(
                        paths: delivery.paths, trust: delivery.trust, limits: delivery.limits, gate: delivery.gate,
                        spillFolder: delivery.spillFolder))
        }
        return delivery
    }

    /// Takes an issue, and answers at once.
    func submit(_ report: IssueReport, receipt: ReceiptState? = nil) {
        guard !paths.isEmpty else {
            receipt?.fail(DeliveryError(.disabled, "Delivery is switched off by an empty ISSUED_SOCKET."))
            return
        }
        guard !gate.isOpen else { return enqueue(report, receipt) }
        // Who wants a receipt wants the report to go.
        switch gate.judge(report, mayBeLeftOut: receipt == nil, chance: .random(in: 0..<1)) {
        case .send(let report): enqueue(report, receipt)
        case .withheld:
            state.withLock { $0.unsent.withheld += 1 }
            receipt?.fail(DeliveryError(.withheld, "The application withheld this issue from the daemon."))
        case .sampledOut: state.withLock { $0.unsent.sampledOut += 1 }
        }
    }

    private func enqueue(_ report: IssueReport, _ receipt: ReceiptState?) {
        let submission = Submission(report, receipt: receipt)
        let bytes = submission.report.estimatedBytes

        let (dropped, waker, starts) = state.withLock { state -> ([OutboxEntry<Submission>], Waker?, Bool) in
            var submission = submission
            let isTelling = state.unsent.isTelling
            state.unsent.tell(in: &submission.report)
            // What tells of others must not vanish in one that looks the same.
            let dropped = state.outbox.submitted(
                submission, level: report.level, bytes: bytes, growth: submission.report.estimatedGrowth,
                coalescing: { !isTelling && $0.absorb($1) })
            for entry in dropped { state.unsent.takeBack(from: entry.payload.report) }
            let starts = !state.isStarted && !state.isStopped
            state.isStarted = true
            // While nothing can be sent anyway, a wake-up would be for nothing.
            return (dropped, state.outbox.wantsMore ? state.takeSleeper() : nil, starts)
        }
        waker?.wake()
        for entry in dropped {
            entry.payload.receipt?.fail(DeliveryError(.dropped, "The buffer was full, and this issue had to go."))
        }
        if starts { start() }
    }

    private func start() {
        do throws(Errno) {
            _ = try Thread.start(name: "issues") { DeliveryLoop(self).run() }
            ExitHook.install()
        } catch {
            // No thread can be had now; the next report tries again.
            state.withLock { $0.isStarted = false }
        }
    }

    /// Waits until all that was submitted so far is answered, or the time is over.
    ///
    /// Who is in a hurry also gives up at the first sign that the daemon is away.
    package func flush(timeout: Duration, givesUpWhenAway: Bool = false) -> Bool {
        let deadline = MonotonicClock.now.advanced(by: timeout)
        let thread = CurrentProcess.threadID
        let start = state.withLock { state -> (mark: UInt64, failures: Int, waker: Waker?)? in
            // Our own thread would wait for itself.
            guard state.threadID != thread else { return nil }
            state.outbox.hurried()
            return (state.outbox.mark, state.outbox.failedAttempts, state.takeSleeper())
        }
        guard let start else { return false }
        start.waker?.wake()
        return state.wait(deadline: deadline) { state -> Bool? in
            if state.outbox.isSettled(before: start.mark) { return true }
            if state.isStopped || (givesUpWhenAway && state.outbox.failedAttempts > start.failures) { return false }
            return nil
        } ?? false
    }

    /// Waits until a connection has failed at any time; for tests.
    package func awaitsFailure(timeout: Duration) -> Bool {
        state.wait(deadline: MonotonicClock.now.advanced(by: timeout)) { state -> Bool? in
            state.outbox.failedAttempts > 0 ? true : nil
        } ?? false
    }

    /// Ends the thread; what is still in the buffer stays there.
    package func stop() {
        let waker = state.withLock { state -> Waker? in
            state.isStopped = true
            return state.takeSleeper()
        }
        waker?.wake()
        state.broadcast()
    }
}

extension Delivery.State {
    /// The waker, if somebody has to use it.
    mutating func takeSleeper() -> Waker? {
        guard isAsleep else { return nil }
        isAsleep = false
        return waker
    }
}
