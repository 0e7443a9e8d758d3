internal import CSQLite
internal import Synchronization

/// Ends the running query of a connection from another thread.
///
/// It may outlive the connection: then it does nothing.
@safe package final class InterruptHandle: Sendable {
    /// The lock is held across the call, because the connection must not be
    /// closed between the look and the interruption.
    private let database: Mutex<OpaquePointer?>

    init(database: OpaquePointer) {
        // The pointer is not Sendable, but only its one use under the lock,
        // which SQLite allows from any thread, ever leaves the owner's.
        nonisolated(unsafe) let database: OpaquePointer? = unsafe database
        unsafe self.database = Mutex(database)
    }

    /// Interrupts what runs now; a query that begins afterwards is not touched.
    package func interrupt() {
        unsafe database.withLock { database in
            guard let database = unsafe database else { return }
            unsafe sqlite3_interrupt(database)
        }
    }

    /// Forgets a connection that is about to be closed.
    func forget() {
        unsafe database.withLock { unsafe $0 = nil }
    }
}
