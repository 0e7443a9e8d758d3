package import IssueCore
package import IssueProtocol
import SQLiteKit

/// The only connection that writes to the database. It belongs to the thread that created it.
///
/// Invariants at the end of each transaction:
/// - The id of a new record is higher than every id assigned before.
/// - `postings`, `counts` and `totals` describe exactly the records that were stored up to the last closed range,
///   except those that were unreadable when their range was rebuilt at a start. `ranges` counts these, too. Retention
///   may have removed some of the records since. `memory.open` describes the records above that range.
/// - The ledger of each destination balances.
///
/// Unless stated otherwise, a function that throws `StoreFailure` has changed nothing, in the database or in memory
/// (see `WriterMemory`).
package final class StoreWriter {
    let connection: DatabaseConnection
    private(set) var settings: StoreWriterSettings
    let tables: BatchTables
    let blocks: BlockLog
    /// The page size of the database, in bytes.
    package let pageBytes: Int64
    /// The number of frames in the write-ahead log (WAL) at which no further transaction begins.
    package var walFrameLimit = Int.max
    /// Whether transactions are synced to disk (`synchronous=FULL`).
    private var syncsCommits = true
    /// The row buffer of the previous commit, kept to reuse its memory. Contains the rows of the newest block if the
    /// next commit should extend that block.
    private var spareRows = RowBuffer()
    /// The state of the search for records of applications with a maximum age of their own.
    var ageSearch = AgeSearch()
    /// The size that the database may reach, in bytes, according to the last check by retention
    /// (`RetentionSettings.effectiveMaxSize`); nil before the first check with the current settings.
    var maxSize: Int64?
    /// Changed only in a transaction, except for caches, the reloaded limits of the cardinality guard, and
    /// `needsNewCode`.
    var memory: WriterMemory

    package var callbacks = Callbacks()

    /// The closures that the writer calls on its own thread. None of them may use the writer.
    package struct Callbacks {
        /// Called during each commit that is not an import, with the commit's priority records (`PriorityReason`).
        /// There may be none. The commit may still fail afterwards.
        package var onPriorityRecords: (([PriorityRecord]) -> Void)?
        /// Called after each attempt to make a correction and after each step of undoing one, even if nothing changed.
        /// Not called for imported corrections.
        package var onCorrections: (() -> Void)?
        /// Called when the cardinality guard chooses an overflow group, series, application or sender. Not called again
        /// while the choice is cached.
        package var onCardinalityOverflow: ((CardinalityOverflow) -> Void)?
    }

    /// In-memory tables from which one statement inserts many rows.
    struct BatchTables {
        let postings: BatchTable
        let minutes: BatchTable

        init(on connection: DatabaseConnection) throws(SQLiteError) {
            postings = try BatchTable("closing", columns: RangePostings.Posting.columns, on: connection)
            minutes = try BatchTable("closing_minutes", columns: RangePostings.Minute.columns, on: connection)
        }
    }

    /// The WAL growth that a typical commit causes, in bytes.
    private static let typicalCommitBytes: Int64 = 1 << 20
    /// The maximum time to wait for a lock.
    private static let timeout: Duration = .seconds(5)
    /// The maximum time for which a checkpoint waits for readers.
    private static let readerTimeout: Duration = .milliseconds(5)

    /// Opens the database, creates or migrates its schema, and rebuilds the open range from its rows. If the database
    /// is a copy, also assigns a new store code and gives up the pending notifications.
    ///
    /// - Throws: `StoreFailure.foreign` if the file belongs to another program or has an unsupported schema version,
    ///   `.damaged` if it is corrupt, or another `StoreFailure` if it cannot be opened or read.
    package init(_ settings: StoreWriterSettings) throws(StoreFailure) {
        self.settings = settings
        // The file may belong to another program. Until opening has succeeded, closing the connection does not
        // checkpoint the WAL.
        connection = try Self.convertingErrors { () throws(SQLiteError) in
            try DatabaseConnection(path: settings.path, busyTimeout: Self.timeout, checkpointsOnClose: false)
        }
        try Schema.recognize(connection)
        try Self.migrate(connection)
        try Schema.checkWhole(connection)
        do throws(SQLiteError) {
            pageBytes = try connection.pragma("page_size")
            tables = try BatchTables(on: connection)
            blocks = try BlockLog(on: connection, maxRecords: settings.blockRecords)
            let lastRange = try Self.lastRange(connection)
            let open = try Self.openRange(blocks.reader, connection, after: lastRange.lastID)
            try Self.assignCopyCode(connection, settings, nextID: open.nextID)
            memory = WriterMemory(
                values: WriterMemory.Values(
                    clock: RecordLogClock(restoring: try Self.clockState(connection)), rangeID: lastRange.id + 1,
                    storeIDs: try Self.storeIDs(connection),
                    // New records are queued for all active destinations until the configured ones are registered.
                    destinations: try Self.activeDestinations(connection),
                    hasNotifiers: try Self.hasActiveNotifiers(connection),
                    nextMuteEnd: try Self.nextMuteEnd(connection),
                    cardinalityGuard: CardinalityGuard(settings: settings.limits)),
                open: open)
            // A WAL file that grew in a busy period is truncated when the WAL is reset.
            try connection.setPragma("journal_size_limit", to: settings.retention.disk.typicalWALBytes)
        } catch {
            throw StoreFailure(error)
        }
        connection.setCheckpointsOnClose(true)
        // Frees the pages that opening has cached; the first commits do not need most of them.
        connection.releaseMemory()
    }

    /// Returns the row buffer of the previous commit, and leaves an empty one.
    func makeRowBuffer() -> RowBuffer {
        var rows = RowBuffer()
        swap(&rows, &spareRows)
        return rows
    }

    /// Keeps the row buffer of a commit for the next one.
    ///
    /// - Parameter count: The number of rows in the newest block if the next commit should extend it; otherwise 0.
    func reuse(_ rows: inout RowBuffer, keeping count: Int) {
        // After an assignment, both variables would share the memory, and the next change would copy all of it.
        swap(&spareRows, &rows)
        // A block never has records of two ranges.
        spareRows.keepLast(memory.values.isRangeClosed ? 0 : count)
    }

    /// Called for each damaged block that the writer finds. When set, it is called at once for the blocks found before.
    package var onDamagedBlock: ((DamagedBlock) -> Void)? {
        get { blocks.reader.onDamagedBlock }
        set {
            blocks.reader.onDamagedBlock = newValue
            for block in blocks.reader.damagedBlocks { newValue?(block) }
        }
    }

    /// Makes the next commit start a new block instead of extending the newest one.
    func startNewBlock() {
        spareRows.clear()
    }

    /// Returns the estimated cost of storing a submission, in the units of `ReportCost`.
    package func cost(of submission: borrowing Submission) -> Int { memory.caches.series.cost(of: submission.batch) }

    /// The row id that the next record gets.
    package var nextID: RowID { memory.open.nextID }

    /// The code in the ids of new records; 0 before the store has a code.
    package var code: UInt64 { memory.values.code }

    /// The retention settings in effect.
    package var retention: RetentionSettings { settings.retention }

    /// The time at which the next mute with a time limit ends; nil if there is none.
    package var nextMuteEnd: IssueTimestamp? { memory.values.nextMuteEnd }

    /// Returns the current log time, for timers. Does not advance the clock.
    package func logTime(wall: IssueTimestamp, monotonic: MonotonicInstant) -> RecordLogInstant {
        memory.values.clock.now(wall: wall, monotonic: monotonic)
    }

    /// Runs `body` as one transaction. If the transaction fails, the database and `memory` are rolled back.
    ///
    /// - Parameters:
    ///   - isSynced: `true` if the transaction must be on disk when this returns. Otherwise, the next synced
    ///     transaction syncs it, and a power failure before that may undo it.
    ///   - mayUseReserve: `true` if the transaction may use the reserved disk space, which is kept so that records can
    ///     still be deleted when the disk is full.
    ///   - body: Changes the database and `memory`.
    /// - Returns: The value that `body` returns.
    /// - Throws: `StoreFailure.walTooLarge` if the WAL has reached `walFrameLimit`, `.noSpace` if there is too little
    ///   disk space for the growth of the files, or the failure of `body` or of another step, such as COMMIT.
    func transaction<Value>(
        isSynced: Bool = true, mayUseReserve: Bool = true, _ body: () throws(SQLiteError) -> Value
    ) throws(StoreFailure) -> Value {
        guard walPages < walFrameLimit else { throw .walTooLarge }
        let mark = memory.mark()
        do throws(StoreFailure) {
            if isSynced != syncsCommits {
                try Self.convertingErrors { () throws(SQLiteError) in
                    _ = try connection.setPragma("synchronous", to: isSynced ? "FULL" : "NORMAL")
                }
                syncsCommits = isSynced
            }
            let value = try connection.transaction { () throws(StoreFailure) in
                let value = try Self.convertingErrors(body)
                try secureGrowth(mayUseReserve: mayUseReserve)
                return value
            }
            memory.endTransaction()
            return value
        } catch {
            memory.rollBack(to: mark)
            // The buffer may contain rows that were not stored.
            spareRows.clear()
            throw error
        }
    }

    /// Checks whether records can be stored, by writing the unchanged `user_version` again.
    ///
    /// - Throws: The failure that storing records would cause. Throws `StoreFailure.noSpace` also if there is space for
    ///   only a few commits, so that the result does not change with every commit.
    package func checkWriting() throws(StoreFailure) {
        if let freeBytes = settings.freeBytes() {
            // Enough for more than a few commits.
            let minBytes = retention.disk.sufficientBytes / 2
            let freePages = try Self.convertingErrors { () throws(SQLiteError) in
                try connection.pragma("freelist_count")
            }
            guard freeBytes + freePages * pageBytes >= minBytes else { throw .noSpace }
        }
        try transaction(mayUseReserve: false) { () throws(SQLiteError) in
            try connection.setPragma("user_version", to: try connection.pragma("user_version"))
        }
    }

    /// Runs `body` and converts its error to a `StoreFailure`.
    static func convertingErrors<Value>(_ body: () throws(SQLiteError) -> Value) throws(StoreFailure) -> Value {
        do throws(SQLiteError) { return try body() } catch { throw StoreFailure(error) }
    }

    /// Extends the database file if little disk space is left, so that the WAL can be checkpointed even if the disk
    /// fills up. Call this at the end of a transaction, before COMMIT, or between two transactions.
    ///
    /// - Parameter mayUseReserve: `true` if the reserve of disk space may be used.
    /// - Throws: `StoreFailure.noSpace` if there is too little disk space, or another failure if extending the file
    ///   fails.
    package func secureGrowth(mayUseReserve: Bool = true) throws(StoreFailure) {
        let pages = try Self.convertingErrors { () throws(SQLiteError) in try connection.pages }
        guard let fileBytes = connection.fileBytes else { return }
        let walBytes = connection.walFileBytes ?? 0
        let walGrows = Int64(walPages) * pageBytes + Self.typicalCommitBytes > walBytes
        guard walGrows || pages * pageBytes > fileBytes else { return }
        let step = retention.disk.reserve.committing(
            databaseBytes: pages * pageBytes, fileBytes: fileBytes, walBytes: walBytes, walGrows: walGrows,
            freeBytes: settings.freeBytes(), mayUseReserve: mayUseReserve)
        switch step {
        case .commit: break
        case .extend:
            try Self.convertingErrors { () throws(SQLiteError) in
                try connection.extendFile(toPages: pages, of: pageBytes)
            }
        case .refuse: throw .noSpace
        }
    }

    /// Applies new cardinality limits and retention settings.
    package func reload(_ limits: LimitSettings, _ retention: RetentionSettings) {
        memory.values.cardinalityGuard.reload(limits)
        // The new limits may allow series and senders that the guard has replaced because of the old ones.
        memory.caches.series.removeAll()
        memory.caches.removeReplacedSenders()
        settings.limits = limits
        settings.retention = retention
        maxSize = nil
        ageSearch = AgeSearch()
    }

    /// Checkpoints the WAL. Only the writer does this.
    ///
    /// Without `restarts`, the checkpoint is passive: it never waits, and copies as many frames as readers permit.
    ///
    /// - Parameter restarts: `true` to wait briefly for readers and reset the WAL. If the WAL file is larger than
    ///   usual, it is also truncated.
    /// - Returns: `true` if the whole WAL was copied; `false` if readers prevented that or the reset.
    /// - Throws: The failure of the checkpoint.
    @discardableResult
    package func checkpoint(restarts: Bool = false) throws(StoreFailure) -> Bool {
        do throws(SQLiteError) {
            guard restarts else { return try connection.checkpoint(.passive) }
            return try withShortTimeout { () throws(SQLiteError) in
                try connection.checkpoint(isWALFileLarge ? .truncate : .restart)
            }
        } catch {
            // A reader has blocked the reset. SQLite has nevertheless copied as many frames as readers permit.
            guard !(restarts && error.isBusy) else { return false }
            throw StoreFailure(error)
        }
    }

    /// Whether the WAL file is larger than usual.
    private var isWALFileLarge: Bool { connection.excessWALBytes(retention.disk) > 0 }

    /// The size of the WAL file, in bytes; 0 if it is unknown.
    package var walBytes: Int64 { connection.walFileBytes ?? 0 }

    /// Runs `body` with a busy timeout of a few milliseconds, so that it hardly waits for readers.
    func withShortTimeout<Value>(_ body: () throws(SQLiteError) -> Value) throws(SQLiteError) -> Value {
        connection.setBusyTimeout(Self.readerTimeout)
        defer { connection.setBusyTimeout(Self.timeout) }
        return try body()
    }

    /// The length of the WAL, in pages.
    package var walPages: Int { connection.walFrames }
}

