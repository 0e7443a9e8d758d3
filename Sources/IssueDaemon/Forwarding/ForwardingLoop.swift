import Destinations
import HTTPTransfer
import IssueCore
import IssueProtocol
import IssueStore
import Synchronization
import UnixIO

/// Performs the actions of one destination's forwarding state machine.
///
/// Runs on the thread of its `ForwardingService`.
final class ForwardingLoop<Destination: Shipper & ~Copyable> {
    let service: ForwardingService
    var shipper: Destination
    let reader: StoreReader
    let fatesChanged: @Sendable () -> Void

    var machine: Forwarding
    var admission: Admission
    var types: FieldTypes
    var budget: DailyBudget
    var cursor: RowID
    /// The id up to which priority records have been examined.
    var priority: RowID
    var state: DestinationRow.State
    var current: BatchInFlight?
    /// An unfinished batch that waits while `current` is sent; nil if there is none.
    var preempted: BatchInFlight?
    /// The part of the machine's count of resent lines that `state.resent` already includes.
    var countedResent: Int64 = 0
    /// Flushes. Each waits until the cursor has reached `row`, no batch is unfinished, and neither requeued records nor
    /// corrections wait to be sent.
    private var flushes: [(row: RowID, completed: @Sendable () -> Void)] = []
    /// The completions of flushes whose rows are not known yet.
    private var requestedFlushes: [@Sendable () -> Void] = []
    /// Whether the last attempt to store a batch failed with `StoreFailure.outdated`.
    var wasOutdated = false
    var deadline: MonotonicInstant?
    var published = PublishedLimits(at: Clock.monotonic)
    /// The time of the next attempt to read a missing credential.
    private var credentialCheck: MonotonicInstant
    private let credentialCheckInterval: Duration = .seconds(5)

    init(
        _ service: ForwardingService, _ shipper: consuming Destination, fatesChanged: @escaping @Sendable () -> Void
    ) throws {
        self.service = service
        self.shipper = shipper
        self.fatesChanged = fatesChanged
        credentialCheck = Clock.monotonic.advanced(by: credentialCheckInterval)
        reader = try StoreReader(
            path: service.path, cache: 256, control: service.writer.snapshots.control(.background))
        reader.users = service.settings.users
        let destination = try reader.destination(service.destination.id) ?? service.destination
        types = try reader.fieldTypes(of: destination.id)
        cursor = destination.cursor
        priority = destination.priority
        state = destination.state
        let outages = service.outages.withLock { $0 }
        state.lastLoggedState = outages.stored
        if outages.stored == nil { state.failingSince = nil }
        machine = Self.machine(service.settings.forward, from: destination.state, failing: outages.failure)
        budget = DailyBudget(
            limit: service.settings.forward.dailyBytes, day: state.day, bytes: state.dayBytes, users: state.dayUsers,
            charged: state.dayCharged)
        admission = try Self.admission(service, reader)
    }

    func run() throws {
        // Flushes are completed even after an error, because nothing else would complete them.
        defer {
            for flush in flushes { flush.completed() }
            for completed in requestedFlushes { completed() }
        }
        try perform(try begin())
        publishStatus()
        while !machine.isStopped {
            let inbox = wait()
            let now = Clock.monotonic
            requestedFlushes += inbox.flushes
            if inbox.isStopping {
                try stop()
                continue
            }
            if !requestedFlushes.isEmpty {
                try addFlushes()
                try perform(machine.flushRequested(at: now))
                // Without a batch there is no probe, so the credential has not been read again yet.
                if machine.isPausedWithoutBatch, shipper.rereadCredential() {
                    try perform(machine.credentialReread(changed: true, at: now))
                }
            }
            if inbox.hasChanges { try perform(machine.recordsArrived(try pending(), at: now)) }
            if let deadline, deadline <= now {
                self.deadline = nil
                try perform(machine.waited(at: now))
            }
            // A delay is reported even if the destination has requested a longer wait.
            if let delayDue, delayDue <= Clock.wall { try reportEvents() }
            try lookForCredential(at: now)
            try closeWindows()
            service.settings.limitMonitor?.heldBack([], by: service.destination.name, reader)
            try completeFlushes()
            publishStatus()
        }
    }

