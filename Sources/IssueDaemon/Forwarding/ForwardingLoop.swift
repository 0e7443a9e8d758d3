import IssueCore
import IssueProtocol
import IssueStore
import UnixIO

/// Performs what the forwarding machine of one destination decides.
final class ForwardingLoop<Destination: Shipper & ~Copyable> {
    let service: ForwardingService
    var shipper: Destination
    let reader: StoreReader
    let fatesMoved: @Sendable () -> Void

    var machine: Forwarding
    var admission: Admission
    var types: FieldTypes
    var budget: DailyBudget
    var cursor: Int64
    /// Up to which record those that are express have been looked at.
    var express: Int64
    var state: DestinationRow.State
    /// The batch that is under way, and its lines.
    var batch: StoredBatch?
    var lines = BatchLines.none
    /// The one that comes next, made while the answer is awaited, and not stored before that one has come to its end.
    var next: Walk?
    /// The last answer that found fault with lines of it.
    var refusal: String?
    /// The last answer that took some of its lines.
    var taking: String?
    /// How many lines that were sent again are counted already; the machine counts from its start.
    var countedResent: Int64 = 0
    /// Flushes that wait until the cursor has passed a row and nothing is under way.
    private var flushes: [(row: Int64, completed: @Sendable () -> Void)] = []
    private var deadline: MonotonicInstant?
    /// When to look whether a destination that was silent is back.
    private var watchAt: MonotonicInstant?

    /// What the log was told last of the destination.
    var told = Told.well

    enum Told: Equatable {
        case well
        case away
        case paused(String?)
    }

    /// What comes next, so that one thing after another costs no stack.
    enum Step {
        case build(BatchLimit)
        case send(Forwarding.Shipment)
        case rest
    }

    static var watchInterval: Duration { .seconds(5) }

    init(
        _ service: ForwardingService, _ shipper: consuming Destination, fatesMoved: @escaping @Sendable () -> Void
    ) throws {
        self.service = service
        self.shipper = shipper
        self.fatesMoved = fatesMoved
        reader = try StoreReader(path: service.path, cache: 256)
        let destination = try reader.destination(service.destination.id) ?? service.destination
        types = try reader.fieldTypes(of: destination.id)
        cursor = destination.cursor
        express = destination.express
        state = destination.state
        machine = Self.machine(service.settings.forward, from: destination.state)
        budget = DailyBudget(limit: service.settings.forward.dailyBytes, day: state.day, bytes: state.dayBytes)
        admission = try Self.admission(service, reader)
    }

    func run() throws {
        try perform(try begin())
        tellBoard()
        while !machine.isStopped {
            let inbox = wait()
            let now = Clock.monotonic
            if inbox.isStopping {
                try stop()
                continue
            }
            for completed in inbox.flushes { try addFlush(completed) }
            if !inbox.flushes.isEmpty { try perform(step(machine.flushRequested(at: now))) }
            if inbox.hasNews { try perform(step(machine.recordsArrived(try pending(), at: now))) }
            if let watchAt, watchAt <= now { try watch(at: now) }
            if let deadline, deadline <= now {
                self.deadline = nil
                try perform(step(machine.waited(at: now)))
            }
            try closeWindows()
            try completeFlushes()
            tellBoard()
        }
        for flush in flushes { flush.completed() }
    }

    private func begin() throws -> Step {
        // What was held back before a crash or a stop is told of now: nobody knows when the next of it comes.
        try closeAllWindows()
        let now = Clock.monotonic
        // In one snapshot, so that each of its records is there.
        let unanswered = try reader.snapshot { () throws -> StoredBatch? in
            guard let unanswered = try reader.unansweredBatch(of: service.destination.id) else { return nil }
            lines = BatchLines(in: shipper.prepare())
            try makeLines(of: unanswered) { lines.add($0 ?? []) }
            return unanswered
        }
        guard let unanswered else { return step(machine.recordsArrived(try pending(), at: now)) }
        batch = unanswered
        guard lines.count > 0 else { return step(machine.recordsArrived(try pending(), at: now)) }
        return step(
            machine.started(resuming: forwardingBatch(unanswered), state.progress, unit: random, at: now))
    }

