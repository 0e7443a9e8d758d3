package import IssueCore
package import IssueProtocol
import SQLiteKit

/// Erases single records, as if they had never been reported. Their ids are not assigned again.
///
/// Only records in closed ranges can be erased. The caller must close the open range first, which also stores the last
/// assigned id.
extension StoreWriter {
    /// Erases records in closed ranges, in one transaction. Rows that do not exist, are unreadable or are in the open
    /// range are ignored.
    ///
    /// - Parameter rows: Row ids.
    /// - Returns: The number of erased records, their series, and how many of them each destination has or may have
    ///   received.
    package func erase(_ rows: [RowID]) throws(StoreFailure) -> Erasure {
        try erasing { () throws(SQLiteError) in try removal.erase(rows, &memory) }
    }

    /// Runs a transaction with `secure_delete`, which makes SQLite overwrite deleted content with zeros.
    func erasing<Value>(_ body: () throws(SQLiteError) -> Value) throws(StoreFailure) -> Value {
        do throws(SQLiteError) { try connection.setPragma("secure_delete", to: 1) } catch { throw StoreFailure(error) }
        defer { try? connection.setPragma("secure_delete", to: 0) }
        return try transaction(body)
    }

    /// Returns ids as a JSON array, for `json_each`.
    static func list(_ ids: some Sequence<some DatabaseID>) -> String { list(ids.lazy.map(\.rawValue)) }

    /// Returns numbers as a JSON array, for `json_each`.
    static func list(_ numbers: some Sequence<Int64>) -> String {
        var writer = JSONWriter()
        writer.array { for number in numbers { $0.integer(number) } }
        return writer.text
    }

    /// Returns texts as a JSON array, for `json_each`.
    static func list(_ texts: some Sequence<String>) -> String {
        var writer = JSONWriter()
        writer.array { for text in texts { $0.string(text) } }
        return writer.text
    }
}

extension RecordRemoval {
    /// Erases records. See `StoreWriter.erase`.
    func erase(_ rows: [RowID], _ memory: inout WriterMemory) throws(SQLiteError) -> Erasure {
        let toErase = try toErase(rows)
        guard let first = toErase.first?.row, let last = toErase.last?.row else { return Erasure() }
        var erasure = Erasure()
        erasure.records = Int64(toErase.count)
        erasure.series = Set(toErase.map(\.series))
        let inFlight: Set<RowID>
        (erasure.delivered, inFlight) = try outbox.subtractFates(of: toErase)
        try subtractCounts(of: toErase)
        try removeFromPostings(toErase)
        try delete(toErase)
        memory.values.removals.removed()
        memory.values.removals.removed(ahead: first...last)
        memory.values.removals.erased(inFlight: inFlight)
        return erasure
    }

    /// Returns the given rows that exist in closed ranges and are readable, in ascending order.
    func toErase(_ rows: [RowID]) throws(SQLiteError) -> [RecordToErase] {
        try connection.all(
            """
            SELECT records.id, records.series, series.account, records.received_at, records.count, ranges.id,
                   ranges.first_id
            FROM json_each(?1) AS row
            JOIN records ON records.id = row.value
            JOIN series ON series.id = records.series
            JOIN ranges ON ranges.id = (SELECT id FROM ranges WHERE last_id >= row.value ORDER BY id LIMIT 1)
                AND ranges.first_id <= row.value
            ORDER BY records.id
            """, StoreWriter.list(rows)
        ) {
            RecordToErase(
                row: $0.id(0), series: $0.id(1), account: $0.id(2), receivedAt: $0.int64(3),
                count: $0.int64(4), range: $0.int64(5), base: $0.id(6))
        }
    }

