internal import CSQLite

extension Connection {
    /// The frames in the write-ahead log after the last commit of this connection.
    package var walFrames: Int { unsafe hooks.pointee.walFrames }

    /// Brings frames of the log into the database.
    package func checkpoint(_ mode: CheckpointMode) throws(SQLiteError) -> CheckpointResult {
        if pagesCheckpointed != nil { pagesCheckpointed?.formUnion(pagesInLog()) }
        var framesInLog: CInt = 0
        var framesCheckpointed: CInt = 0
        let code = unsafe sqlite3_wal_checkpoint_v2(
            handle, "main", mode.rawValue, &framesInLog, &framesCheckpointed)
        guard code == SQLITE_OK else { throw error(code, sql: nil) }
        // Both are -1 for a database that keeps no such log.
        let result = CheckpointResult(
            framesInLog: max(0, Int(framesInLog)), framesCheckpointed: max(0, Int(framesCheckpointed)))
        // After these modes the next commit begins the log anew, whatever it held.
        let beginsAnew = mode != .passive && result.framesInLog == result.framesCheckpointed
        unsafe hooks.pointee.walFrames = beginsAnew ? 0 : result.framesInLog
        return result
    }
}
