import IssueCore
import IssueProtocol
import IssueStore
import UnixIO

/// Controls when readers may take snapshots of the database, and lets the writer end these snapshots.
///
/// When the write-ahead log (WAL) becomes large, the writer closes the gate: new snapshots wait. If the WAL grows
/// further, queries, jobs and backups that hold a snapshot are interrupted. Once all snapshots have ended, the writer
/// resets the WAL and opens the gate again.
final class SnapshotGate: Sendable {
    /// The purpose of a snapshot.
    enum Kind: Sendable {
        /// A query of a user, or a read of the figures for `Status`. It can be interrupted, and waits at the closed
        /// gate for at most 2 seconds.
        case query
        /// A purge or another job. It can be interrupted.
        case job
        /// A read of the daemon itself. It is never interrupted, but ends by itself soon after the gate is closed.
        case background
        /// A backup, which holds its snapshot for long. Once it is interrupted, it ends at its next step.
        case backup

        /// How long a new snapshot waits while the gate is closed.
        var timeout: Duration {
            switch self {
            case .query: .seconds(2)
            case .job, .background, .backup: .seconds(30)
            }
        }

        var isInterruptible: Bool { self == .query || self == .job }
    }

    private struct Holder {
        let kind: Kind
        let handle: QueryInterruption
        var isInterrupted = false
    }

    private struct State {
        var holders: [UInt64: Holder] = [:]
        var lastID: UInt64 = 0
        var isClosed = false
        var hasEnded = false
        var closings = 0
        var backups = 0

        mutating func register(_ holder: Holder) -> UInt64 {
            lastID += 1
            holders[lastID] = holder
            if holder.kind == .backup { backups += 1 }
            return lastID
        }

        mutating func interrupt() {
            for id in holders.keys where holders[id]?.kind != .background {
                holders[id]?.isInterrupted = true
                if let holder = holders[id], holder.kind.isInterruptible { holder.handle.cancel() }
            }
        }
    }

    private let state = Monitor(State())
    /// Called when the last snapshot ends while the gate is closed or after `end(timeout:)`.
    private let emptied: @Sendable () -> Void

    /// The interval at which interruptions are repeated. SQLite ignores one that arrives just before a statement
    /// starts to run.
    private static let interval: Duration = .milliseconds(10)

    /// Called on the reader's thread for each damaged block that it has found.
    private let found: @Sendable (DamagedBlock) -> Void

    init(
        emptied: @escaping @Sendable () -> Void = {}, found: @escaping @Sendable (DamagedBlock) -> Void = { _ in }
    ) {
        (self.emptied, self.found) = (emptied, found)
    }

    /// Returns the control that a reader of this kind needs.
    func control(_ kind: Kind) -> any SnapshotControl { Control(gate: self, kind: kind) }

    /// Blocks new snapshots. Returns `true` if none is held.
    ///
    /// - Parameter interrupting: `true` to interrupt existing snapshots, except `background` ones, once.
    func close(interrupting: Bool) -> Bool {
        state.withLock { state in
            state.isClosed = true
            state.closings += 1
            if interrupting { state.interrupt() }
            return state.holders.isEmpty
        }
    }

    /// Allows new snapshots again.
    func open() {
        state.withLock { $0.isClosed = false }
        state.broadcast()
    }

    /// Refuses new snapshots permanently. Interrupts existing ones, except `background` ones, again and again until all
    /// have ended or the timeout has passed.
    func end(timeout: Duration) {
        state.withLock { state in
            state.hasEnded = true
            state.interrupt()
        }
        state.broadcast()
        _ = waitUntilEmpty(timeout: timeout)
    }

    /// Interrupts existing snapshots, except `background` ones, again and again until all have ended or the timeout has
    /// passed. Returns `true` if all have ended.
    func waitUntilEmpty(timeout: Duration) -> Bool {
        let end = MonotonicClock.now.advanced(by: timeout)
        while true {
            let next = min(end, MonotonicClock.now.advanced(by: Self.interval))
            let isEmpty = state.wait(deadline: next) { $0.holders.isEmpty ? true : nil }
            if isEmpty == true { return true }
            if next == end { return false }
            state.withLock { $0.interrupt() }
        }
    }

    /// Whether a snapshot is held for a query, a job or a backup, which may last long.
    var hasLongSnapshots: Bool {
        state.withLock { state in state.holders.values.contains { $0.kind != .background } }
    }

    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// The number of calls of `close`. A reader whose snapshot is not registered here, such as a check of all pages,
    /// must end when this number changes.
    var closings: Int { state.withLock { $0.closings } }

    /// Whether a backup holds a snapshot. The WAL may then become larger than otherwise.
    var isBackingUp: Bool { state.withLock { $0.backups > 0 } }

    private struct Control: SnapshotControl {
        let gate: SnapshotGate
        let kind: Kind

        func begin(_ handle: QueryInterruption) throws(StoreFailure) -> UInt64 {
            let deadline = MonotonicClock.now.advanced(by: kind.timeout)
            let holder = Holder(kind: kind, handle: handle)
            let id = gate.state.wait(deadline: deadline) { state -> UInt64?? in
                if state.hasEnded { return .some(nil) }
                guard !state.isClosed else { return nil }
                return .some(state.register(holder))
            }
            guard let id = id ?? nil else { throw .walTooLarge }
            return id
        }

        func found(_ block: DamagedBlock) { gate.found(block) }

        func isInterrupted(_ snapshot: UInt64) -> Bool {
            gate.state.withLock { $0.holders[snapshot]?.isInterrupted ?? false }
        }

