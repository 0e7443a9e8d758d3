internal import IssueWire
internal import Synchronization
internal import UnixIO

/// Sends this process's issues to the daemon, with a buffer and one thread.
///
/// The thread starts with the first report that is added to the buffer. A reporting thread holds the lock only while it
/// adds one entry, and never waits for the daemon. ``Outbox`` decides what is sent and when.
package final class Delivery: Sendable {
    struct State: Sendable {
        var outbox: Outbox<QueuedReport>
        var waker: Waker?
        var unsent = UnsentCount()
        // Whether the thread is waiting, so that it must be woken up to see changes.
        var isAsleep = false
        var isStarted = false
        var isStopped = false
        /// The kernel's id of the sending thread. Nil until the thread runs.
        var threadID: Int32?
        /// Whether the spill files of earlier runs are being sent.
        var isPickingUp = false
    }

    let paths: [String]
    let trust: ServerTrust
    package let producer = ProducerName.random()
    let state: Monitor<State>
    private let limits: OutboxLimits
    private let gate: SendGate
    private let processID: Int32
    private let successor = AtomicLazyReference<Delivery>()
    private let hasSeenSocket = Atomic(false)
    /// Whether an untrusted server was mentioned on standard error.
    let hasWarned = Atomic(false)
    /// The folder for unsent calls. Nil if they are not saved.
    let spillFolder: SpillFolder?
    /// Whether this process has looked for calls that earlier runs saved.
    let hasPickedUp = Atomic(false)

    /// Creates a delivery. Its thread starts with the first report.
    ///
    /// - Parameters:
    ///   - paths: The paths of the daemon's socket to try, in order. Empty if delivery is disabled.
    ///   - trust: Decides which servers may receive reports.
    ///   - limits: The limits of the buffer and of sending.
    ///   - gate: Decides which reports are sent.
    ///   - processID: The id of this process. In any other process, ``ofThisProcess`` creates a new delivery.
    ///   - spillFolder: The folder for unsent calls. Nil if they are not saved.
    package init(
        paths: [String], trust: ServerTrust = .process, limits: OutboxLimits = OutboxLimits(),
        gate: SendGate = .process,
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

    /// Whether the daemon's socket exists, or existed when this property was read earlier. An abstract socket counts as
    /// existing.
    var isExpectedToWork: Bool {
        if hasSeenSocket.load(ordering: .relaxed) { return true }
        let isThere = paths.contains { path in
            path.hasPrefix("@") || (try? FileSystem.status(of: path))?.kind == .socket
        }
        if isThere { hasSeenSocket.store(true, ordering: .relaxed) }
        return isThere
    }

    /// The delivery of this process: this object, or a new one after a fork.
    ///
    /// A child process must not use the inherited object, whose buffer and sequence numbers belong to the parent, and
    /// whose lock may have been held by a thread that does not exist in the child.
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

    /// Adds an issue to the buffer, unless delivery is disabled or the gate rejects the issue. Does not wait for the
    /// daemon.
    func submit(_ report: IssueReport, receipt: ReceiptState? = nil) {
        guard !paths.isEmpty else {
            receipt?.fail(IssueDeliveryError(CollectorConnectionError.disabled))
            return
        }
        let report = report.redacted
        guard !gate.isOpen else { return enqueue(report, receipt) }
        // A caller that asks for a receipt wants the report to be sent, so it is not sampled.
        switch gate.evaluate(report, isSampled: receipt == nil, chance: .random(in: 0..<1)) {
        case .send(let report): enqueue(report.redacted, receipt)
        case .withheld:
            state.withLock { $0.unsent.withheld += 1 }
            receipt?.fail(IssueDeliveryError(.withheld, "The application withheld this issue from the daemon."))
        case .sampledOut: state.withLock { $0.unsent.sampledOut += 1 }
        }
    }

    private func enqueue(_ report: IssueReport, _ receipt: ReceiptState?) {
        var submission = QueuedReport(report, receipt: receipt)
        let bytes = submission.report.estimatedBytes

        let (dropped, waker, starts) = state.withLock { state -> ([OutboxEntry<QueuedReport>], Waker?, Bool) in
            let carriesCounts = state.unsent.hasCounts
            if carriesCounts {
                state.unsent.add(to: &submission.report)
                swap(&submission.unsentBefore, &state.unsent)
            }
            // A report that carries counts of unsent reports must not be coalesced into another one.
            let dropped = state.outbox.submitted(
                submission, level: report.level, bytes: bytes, growth: submission.report.estimatedGrowth,
                coalescing: { !carriesCounts && $0.absorb($1) })
            for entry in dropped { state.unsent += entry.payload.unsentBefore }
            let starts = !state.isStarted && !state.isStopped
            state.isStarted = true
            // If nothing can be sent now, waking the thread would be useless.
            return (dropped, state.outbox.needsWakeUp ? state.takeWakerIfAsleep() : nil, starts)
        }
        waker?.wake()
        for entry in dropped {
            entry.payload.receipt?.fail(IssueDeliveryError(.dropped, "The buffer was full, and the issue was dropped."))
        }
        if starts { start() }
    }

    private func start() {
        do throws(Errno) {
            _ = try Thread.start(name: "issues") { DeliveryLoop(self).run() }
            ShutdownFlush.installAtExit()
        } catch {
            // The thread could not be created. The next report tries again.
            state.withLock { $0.isStarted = false }
        }
    }

    /// Waits until all issues submitted so far are answered or dropped.
    ///
    /// - Parameters:
    ///   - timeout: The maximum time to wait.
    ///   - stopsAtFirstFailure: `true` to return when an attempt to connect fails or the connection is lost.
    /// - Returns: `true` if none of these issues is left in the buffer. `false` after the timeout, if
    ///   `stopsAtFirstFailure` ended the wait, if delivery was stopped, and on the sending thread, which would wait for
    ///   itself.
    package func flush(timeout: Duration, stopsAtFirstFailure: Bool = false) -> Bool {
        let deadline = MonotonicClock.now.advanced(by: timeout)
        let thread = CurrentProcess.threadID
        let start = state.withLock { state -> (mark: UInt64, failures: Int, waker: Waker?)? in
            // The sending thread would wait for itself.
            guard state.threadID != thread else { return nil }
            state.outbox.retryNow()
            return (state.outbox.mark, state.outbox.failedAttempts, state.takeWakerIfAsleep())
        }
        guard let start else { return false }
        start.waker?.wake()
        return state.wait(deadline: deadline) { state -> Bool? in
            if state.outbox.isSettled(before: start.mark) { return true }
            if state.isStopped || (stopsAtFirstFailure && state.outbox.failedAttempts > start.failures) { return false }
            return nil
        } ?? false
    }

    /// Waits until an attempt to connect has failed or a connection was lost. Returns false after the timeout.
    ///
    /// For tests.
    package func waitForFailure(timeout: Duration) -> Bool {
        state.wait(deadline: MonotonicClock.now.advanced(by: timeout)) { state -> Bool? in
            state.outbox.failedAttempts > 0 ? true : nil
        } ?? false
    }

    /// Makes the thread end. Issues that were not answered stay in the buffer.
    package func stop() {
        let waker = state.withLock { state -> Waker? in
            state.isStopped = true
            return state.takeWakerIfAsleep()
        }
        waker?.wake()
        state.broadcast()
    }
}

extension Delivery.State {
    /// Marks the thread as awake, and returns the waker to wake it with. Nil if it is awake already or has no waker.
    mutating func takeWakerIfAsleep() -> Waker? {
        guard isAsleep else { return nil }
        isAsleep = false
        return waker
    }
}

extension Delivery {
    // Separate from the lazy value, so that a flush does not create a delivery.
    private static let wasMade = Atomic(false)
    private static let first: Delivery = {
        wasMade.store(true, ordering: .releasing)
        return Delivery(
            paths: SocketPath.search(), spillFolder: SpillFolder.standard(application: ProcessDefaults.shared.name))
    }()

    /// The delivery of this process. Created at the first use.
    static var current: Delivery { first.ofThisProcess }

    /// The delivery of this process; nil if it has not been created yet.
    static var existing: Delivery? {
        wasMade.load(ordering: .acquiring) ? current : nil
    }
}

extension IssueReporters {
    /// A closure that can change or withhold each report before it is sent to the daemon. Nil by default.
    ///
    /// ```swift
    /// IssueReporters.beforeSend = { report in
    ///     var report = report
    ///     report.metadata["card"] = nil
    ///     return report
    /// }
    /// ```
    ///
    /// To withhold a report, return nil. The metadata of the next report that is sent contains the number of withheld
    /// ones as `withheld_before`. Only the daemon receives the changed report. The closure is called on the reporting
    /// thread, so it must not block.
    public static var beforeSend: (@Sendable (IssueReport) -> IssueReport?)? {
        get { SendGate.process.beforeSend }
        set { SendGate.process.beforeSend = newValue }
    }

    /// The fraction of reports that is sent to the daemon for each level, from 0 to 1. All reports of a level without a
    /// value are sent.
    ///
    /// The metadata of the next report that is sent contains the number of omitted ones as `sampled_out_before`. A
    /// report with a receipt is never omitted.
    public static var sampling: [IssueLevel: Double] {
        get { SendGate.process.sampling }
        set { SendGate.process.sampling = newValue }
    }
}

/// Decides which reports are sent to the daemon, and can change them.
package final class SendGate: Sendable {
    package typealias BeforeSend = @Sendable (IssueReport) -> IssueReport?

    /// The decision about a report.
    package enum Decision: Sendable {
        case send(IssueReport)
        case withheld
        case sampledOut
    }

    /// The gate of the process.
    package static let process = SendGate(level: ProcessSettings.shared.level)

    private struct Rules: Sendable {
        var beforeSend: BeforeSend?
        var sampling: [IssueLevel: Double] = [:]
    }

    private let rules = Mutex(Rules())
    // Separate from the rules, so that a report takes no lock in an application without any.
    private let hasRules: Atomic<Bool>
    private let level: IssueLevel

    /// Creates a gate that withholds reports below a level, except those with a receipt.
    package init(level: IssueLevel = .debug) {
        self.level = level
        hasRules = Atomic(level > .debug)
    }

    /// Whether every report is sent unchanged.
    var isOpen: Bool { !hasRules.load(ordering: .acquiring) }

    package var beforeSend: BeforeSend? {
        get { rules.withLock { $0.beforeSend } }
        set { change { $0.beforeSend = newValue } }
    }

    package var sampling: [IssueLevel: Double] {
        get { rules.withLock { $0.sampling } }
        set { change { $0.sampling = newValue } }
    }

    private func change(_ change: (inout Rules) -> Void) {
        // The old rules are released outside the lock, since the deinit of an object they hold may report an issue.
        _ = rules.withLock { rules in
            let old = rules
            change(&rules)
            let hasAny = level > .debug || rules.beforeSend != nil || !rules.sampling.isEmpty
            hasRules.store(hasAny, ordering: .releasing)
            return old
        }
    }

    /// Decides whether a report is sent, and applies ``beforeSend``.
    ///
    /// - Parameters:
    ///   - report: The report.
    ///   - isSampled: `true` if the report has no receipt. The minimum level and the sampling apply only then.
    ///   - chance: A random number from 0 up to, but not including, 1.
    /// - Returns: The decision, with the report to send.
    package func evaluate(
        _ report: IssueReport, isSampled: Bool, chance: @autoclosure () -> Double
    ) -> Decision {
        if isSampled, report.level < level { return .withheld }
        let rules = rules.withLock { $0 }
        if isSampled, let rate = rules.sampling[report.level], chance() >= rate { return .sampledOut }
        guard let beforeSend = rules.beforeSend else { return .send(report) }
        // Issues that the closure itself reports must not be passed to the closure again.
        let scope = ReportingScope.here.forReporters()
        defer { scope.endWork() }
        return ReportingScope.$box.withValue(scope) { beforeSend(report).map { .send($0) } ?? .withheld }
    }
}

/// The numbers of reports that were not sent and that no later report has mentioned yet.
struct UnsentCount: Sendable {
    var withheld = 0
    var sampledOut = 0

    /// Whether any of the numbers is not zero.
    var hasCounts: Bool { withheld > 0 || sampledOut > 0 }

    /// Adds the numbers to the metadata of a report.
    func add(to report: inout IssueReport) {
        if withheld > 0 { report.metadata.setReserved(.withheldBefore, to: .init(withheld)) }
        if sampledOut > 0 { report.metadata.setReserved(.sampledOutBefore, to: .init(sampledOut)) }
    }

    static func += (left: inout UnsentCount, right: UnsentCount) {
        left.withheld += right.withheld
        left.sampledOut += right.sampledOut
    }
}

extension IssueMetadata.Key {
    /// The number of reports that were withheld since the last report that was sent.
    static let withheldBefore: Self = "withheld_before"
    /// The number of reports that were omitted by sampling since the last report that was sent.
    static let sampledOutBefore: Self = "sampled_out_before"
}

/// The reason why an issue was not stored, why its id is unknown, or why a request to the daemon failed.
public struct IssueDeliveryError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of the failure.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name of the code.
        public var rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        /// The daemon rejected the record.
        public static let rejected = Code(rawValue: "rejected")
        /// The daemon has stored the record, but no longer knows its id.
        public static let unidentified = Code(rawValue: "unidentified")
        /// The issue was dropped, because the buffer was full or the process ended and could not save it.
        public static let dropped = Code(rawValue: "dropped")
        /// The application withheld the issue with ``IssueReporters/beforeSend``.
        public static let withheld = Code(rawValue: "withheld")
        /// The process ended before the daemon answered. The application's next run sends the issue.
        public static let postponed = Code(rawValue: "postponed")
        /// Delivery is disabled because `ISSUED_SOCKET` is empty.
        public static let disabled = Code(rawValue: "disabled")
        /// The daemon cannot be reached, is not trusted, or closed the connection.
        public static let unreachable = Code(rawValue: "unreachable")
        /// The daemon refused the request.
        public static let refused = Code(rawValue: "refused")
        /// No record, group or other object has that id or name, or it belongs to another user.
        public static let notFound = Code(rawValue: "not_found")
        /// The user may not perform the operation.
        public static let denied = Code(rawValue: "denied")
        /// The reply did not arrive, or the issue was not stored, in time.
        public static let timedOut = Code(rawValue: "timed_out")
        /// The reply was invalid.
        public static let malformed = Code(rawValue: "malformed")

        /// The name of the code.
        public var description: String { rawValue }
    }

    /// The kind of the failure.
    public var code: Code
    /// A sentence that describes the failure.
    public var message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The message.
    public var description: String { message }
}

