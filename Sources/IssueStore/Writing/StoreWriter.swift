package import IssueCore
package import IssueProtocol
import SQLiteKit

/// The only connection that writes to the database. It belongs to the thread that created it.
///
/// Invariants at the end of each transaction:
/// - The id of a new record is higher than every id assigned before.
/// - `ranges`, `postings`, `counts` and `totals` describe the records up to the last closed range exactly as they were
///   stored. Retention may have removed the oldest of them since. `open` describes the records above that range.
/// - The ledger of each destination balances.
///
/// A failed transaction leaves no trace in memory either: the writer discards all that it cached during the
/// transaction.
package final class StoreWriter {
    let connection: Connection
    let settings: StoreSettings
    /// The retention settings in effect.
    package private(set) var retention: RetentionSettings
    let batchTable: BatchTable
    let closingTable: BatchTable
    let closingMinutes: BatchTable
    /// The page size of the database, in bytes.
    package let pageBytes: Int64
    /// Max number of frames in the write-ahead log (WAL). No transaction begins while the WAL has this many or more.
    package var walFrameLimit = Int.max
    /// `true` while every transaction is synced to disk (`synchronous=FULL`).
    private var syncsCommits = true
    /// The emptied row buffer of the previous commit, kept to reuse its memory.
    private var spareRows = RowBuffer()

    var clock: RecordLogClock
    var open: OpenRange
    var rangeID: Int64
    var storeIDs: [StoreID]
    var destinations: [Int64] = []
    var priorityDestinations = false
    /// Called during each commit with its priority records: critical ones, and the first record of a group or of a
    /// regression.
    package var onPriorityRecords: (([News]) -> Void)?

    /// Called for each series that the cardinality guard merges into an overflow series, account or sender.
    package var onCardinalityOverflow: ((CardinalityOverflow) -> Void)?

    var series = SeriesTable()
    var senders: [Sender: SenderEntry] = [:]
    var processes: [UInt64: ProcessEntry] = [:]
    var accounts: [AccountName: Int64] = [:]
    var producers = ProducerTable()
    var triageStates = TriageCache()
    /// When the next mute with a time limit ends, or nil if there is none.
    package internal(set) var nextMuteEnd: Timestamp?
    /// The user ids of series in recently closed ranges, keyed by series id. A cache.
    var users: [Int64: Int64] = [:]
    var guardian: CardinalityGuard
    /// `true` while records are imported from a quarantined database. The cardinality guard already admitted them once,
    /// so it is bypassed.
    var isImporting = false
    /// The range of row ids from which records were removed ahead of a destination's cursor, or nil if there were none.
    var removedAhead: ClosedRange<Int64>?
    /// The number of removals attempted since the start, committed or not.
    var removals = 0
    /// The value of `removals` when each in-flight batch was stored, keyed by batch id.
    var removalsWhenStored: [Int64: Int] = [:]
    /// Ids of rows that were erased while a request that contains them was in flight.
    var erasedWhileSent: Set<Int64> = []
    /// `true` once the guard's counters include what was created before this start.
    var isGuardRestored = false

    /// A store code, and the first row whose record id contains it.
    struct StoreID {
        var firstID: Int64
        var code: UInt64
    }

    struct ProcessEntry {
        var process: Int64
        var sender: Int64
        /// The sender as the kernel describes it, if the guard assigned the process to an overflow sender; otherwise
        /// nil.
        var original: Sender?
    }

    struct SenderEntry {
        var id: Int64
        var isOverflow: Bool
    }

    struct KnownGroup {
        var id: Int64
        /// `true` unless the state of the group is open.
        var isWatched: Bool
    }

    struct AccountName: Hashable {
        var uid: UInt32
        var app: String
    }

    struct Account {
        var id: Int64
        var name: AccountName
    }

    /// WAL growth that a typical commit causes, in bytes.
    private static let typicalCommitBytes: Int64 = 1 << 20
    private static let timeout: Duration = .seconds(5)
    private static let readerTimeout: Duration = .milliseconds(5)

    /// Opens the database, creates or migrates its schema, and rebuilds the open range from its rows.
    ///
    /// - Throws: `StoreFailure.foreign` if the file belongs to another program or a newer version, `.damaged` if it is
    ///   corrupt, or another `StoreFailure` if it cannot be opened or read.
    package init(_ settings: StoreSettings) throws(StoreFailure) {
        self.settings = settings
        retention = settings.retention
        do {
            // Until the file is known to be ours, not even its WAL is checkpointed.
            connection = try Connection(path: settings.path, busyTimeout: Self.timeout, checkpointsOnClose: false)
            try Schema.recognize(connection)
            try Schema.prepare(connection)
            try Self.migrate(connection)
            try Schema.checkWhole(connection)
            pageBytes = try connection.pragma("page_size")
            batchTable = try BatchTable("batch", columns: RowBuffer.columns, on: connection)
            closingTable = try BatchTable("closing", columns: PostingBuffer.columns, on: connection)
            closingMinutes = try BatchTable("closing_minutes", columns: MinuteBuffer.columns, on: connection)
            clock = RecordLogClock(restoring: try Self.clockState(connection))
            storeIDs = try Self.storeIDs(connection)
            let lastRange = try Self.lastRange(connection)
            rangeID = lastRange.id + 1
            open = try Self.openRange(connection, after: lastRange.lastID)
            guardian = CardinalityGuard(settings: settings.limits)
            // New records are queued for all active destinations, even for one that is not configured right now.
            destinations = try Self.activeDestinations(connection)
            priorityDestinations = !destinations.isEmpty
            nextMuteEnd = try Self.nextMuteEnd(connection)
            try nameCopy()
            connection.setCheckpointsOnClose(true)
        } catch let failure as StoreFailure {
            throw failure
        } catch let error as SQLiteError {
            throw StoreFailure(error)
        } catch {
            preconditionFailure("Unexpected error while opening the store: \(error)")
        }
    }

    /// Returns the empty row buffer of the previous commit, with its memory reserved.
    func takeRows() -> RowBuffer {
        var rows = RowBuffer()
        swap(&rows, &spareRows)
        rows.clear()
        return rows
    }

    /// Stores the row buffer of a commit for reuse by the next one.
    func giveBack(_ rows: consuming RowBuffer) {
        spareRows = rows
    }

    /// Returns the cost of storing some reports, as far as it is known in advance.
    package func cost(of submission: borrowing Submission) -> Int { series.cost(of: submission.batch) }

    /// The row id that the next record gets.
    package var nextID: Int64 { open.nextID }

    /// The code in the ids of new records. 0 before the store has a code.
    package var code: UInt64 { storeIDs.last?.code ?? 0 }

    /// Returns the current time on the clock of the record log, for timers.
    package func logTime(wall: Timestamp, monotonic: MonotonicInstant) -> RecordLogInstant {
        clock.now(wall: wall, monotonic: monotonic)
    }

    /// Runs `body` as one transaction. If it throws, the transaction is rolled back.
    ///
    /// - Parameters:
    ///   - isSynced: `true` if the transaction must be on disk when this returns. Otherwise the next synced transaction
    ///     syncs it too, and a power cut before that undoes all of it.
    ///   - mayUseReserve: `true` if the transaction may use the reserved disk space, without which records could no
    ///     longer be deleted.
    /// - Returns: The value that `body` returns.
    /// - Throws: `StoreFailure.walTooLarge` if the WAL has reached `walFrameLimit`, `.noSpace` if the disk has no space
    ///   for the growth of the files, or the failure of `body`.
    func transaction<Value>(
        isSynced: Bool = true, mayUseReserve: Bool = true, _ body: () throws -> Value
    ) throws(StoreFailure) -> Value {
        guard logPages < walFrameLimit else { throw .walTooLarge }
        return try Self.failing {
            if isSynced != syncsCommits {
                try connection.setPragma("synchronous", to: isSynced ? "FULL" : "NORMAL")
                syncsCommits = isSynced
            }
            return try connection.transaction {
                let value = try body()
                try secureGrowth(mayUseReserve: mayUseReserve)
                return value
            }
        }
    }

    private static func failing<Value>(_ body: () throws -> Value) throws(StoreFailure) -> Value {
        do {
            return try body()
        } catch let failure as StoreFailure {
            throw failure
        } catch let error as SQLiteError {
            throw StoreFailure(error)
        } catch {
            preconditionFailure("Unexpected error while writing: \(error)")
        }
    }

    /// Extends the database file between two transactions, so that the WAL can be checkpointed even if the disk fills
    /// up.
    ///
    /// - Throws: `StoreFailure.noSpace` if the disk is full, or another failure if extending the file fails.
    package func secureGrowth() throws(StoreFailure) {
        try Self.failing { try secureGrowth(mayUseReserve: true) }
    }

    private func secureGrowth(mayUseReserve: Bool) throws {
        let pages = try connection.pages
        guard let fileBytes = connection.fileBytes else { return }
        let walBytes = connection.walFileBytes ?? 0
        let walGrows = Int64(logPages) * pageBytes + Self.typicalCommitBytes > walBytes
        guard walGrows || pages * pageBytes > fileBytes else { return }
        let step = GrowthReserve().committing(
            databaseBytes: pages * pageBytes, fileBytes: fileBytes, logBytes: walBytes, logGrows: walGrows,
            freeBytes: settings.freeBytes(), mayUseReserve: mayUseReserve)
        switch step {
        case .commit: break
        case .extend: try connection.extendFile(toPages: pages, of: pageBytes)
        case .refuse: throw StoreFailure.noSpace
        }
    }

    /// Applies new cardinality limits and retention settings.
    package func reload(_ limits: LimitSettings, _ retention: RetentionSettings) {
        guardian.reload(limits)
        // What is above the limits now may be within the new ones.
        series.removeAll()
        self.retention = retention
    }

    /// Checkpoints the WAL. Only the writer does this.
    ///
    /// A passive checkpoint never waits and copies the frames that no reader needs any longer. A restarting checkpoint
    /// that readers block is not an error.
    ///
    /// - Parameter restarts: `true` to wait briefly for readers, so that the next commit starts the WAL from its
    ///   beginning. Truncates the WAL file if it is larger than usual.
    /// - Throws: The failure of the checkpoint.
    package func checkpoint(restarts: Bool = false) throws(StoreFailure) {
        do {
            if restarts {
                let mode: CheckpointMode = isWALFileLarge ? .truncate : .restart
                try withLittlePatience { () throws(SQLiteError) in _ = try connection.checkpoint(mode) }
            } else {
                _ = try connection.checkpoint(.passive)
            }
        } catch {
            // Readers are not interrupted. SQLite has still copied the frames that they do not need.
            guard !(restarts && error.isBusy) else { return }
            throw StoreFailure(error)
        }
    }

    /// `true` if the WAL file is larger than it should stay.
    private var isWALFileLarge: Bool { (connection.walFileBytes ?? 0) > WALLimits.typicalBytes }

    /// Bytes by which the WAL file exceeds its usual size. A truncating checkpoint frees them.
    var excessWALBytes: Int64 { max(0, (connection.walFileBytes ?? 0) - WALLimits.typicalBytes) }

    /// The size of the WAL file, in bytes.
    package var walBytes: Int64 { connection.walFileBytes ?? 0 }

    /// Runs `body` with a short busy timeout, so that it waits for readers only for a moment.
    func withLittlePatience(_ body: () throws(SQLiteError) -> Void) throws(SQLiteError) {
        connection.setBusyTimeout(Self.readerTimeout)
        defer { connection.setBusyTimeout(Self.timeout) }
        try body()
    }

    /// The length of the WAL, in pages.
    package var logPages: Int { connection.walFrames }

    /// Returns the id of the record in `row`.
    package func recordID(row: Int64) -> RecordID {
        let store = storeIDs.last { $0.firstID <= row } ?? storeIDs.first
        return RecordID(store: store?.code ?? 0, row: row)
    }
}

