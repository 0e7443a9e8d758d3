import HTTPTransfer
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
    var priority: Int64
    var state: DestinationRow.State
    /// The batch that is under way, and its lines.
    var batch: StoredBatch?
    var lines = BatchLines.none
    /// The one that comes next, made while the answer is awaited, and not stored before that one has come to its end.
    var next: OutboxScan?
    /// The last answer that found fault with lines of it.
    var refusal: String?
    /// The last answer that took some of its lines.
    var taking: String?
    /// A batch that another one has overtaken.
    var preemptedBatch: PreemptedBatch?
    /// How many lines that were sent again are counted already; the machine counts from its start.
    var countedResent: Int64 = 0
    /// Flushes that wait until the cursor has passed a row and nothing is under way.
    private var flushes: [(row: Int64, completed: @Sendable () -> Void)] = []
    private var deadline: MonotonicInstant?
    /// When to look for a credential that is missing.
    private var credentialCheck: MonotonicInstant
    private let credentialCheckInterval: Duration = .seconds(5)

    /// What comes next, so that one thing after another costs no stack.
    enum Step {
        case build(BatchLimit)
        case overtake(BatchLimit)
        case send(Forwarding.Shipment)
        case rest
    }

    init(
        _ service: ForwardingService, _ shipper: consuming Destination, fatesMoved: @escaping @Sendable () -> Void
    ) throws {
        self.service = service
        self.shipper = shipper
        self.fatesMoved = fatesMoved
        credentialCheck = Clock.monotonic.advanced(by: credentialCheckInterval)
        reader = try StoreReader(
            path: service.path, cache: 256, control: service.writer.snapshots.control(.background))
        reader.users = service.settings.users
        let destination = try reader.destination(service.destination.id) ?? service.destination
        types = try reader.fieldTypes(of: destination.id)
        cursor = destination.cursor
        priority = destination.priority
        state = destination.state
        machine = Self.machine(service.settings.forward, from: destination.state)
        budget = DailyBudget(
            limit: service.settings.forward.dailyBytes, day: state.day, bytes: state.dayBytes, users: state.dayUsers,
            charged: state.dayCharged)
        admission = try Self.admission(service, reader)
    }

    func run() throws {
        try perform(try begin())
        publishStatus()
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
            if let deadline, deadline <= now {
                self.deadline = nil
                try perform(step(machine.waited(at: now)))
            }
            try lookForCredential(at: now)
            try closeWindows()
            try completeFlushes()
            publishStatus()
        }
        for flush in flushes { flush.completed() }
    }

    private func begin() throws -> Step {
        // What was held back before a crash or a stop is told of now: nobody knows when the next of it comes.
        try closeAllWindows()
        let now = Clock.monotonic
        // In one snapshot, so that each of its records is there.
        try reader.snapshot {
            var before: Int64 = 0
            var known: [Int64: LineSet] = [:]
            while preemptedBatch == nil,
                let found = try reader.unansweredBatch(of: service.destination.id, after: before)
            {
                before = found.id
                known[found.id] = state.unacknowledged[found.id]
                var body = BatchLines(in: shipper.prepare())
                try makeLines(of: found) { body.add($0 ?? [], of: $1) }
                guard body.count > 0 else { continue }
                if let batch { preemptedBatch = PreemptedBatch(batch: batch, lines: lines) }
                (batch, lines) = (found, body)
            }
            state.unacknowledged = known
        }
        let pending = try pending()
        guard let batch else { return step(machine.recordsArrived(pending, at: now)) }
        machine.learned(pending)
        let known = ForwardingBatch(of: batch, lines, unacknowledged: state.unacknowledged)
        guard let preemptedBatch else {
            return step(machine.started(resuming: known, state.progress, unit: random, at: now))
        }
        let first = ForwardingBatch(
            of: preemptedBatch.batch, preemptedBatch.lines, unacknowledged: state.unacknowledged)
        return step(machine.started(resuming: first, overtakenBy: known, state.progress, unit: random, at: now))
    }

    /// Reads a missing credential again from time to time. One that has
    /// appeared is used at once.
    private func lookForCredential(at now: MonotonicInstant) throws {
        guard shipper.lacksCredential, credentialCheck <= now else { return }
        credentialCheck = now.advanced(by: credentialCheckInterval)
        guard shipper.rereadCredential() else { return }
        service.log.notice("Credential found", ["destination": service.destination.name])
        try perform(step(machine.credentialReread(changed: true, at: now)))
    }

    private func wait() -> ForwardingInbox {
        let check = shipper.lacksCredential ? credentialCheck : nil
        let times = [deadline, try? summariesDue(), check].compactMap { $0 }
        _ = service.inbox.wait(deadline: times.min().map { Clock.kernel($0) }) { $0.isEmpty ? nil : true }
        return service.inbox.withLock { $0.take() }
    }

    private func stop() throws {
        try forgetNext()
        if machine.stopRequested() != .stop { machine.abandoned() }
        let now = Clock.monotonic
        state.progress = machine.progress(at: now)
        // Each request has got its answer, or was ended: what may have arrived is known.
        state.unacknowledged.merge(machine.unacknowledged) { $1 }
        if let (id, outcome) = machine.takeUnstored() {
            makeCurrent(id)
            try book(outcome, state.lastAnswer ?? "", at: now)
        }
        try closeAllWindows()
        try saveState()
    }

    // MARK: Steps

    func step(_ action: Forwarding.NextAction) -> Step {
        switch action {
        case .build(let limit): return .build(limit)
        case .overtake(let limit): return .overtake(limit)
        case .send(let shipment): return .send(shipment)
        case .wait(let until):
            deadline = until
            return .rest
        case .rest:
            // The timer stays: a batch may wait for it while records arrive. One that is of no use any more does no
            // harm.
            return .rest
        }
    }

    func perform(_ first: Step) throws {
        var next = first
        while true {
            // Whoever asks for `status` is told of a request before its answer.
            publishStatus()
            switch next {
            case .build(let limit): next = try build(limit)
            case .overtake(let limit): next = try buildOvertaking(limit)
            case .send(let shipment): next = try send(shipment)
            case .rest: return
            }
            // Whoever asks for the end is not kept waiting by a backlog.
            if service.inbox.withLock({ $0.isStopping }) { return try forgetNext() }
        }
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
        let batch = batch ?? preemptedBatch?.batch
        if batch == nil, try reader.backlog(of: service.destination.id, after: cursor).requeued == 0 {
            for flush in flushes where flush.row <= cursor { flush.completed() }
            flushes.removeAll { $0.row <= cursor }
        }
        if !flushes.isEmpty, batch == nil { try perform(step(machine.flushRequested(at: Clock.monotonic))) }
    }

    // MARK: Telling

    func publishStatus() {
        service.board.tell(
            StatusRegistry.Forwarder(name: service.destination.name, view: view, state: state))
    }

    /// What the machine says, with this kind of destination's own advice.
    var view: ForwardingView {
        var view = machine.view
        if [.idle, .sending].contains(view.state), shipper.lacksCredential {
            // Nothing has come back yet that would have shown it.
            view.state = .paused
            view.reason = PauseReason.noCredential.rawValue
        }
        if view.state == .paused, let reason = view.reason.flatMap({ PauseReason(rawValue: $0) }) {
            view.advice = Destination.advice(on: reason)
        }
        return view
    }

    var random: Double { Double(Randomness.uint64() >> 11) / Double(UInt64(1) << 53) }
}

