internal import CSQLite

extension Connection {
    /// Runs statements that take no values and answer no rows.
    package func execute(_ script: StaticString) throws(SQLiteError) {
        try execute(composedSQL: "\(script)")
    }

    /// Runs statements that our own code composed; nothing from outside may be in them.
    package func execute(composedSQL script: String) throws(SQLiteError) {
        let code = unsafe sqlite3_exec(handle, script, nil, nil, nil)
        guard code == SQLITE_OK else { throw error(code, sql: script) }
    }

    /// Lends the statement of this SQL, compiled once and kept, and resets it afterwards.
    ///
    /// A statement that is already lent is compiled once more, so scopes may nest.
    package func withStatement<Value, Failure: SQLiteFailure>(
        _ sql: StaticString,
        _ body: (borrowing Statement) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let entry = try borrowed(sql, as: Failure.self)
        defer { entry.giveBack() }
        return try body(entry.statement)
    }

    /// Lends the statement of this SQL to a body that may throw anything.
    @_disfavoredOverload
    package func withStatement<Value>(
        _ sql: StaticString,
        _ body: (borrowing Statement) throws -> Value
    ) throws -> Value {
        let entry = try borrowed(sql, as: SQLiteError.self)
        defer { entry.giveBack() }
        return try body(entry.statement)
    }

    /// Throws if the connection was cancelled.
    func checkCancellation() throws(SQLiteError) {
        guard interruptHandle.isCancelled else { return }
        throw SQLiteError(code: .interrupted, message: "interrupted")
    }

    private func borrowed<Failure: SQLiteFailure>(
        _ sql: StaticString, as failure: Failure.Type
    ) throws(Failure) -> CachedStatement {
        do throws(SQLiteError) {
            try checkCancellation()
            return try cache.borrow(sql, on: self)
        } catch {
            throw Failure(error)
        }
    }
}
