internal import CSQLite

/// The library itself, as all connections of the process share it.
package enum SQLiteLibrary {
    /// The version that is linked at run time, as in 3051003 for 3.51.3.
    package static var versionNumber: Int { Int(sqlite3_libversion_number()) }

    /// Whether a commit during another connection's checkpoint can lose frames.
    ///
    /// From 3.7.0 to 3.51.2: a checkpoint that begins on a log already copied as a
    /// whole may mark frames as copied that a commit wrote after resetting the log.
    package static var hasWALResetFault: Bool {
        (3_007_000..<3_051_003).contains(versionNumber)
    }

    /// The bytes that SQLite has allocated in this process.
    package static var memoryUsed: Int64 {
        var current: Int64 = 0
        var highest: Int64 = 0
        let code = unsafe sqlite3_status64(SQLITE_STATUS_MEMORY_USED, &current, &highest, 0)
        precondition(code == SQLITE_OK, "SQLite does not know how much memory it uses")
        return current
    }

    /// Sets the size above which caches give pages back before they take more; zero lifts it.
    package static func setSoftHeapLimit(bytes: Int64) {
        precondition(bytes >= 0, "A limit of memory cannot be negative")
        _ = sqlite3_soft_heap_limit64(bytes)
    }
}