    /// Removes records from the posting lists of their ranges. An empty list is kept, because it links to the previous
    /// list of its series. Also subtracts the records' bytes from their users' shares of the ranges.
    func removeFromPostings(_ toErase: [RecordToErase]) throws(SQLiteError) {
        struct Key: Hashable {
            var range: Int64
            var series: SeriesID
        }
        for (key, gone) in Dictionary(grouping: toErase, by: { Key(range: $0.range, series: $0.series) }) {
            let found = try connection.first(
                """
                SELECT ids, records, bytes, accounts.uid FROM postings
                JOIN series ON series.id = series JOIN accounts ON accounts.id = series.account
                WHERE range = ?1 AND series = ?2
                """, key.range, key.series
            ) {
                (list: $0.bytes(0), records: $0.int64(1), bytes: $0.int64(2), user: $0.int64(3))
            }
            guard let found, let base = gone.first?.base else { continue }
            let rows = Set(gone.map(\.row))
            let left = (PostingList.decode(found.list, base: base) ?? []).filter { !rows.contains($0) }
            let bytes = found.bytes.clampedProduct(Int64(left.count)) / max(found.records, 1)
            try subtractShare(found.bytes - bytes, of: found.user, in: key.range)
            try connection.run(
                """
                UPDATE postings SET records = ?3, ids = ?4, bytes = ?7,
                    first_at = coalesce((SELECT received_at FROM records WHERE id = ?5), first_at),
                    last_at = coalesce((SELECT received_at FROM records WHERE id = ?6), last_at)
                WHERE range = ?1 AND series = ?2
                """, key.range, key.series, left.count, DatabaseBytes.blob(PostingList.encode(left, base: base)),
                left.first, left.last, bytes)
        }
    }

    /// Deletes the records, their dead letters, and their rows in `express` and `singles`. Subtracts the
    /// records from their ranges.
    func delete(_ toErase: [RecordToErase]) throws(SQLiteError) {
        let rows = StoreWriter.list(toErase.map(\.row))
        try blocks.remove(toErase.map(\.row))
        for sql: StaticString in [
            "DELETE FROM express WHERE record IN (SELECT value FROM json_each(?1))",
            """
            DELETE FROM singles WHERE destination IN (SELECT id FROM destinations)
                AND record IN (SELECT value FROM json_each(?1))
            """,
            "DELETE FROM dead_letters WHERE record IN (SELECT value FROM json_each(?1))",
        ] {
            try connection.run(sql, rows)
        }
        for (range, gone) in Dictionary(grouping: toErase, by: \.range) { try shrink(range: range, by: gone.count) }
    }

    /// Subtracts records from a range, and the same proportion of its bytes.
    func shrink(range: Int64, by count: Int) throws(SQLiteError) {
        try connection.run(
            """
            UPDATE ranges SET bytes = bytes - bytes * ?2 / max(records, ?2), records = max(records - ?2, 0)
            WHERE id = ?1
            """, range, count)
    }

    /// Subtracts bytes from a user's share of a range.
    func subtractShare(_ bytes: Int64, of user: Int64, in range: Int64) throws(SQLiteError) {
        for sql: StaticString in [
            "UPDATE shares SET bytes = bytes - ?3 WHERE range = ?1 AND uid = ?2",
            "DELETE FROM shares WHERE range = ?1 AND uid = ?2 AND bytes <= 0 AND ?3 >= 0",
        ] {
            try connection.run(sql, range, user, bytes)
        }
    }

    /// Subtracts records from the counts and the totals of their series.
    private func subtractCounts(of toErase: [RecordToErase]) throws(SQLiteError) {
        struct Key: Hashable {
            var minute: Int64
            var series: SeriesID
        }
        for (key, gone) in Dictionary(grouping: toErase, by: { Key(minute: $0.receivedAt / 60_000, series: $0.series) })
        {
            try connection.run(
                """
                UPDATE counts SET records = records - ?3, occurrences = occurrences - ?4
                -- Old counts are stored per hour.
                WHERE series = ?2 AND minute = coalesce(
                    (SELECT minute FROM counts WHERE minute = ?1 AND series = ?2), ?1 - ?1 % 60)
                """, key.minute, key.series, gone.count, gone.reduce(0) { $0 + $1.count })
            try connection.run(
                "DELETE FROM counts WHERE minute IN (?1, ?1 - ?1 % 60) AND series = ?2 AND records <= 0", key.minute,
                key.series)
        }
        for (series, gone) in Dictionary(grouping: toErase, by: \.series) {
            try connection.run(
                "UPDATE totals SET records = records - ?2, occurrences = occurrences - ?3 WHERE series = ?1", series,
                gone.count, gone.reduce(0) { $0 + $1.count })
        }
    }
}

/// A record that is about to be erased or removed by retention, with the values needed to update what counts it.
struct RecordToErase {
    var row: RowID
    var series: SeriesID
    var account: AccountID
    /// In milliseconds since 1970-01-01 UTC.
    var receivedAt: Int64
    /// The number of its occurrences.
    var count: Int64
    /// The id of the closed range that contains the record.
    var range: Int64
    /// The first row of that range.
    var base: RowID
}

