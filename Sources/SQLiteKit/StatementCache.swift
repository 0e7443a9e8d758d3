/// The compiled statements of one connection, each SQL compiled once.
///
/// The key is the literal's address: it is free to compute, and the number of
/// literals in the program bounds the cache.
final class StatementCache {
    private var entries: [UInt: CachedStatement] = [:]

    /// Finds or compiles a statement; whoever borrows it gives it back.
    func borrow(_ sql: StaticString, on connection: Connection) throws(SQLiteError) -> CachedStatement {
        precondition(sql.hasPointerRepresentation, "SQL is longer than one character")
        let key = UInt(bitPattern: unsafe sql.utf8Start)
        if let entry = entries[key], entry.lend() {
            return entry
        }
        let entry = CachedStatement(try Statement(sql, on: connection, persistent: true))
        _ = entry.lend()
        if entries[key] == nil { entries[key] = entry }
        return entry
    }

    /// Finalizes what is not lent.
    func removeAll() {
        entries.removeAll()
    }
}
