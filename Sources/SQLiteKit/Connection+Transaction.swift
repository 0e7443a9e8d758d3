internal import CSQLite
internal import Glibc
internal import Synchronization

/// Transactions that commit, or leave no trace; none is ever left open.
///
/// Some errors make SQLite roll back by itself. So a body that catches an error of a
/// statement must throw, too: what it did next would no longer be in a transaction.
extension Connection {
    /// Runs a body as one transaction that writes.
    ///
    /// The lock is taken at the start, so that a busy database is known before any work.
    package func transaction<Value, Failure: SQLiteFailure>(
        _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try perform("BEGIN IMMEDIATE", body)
    }

    /// Runs a body that may throw anything as one transaction that writes.
    @_disfavoredOverload
    package func transaction<Value>(_ body: () throws -> Value) throws -> Value {
        try performAny("BEGIN IMMEDIATE", body)
    }

    /// Runs a body whose queries all see one snapshot, taken by the first of them.
    package func readTransaction<Value, Failure: SQLiteFailure>(
        _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try perform("BEGIN DEFERRED", body)
    }

    /// Runs a body that may throw anything and whose queries all see one snapshot.
    @_disfavoredOverload
    package func readTransaction<Value>(_ body: () throws -> Value) throws -> Value {
        try performAny("BEGIN DEFERRED", body)
    }

    private func perform<Value, Failure: SQLiteFailure>(
        _ begin: StaticString, _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        do throws(SQLiteError) { try self.begin(begin) } catch { throw Failure(error) }
        let value: Value
        do throws(Failure) {
            value = try body()
        } catch {
            rollBack()
            throw error
        }
        do throws(SQLiteError) { try commit() } catch { throw Failure(error) }
        return value
    }

    private func performAny<Value>(_ begin: StaticString, _ body: () throws -> Value) throws -> Value {
        try self.begin(begin)
        let value: Value
        do {
            value = try body()
        } catch {
            rollBack()
            throw error
        }
        try commit()
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
            // After some failures SQLite leaves it open, so that one may try again.
            rollBack()
            var error = error
            error.isOfCommit = true
            throw error
        }
    }

    /// Ends the transaction, if SQLite has not already done so.
    private func rollBack() {
        guard isInTransaction else { return }
        // An interruption would end the ROLLBACK, too, and leave the transaction open.
        interruptHandle.shield()
        defer { interruptHandle.unshield() }
        _ = unsafe sqlite3_exec(handle, "ROLLBACK", nil, nil, nil)
        guard isInTransaction else { return }
        // One that came before stays in force for as long as another statement steps.
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

/// A point of the monotonic clock after which a query is not worth finishing.
package struct Deadline: Hashable, Sendable {
    package let monotonicNanoseconds: UInt64

    /// A point that was read from the kernel's monotonic clock.
    package init(monotonicNanoseconds: UInt64) {
        self.monotonicNanoseconds = monotonicNanoseconds
    }

    /// The point that lies this far from now.
    package static func after(_ duration: Duration) -> Deadline {
        let (seconds, attoseconds) = duration.components
        guard seconds >= 0, attoseconds >= 0 else { return Deadline(monotonicNanoseconds: monotonicNow()) }
        let (whole, tooLong) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        let distance = whole.addingReportingOverflow(UInt64(attoseconds) / 1_000_000_000)
        let point = monotonicNow().addingReportingOverflow(distance.partialValue)
        let isBeyondTheClock = tooLong || distance.overflow || point.overflow
        return Deadline(monotonicNanoseconds: isBeyondTheClock ? .max : point.partialValue)
    }

    /// Reads the kernel's monotonic clock.
    static func monotonicNow() -> UInt64 {
        var time = timespec()
        _ = unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}

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
