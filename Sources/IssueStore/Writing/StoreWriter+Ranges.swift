import IssueCore
import SQLiteKit

extension StoreWriter {
    /// `true` if the open range has reached its maximum number of records, bytes or series.
    var isRangeFull: Bool {
        memory.open.count >= settings.rangeRecords || memory.open.byteCount >= settings.rangeBytes
            || memory.open.seriesEstimate >= settings.rangeSeries
    }

    /// Writes the index of the open range. The next range starts when the transaction is committed.
    func closeRange() throws(SQLiteError) {
        let postings = memory.open.postings()
        try write(postings)
        try writeShares(of: postings.postings)
        try connection.run(
            """
            INSERT INTO ranges (id, first_id, last_id, first_at, last_at, records, bytes)
            SELECT ?1, ?2, ?3, coalesce(min(first_at), 0), coalesce(max(last_at), 0), coalesce(sum(records), 0), ?4
            FROM postings WHERE range = ?1
            """, memory.values.rangeID, memory.open.firstID, memory.open.lastID, memory.open.byteCount)
        // The commit time of the range's last record. A range can also be closed early, after that commit.
        try connection.run(
            "INSERT INTO ages (range, at) VALUES (?1, ?2)", memory.values.rangeID,
            memory.values.clock.state?.log.milliseconds ?? 0)
        if memory.values.hasNotifiers { try NotificationTable(connection: connection).limitAlerts() }
        memory.values.isRangeClosed = true
    }

    private func writeShares(of postings: [RangePostings.Posting]) throws(SQLiteError) {
        var shares: [Int64: Int64] = [:]
        for posting in postings { shares[try user(ofSeries: posting.series), default: 0] += posting.bytes }
        for (user, bytes) in shares {
            try connection.run(
                "INSERT INTO shares (range, uid, bytes) VALUES (?1, ?2, ?3)", memory.values.rangeID, user, bytes)
        }
    }

    /// Returns the user id of a series, which never changes.
    private func user(ofSeries series: SeriesID) throws(SQLiteError) -> Int64 {
        if let known = memory.caches.users[series] { return known }
        let user = try connection.integer(
            "SELECT uid FROM series JOIN accounts ON accounts.id = account WHERE series.id = ?1", series)
        memory.caches.users.insert(user, for: series)
        return user
    }

    /// Writes the postings and counts with one statement per table. Thousands of series may share a range, and a commit
    /// waits for this.
    private func write(_ postings: RangePostings) throws(SQLiteError) {
        try tables.postings.withRows(PostingBuffer(postings.postings).cells, bytes: postings.ids) {
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
                                          occurrences = occurrences + excluded.occurrences,
                                          first_at = min(first_at, excluded.first_at),
                                          last_at = max(last_at, excluded.last_at)
                """, memory.values.rangeID)
        }
        try tables.minutes.withRows(MinuteBuffer(postings.minutes).cells) { () throws(SQLiteError) in
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

/// The posting lists of a closing range, as rows of a `BatchTable`.
struct PostingBuffer {
    static let columns: [StaticString] = ["series", "records", "occurrences", "first_at", "last_at", "bytes", "ids"]

    private(set) var cells: [BatchCell] = []

    init(_ postings: [RangePostings.Posting]) {
        cells.reserveCapacity(postings.count * Self.columns.count)
        for posting in postings {
            cells.append(.int64(posting.series.rawValue))
            cells.append(.int64(posting.records))
            cells.append(.int64(posting.occurrences))
            cells.append(.int64(posting.firstAt))
            cells.append(.int64(posting.lastAt))
            cells.append(.int64(posting.bytes))
            cells.append(.blob(posting.ids))
        }
    }
}

/// The counts per minute of a closing range, as rows of a `BatchTable`.
struct MinuteBuffer {
    static let columns: [StaticString] = ["minute", "series", "records", "occurrences"]

    private(set) var cells: [BatchCell] = []

    init(_ minutes: [RangePostings.Minute]) {
        cells.reserveCapacity(minutes.count * Self.columns.count)
        for minute in minutes {
            cells.append(.int64(minute.minute))
            cells.append(.int64(minute.series.rawValue))
            cells.append(.int64(minute.records))
            cells.append(.int64(minute.occurrences))
        }
    }
}
