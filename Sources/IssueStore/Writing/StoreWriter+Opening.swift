import IssueCore
import IssueProtocol
import SQLiteKit

extension StoreWriter {
    static func migrate(_ connection: Connection) throws {
        do { try Schema.migrator.migrate(connection) } catch { throw StoreFailure(error) }
    }

    /// Where the log's clock stood: at its last record, or where that is gone, at the end of the newest range.
    static func clockState(_ connection: Connection) throws -> LogClock.State? {
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
        return LogClock.State(log: LogInstant(milliseconds: log), wall: Timestamp(milliseconds: log &- offset))
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