    private func wait() -> ForwardingInbox {
        let times = [deadline, watchAt, try? summariesDue()].compactMap { $0 }
        _ = service.inbox.wait(deadline: times.min().map { Clock.kernel($0) }) { $0.isEmpty ? nil : true }
        return service.inbox.withLock { $0.take() }
    }

    private func stop() throws {
        try forgetNext()
        switch machine.stopRequested() {
        case .stop: break
        case .awaitAnswer, .awaitStore: machine.abandoned()
        }
        try closeAllWindows()
        try saveState()
    }

    // MARK: Steps

    func step(_ action: Forwarding.PlanAction) -> Step {
        switch action {
        case .build(let limit): return .build(limit)
        case .wait(let until):
            deadline = until
            return .rest
        case .rest:
            // The timer stays: a batch may wait for it while records arrive. One that is of no use any more does no harm.
            return .rest
        }
    }

    func step(_ action: Forwarding.SendAction) -> Step {
        switch action {
        case .send(let shipment): return .send(shipment)
        case .wait(let until):
            deadline = until
            return .rest
        case .rest: return .rest
        }
    }

    func step(_ action: Forwarding.NextAction) -> Step {
        switch action {
        case .build(let limit): return .build(limit)
        case .send(let shipment): return .send(shipment)
        case .wait(let until):
            deadline = until
            return .rest
        case .rest: return .rest
        }
    }

    func perform(_ first: Step) throws {
        var next = first
        while true {
            switch next {
            case .build(let limit): next = try build(limit)
            case .send(let shipment): next = try send(shipment)
            case .rest: return
            }
            // Whoever asks for the end, or for `status`, is not kept waiting by a backlog.
            tellBoard()
            if service.inbox.withLock({ $0.isStopping }) { return try forgetNext() }
        }
    }

    private func watch(at now: MonotonicInstant) throws {
        watchAt = nil
        if shipper.reaches() {
            try perform(step(machine.reachedAgain(at: now)))
        } else if machine.view.state == .waiting {
            watchAt = now.advanced(by: Self.watchInterval)
        }
    }

    func watchForReturn(_ isWatching: Bool, at now: MonotonicInstant) {
        watchAt = isWatching ? now.advanced(by: Self.watchInterval) : nil
    }

    func waitUntil(_ instant: MonotonicInstant) {
        deadline = instant
    }

    // MARK: Flushes

    private func addFlush(_ completed: @escaping @Sendable () -> Void) throws {
        flushes.append((try reader.newest(), completed))
    }

    private func completeFlushes() throws {
        guard !flushes.isEmpty else { return }
        if batch == nil, try reader.backlog(of: service.destination.id, after: cursor).requeued == 0 {
            for flush in flushes where flush.row <= cursor { flush.completed() }
            flushes.removeAll { $0.row <= cursor }
        }
        if !flushes.isEmpty, batch == nil { try perform(step(machine.flushRequested(at: Clock.monotonic))) }
    }

    // MARK: Telling

    func tellBoard() {
        service.board.tell(
            StatusBoard.Forwarder(name: service.destination.name, view: view, state: state))
    }

    /// What the machine says, with this kind of destination's own advice.
    var view: ForwardingView {
        var view = machine.view
        if view.state == .paused, let reason = view.reason.flatMap({ PauseReason(rawValue: $0) }) {
            view.advice = Destination.advice(on: reason)
        }
        return view
    }

    var random: Double { Double(Randomness.uint64() >> 11) / Double(UInt64(1) << 53) }

    func forwardingBatch(_ batch: StoredBatch) -> ForwardingBatch {
        ForwardingBatch(id: batch.id, count: lines.count, bytes: lines.bytes)
    }
}