@available(*, unavailable)
extension StoreWriter: Sendable {}

extension StoreWriter {
    static func migrate(_ connection: Connection) throws {
        do { try Schema.migrator.migrate(connection) } catch { throw StoreFailure(error) }
    }

    /// Returns the state of the record log's clock: at the last record, or at the end of the newest range if that
    /// record is gone. Returns nil if the store has never held a record.
    static func clockState(_ connection: Connection) throws -> RecordLogClock.State? {
        let offset = try connection.withStatement("SELECT offset FROM clock ORDER BY first_id DESC LIMIT 1") {
            try $0.first { $0.int64(0) }
        }
        let log = try connection.withStatement(
            """
            SELECT max(log) FROM (
                SELECT at AS log FROM (SELECT at FROM ages ORDER BY range DESC LIMIT 1)
                UNION ALL
                SELECT received_at + coalesce(
                    (SELECT offset FROM clock WHERE first_id <= newest.id ORDER BY first_id DESC LIMIT 1), 0)
                FROM (SELECT id, received_at FROM records ORDER BY id DESC LIMIT 1) AS newest
            )
            """
        ) { try $0.first { $0.optionalInt64(0) } ?? nil }
        guard let offset, let log else { return nil }
        return RecordLogClock.State(
            log: RecordLogInstant(milliseconds: log), wall: Timestamp(milliseconds: log &- offset))
    }

