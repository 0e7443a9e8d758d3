internal import CSQLite
internal import Glibc
internal import Synchronization

/// Transactions either commit or leave no trace. They are never left open.
///
/// Some errors make SQLite roll back the transaction itself. So a body that catches an error of a statement must throw
/// as well: later statements would run outside a transaction.
extension DatabaseConnection {
    /// Runs a closure in a write transaction.
    ///
    /// The write lock is taken at the start, so that a busy database is detected before any work is done.
    ///
    /// - Throws: The error that `body` throws, or an error of SQLite converted to it.
    package func transaction<Value, Failure: SQLiteFailure>(
        _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try perform("BEGIN IMMEDIATE", Failure.init, body)
    }

    /// Runs a closure that may throw any error in a write transaction.
    @_disfavoredOverload
    package func transaction<Value>(_ body: () throws -> Value) throws -> Value {
        try perform("BEGIN IMMEDIATE", { $0 }, body)
    }

    /// Runs a closure whose queries all read one snapshot. The first query takes the snapshot.
    ///
    /// - Throws: The error that `body` throws, or `SQLiteError`.
    package func readTransaction<Value>(_ body: () throws -> Value) throws -> Value {
        try perform("BEGIN DEFERRED", { $0 }, body)
    }

    private func perform<Value, Failure: Error>(
        _ begin: StaticString, _ failure: (SQLiteError) -> Failure, _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        do throws(SQLiteError) { try self.begin(begin) } catch { throw failure(error) }
        let value: Value
        do throws(Failure) {
            value = try body()
        } catch {
            rollBack()
            throw error
        }
        do throws(SQLiteError) { try commit() } catch { throw failure(error) }
        return value
    }

    private func begin(_ sql: StaticString) throws(SQLiteError) {
        precondition(!isInTransaction, "A transaction cannot begin inside another one")
        try withStatement(sql) { statement throws(SQLiteError) in try statement.run() }
    }

    private func commit() throws(SQLiteError) {
        do throws(SQLiteError) {
            try withStatement("COMMIT") { statement throws(SQLiteError) in try statement.run() }
        } catch {
            // After some errors SQLite leaves the transaction open, so that COMMIT can be retried.
            rollBack()
            var error = error
            error.isOfCommit = true
            throw error
        }
    }

    /// Ends the transaction unless SQLite has already ended it.
    private func rollBack() {
        guard isInTransaction else { return }
        // An interrupt would also abort the ROLLBACK and leave the transaction open.
        interruptHandle.shield()
        defer { interruptHandle.unshield() }
        _ = unsafe sqlite3_exec(handle, "ROLLBACK", nil, nil, nil)
        guard isInTransaction else { return }
        // An earlier interrupt remains in effect as long as another statement is running.
        resetAll()
        _ = unsafe sqlite3_exec(handle, "ROLLBACK", nil, nil, nil)
        precondition(!isInTransaction, "A transaction could not be rolled back")
    }

    private func resetAll() {
        var statement = unsafe sqlite3_next_stmt(handle, nil)
        while let current = unsafe statement {
            _ = unsafe sqlite3_reset(current)
            unsafe statement = sqlite3_next_stmt(handle, current)
        }
    }
}

/// The time of the monotonic clock after which a query is interrupted.
package struct Deadline: Hashable, Sendable {
    package let monotonicNanoseconds: UInt64

    /// Returns a deadline that is `duration` from now.
    package static func after(_ duration: Duration) -> Deadline {
        let distance = max(0, duration.attoseconds / 1_000_000_000)
        return Deadline(monotonicNanoseconds: UInt64(clamping: Int128(monotonicNow()) + distance))
    }

    /// `true` if the deadline is now or was before.
    package var hasPassed: Bool { Self.monotonicNow() >= monotonicNanoseconds }

    /// Returns the current time of the kernel's monotonic clock, in nanoseconds.
    static func monotonicNow() -> UInt64 {
        var time = timespec()
        _ = unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}

/// Interrupts a connection from another thread.
///
/// It may outlive the connection, and then does nothing.
@safe package final class InterruptHandle: Sendable {
    @safe private struct Target {
        let database: OpaquePointer
        var isShielded = false
    }

    /// The lock is held during the call, so that the connection cannot be closed between the check and the interrupt.
    private let target: Mutex<Target?>
    private let isCancellationSet = Atomic(false)

    init(database: OpaquePointer) {
        // The pointer is not Sendable. Its only use outside the owner's thread is the call under the lock, which SQLite
        // allows from any thread.
        nonisolated(unsafe) let target: Target? = unsafe Target(database: database)
        unsafe self.target = Mutex(target)
    }

    /// Interrupts the running statements. Statements that begin later are not affected.
    package func interrupt() {
        target.withLock { target in
            guard let target, !target.isShielded else { return }
            unsafe sqlite3_interrupt(target.database)
        }
    }

    /// `true` if the connection must not begin any further statement.
    package var isCancelled: Bool { isCancellationSet.load(ordering: .relaxed) }

    /// Interrupts the running statements, and makes all further ones fail until `clearCancellation` is called.
    ///
    /// SQLite ignores an interrupt when no statement is running, or when it comes too late for the one that is. To end
    /// a long statement, repeat this call until it has ended.
    package func cancel() {
        isCancellationSet.store(true, ordering: .relaxed)
        interrupt()
    }

    /// Allows statements to begin again.
    package func clearCancellation() {
        isCancellationSet.store(false, ordering: .relaxed)
    }

    /// Ignores interrupts while the connection does work that must not be interrupted.
    func shield() {
        target.withLock { $0?.isShielded = true }
    }

    func unshield() {
        target.withLock { $0?.isShielded = false }
    }

    /// Detaches the handle from a connection that is about to be closed.
    func forget() {
        target.withLock { $0 = nil }
    }
}
