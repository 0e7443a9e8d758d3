import IssueCore
import IssueProtocol
import SQLiteKit

extension StoreWriter {
    /// Whether the open range has reached its maximum number of ids, bytes or series.
    var isRangeFull: Bool {
        memory.open.count >= settings.rangeRecords || memory.open.byteCount >= maxRangeBytes
            || memory.open.seriesEstimate >= settings.rangeSeries
    }

    private var maxRangeBytes: Int {
        RetentionSettings.maxRangeBytes(inDatabaseOf: maxSize ?? retention.maxSize, limit: settings.rangeBytes)
    }

    /// Writes the posting lists, counts and shares of the open range. The next range starts when the transaction is
    /// committed.
    func closeRange() throws(SQLiteError) {
        var postings = memory.open.postings()
        for index in postings.postings.indices {
            postings.postings[index].bytes += try owner(ofSeries: postings.postings[index].series).excessBytes
        }
        try write(postings)
        try writeShares(of: postings.postings)
        try connection.run(
            """
            INSERT INTO ranges (id, first_id, last_id, first_at, last_at, records, bytes)
            SELECT ?1, ?2, ?3, coalesce(min(first_at), 0), coalesce(max(last_at), 0),
                   -- The records of damaged blocks are in no posting list.
                   (SELECT coalesce(sum(min(max(records, 0), ?5)), 0) FROM blocks WHERE first_id BETWEEN ?2 AND ?3), ?4
            FROM postings WHERE range = ?1
            """, memory.values.rangeID, memory.open.firstID, memory.open.lastID, memory.open.byteCount,
            BlockFormat.maxRecords)
        // The log time of the commit that stored the range's last record: this commit or, if the range is closed early,
        // an earlier one.
        try connection.run(
            "INSERT INTO ages (range, at) VALUES (?1, ?2)", memory.values.rangeID,
            memory.values.clock.state?.log.milliseconds ?? 0)
        if memory.values.hasNotifiers { try NotificationTable(connection: connection).limitAlerts() }
        memory.values.isRangeClosed = true
    }

    /// Writes the number of bytes that the records and series of each user take in the range.
    private func writeShares(of postings: [RangePostings.Posting]) throws(SQLiteError) {
        var shares: [Int64: Int64] = [:]
        for posting in postings { shares[try owner(ofSeries: posting.series).user, default: 0] += posting.bytes }
        for (user, bytes) in shares {
            try connection.run(
                "INSERT INTO shares (range, uid, bytes) VALUES (?1, ?2, ?3)", memory.values.rangeID, user, bytes)
        }
    }

    /// Returns the user and size of a series. Both are cached, because they never change.
    private func owner(ofSeries series: SeriesID) throws(SQLiteError) -> SeriesOwner {
        if let known = memory.caches.owners[series] { return known }
        let owner =
            try connection.first(
                "SELECT uid, length(key) FROM series JOIN accounts ON accounts.id = account WHERE series.id = ?1",
                series
            ) { SeriesOwner(user: $0.int64(0), keyBytes: $0.int64(1)) }
            ?? SeriesOwner(user: 0, keyBytes: 0)
        memory.caches.owners.insert(owner, for: series)
        return owner
    }

    /// Writes the postings and counts with one statement per table, because a range may have thousands of series and a
    /// commit waits for this.
    private func write(_ postings: RangePostings) throws(SQLiteError) {
        try tables.postings.withRows(postings.postings.flatMap(\.cells), bytes: postings.ids) {
            () throws(SQLiteError) in
            try connection.run(
                """
                INSERT INTO postings (range, series, records, first_at, last_at, previous, ids, bytes)
                SELECT ?1, series, records, first_at, last_at,
                       (SELECT last_range FROM totals WHERE totals.series = closing.series), ids, bytes
                FROM closing
                """, memory.values.rangeID)
            try connection.run(
                """
                INSERT INTO totals (series, last_range, records, occurrences, first_at, last_at)
                SELECT series, ?1, records, occurrences, first_at, last_at FROM closing WHERE true
                ON CONFLICT DO UPDATE SET last_range = ?1, records = records + excluded.records,
                                          occurrences = min(occurrences, 9223372036854775807 - excluded.occurrences)
                                                        + excluded.occurrences,
                                          first_at = min(first_at, excluded.first_at),
                                          last_at = max(last_at, excluded.last_at)
                """, memory.values.rangeID)
        }
        try tables.minutes.withRows(postings.minutes.enumerated().flatMap { $1.cells(id: $0) }) {
            () throws(SQLiteError) in
            try connection.run(
                """
                INSERT INTO counts (minute, series, records, occurrences)
                SELECT minute, series, records, occurrences FROM closing_minutes WHERE true
                ON CONFLICT DO UPDATE SET records = records + excluded.records,
                                          occurrences = occurrences + excluded.occurrences
                """)
        }
    }
}