    static func storeIDs(_ connection: Connection) throws -> [StoreID] {
        try connection.withStatement("SELECT first_id, code FROM stores ORDER BY first_id") {
            try $0.all { StoreID(firstID: $0.int64(0), code: UInt64(bitPattern: $0.int64(1))) }
        }
    }

    static func lastRange(_ connection: Connection) throws -> (id: Int64, lastID: Int64) {
        try connection.withStatement("SELECT id, last_id FROM ranges ORDER BY id DESC LIMIT 1") {
            try $0.first { ($0.int64(0), $0.int64(1)) }
        } ?? (0, 0)
    }

    /// Rebuilds the open range from its rows.
    ///
    /// `stores` and `clock` may mention a higher id than any remaining row. No id below that one is assigned again.
    ///
    /// - Parameter lastID: The last id of the closed ranges.
    /// - Throws: `StoreFailure.damaged` if an id is out of range, or the error of a query.
    static func openRange(_ connection: Connection, after lastID: Int64) throws -> OpenRange {
        let mark = try connection.withStatement(
            "SELECT max(coalesce((SELECT max(first_id) FROM stores), 1), coalesce((SELECT max(first_id) FROM clock), 1))"
        ) { try $0.first { $0.int64(0) } ?? 1 }
        let newest = try connection.withStatement("SELECT coalesce(max(id), 0) FROM records") {
            try $0.first { $0.int64(0) } ?? 0
        }
        guard (0..<highestID).contains(lastID), max(mark, newest) - lastID < widestRange else {
            throw StoreFailure.damaged(SQLiteError(code: .corrupt, message: "an id is out of range"))
        }
        var range = OpenRange(firstID: lastID + 1)
        try connection.withStatement(
            """
            SELECT id, series, received_at, count,
                   coalesce(length(CAST(message AS BLOB)), 0) + coalesce(length(CAST(metadata AS BLOB)), 0)
                       + coalesce(length(CAST(details AS BLOB)), 0)
            FROM records WHERE id > ?1 ORDER BY id
            """
        ) { statement in
            statement.bind(lastID, at: 1)
            try statement.forEach { row in
                while range.nextID < row.int64(0) { range.skip() }
                range.append(
                    series: row.int64(1), receivedAt: row.int64(2), count: row.int64(3), bytes: row.int(4) + rowOverhead
                )
            }
        }
        while range.nextID < mark { range.skip() }
        return range
    }