    private func begin() throws -> Forwarding.NextAction {
        // Stores the summaries of windows that a crash has left open.
        try closeAllWindows()
        let now = Clock.monotonic
        // In one snapshot, so that no record of a batch is removed meanwhile.
        try reader.snapshot {
            var before: BatchID = 0
            var known: [BatchID: LineSet] = [:]
            while preempted == nil, let found = try reader.unansweredBatch(of: service.destination.id, after: before) {
                before = found.id
                // Without an entry, any of the lines may have been delivered. A damaged database may name lines that
                // the batch does not have.
                if found.isWhole {
                    let all = LineSet([0..<found.lineCount])
                    known[found.id] = state.unacknowledged[found.id]?.counted(among: all)
                }
                var body = BatchLines(in: shipper.prepare())
                try makeLines(of: found) { body.add($0, of: $1) }
                guard body.count > 0 else { continue }
                (current, preempted) = (BatchInFlight(batch: found, lines: body), current)
            }
            state.unacknowledged = known
        }
        let pending = try pending()
        guard let current else { return machine.recordsArrived(pending, at: now) }
        // Fails if the store can't be written. The batch must not be sent then, because its result could not be stored.
        try saveState()
        machine.learned(pending)
        let known = current.resumed(state.unacknowledged)
        // A change of the wall clock must not delay the batch by more than a destination may request.
        let earliest = state.retryAt.map { retryAt in
            let left = Clock.wall.duration(to: retryAt)
            return now.advanced(by: min(max(.zero, left), RetrySchedule.maxRetryAfter))
        }
        let outages = service.outages.withLock { $0 }
        let isCredentialFound = outages.pauseReason == .noCredential && !shipper.lacksCredential
        let first = preempted?.resumed(state.unacknowledged)
        return machine.started(
            resuming: first ?? known, preemptedBy: first == nil ? nil : known, state.progress, notBefore: earliest,
            after: outages.failure, pausedFor: isCredentialFound ? nil : outages.pauseReason, unit: random, at: now)
    }

    /// Tries every few seconds to read a missing credential. Once the credential has been read, forwarding resumes.
    private func lookForCredential(at now: MonotonicInstant) throws {
        guard shipper.lacksCredential, credentialCheck <= now else { return }
        credentialCheck = now.advanced(by: credentialCheckInterval)
        guard shipper.rereadCredential() else { return }
        service.log.notice(.destinationCredentialFound, ["destination": service.destination.name])
        try perform(machine.credentialReread(changed: true, at: now))
    }

    /// When a delay of the destination is due to be reported; nil if the destination has requested no wait, or the outage
    /// was reported. Without such a wait, the next request follows soon and decides.
    private var delayDue: IssueTimestamp? {
        machine.requestedWaitEnd == nil ? nil : state.watch.delayDue(failingSince: state.failingSince)
    }

    private func wait() -> ForwardingInbox {
        let check = shipper.lacksCredential ? credentialCheck : nil
        let limitEnd = service.settings.limitMonitor?.nextEnd(of: service.destination.name)
        let delay = delayDue.map { Clock.monotonic.advanced(by: max(.zero, Clock.wall.duration(to: $0))) }
        let times = [deadline, try? summariesDue(), check, limitsDue, limitEnd, delay].compactMap { $0 }
        _ = service.inbox.wait(deadline: times.min().map { Clock.kernel($0) }) { $0.isEmpty ? nil : true }
        return service.inbox.withLock { $0.take() }
    }

    private func stop() throws {
        state.retryAt = requestedRetry
        if machine.stopRequested() != .stop { machine.abandoned() }
        let now = Clock.monotonic
        state.progress = machine.progress(at: now)
        // Each request was answered or cancelled, so it is known which lines may have arrived.
        state.unacknowledged.merge(machine.unacknowledged) { $1 }
        if let (id, outcome) = machine.takeUnstored() {
            makeCurrent(id)
            try storeOutcome(outcome, state.lastAnswer ?? "", at: now)
        }
        try closeAllWindows()
        try saveState()
        publishLimits(isLast: true)
    }

    /// Performs an action, and the actions that follow from it.
    func perform(_ first: Forwarding.NextAction) throws {
        var next = first
        while true {
            // So that `status` shows a request before its reply has arrived.
            publishStatus()
            switch next {
            case .build(let limit): next = try build(limit)
            case .preempt(let limit): next = try buildPreempting(limit)
            case .merge(let first, let second): next = try merge(first, with: second)
            case .send(let shipment): next = try send(shipment)
            case .wait(let until):
                deadline = until
                return
            // The deadline stays, because a batch may wait for it while records arrive. A deadline that is no longer
            // needed does no harm.
            case .none: return
            }
            // A stop must not wait for a backlog.
            if service.inbox.withLock({ $0.isStopping }) { return }
        }
    }

    // MARK: Flushes

    private func addFlushes() throws {
        let newest = try reader.newest()
        flushes += requestedFlushes.map { (row: newest, completed: $0) }
        requestedFlushes = []
    }

