import IssueCore
import IssueStore
import UnixIO

/// Keeps the write-ahead log (WAL) below its limit while questions hold snapshots of it.
struct WALRelief {
    private let snapshots: SnapshotGate
    private let log: Log
    private let usual: WALLimits
    private let duringBackup: WALLimits
    /// When to try again after another program, or a full disk, has kept the WAL from restarting.
    private var retryAt: MonotonicInstant?
    private var tellsAt: MonotonicInstant?
    private var isClosed = false

    /// How long commits wait for snapshots that are being ended.
    private static let patience: Duration = .seconds(2)
    private static let retryInterval: Duration = .milliseconds(250)
    private static let tellInterval: Duration = .seconds(60)

    init(_ snapshots: SnapshotGate, usual: WALLimits, duringBackup: WALLimits, log: Log) {
        self.snapshots = snapshots
        self.usual = usual
        self.duringBackup = duringBackup
        self.log = log
    }

    /// Restarts the WAL if it has become too large, after ending the snapshots that prevent it.
    ///
    /// - Parameters:
    ///   - wantsCommit: Whether reports wait; if the WAL is full they must wait for the snapshots to end.
    ///   - checkpoint: Copies the WAL into the database so that it begins anew.
    /// - Returns: Whether commits may continue.
    mutating func relieve(_ writer: StoreWriter, wantsCommit: Bool, _ checkpoint: () -> Void) -> Bool {
        let limits = snapshots.isBackingUp ? duringBackup : usual
        writer.walFrameLimit = limits.frameLimit
        let pressure = limits.pressure(frames: writer.logPages)
        guard pressure > .none else {
            retryAt = nil
            if isClosed { open() }
            return true
        }
        let now = Clock.monotonic
        if let retryAt, now < retryAt { return pressure < .full }
        isClosed = true
        var isEmpty = snapshots.close(interrupting: pressure >= .interrupting)
        if pressure >= .interrupting, !isEmpty { tellOfReaders(writer, now) }
        if !isEmpty, pressure == .full, wantsCommit { isEmpty = snapshots.waitUntilEmpty(patience: Self.patience) }
        // Until then there is room for commits, or nothing to commit; the last snapshot that ends wakes the writer.
        guard isEmpty else { return pressure < .full }
        checkpoint()
        // If the WAL is still too large, another program or a full disk is the cause, so questions may run.
        open()
        guard limits.pressure(frames: writer.logPages) > .none else { return true }
        retryAt = Clock.monotonic.advanced(by: Self.retryInterval)
        tellOfOthers(writer, now)
        return pressure < .full
    }

    private mutating func open() {
        snapshots.open()
        isClosed = false
    }

    private mutating func tellOfReaders(_ writer: StoreWriter, _ now: MonotonicInstant) {
        guard mayTell(now) else { return }
        log.notice(
            "Questions are interrupted, since the write-ahead log can't be emptied while they run",
            ["bytes": "\(writer.walBytes)"])
    }

    private mutating func tellOfOthers(_ writer: StoreWriter, _ now: MonotonicInstant) {
        guard mayTell(now) else { return }
        log.warning(
            "The write-ahead log can't be emptied; another program may be reading the database, or the disk is full",
            ["bytes": "\(writer.walBytes)"])
    }

    private mutating func mayTell(_ now: MonotonicInstant) -> Bool {
        if let tellsAt, now < tellsAt { return false }
        tellsAt = now.advanced(by: Self.tellInterval)
        return true
    }
}