    /// Bounds that no valid id exceeds: the width of an open range, and the highest id. An id beyond them is corrupt,
    /// and iterating up to it would exhaust memory.
    private static let widestRange: Int64 = 1 << 24
    private static let highestID: Int64 = 1 << 60

    /// Approximate number of bytes that a row occupies on disk in addition to its text.
    static let rowOverhead = 32

    /// Gives a new store its own code before its first record.
    func nameStore(at wall: Timestamp) throws {
        guard storeIDs.isEmpty else { return }
        let code = settings.randomBits() & RecordID.storeBits
        try connection.withStatement("INSERT INTO stores (first_id, code, since) VALUES (?1, ?2, ?3)") { statement in
            statement.bind(open.nextID, at: 1)
            statement.bind(Int64(bitPattern: code), at: 2)
            statement.bind(wall.milliseconds, at: 3)
            try statement.run()
        }
        storeIDs = [StoreID(firstID: open.nextID, code: code)]
    }

    /// Gives a copy that is put into service its own code for new records, because the original store may have assigned
    /// the same row ids since.
    func nameCopy() throws {
        let isCopy = try connection.withStatement("SELECT 1 FROM copies LIMIT 1") {
            try $0.first { _ in true } ?? false
        }
        guard isCopy else { return }
        let code = settings.randomBits() & RecordID.storeBits
        try connection.transaction {
            try connection.withStatement(
                "INSERT OR REPLACE INTO stores (first_id, code, since) VALUES (?1, ?2, strftime('%s', 'now') * 1000)"
            ) { statement in
                statement.bind(open.nextID, at: 1)
                statement.bind(Int64(bitPattern: code), at: 2)
                try statement.run()
            }
            try connection.withStatement("DELETE FROM copies") { try $0.run() }
        }
        storeIDs = try Self.storeIDs(connection)
    }
}

/// The settings that the store needs from the configuration.
package struct StoreSettings: Sendable {
    package var path: String
    /// Limits per user and application that keep the catalog tables bounded.
    package var limits: LimitSettings
    /// How long records are kept, and how many.
    package var retention: RetentionSettings
    /// Returns random bits for the code of a new store.
    package var randomBits: @Sendable () -> UInt64
    /// Returns the free space of the file system that holds the database, in bytes, or nil if it is unknown.
    package var freeBytes: @Sendable () -> Int64?
    /// A range is closed by the commit that makes it reach this number of records or bytes.
    package var rangeRecords = 65_536
    package var rangeBytes = 16 << 20

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