/// Waits until the daemon has answered all issues that were reported so far.
///
/// Call this function before `exec` or `_exit`, which discard the buffered issues. It blocks the calling thread, so do
/// not call it in a task.
///
/// - Parameter timeout: The maximum time to wait.
/// - Returns: True if none of these issues is in the buffer any longer: each one was stored, rejected, dropped from the
///   full buffer, or saved for the application's next run.
@discardableResult
public func flushIssues(timeout: Duration = .seconds(1)) -> Bool {
    Delivery.existing?.flush(timeout: timeout) ?? true
}

/// Sends or saves buffered reports before the process exits or traps.
package enum ShutdownFlush {
    /// Flushes the buffer, and then waits until the calls of earlier runs are sent. If the flush fails, saves the
    /// unanswered issues for the next run instead, provided that there is a folder for them.
    ///
    /// - Parameters:
    ///   - timeout: The maximum time to wait in total.
    ///   - stopsAtFirstFailure: `true` to stop flushing when an attempt to connect fails or the connection is lost.
    package static func run(timeout: Duration = .seconds(1), stopsAtFirstFailure: Bool = false) {
        guard let delivery = Delivery.existing else { return }
        let deadline = MonotonicClock.now.advanced(by: timeout)
        guard delivery.flush(timeout: timeout, stopsAtFirstFailure: stopsAtFirstFailure) else {
            return delivery.spill()
        }
        // Without this wait, a program that always runs briefly might never finish sending the calls of earlier runs.
        delivery.waitForPickup(until: deadline)
    }

    private static let isInstalled = Atomic(false)

    /// Makes the process flush the buffer when it exits, for at most half a second.
    static func installAtExit() {
        // A child process inherits both the hook and the flag.
        guard !isInstalled.exchange(true, ordering: .relaxed) else { return }
        ProcessHooks.atExit { ShutdownFlush.run(timeout: .milliseconds(500), stopsAtFirstFailure: true) }
    }
}

/// The name that identifies a process as the producer of its sequence numbers.
package enum ProducerName {
    /// Returns a random UUID (version 4).
    package static func random() -> String {
        uuid(UInt128(Randomness.uint64()) << 64 | UInt128(Randomness.uint64()), version: 4)
    }

    /// Returns a UUID (RFC 9562).
    ///
    /// - Parameters:
    ///   - bits: The bits. Those of the version and the variant are replaced.
    ///   - version: The version.
    package static func uuid(_ bits: UInt128, version: UInt128) -> String {
        let own: UInt128 = 0xF << 76 | 0x3 << 62
        let digits = Array(String(hexadecimal: bits & ~own | version << 76 | 0x2 << 62, width: 32))
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }.joined(separator: "-")
    }
}
