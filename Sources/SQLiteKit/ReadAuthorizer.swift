internal import CSQLite

extension DatabaseConnection {
    /// Allows only `SELECT`, `EXPLAIN` of a `SELECT`, and `PRAGMA` statements that only return a value.
    ///
    /// For queries that a user has written, on a connection that is opened read-only. Compiling any other statement
    /// throws an error with the code `unauthorized`. Transactions are not allowed either, so no statement can hold a
    /// snapshot beyond its end.
    package func restrictToReading() {
        _ = unsafe sqlite3_set_authorizer(
            handle,
            { _, action, first, second, _, _ in
                let name = unsafe first.map { unsafe String(cString: $0) }
                return ReadAuthorizer.allows(action, name, hasArgument: unsafe second != nil) ? SQLITE_OK : SQLITE_DENY
            }, nil)
    }
}

/// Decides which statements only read.
enum ReadAuthorizer {
    /// Returns `true` if an action is allowed.
    ///
    /// - Parameters:
    ///   - action: The code of the action (sqlite.org/c3ref/c_alter_table.html).
    ///   - name: The name of the pragma or object; nil for other actions.
    ///   - hasArgument: `true` if a pragma has an argument.
    static func allows(_ action: CInt, _ name: String?, hasArgument: Bool) -> Bool {
        switch action {
        case SQLITE_SELECT, SQLITE_READ, SQLITE_FUNCTION, SQLITE_RECURSIVE: true
        // SQLite asks this when it opens a virtual table. A real change of the schema needs other actions, and a direct
        // one is impossible in defensive mode.
        case SQLITE_UPDATE: name == "sqlite_master"
        case SQLITE_PRAGMA:
            name.map { pragmas.contains($0.lowercased()) || !hasArgument && settings.contains($0.lowercased()) }
                ?? false
        default: false
        }
    }

    /// Pragmas whose argument, if any, selects what they return.
    private static let pragmas: Set<String> = [
        "collation_list", "compile_options", "database_list", "foreign_key_check", "foreign_key_list", "function_list",
        "index_info", "index_list", "index_xinfo", "integrity_check", "module_list", "pragma_list", "quick_check",
        "table_info", "table_list", "table_xinfo",
        // FTS5 reads it.
        "data_version",
    ]

    /// Pragmas that return a value without an argument, and would set it with one.
    private static let settings: Set<String> = [
        "application_id", "auto_vacuum", "cache_size", "encoding", "freelist_count", "mmap_size",
        "page_count", "page_size", "schema_version", "synchronous", "user_version",
    ]
}

/// Text of a user that contains SQL.
package enum SQLText {
    /// Returns `true` if a text ends with a complete statement, so that no further line can belong to it.
    ///
    /// Its last statement must end with a semicolon. The text must not contain NUL.
    package static func isComplete(_ text: String) -> Bool {
        unsafe sqlite3_complete(text) == 1
    }
}
