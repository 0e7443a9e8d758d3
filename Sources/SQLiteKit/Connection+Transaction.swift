internal import CSQLite

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
