internal import CSQLite
internal import Glibc
internal import Synchronization

/// A transaction is either committed or rolled back. It is never left open.
///
/// After some errors, SQLite rolls back the transaction itself. A body that catches an error of a statement must
/// therefore throw too. Otherwise its later statements would run outside a transaction.
extension DatabaseConnection {
    /// Runs a closure in a write transaction.
    ///
    /// The write lock is taken at the start, so that a busy database is detected before any work is done.
    ///
    /// - Throws: The error that `body` throws, or an error of SQLite converted to `Failure`.
    package func transaction<Value, Failure: SQLiteFailure>(
        _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try perform("BEGIN IMMEDIATE", Failure.init, body)
    }

    /// Runs a closure in a write transaction. The closure may throw any error.
    @_disfavoredOverload
    package func transaction<Value>(_ body: () throws -> Value) throws -> Value {
        try perform("BEGIN IMMEDIATE", { $0 }, body)
    }

    /// Runs a closure whose queries all read the same snapshot, which the first query takes.
    ///
    /// - Throws: The error that `body` throws, or `SQLiteError`.
    package func readTransaction<Value>(_ body: () throws -> Value) throws -> Value {
        try perform("BEGIN DEFERRED", { $0 }, body)
    }

    private func perform<Value, Failure: Error>(
        _ begin: StaticString, _ convert: (SQLiteError) -> Failure, _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        do throws(SQLiteError) { try self.begin(begin) } catch { throw convert(error) }
        let value: Value
        do throws(Failure) {
            value = try body()
        } catch {
            rollBack()
            throw error
        }
        do throws(SQLiteError) { try commit() } catch { throw convert(error) }
        return value
    }

    private func begin(_ sql: StaticString) throws(SQLiteError) {
        precondition(!isInTransaction, "A transaction cannot begin inside another one")
        try run(sql)
    }

    private func commit() throws(SQLiteError) {
        do throws(SQLiteError) {
            try run("COMMIT")
        } catch {
            // After some errors, SQLite keeps the transaction open so that COMMIT can be retried.
            rollBack()
            var error = error
            error.isCommitFailure = true
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
        // The ROLLBACK failed: an earlier interrupt stays in effect while any statement is running.
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
    /// The time of the monotonic clock, in nanoseconds.
    package let monotonicNanoseconds: UInt64

    /// Returns a deadline that is `duration` from now; a negative duration counts as zero.
    package static func after(_ duration: Duration) -> Deadline {
        let distance = max(0, duration.attoseconds / 1_000_000_000)
        return Deadline(monotonicNanoseconds: UInt64(clamping: Int128(monotonicNow()) + distance))
    }

    /// Whether the current time is at or after the deadline.
    package var hasPassed: Bool { Self.monotonicNow() >= monotonicNanoseconds }

    /// Returns the current time of the kernel's monotonic clock, in nanoseconds.
    static func monotonicNow() -> UInt64 {
        var time = timespec()
        _ = unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}

/// Interrupts a connection. May be used on any thread.
///
/// A handle that outlives its connection interrupts nothing.
@safe package final class InterruptHandle: Sendable {
    @safe private struct Target {
        let database: OpaquePointer
        var isShielded = false
    }

    /// The lock is held while `sqlite3_interrupt` is called, so that the connection cannot be closed between the check
    /// and the call.
    private let target: Mutex<Target?>
    private let isCancellationSet = Atomic(false)

    init(database: OpaquePointer) {
        // The pointer is not Sendable. Other threads use it only for `sqlite3_interrupt`, which SQLite allows on any
        // thread, and only under the lock.
        nonisolated(unsafe) let target: Target? = unsafe Target(database: database)
        unsafe self.target = Mutex(target)
    }

    /// Interrupts the running statements, and those that begin before all of them have ended. Later statements are not
    /// affected. Does nothing between `shield` and `unshield`.
    package func interrupt() {
        target.withLock { target in
            guard let target, !target.isShielded else { return }
            unsafe sqlite3_interrupt(target.database)
        }
    }

    /// Whether the connection is cancelled. New statements then fail, except those run with `execute`.
    package var isCancelled: Bool { isCancellationSet.load(ordering: .relaxed) }

    /// Interrupts the running statements, and makes further ones fail until `clearCancellation` is called.
    ///
    /// SQLite ignores an interrupt while no statement is running, or if the running one is about to end. To end a long
    /// statement, repeat this call until it has ended.
    package func cancel() {
        isCancellationSet.store(true, ordering: .relaxed)
        interrupt()
    }

    /// Allows statements to begin again.
    package func clearCancellation() {
        isCancellationSet.store(false, ordering: .relaxed)
    }

    /// Ignores interrupts until `unshield` is called, for work that must not be interrupted.
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