@available(*, unavailable)
extension StoreWriter: Sendable {}

extension StoreWriter {
    /// Sets the options of the connection, and creates or migrates the schema.
    static func migrate(_ connection: DatabaseConnection) throws(StoreFailure) {
        try convertingErrors { () throws(SQLiteError) in try Schema.prepare(connection) }
        do throws(MigrationError) {
            _ = try Schema.migrator.migrate(connection)
        } catch {
            throw StoreFailure(error)
        }
    }

    /// Returns the state of the record log's clock at the last record or, if that record is gone, at the end of the
    /// newest closed range; nil if the store has never had a record.
    static func clockState(_ connection: DatabaseConnection) throws(SQLiteError) -> RecordLogClock.State? {
        let offset = try connection.first("SELECT offset FROM clock ORDER BY first_id DESC LIMIT 1") { $0.int64(0) }
        let log =
            try connection.first(
                """
                SELECT max(log) FROM (
                    SELECT at AS log FROM (SELECT at FROM ages ORDER BY range DESC LIMIT 1)
                    UNION ALL
                    SELECT received_at + coalesce(
                        (SELECT offset FROM clock WHERE first_id <= newest.id ORDER BY first_id DESC LIMIT 1), 0)
                    FROM (SELECT id, received_at FROM records ORDER BY id DESC LIMIT 1) AS newest
                )
                """
            ) { $0.optionalInt64(0) } ?? nil
        guard let offset, let log else { return nil }
        return RecordLogClock.State(
            log: RecordLogInstant(milliseconds: log), wall: IssueTimestamp(millisecondsSince1970: log &- offset))
    }