/// The result of erasing records.
package struct Erasure: Equatable, Sendable {
    /// The number of erased records.
    package var records: Int64 = 0
    /// The series of the erased records, which `finishErasing` must clean up at the end.
    package var series: Set<SeriesID> = []
    /// For each destination, by name, the number of erased records that it has or may have received: those that were
    /// delivered, unconfirmed or in flight.
    package var delivered: [String: Int64] = [:]

    package init() {}

    /// Adds the result of another transaction.
    package mutating func add(_ other: Erasure) {
        records += other.records
        series.formUnion(other.series)
        delivered.merge(other.delivered) { $0 + $1 }
    }
}

extension StoreReader {
    /// Some of the rows that match a filter, in ascending order.
    package struct MatchingRows: Sendable {
        package var rows: [RowID] = []
        /// The last row that was examined; nil if no rows are left to examine.
        package var edge: RowID?
        /// The damaged blocks that may contain further matching rows, keyed by their first ids.
        package var damaged: [RowID: DamagedBlock] = [:]
    }

    /// The maximum number of rows examined per snapshot, so that no snapshot is held for long. If blocks are searched
    /// for content, only the candidates and one row per block count.
    private static let maxExamined = 20_000

    /// Returns the series that a purge must clean up at the end (`finishErasing`): those of the erased records and, if
    /// the filter has no conditions on single records, all others that it selects. Retention may have removed all of
    /// their records.
    ///
    /// - Parameters:
    ///   - filter: The filter of the purge.
    ///   - erased: The series of the erased records.
    /// - Throws: `QueryFailure` if the filter is invalid, or the error of the query.
    package func series(toEraseBy filter: IssueFilter, _ erased: Set<SeriesID>) throws -> Set<SeriesID> {
        guard filter.includesWholeSeries else { return erased }
        let selection = try SeriesSelection(filter, viewer: .everything)
        return try snapshot {
            let statement = try selection.statement("SELECT series FROM (\(SeriesSelection.sql))", on: connection)
            return erased.union(try statement.all { $0.id(0, as: SeriesID.self) })
        }
    }

    /// Returns the first rows that match a filter, with `row < id <= last`.
    ///
    /// Examines at most 20,000 rows or, if blocks are searched for content, 20,000 candidates and blocks. To continue,
    /// pass the `edge` of the result as `row`.
    ///
    /// - Parameters:
    ///   - filter: The filter.
    ///   - row: The row after which to start.
    ///   - last: The last row to examine.
    ///   - limit: The maximum number of rows.
    /// - Throws: `QueryFailure` if the filter is invalid or its destination is unknown, or the error of the query.
    package func rows(
        _ filter: IssueFilter, above row: RowID, through last: RowID, limit: Int
    ) throws -> MatchingRows {
        let selection = try SeriesSelection(filter, viewer: .everything)
        return try snapshot {
            try expectDestination(filter.destination)
            let content = RecordMatcher(filter)
            let query = RecordQuery(filter: filter, isAscending: true, limit: limit, after: nil)
            var search = try RecordSearch(selection, query, from: row, on: self)
            var found = MatchingRows()
            var examinedCount = 0
            while let next = try search.next(on: self), next <= last {
                examinedCount += 1
                // A posting list may contain records of blocks that were damaged later. These cannot be erased.
                if search.isCandidate, try blocks.find(next) != nil, try matches(row: next, filter, content) {
                    found.rows.append(next)
                }
                if found.rows.count == limit || examinedCount == Self.maxExamined {
                    found.edge = next
                    break
                }
            }
            found.damaged = blocks.skipped
            return found
        }
    }

    /// Returns `true` if records of the applications that a filter selects may be stored under the application
    /// `overflow`, which the filter does not select. See `CardinalityGuard`.
    package func mayOverflow(_ filter: IssueFilter) throws -> Bool {
        guard let apps = filter.apps, !apps.isEmpty, !apps.contains("overflow") else { return false }
        let users = filter.users.map { StoreWriter.list($0.map { Int64($0) }) }
        return try snapshot {
            try connection.exists(
                """
                SELECT 1 FROM accounts
                WHERE app = 'overflow' AND (?1 IS NULL OR uid IN (SELECT value FROM json_each(?1)))
                """, users)
        }
    }

