/// Settings of the database and of the connection.
///
/// SQLite answers nothing to a pragma that it does not know, so reading one is an error here.
extension Connection {
    /// Reads a pragma that is a number.
    package func pragma(_ name: StaticString) throws(SQLiteError) -> Int64 {
        try firstAnswer(to: "PRAGMA \(name)") { $0.int64(0) }
    }

    /// Reads a pragma that is a word.
    package func pragmaText(_ name: StaticString) throws(SQLiteError) -> String {
        try firstAnswer(to: "PRAGMA \(name)") { $0.text(0) }
    }

    /// Sets a pragma to a number.
    package func setPragma(_ name: StaticString, to value: Int64) throws(SQLiteError) {
        try execute(composedSQL: "PRAGMA \(name)=\(value)")
    }

    /// Sets a pragma to a word, and returns what SQLite made of it, which may be another.
    @discardableResult
    package func setPragma(_ name: StaticString, to value: StaticString) throws(SQLiteError) -> String? {
        let statement = try Statement(composedSQL: "PRAGMA \(name)=\(value)", on: self)
        return try statement.first { $0.text(0) }
    }

    private func firstAnswer<Value>(
        to sql: String, _ read: (borrowing Row) -> Value
    ) throws(SQLiteError) -> Value {
        let statement = try Statement(composedSQL: sql, on: self)
        guard let value = try statement.first(read) else {
            throw SQLiteError(code: .error, message: "There is no such pragma", sql: sql)
        }
        return value
    }
}