    private func completeFlushes() throws {
        guard !flushes.isEmpty else { return }
        let isIdle = current == nil && preempted == nil
        let backlog = isIdle ? try reader.backlog(of: service.destination.id, after: cursor) : nil
        if let backlog, backlog.requeued == 0, backlog.corrections == 0 {
            for flush in flushes where flush.row <= cursor { flush.completed() }
            flushes.removeAll { $0.row <= cursor }
        }
        // The pause of a destination may be long, so flushes do not wait for its end.
        if machine.isPaused {
            for flush in flushes { flush.completed() }
            flushes = []
        }
        if !flushes.isEmpty, isIdle {
            machine.learned(try pending())
            try perform(machine.flushRequested(at: Clock.monotonic))
        }
    }

    // MARK: Events

    /// Called after each request and when a delay is due. Reports a delay, the end of an outage, and dead letters that
    /// were not reported yet.
    func reportEvents() throws {
        let (view, now) = (view, Clock.wall)
        let events = [
            state.watch.answered(
                isAccepting: machine.isAcceptingRecords, isPaused: view.state == .paused,
                failingSince: state.failingSince, at: now),
            state.watch.deadLettersStored(0, at: now),
        ].compactMap(\.self)
        guard !events.isEmpty else { return }
        // Stored first, so that a failure of the store does not repeat them.
        try saveState()
        for event in events { report(event, answer: state.lastAnswer) }
    }

    /// Reports an event to the notifiers. Its text begins with the name of the destination and a colon. The answer comes
    /// last, because it may be so long that the text is cut off.
    func report(_ event: DestinationWatch.Event, answer: String?) {
        let name = service.destination.name
        let answer = answer.map { " (\($0))" } ?? ""
        switch event {
        case .delayed(let duration):
            let reason = view.reason.map { ": \($0)" } ?? ""
            service.settings.report(
                .destinationDelayed,
                "\(name): has not accepted records for \(HealthReport.span(duration))\(reason)\(answer)")
        case .recovered(let duration):
            service.settings.report(
                .destinationRecovered, "\(name): accepts records again after \(HealthReport.span(duration))")
        case .deadLetters(let count):
            service.settings.report(
                .deadLetters,
                "\(name): \(Quantity.text(count, "new dead letter")), see issuectl dead-letters\(answer)")
        }
    }

    // MARK: Status

    func publishStatus() {
        service.statusRegistry.update(
            StatusRegistry.Forwarder(name: service.destination.name, view: view, state: state))
        publishLimits()
    }

    /// The state of the machine; a pause instead of idle or sending if the credential is missing. A pause has advice
    /// that is specific to this kind of destination.
    var view: ForwardingView {
        var view = machine.view
        if [.idle, .sending].contains(view.state), shipper.lacksCredential {
            // The machine does not know that the credential is missing, because no request has failed yet.
            view.state = .paused
            view.reason = PauseReason.noCredential.rawValue
        }
        if view.state == .paused, let reason = view.reason.flatMap({ PauseReason(rawValue: $0) }) {
            view.advice = Destination.advice(on: reason)
            if reason == .unauthorised, let file = service.settings.credentialFile {
                view.advice? += " The file is \(file)."
            }
        }
        return view
    }

    var random: Double { Double(Randomness.uint64() >> 11) / Double(UInt64(1) << 53) }
}

/// The queue of events for a forwarding service.
struct ForwardingInbox: Sendable {
    var hasChanges = false
    /// The completions of requested flushes; see ``ForwardingService/flush(_:)``.
    var flushes: [@Sendable () -> Void] = []
    var isStopping = false
    /// Whether records were erased that a batch in memory may contain. The thread checks this before each request, but
    /// is not woken for it.
    var hasErasure = false

    var isEmpty: Bool { !hasChanges && flushes.isEmpty && !isStopping }

    mutating func take() -> ForwardingInbox {
        let taken = self
        self = ForwardingInbox()
        isStopping = taken.isStopping
        hasErasure = taken.hasErasure
        return taken
    }
}

/// Forwards records to one destination, on a thread of its own.
final class ForwardingService: Sendable {
    /// The settings of a forwarding service.
    struct Settings: Sendable {
        var forward: ForwardSettings
        var limits: LimitSettings
        var users = AccountableUsers()
        var host: String
        /// The path of the file of `Credential=`; nil if the credential is not in a file of its own.
        var credentialFile: String?
        /// Called with each event for notifiers and its text, which begins with the destination's name and a colon.
        var report: @Sendable (NotificationKinds, String) -> Void = { _, _ in }
        /// Reports reached limits to notifiers; nil if they are not reported.
        var limitMonitor: LimitMonitor?
    }