/// Opening the database: finding and rebuilding the open range.
extension StoreWriter {
    /// Returns the id and the last row id of the newest closed range; zeros if there is none.
    ///
    /// - Throws: `SQLITE_CORRUPT` if the id is negative or too high, or the error of the query.
    static func lastRange(_ connection: DatabaseConnection) throws(SQLiteError) -> (id: Int64, lastID: RowID) {
        let last = try connection.first("SELECT id, last_id FROM ranges ORDER BY id DESC LIMIT 1") {
            (id: $0.int64(0), lastID: $0.id(1, as: RowID.self))
        }
        guard let last else { return (0, 0) }
        // The next range gets the id after this one, so this id must be below the maximum.
        guard (0..<maxID.rawValue).contains(last.id) else {
            throw SQLiteError(code: .corrupt, message: "the id of a closed range is negative or too high")
        }
        return last
    }

    /// Rebuilds the open range from its blocks.
    ///
    /// Skips the ids of unreadable blocks, and the unused ids below the highest `first_id` in the tables `stores` and
    /// `clock`, so that no id is assigned again.
    ///
    /// - Parameters:
    ///   - blocks: Reads the blocks.
    ///   - connection: The connection.
    ///   - lastID: The last row id of the newest closed range; 0 if there is none.
    /// - Throws: `SQLITE_CORRUPT` if an id is negative or too high, or the error of a query.
    static func openRange(
        _ blocks: BlockReader, _ connection: DatabaseConnection, after lastID: RowID
    ) throws(SQLiteError) -> OpenRange {
        let mark =
            try connection.first(
                "SELECT max(coalesce((SELECT max(first_id) FROM stores), 1), coalesce((SELECT max(first_id) FROM clock), 1))"
            ) { $0.id(0, as: RowID.self) } ?? 1
        let newest =
            try connection.first("SELECT coalesce(max(last_id), 0) FROM blocks") { $0.id(0, as: RowID.self) } ?? 0
        guard (0..<maxID).contains(lastID), max(mark, newest, lastID) - lastID < maxRangeWidth else {
            throw SQLiteError(code: .corrupt, message: "a row id is negative or too high")
        }
        var range = OpenRange(firstID: lastID + 1)
        try blocks.scan(lastID + 1...maxID) { block throws(SQLiteError) in
            for (index, row) in block.rows.enumerated() where row.id > lastID {
                while range.nextID < row.id { range.skip() }
                range.append(
                    series: row.series, receivedAt: row.receivedAt, count: row.count,
                    bytes: Int(row.message.count) + block.metadataCount(of: index) + Int(row.details.count)
                        + rowOverhead)
            }
            return true
        }
        // The newest block may be damaged. Its ids must not be assigned again.
        while range.nextID <= newest { range.skip() }
        while range.nextID < mark { range.skip() }
        range.grow(by: try bytesOfNewSeries(connection))
        return range
    }

    /// Returns the sum of `SeriesOwner.excessBytes` over all series that are in no closed range.
    private static func bytesOfNewSeries(_ connection: DatabaseConnection) throws(SQLiteError) -> Int {
        var bytes: Int64 = 0
        // Ids of series ascend, and all series of closed ranges have totals.
        try connection.forEach(
            "SELECT length(key) FROM series WHERE id > (SELECT coalesce(max(series), 0) FROM totals)"
        ) { bytes = bytes.clampedSum(SeriesOwner.excessBytes(ofKey: $0.int64(0))) }
        return Int(bytes)
    }

    /// The maximum number of ids in an open range. An id beyond that is corrupt, and skipping all ids up to it would
    /// exhaust memory.
    private static let maxRangeWidth = 1 << 24
    /// Valid ids are lower than this.
    private static let maxID = RowID(rawValue: 1 << 60)

    /// The approximate number of bytes that a row takes on disk in addition to its text.
    static let rowOverhead = 32
}

/// The user and size of a series.
struct SeriesOwner: Equatable, Sendable {
    var user: Int64
    /// The number of bytes that the series takes beyond `RangePostings.Posting.bytesOfSeries`.
    var excessBytes: Int64

    init(user: Int64, keyBytes: Int64) {
        self.user = user
        excessBytes = Self.excessBytes(ofKey: keyBytes)
    }

    /// Returns `excessBytes` for a key of this size. The texts of a series are stored twice: in the key and in columns.
    static func excessBytes(ofKey keyBytes: Int64) -> Int64 {
        max(0, 2 * keyBytes - RangePostings.Posting.bytesOfSeries)
    }
}

/// A posting list of a closing range, as a row of a `BatchTable`.
extension RangePostings.Posting {
    static let columns: [StaticString] = ["series", "records", "occurrences", "first_at", "last_at", "bytes", "ids"]

    fileprivate var cells: [BatchCell] {
        [
            .int64(series.rawValue), .int64(records), .int64(occurrences), .int64(firstAt), .int64(lastAt),
            .int64(bytes), .blob(ids),
        ]
    }
}

/// The counts of a series and minute in a closing range, as a row of a `BatchTable`. The id is the index of the row: a
/// series and minute do not identify it, because a series may have several rows for a minute.
extension RangePostings.Minute {
    static let columns: [StaticString] = ["id", "minute", "series", "records", "occurrences"]

    fileprivate func cells(id: Int) -> [BatchCell] {
        [.int64(Int64(id)), .int64(minute), .int64(series.rawValue), .int64(records), .int64(occurrences)]
    }
}