    /// Returns the codes of the store, in ascending order of their first rows.
    static func storeIDs(_ connection: DatabaseConnection) throws(SQLiteError) -> [WriterMemory.StoreID] {
        try connection.all("SELECT first_id, code FROM stores ORDER BY first_id") {
            WriterMemory.StoreID(firstID: $0.id(0), code: UInt64(bitPattern: $0.int64(1)))
        }
    }

    /// Assigns a new code for the ids of new records after commits were lost.
    ///
    /// With the old code, the ids of the lost records would be assigned again. Destinations that have received the lost
    /// records would take the new ones for duplicates.
    package func assignNewCode(at wall: IssueTimestamp) {
        memory.values.needsNewCode = true
        // If this fails, the next commit assigns the code.
        try? transaction { () throws(SQLiteError) in try assignStoreCode(at: wall) }
    }

    /// Assigns a code if the store has none yet, or if `needsNewCode` is set.
    func assignStoreCode(at wall: IssueTimestamp) throws(SQLiteError) {
        guard memory.values.storeIDs.isEmpty || memory.values.needsNewCode else { return }
        let code = settings.randomBits() & RecordID.storeBits
        let first = memory.open.nextID
        try connection.run(
            "INSERT OR REPLACE INTO stores (first_id, code, since) VALUES (?1, ?2, ?3)", first,
            Int64(bitPattern: code), wall)
        memory.values.storeIDs.removeAll { $0.firstID >= first }
        memory.values.storeIDs.append(WriterMemory.StoreID(firstID: first, code: code))
        memory.values.needsNewCode = false
    }