    let destination: DestinationRow
    let settings: Settings
    let path: String
    let writer: WriterService
    let statusRegistry: StatusRegistry
    let log: Log
    /// Cancels the request in flight.
    let cancellation = HTTPCancellation()
    let inbox = Monitor(ForwardingInbox())
    /// What was logged about outages. It outlives a failure of the store.
    let outages: Mutex<OutageLog>

    init(
        destination: DestinationRow, settings: Settings, path: String, writer: WriterService,
        statusRegistry: StatusRegistry,
        log: Log, outages: OutageLog? = nil
    ) {
        self.destination = destination
        self.settings = settings
        self.path = path
        self.writer = writer
        self.statusRegistry = statusRegistry
        self.log = log
        self.outages = Mutex(outages ?? OutageLog(stored: destination.state.lastLoggedState))
    }

    /// Tells the service that records or corrections were stored, or that records were requeued.
    func recordsArrived() {
        let wasEmpty = inbox.withLock { inbox in
            defer { inbox.hasChanges = true }
            return inbox.isEmpty
        }
        if wasEmpty { inbox.signal() }
    }

    /// Tells the service that records were erased, so that it no longer sends their lines.
    func recordsErased() {
        inbox.withLock { $0.hasErasure = true }
    }

    /// Returns `true` if records were erased since the last call.
    func takeErasure() -> Bool {
        inbox.withLock { inbox in
            defer { inbox.hasErasure = false }
            return inbox.hasErasure
        }
    }

    /// Sends pending records without waiting for a full batch.
    ///
    /// - Parameter completed: Called when none of the records that are pending now is pending any longer. Called
    ///   earlier if the destination is paused, or if the service stops or fails.
    func flush(_ completed: @escaping @Sendable () -> Void) {
        inbox.withLock { $0.flushes.append(completed) }
        inbox.signal()
    }

    /// Makes the service stop after the reply to the request in flight has arrived. Returns immediately.
    func stop() {
        inbox.withLock { $0.isStopping = true }
        inbox.signal()
    }

    /// Cancels the request in flight, so that a stopped service ends at once.
    func abandon() {
        cancellation.cancel()
    }

    /// Forwards records until the service is stopped or the writer has ended.
    ///
    /// After a failure of the store, forwarding resumes from the stored state.
    ///
    /// - Parameters:
    ///   - makeShipper: Creates the shipper, again after each failure.
    ///   - fatesChanged: Called when the fates of records have changed (`SocketService.fatesChanged()`).
    func run<Destination: Shipper & ~Copyable>(
        _ makeShipper: () -> Destination, fatesChanged: @escaping @Sendable () -> Void
    ) {
        // Receiving reports has a higher priority. What is forwarded is already on disk.
        Thread.yieldToOthers()
        var recovery = StoreRecovery()
        while true {
            let begun = Clock.monotonic
            do {
                let loop = try ForwardingLoop(self, makeShipper(), fatesChanged: fatesChanged)
                try loop.run()
                break
            } catch is WriterClosed {
                // The writer has ended. The next run resumes from the stored state.
                break
            } catch {
                log.error(.forwardingFailed, ["destination": destination.name, "error": "\(error)"])
            }
            let delay = recovery.failed(after: begun.duration(to: Clock.monotonic))
            statusRegistry.storeFailed(destination: destination.name, nextAttempt: Clock.monotonic.advanced(by: delay))
            let deadline = MonotonicClock.now.advanced(by: delay)
            if inbox.wait(deadline: deadline, until: { $0.isStopping ? true : nil }) == true { break }
        }
        for completed in inbox.withLock({ $0.take() }).flushes { completed() }
    }
}

extension DestinationConfiguration {
    /// Forwards records until the service is stopped or the writer has ended.
    func run(_ service: ForwardingService, fatesChanged: @escaping @Sendable () -> Void) {
        if kind.name == LogzFormat.kind, LogzFormat.isStreaming(settings.options) {
            return service.run(
                {
                    LogzStreamShipper(
                        LogzFormat(http, settings.options), credential: credential, cancellation: service.cancellation)
                }, fatesChanged: fatesChanged)
        }
        func run<Format: HTTPFormat>(_ format: Format.Type) {
            service.run(
                {
                    HTTPShipper(
                        Format(http, settings.options), credential: credential, cancellation: service.cancellation
                    ) { Clock.wall }
                }, fatesChanged: fatesChanged)
        }
        run(kind.format)
    }

    private var credential: Credential {
        guard let file = tokenFile else { return Credential(nil) }
        return Credential { try? file.read() }
    }
}