        func end(_ snapshot: UInt64) -> Bool {
            let (holder, isLast) = gate.state.withLock { state in
                let holder = state.holders.removeValue(forKey: snapshot)
                if holder?.kind == .backup { state.backups -= 1 }
                // Done under the lock, so that a later interruption is not cleared.
                if holder?.isInterrupted == true { holder?.handle.clear() }
                return (holder, (state.isClosed || state.hasEnded) && state.holders.isEmpty)
            }
            if isLast {
                gate.state.broadcast()
                gate.emptied()
            }
            return holder?.isInterrupted ?? false
        }
    }
}

/// Makes threads with long reads wait, so that the WAL can be reset or the writer can work without these readers.
///
/// The WAL can't be reset while a thread has a snapshot of it, and some threads take one snapshot after another. The
/// writer closes the gate, continues with its commits, and opens the gate again when all readers have left and the WAL
/// has been copied into the database.
final class ReaderGate: Sendable {
    private struct State {
        var readers = 0
        var isClosed = false
    }

    private let state = Monitor(State())

    /// The maximum time that a reader waits. After that it runs even though the WAL grows.
    private static let timeout: Duration = .seconds(1)

    /// Waits until the gate is open, for at most a second, and registers a reader. `leave()` must follow.
    func enter() {
        let deadline = MonotonicClock.now.advanced(by: Self.timeout)
        let isOpen = state.wait(deadline: deadline) { state -> Bool? in
            guard !state.isClosed else { return nil }
            state.readers += 1
            return true
        }
        if isOpen == nil { state.withLock { $0.readers += 1 } }
    }

    /// Unregisters a reader. Returns `true` if it was the last one and the gate is closed.
    func leave() -> Bool {
        state.withLock { state in
            state.readers -= 1
            return state.readers == 0 && state.isClosed
        }
    }

    /// Closes the gate for new readers. Returns `true` if no reader is registered.
    func close() -> Bool {
        state.withLock { state in
            state.isClosed = true
            return state.readers == 0
        }
    }

    func open() {
        state.withLock { $0.isClosed = false }
        state.broadcast()
    }

    var isClosed: Bool { state.withLock { $0.isClosed } }
}

/// Keeps the write-ahead log (WAL) below its limit while queries hold snapshots of it.
struct WALRelief {
    private let snapshots: SnapshotGate
    private let log: Log
    private let normal: WALLimits
    private let duringBackup: WALLimits
    /// The time of the next attempt if the last one could not reset the WAL, because of a full disk or a reader that
    /// the gate does not know; otherwise nil.
    private var retryAt: MonotonicInstant?
    /// The earliest time of the next log line.
    private var reportsAt: MonotonicInstant?
    private var isClosed = false

    /// How long commits wait for snapshots that are being ended.
    private static let timeout: Duration = .seconds(2)
    private static let retryInterval: Duration = .milliseconds(250)
    private static let reportInterval: Duration = .seconds(60)

    init(_ snapshots: SnapshotGate, normal: WALLimits, duringBackup: WALLimits, log: Log) {
        (self.snapshots, self.normal, self.duringBackup, self.log) = (snapshots, normal, duringBackup, log)
    }

    /// Tries to reset the WAL if it has become too large, once the snapshots that prevent this have ended.
    ///
    /// - Parameters:
    ///   - writer: The writer of the database.
    ///   - wantsCommit: `true` if reports or tasks wait. If the WAL is full, this call then waits for up to 2 seconds
    ///     until the snapshots have ended.
    ///   - checkpoint: Copies the WAL into the database and resets it.
    /// - Returns: `true` if commits may continue.
    mutating func relieve(_ writer: StoreWriter, wantsCommit: Bool, _ checkpoint: () -> Void) -> Bool {
        let limits = snapshots.isBackingUp ? duringBackup : normal
        writer.walFrameLimit = limits.frameLimit
        let pressure = limits.pressure(frames: writer.walPages)
        guard pressure > .none else {
            retryAt = nil
            if isClosed { open() }
            return true
        }
        let now = Clock.monotonic
        if let retryAt, now < retryAt { return pressure < .full }
        isClosed = true
        var isEmpty = snapshots.close(interrupting: pressure >= .interrupting)
        if pressure >= .interrupting, !isEmpty { report(.notice, .storeWALQueriesInterrupted, writer, now) }
        if !isEmpty, pressure == .full, wantsCommit { isEmpty = snapshots.waitUntilEmpty(timeout: Self.timeout) }
        // The last snapshot that ends wakes the writer. Until then, commits continue unless the WAL is full.
        guard isEmpty else { return pressure < .full }
        checkpoint()
        // If the WAL is still too large, the cause is a reader that the gate does not know or a full disk. Ending
        // queries would not help, so they may run.
        open()
        guard limits.pressure(frames: writer.walPages) > .none else { return true }
        retryAt = Clock.monotonic.advanced(by: Self.retryInterval)
        report(.warning, .storeWALBlocked, writer, now)
        return pressure < .full
    }

    private mutating func open() {
        snapshots.open()
        isClosed = false
    }

    private mutating func report(_ level: LogLevel, _ event: LogEvent, _ writer: StoreWriter, _ now: MonotonicInstant) {
        if let reportsAt, now < reportsAt { return }
        reportsAt = now.advanced(by: Self.reportInterval)
        log.log(level, event, ["bytes": "\(writer.walBytes)"])
    }
}