    /// If the database is a copy, assigns a new code for the ids of new records, because the original may assign the
    /// same row ids. Drops the pending notifications of the copy.
    static func assignCopyCode(_ connection: DatabaseConnection, _ settings: StoreWriterSettings, nextID: RowID)
        throws(SQLiteError)
    {
        let isCopy = try connection.exists("SELECT 1 FROM copies LIMIT 1")
        guard isCopy else { return }
        let code = settings.randomBits() & RecordID.storeBits
        try connection.transaction { () throws(SQLiteError) in
            try connection.run(
                "INSERT OR REPLACE INTO stores (first_id, code, since) VALUES (?1, ?2, strftime('%s', 'now') * 1000)",
                nextID, Int64(bitPattern: code))
            try connection.run("DELETE FROM copies")
            try NotificationTable(connection: connection).dropPending()
        }
    }
}

/// The settings of the store's writer.
package struct StoreWriterSettings: Sendable {
    package var path: String
    /// Only the limits of the cardinality guard are used.
    package var limits: LimitSettings
    /// The settings of retention, such as the maximum age of records and the maximum size of the database.
    package var retention: RetentionSettings
    /// Returns random bits for a new store code.
    package var randomBits: @Sendable () -> UInt64
    /// Returns the free space of the file system that holds the database, in bytes, or nil if it is unknown.
    package var freeBytes: @Sendable () -> Int64?
    /// The number of ids, including skipped ones, at which a range is full. The commit that reaches this, `rangeSeries`
    /// or the limit in bytes closes the range.
    package var rangeRecords = 65_536
    /// The number of bytes at which a range of a large database is full; see `RetentionSettings.maxRangeBytes`.
    package var rangeBytes = 16 << 20
    /// The approximate number of series at which a range is full. The commit that closes a range writes at least three
    /// rows per series, so this limit shortens the commit.
    package var rangeSeries = 16_384
    /// The maximum number of records in a block.
    package var blockRecords = BlockLog.maxRecords

    package init(
        path: String, limits: LimitSettings, retention: RetentionSettings = RetentionSettings(),
        randomBits: @escaping @Sendable () -> UInt64, freeBytes: @escaping @Sendable () -> Int64? = { nil }
    ) {
        self.path = path
        self.limits = limits
        self.retention = retention
        self.randomBits = randomBits
        self.freeBytes = freeBytes
    }
}
