internal import CSQLite
internal import Synchronization

/// Ends the running query of a connection from another thread.
///
/// It may outlive the connection: then it does nothing.
@safe package final class InterruptHandle: Sendable {
    @safe private struct Target {
        let database: OpaquePointer
        var isShielded = false
    }

    /// The lock is held across the call, because the connection must not be
    /// closed between the look and the interruption.
    private let target: Mutex<Target?>
    private let isCancellationSet = Atomic(false)

    init(database: OpaquePointer) {
        // The pointer is not Sendable, but only its one use under the lock,
        // which SQLite allows from any thread, ever leaves the owner's.
        nonisolated(unsafe) let target: Target? = unsafe Target(database: database)
        unsafe self.target = Mutex(target)
    }

    /// Interrupts what runs now; a query that begins afterwards is not touched.
    package func interrupt() {
        target.withLock { target in
            guard let target, !target.isShielded else { return }
            unsafe sqlite3_interrupt(target.database)
        }
    }

    /// Whether the connection is to begin no further statement.
    package var isCancelled: Bool { isCancellationSet.load(ordering: .relaxed) }

    /// Interrupts what runs now, and has every statement fail that begins before `clearCancellation` is called.
    ///
    /// SQLite forgets an interruption that comes when no statement runs, or too late for the one that does. To
    /// end a long statement, repeat this until it has ended.
    package func cancel() {
        isCancellationSet.store(true, ordering: .relaxed)
        interrupt()
    }

    /// Lets statements begin again.
    package func clearCancellation() {
        isCancellationSet.store(false, ordering: .relaxed)
    }

    /// Ignores interruptions while the connection does what must not be left half done.
    func shield() {
        target.withLock { $0?.isShielded = true }
    }

    func unshield() {
        target.withLock { $0?.isShielded = false }
    }

    /// Forgets a connection that is about to be closed.
    func forget() {
        target.withLock { $0 = nil }
    }
}
