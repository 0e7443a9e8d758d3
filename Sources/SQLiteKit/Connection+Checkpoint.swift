internal import CSQLite

extension Connection {
    /// The frames in the write-ahead log after the last commit of this connection.
    package var walFrames: Int { unsafe hooks.pointee.walFrames }

    /// Brings frames of the log into the database.
    package func checkpoint(_ mode: CheckpointMode) throws(SQLiteError) -> CheckpointResult {
        var framesInLog: CInt = 0
        var framesCheckpointed: CInt = 0
        let code = unsafe sqlite3_wal_checkpoint_v2(
            handle, "main", mode.rawValue, &framesInLog, &framesCheckpointed)
        guard code == SQLITE_OK else { throw error(code, sql: nil) }
        // Both are -1 for a database that keeps no such log.
        let result = CheckpointResult(
            framesInLog: max(0, Int(framesInLog)), framesCheckpointed: max(0, Int(framesCheckpointed)))
        unsafe hooks.pointee.walFrames = result.framesInLog
        return result
    }

    /// Syncs the database file, but not its log.
    ///
    /// A checkpoint syncs what it has copied only once it reaches the end of the log.
    /// Called between slices, this spares that last one a long wait. It goes through
    /// SQLite's own descriptor, because closing any other of the process would drop
    /// the locks of this one.
    package func syncDatabaseFile() throws(SQLiteError) {
        let code = unsafe csqlite_sync_main_file(handle)
        guard code == SQLITE_OK else {
            let code = ResultCode(rawValue: code)
            throw SQLiteError(code: code, message: "The database file could not be synced")
        }
    }
}