    private func matches(row: RowID, _ filter: IssueFilter, _ content: RecordMatcher?) throws -> Bool {
        if let content {
            guard let record = try record(row: row) else { return false }
            return try matches(record, filter, content)
        }
        if filter.since != nil || filter.until != nil {
            guard let (block, index) = try blocks.find(row) else { return false }
            let at = IssueTimestamp(millisecondsSince1970: block.rows[index].receivedAt)
            guard at >= filter.since ?? at, at <= filter.until ?? at else { return false }
        }
        return try matches(fatesOf: row, filter)
    }
}

/// The last phase of an erasure: overwrites the remains of deleted rows in the file.
///
/// Deleted rows may remain in free pages, in unused parts of pages, and in the WAL. This includes rows that retention
/// has deleted or that SQLite has moved. A pass covers the whole file in small steps. Pages that are written during the
/// pass may contain deleted rows again, so their unused parts are overwritten once more at the end.
extension StoreWriter {
    /// The progress of a pass over the file.
    package struct UnusedBytesPass: Sendable {
        /// The result of a step.
        package enum Step: Equatable, Sendable {
            /// Another step follows.
            case more
            /// Another connection is running a checkpoint, or prevents the WAL from being checkpointed or truncated.
            /// Try again later.
            case waiting
            case done
        }

        /// The next page whose unused parts must be overwritten.
        var next: UInt32 = 1
        /// Pages that were written during the pass, whose unused parts must be overwritten again.
        var left: Set<UInt32> = []
        /// The number of pages that could not be parsed and may still contain deleted rows. A file whose pages cannot
        /// be classified at all counts as one page.
        package var unread = 0

        package init() {}
    }

    /// The number of pages per step (4 MiB). Pages written during the pass are handled in larger steps, so that the
    /// pass ends even if pages are written all the time.
    private static let unusedPagesPerStep: UInt32 = 512
    private static let writtenPagesPerStep = 4096

    /// Starts collecting the numbers of written pages. Must be called before the first step of a pass.
    package func beginErasingUnusedBytes() {
        connection.pagesCheckpointed = []
    }

    /// Stops collecting the numbers of written pages.
    package func endErasingUnusedBytes() {
        connection.pagesCheckpointed = nil
    }

    /// Performs one step of a pass over the file.
    ///
    /// - Throws: `StoreFailure` if reading or writing fails.
    package func eraseUnusedBytes(_ pass: inout UnusedBytesPass) throws(StoreFailure) -> UnusedBytesPass.Step {
        do {
            let isEmpty = try truncateWAL()
            pass.left.formUnion(connection.pagesCheckpointed ?? [])
            connection.pagesCheckpointed = []
            guard try isEmpty || checkpointWholeWAL() else { return .waiting }
            let isAtEnd = Int64(pass.next) > (try connection.pages)
            // At the end, the WAL must be empty, because its frames may contain deleted rows.
            guard !isAtEnd || isEmpty else { return .waiting }
            let pages =
                isAtEnd
                ? Array(pass.left.prefix(Self.writtenPagesPerStep))
                : Array(pass.next..<pass.next + Self.unusedPagesPerStep)
            guard let result = try connection.eraseUnusedBytes(of: pages) else { return .waiting }
            pass.unread += result.unread
            guard isAtEnd else {
                pass.next += Self.unusedPagesPerStep
                return .more
            }
            pass.left.subtract(pages)
            guard pass.left.isEmpty else { return .more }
            try connection.synchronizeFiles()
            return .done
        } catch let error as SQLiteError {
            throw StoreFailure(error)
        } catch {
            pass.unread += 1
            return .done
        }
    }

    /// Checkpoints and truncates the WAL. Returns `false` if another connection prevents that.
    private func truncateWAL() throws(SQLiteError) -> Bool {
        do throws(SQLiteError) {
            return try withShortTimeout { () throws(SQLiteError) in try connection.checkpoint(.truncate) }
        } catch {
            guard error.isBusy else { throw error }
            return false
        }
    }

    /// Runs a passive checkpoint. Returns `false` if a reader or another checkpoint prevents it from copying the whole
    /// WAL.
    private func checkpointWholeWAL() throws(SQLiteError) -> Bool {
        do throws(SQLiteError) {
            return try connection.checkpoint(.passive)
        } catch {
            guard error.isBusy else { throw error }
            return false
        }
    }
}

extension IssueFilter {
    /// Whether the conditions select series and not single records.
    package var includesWholeSeries: Bool {
        since == nil && until == nil && outcomes == nil && RecordMatcher(self) == nil
    }
}
