internal import CSQLite

/// What SQLite's callbacks of one connection read and write.
///
/// It lives at a fixed address of its own, because C keeps a pointer to it.
struct ConnectionHooks {
    /// The length of the write-ahead log after the last commit.
    var walFrames = 0
    var deadline = UInt64.max
}

extension ConnectionHooks {
    /// Makes commits report the length of the log instead of checkpointing.
    ///
    /// SQLite's automatic checkpoint is itself a hook in this place, so with this
    /// one set a connection never checkpoints unless told to.
    static func observeCommits(of database: OpaquePointer, hooks: UnsafeMutablePointer<ConnectionHooks>) {
        _ = unsafe sqlite3_wal_hook(
            database,
            { context, _, _, frames in
                unsafe context?.assumingMemoryBound(to: ConnectionHooks.self).pointee.walFrames = Int(frames)
                return SQLITE_OK
            }, hooks)
    }

    /// Ends queries once the deadline has passed.
    static func observeDeadline(of database: OpaquePointer, hooks: UnsafeMutablePointer<ConnectionHooks>) {
        // A thousand steps of SQLite's machine take some tens of microseconds:
        // rare enough to cost nothing, often enough for any deadline.
        unsafe sqlite3_progress_handler(
            database, 1_000,
            { context in
                guard let context = unsafe context else { return 0 }
                let deadline = unsafe context.assumingMemoryBound(to: ConnectionHooks.self).pointee.deadline
                return Deadline.monotonicNow() >= deadline ? 1 : 0
            }, hooks)
    }

    /// Takes both away, so that nothing points at the hooks any more.
    static func detach(from database: OpaquePointer) {
        _ = unsafe sqlite3_wal_hook(database, nil, nil)
        unsafe sqlite3_progress_handler(database, 0, nil, nil)
    }
}
