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
    private let gate: SendGate
    private let processID: Int32
    private let successor = AtomicLazyReference<Delivery>()
    private let hasSeenSocket = Atomic(false)
    let hasComplained = Atomic(false)
    let spillFolder: SpillFolder?
    let hasPickedUp = Atomic(false)

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
            let isLogging = state.unsent.isLogging
            state.unsent.tell(in: &submission.report)
            // What tells of others must not vanish in one that looks the same.
            let dropped = state.outbox.submitted(
                submission, level: report.level, bytes: bytes, growth: submission.report.estimatedGrowth,
                coalescing: { !isLogging && $0.absorb($1) })
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

extension Delivery {
    // Apart from the lazy value, so that a flush makes nothing.
    private static let wasMade = Atomic(false)
    private static let first: Delivery = {
        wasMade.store(true, ordering: .releasing)
        return Delivery(
            paths: SocketPath.search(), spillFolder: SpillFolder.usual(application: ProcessDefaults.shared.name))
    }()

    /// The delivery of this process, made at the first report.
    static var current: Delivery { first.ofThisProcess }

    /// The delivery of this process, if anything was ever reported.
    static var existing: Delivery? {
        wasMade.load(ordering: .acquiring) ? current : nil
    }
}

/// Why an issue did not reach the daemon, or its fate could not be learnt.
public struct DeliveryError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of failure it was.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The word for it.
        public var rawValue: String

        /// A code by its word.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The daemon would not take this record.
        public static let rejected = Code(rawValue: "rejected")
        /// The daemon has the record, and no longer knows under which id.
        public static let unidentified = Code(rawValue: "unidentified")
        /// The buffer was full, and worse issues took the room.
        public static let dropped = Code(rawValue: "dropped")
        /// The application itself withheld it, by ``IssueReporters/beforeSend``.
        public static let withheld = Code(rawValue: "withheld")
        /// The process ended before the daemon answered; its next run sends it.
        public static let postponed = Code(rawValue: "postponed")
        /// Delivery is switched off: `ISSUED_SOCKET` is empty.
        public static let disabled = Code(rawValue: "disabled")
        /// The daemon cannot be reached.
        public static let unreachable = Code(rawValue: "unreachable")
        /// The daemon said no to a question.
        public static let refused = Code(rawValue: "refused")
        /// There is nothing with that id or of that name, or it belongs to another user.
        public static let notFound = Code(rawValue: "not_found")
        /// Only operators of the daemon may do that.
        public static let denied = Code(rawValue: "denied")
        /// The answer did not come in time.
        public static let timedOut = Code(rawValue: "timed_out")
        /// What came back was no answer to the question.
        public static let malformed = Code(rawValue: "malformed")

        /// The word for it.
        public var description: String { rawValue }
    }

    /// What kind of failure it was.
    public var code: Code
    /// What happened, in a sentence.
    public var message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// What happened, in a sentence.
    public var description: String { message }
}

/// Waits until the daemon has all issues that were reported so far.
///
/// Call it before `exec` or `_exit`, which leave no time for what is on its
/// way. It blocks the calling thread, so it doesn't belong into a task.
///
/// - Parameter timeout: How long to wait at most.
/// - Returns: Whether all of them were answered.
@discardableResult
public func flushIssues(timeout: Duration = .seconds(1)) -> Bool {
    Delivery.existing?.flush(timeout: timeout) ?? true
}

/// Gives what is on its way a moment when the process ends.
enum ExitHook {
    private static let isInstalled = Atomic(false)

    static func install() {
        // A child of a fork inherits the hook with the flag.
        guard !isInstalled.exchange(true, ordering: .relaxed) else { return }
        ProcessHooks.atExit {
            ShutdownFlush.say(timeout: .milliseconds(500), givesUpWhenAway: true)
        }
    }
}

/// What is done for reports when the process is about to end on purpose.
enum ShutdownFlush {
    /// Gives what is on its way a moment, and keeps the rest for the next run.
    static func say(timeout: Duration = .seconds(1), givesUpWhenAway: Bool = false) {
        guard let delivery = Delivery.existing else { return }
        let deadline = MonotonicClock.now.advanced(by: timeout)
        guard delivery.flush(timeout: timeout, givesUpWhenAway: givesUpWhenAway) else { return delivery.spill() }
        // Or a program of few seconds would never get an earlier one's out.
        delivery.waitForPickup(until: deadline)
    }
}

/// Wakes the thread that waits for the daemon's answers and for new issues.
final class Waker: Sendable {
    let counter: EventCounter

    init() throws(Errno) {
        counter = try EventCounter()
    }

    func wake() {
        counter.signal()
    }
}

/// The name under which a process numbers its records.
package enum ProducerName {
    /// A random UUID (version 4).
    package static func random() -> String {
        var bytes = Randomness.bytes(16)
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        let digits = Array("0123456789abcdef")
        var name = ""
        for (index, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(index) { name.append("-") }
            name.append(digits[Int(byte >> 4)])
            name.append(digits[Int(byte & 15)])
        }
        return name
    }
}