extension ForwardingBatch {
    /// - Parameter doubts: What is known of batches of the time before the start; of others each line may have arrived.
    init(of batch: StoredBatch, _ lines: BatchLines, unacknowledged: [Int64: LineSet]) {
        self.init(
            id: batch.id, count: lines.count, bytes: lines.bytes, isPriority: batch.kind == .priority,
            unacknowledged: unacknowledged[batch.id] ?? LineSet([0..<lines.count]))
    }

    /// One that was just stored.
    init(of batch: StoredBatch, _ lines: BatchLines) {
        self.init(id: batch.id, count: lines.count, bytes: lines.bytes, isPriority: batch.kind == .priority)
    }
}

/// What others have for a forwarder.
struct ForwardingInbox: Sendable {
    var hasNews = false
    /// Called when all that was pending when it was asked for has a fate.
    var flushes: [@Sendable () -> Void] = []
    var isStopping = false

    var isEmpty: Bool { !hasNews && flushes.isEmpty && !isStopping }

    mutating func take() -> ForwardingInbox {
        let taken = self
        self = ForwardingInbox()
        isStopping = taken.isStopping
        return taken
    }
}

/// Forwards to one destination, on a thread of its own.
final class ForwardingService: Sendable {
    /// What a forwarder goes by.
    struct Settings: Sendable {
        var forward: ForwardSettings
        var limits: LimitSettings
        var users = AccountableUsers()
        var host: String
    }

    let destination: DestinationRow
    let settings: Settings
    let path: String
    let writer: WriterService
    let board: StatusRegistry
    let log: Log
    /// Ends the request that is under way.
    let cancellation = HTTPCancellation()
    let inbox = Monitor(ForwardingInbox())

    init(
        destination: DestinationRow, settings: Settings, path: String, writer: WriterService, board: StatusRegistry,
        log: Log
    ) {
        self.destination = destination
        self.settings = settings
        self.path = path
        self.writer = writer
        self.board = board
        self.log = log
    }

    /// Records were stored.
    func recordsArrived() {
        let wasEmpty = inbox.withLock { inbox in
            defer { inbox.hasNews = true }
            return inbox.isEmpty
        }
        if wasEmpty { inbox.signal() }
    }

    func flush(_ completed: @escaping @Sendable () -> Void) {
        inbox.withLock { $0.flushes.append(completed) }
        inbox.signal()
    }

    /// Ends the thread: at once, or after the answer that is under way.
    func stop() {
        inbox.withLock { $0.isStopping = true }
        inbox.signal()
    }

    /// Ends what is under way, too.
    func abandon() {
        cancellation.cancel()
    }

    /// How long to wait after the store has failed before going on from what it holds.
    private static let recovery: Duration = .seconds(5)

    /// Forwards until it is told to stop.
    ///
    /// What fails in the store does not end it: it goes on from what is stored.
    ///
    /// - Parameter fatesMoved: called whenever records have got another fate.
    func run<Destination: Shipper & ~Copyable>(
        _ makeShipper: () -> Destination, fatesMoved: @escaping @Sendable () -> Void
    ) {
        // Reports go first: what is forwarded is on disk already.
        Thread.yieldToOthers()
        while true {
            do {
                let loop = try ForwardingLoop(self, makeShipper(), fatesMoved: fatesMoved)
                try loop.run()
                break
            } catch is WriterClosed {
                // The daemon is at its end; the next start goes on from what is stored.
                break
            } catch {
                log.error(
                    "Forwarding failed; retrying",
                    ["destination": destination.name, "error": "\(error)"])
            }
            let deadline = MonotonicClock.now.advanced(by: Self.recovery)
            if inbox.wait(deadline: deadline, until: { $0.isStopping ? true : nil }) == true { break }
        }
        for completed in inbox.withLock({ $0.take() }).flushes { completed() }
    }
}
