package import IssueCore
package import IssueProtocol
import SQLiteKit

/// The one connection that writes: it belongs to the thread that made it.
///
/// Invariants, at the end of each transaction:
/// - a record's id is above all ids that were ever given out;
/// - `ranges`, `postings`, `counts` and `totals` say of all ids up to the last
///   closed range exactly what the records said, of which retention may have
///   removed the first; above it, `open` says it;
/// - the ledger of each destination balances.
///
/// A transaction that fails leaves no trace, here too: what was learnt in it is
/// forgotten.
package final class StoreWriter {
    let connection: Connection
    let settings: StoreSettings
    /// How much is kept, as it is configured now.
    package private(set) var retention: RetentionSettings
    let batchTable: BatchTable
    let closingTable: BatchTable
    let closingMinutes: BatchTable
    package let pageBytes: Int64
    /// No transaction begins while the write-ahead log has as many frames.
    package var walFrameLimit = Int.max
    /// Whether the connection syncs each transaction now.
    private var syncsCommits = true
    /// Kept from commit to commit for its memory.
    private var spareRows = RowBuffer()

    var clock: RecordLogClock
    var open: OpenRange
    var rangeID: Int64
    var storeIDs: [StoreID]
    var destinations: [Int64] = []
    var priorityDestinations = false
    /// Told of each commit's records that are critical, or the first of their group or of its coming back, while the
    /// commit is under way.
    package var onPriorityRecords: (([News]) -> Void)?

    /// Told of each record that the guard has kept together with others.
    package var onCardinalityOverflow: ((CardinalityOverflow) -> Void)?

    var series = SeriesTable()
    var senders: [Sender: SenderEntry] = [:]
    var processes: [UInt64: ProcessEntry] = [:]
    var accounts: [AccountName: Int64] = [:]
    var producers = ProducerTable()
    var triageStates = TriageCache()
    /// When the next mute ends, as far as it ends by its time.
    package internal(set) var nextMuteEnd: Timestamp?
    /// Whose the series are that were in the ranges closed last.
    var users: [Int64: Int64] = [:]
    var guardian: CardinalityGuard
    /// Whether what is being stored was let in once, and is only brought over.
    var isImporting = false
    /// Between which rows some were removed that a destination had not walked yet.
    var removedAhead: ClosedRange<Int64>?
    /// How often records were removed since the start, or were to be.
    var removals = 0
    /// What that was when a batch was stored whose answer is awaited, by its number.
    var removalsWhenStored: [Int64: Int] = [:]
    /// Rows that were erased while a request was under way that holds them.
    var erasedWhileSent: Set<Int64> = []
    /// Whether the guard knows what was made before this start.
    var isGuardRestored = false

    /// From which row on ids carry a store's code.
    struct StoreID {
        var firstID: Int64
        var code: UInt64
    }

    struct ProcessEntry {
        var process: Int64
        var sender: Int64
        /// What the kernel said of it, where the guard has put it among the rest.
        var original: Sender?
    }

    struct SenderEntry {
        var id: Int64
        var isOverflow: Bool
    }

    struct KnownGroup {
        var id: Int64
        /// Whether somebody has said something of it.
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

    /// The bytes that a typical commit adds to the write-ahead log.
    private static let typicalCommitBytes: Int64 = 1 << 20
    private static let timeout: Duration = .seconds(5)
    private static let readerTimeout: Duration = .milliseconds(5)

    /// Opens the file, making or mending its schema, and reads the open range.
    package init(_ settings: StoreSettings) throws(StoreFailure) {
        self.settings = settings
        retention = settings.retention
        do {
            // Until it is known to be ours, not even its log is copied back.
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
            // What comes in is theirs also where they can't be configured again yet.
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
            preconditionFailure("Opening the store fails with an error of SQLite or of the store: \(error)")
        }
    }

    /// Gives out the memory of the last commit's rows, empty.
    func takeRows() -> RowBuffer {
        var rows = RowBuffer()
        swap(&rows, &spareRows)
        rows.clear()
        return rows
    }

    func giveBack(_ rows: consuming RowBuffer) {
        spareRows = rows
    }

    /// The id that the next record gets.
    package var nextID: Int64 { open.nextID }

    /// The store's code, in which ids of new records are given out.
    package var code: UInt64 { storeIDs.last?.code ?? 0 }

    /// Log time now, for timers.
    package func logTime(wall: Timestamp, monotonic: MonotonicInstant) -> RecordLogInstant {
        clock.now(wall: wall, monotonic: monotonic)
    }

    /// Runs a body as one transaction; whatever fails in it becomes a failure of the store, and leaves no trace.
    ///
    /// - Parameter isSynced: whether it is on disk when this returns. What nobody waits for is synced with the next
    ///   one, and a power cut before that undoes all of it.
    /// - Parameter mayUseReserve: whether it may use the space without which nothing could be removed any more.
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
            preconditionFailure("What the writer does fails with an error of SQLite or of the store: \(error)")
        }
    }

    /// Sees to it, between two transactions, that the log can be copied whatever becomes of the disk.
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

    /// Goes by other limits of names and groups, and keeps more or less than before.
    package func reload(_ limits: LimitSettings, _ retention: RetentionSettings) {
        guardian.reload(limits)
        self.retention = retention
    }

    /// Copies what the log holds into the database, a step that only the writer takes.
    ///
    /// - Parameter restarts: whether readers are waited for, for a moment, so that the next commit begins the log anew.
    package func checkpoint(restarts: Bool = false) throws(StoreFailure) {
        do {
            if restarts {
                let mode: CheckpointMode = isWALFileLarge ? .truncate : .restart
                try withLittlePatience { () throws(SQLiteError) in _ = try connection.checkpoint(mode) }
            } else {
                _ = try connection.checkpoint(.passive)
            }
        } catch {
            // Whoever reads is left alone; what he does not need is copied all the same.
            guard !(restarts && error.isBusy) else { return }
            throw StoreFailure(error)
        }
    }

    /// Whether the write-ahead log's file is longer than it should stay.
    private var isWALFileLarge: Bool { (connection.walFileBytes ?? 0) > WALLimits.typicalBytes }

    /// How much of the disk the write-ahead log's file takes beyond what it usually does; a checkpoint gives that back.
    var excessWALBytes: Int64 { max(0, (connection.walFileBytes ?? 0) - WALLimits.typicalBytes) }

    /// How long the write-ahead log's file is.
    package var walBytes: Int64 { connection.walFileBytes ?? 0 }

    /// Does something that waits for readers, but only for a moment.
    func withLittlePatience(_ body: () throws(SQLiteError) -> Void) throws(SQLiteError) {
        connection.setBusyTimeout(Self.readerTimeout)
        defer { connection.setBusyTimeout(Self.timeout) }
        try body()
    }

    /// How many pages the log holds.
    package var logPages: Int { connection.walFrames }

    /// The id of a record by its row.
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

    /// Where the log's clock stood: at its last record, or where that is gone, at the end of the newest range.
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

    /// The range that was open when the file was closed, made of its rows again.
    ///
    /// The mark below which no id is given out again is the highest that any
    /// table knows, so that ids of records that were erased stay theirs.
    static func openRange(_ connection: Connection, after lastID: Int64) throws -> OpenRange {
        let mark = try connection.withStatement(
            "SELECT max(coalesce((SELECT max(first_id) FROM stores), 1), coalesce((SELECT max(first_id) FROM clock), 1))"
        ) { try $0.first { $0.int64(0) } ?? 1 }
        let newest = try connection.withStatement("SELECT coalesce(max(id), 0) FROM records") {
            try $0.first { $0.int64(0) } ?? 0
        }
        guard (0..<highestID).contains(lastID), max(mark, newest) - lastID < widestRange else {
            throw StoreFailure.damaged(SQLiteError(code: .corrupt, message: "an id is higher than any can be"))
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

    /// More ids than an open range has, and a higher one than is ever reached: beyond them a number is damaged, and
    /// would take all memory to be walked to.
    private static let widestRange: Int64 = 1 << 24
    private static let highestID: Int64 = 1 << 60

    /// What a row takes on disk beside its text, about.
    static let rowOverhead = 32

    /// Makes the store known under a code of its own, before its first record.
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

    /// Gives a copy that is put to use a code of its own for what comes from now on: the store that it was made of may
    /// have given out the same rows since.
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

/// What the store needs to know of the configuration.
package struct StoreSettings: Sendable {
    package var path: String
    /// What an application's user is bound to, so that nobody grows the tables without end.
    package var limits: LimitSettings
    /// How much is kept, and how long.
    package var retention: RetentionSettings
    /// Random bits for the ids of a new store.
    package var randomBits: @Sendable () -> UInt64
    /// What is free on the disk that the file lies on, in bytes, where that can be known.
    package var freeBytes: @Sendable () -> Int64?
    /// How many records a range holds before it closes with the commit that reaches it, and how many bytes.
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
