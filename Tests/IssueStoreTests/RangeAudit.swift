import IssueCore
import IssueStore
import SQLiteKit
import Testing

/// Recounts closed ranges by a plain scan of their rows, and reports differences.
struct RangeAudit {
    /// A row that retention has removed. Counts and totals still include it.
    struct Gone {
        var id: RowID
        var series: Int64
        var receivedAt: Int64
        var count: Int64
    }

    /// Returns one message per difference, none if ranges, postings, counts and totals are exact.
    ///
    /// - Parameters:
    ///   - gone: The rows that retention has removed.
    ///   - isThinned: `true` if the removed rows are not only the oldest ones. Posting lists then contain only the
    ///     remaining rows of a range.
    ///   - underWay: The range that is being thinned, whose posting lists may still contain removed rows.
    static func faults(
        _ connection: DatabaseConnection, gone: [Gone] = [], isThinned: Bool = false, underWay: Int64? = nil
    ) throws -> [String] {
        try collect(gone, connection)
        let lastGone = RowID(
            try connection.number(
                "SELECT max(0, coalesce((SELECT min(id) - 1 FROM main.records), (SELECT max(id) FROM gone), 0))"))
        let ranges = try Statement(
            composedSQL: "SELECT id, first_id, last_id, records FROM ranges ORDER BY id", on: connection
        ).all {
            (id: $0.int64(0), first: $0.id(1, as: RowID.self), last: $0.id(2, as: RowID.self), records: $0.int64(3))
        }
        var faults: [String] = []
        let counted = try StoreReader.recordCount(on: connection)
        let existing = try connection.number("SELECT count(*) FROM main.records")
        if counted != existing { faults.append("\(existing) records are counted as \(counted)") }
        var end: RowID = 0
        for range in ranges {
            // When the records of the oldest ranges are gone, the rows of these ranges are removed as well.
            if range.id == ranges.first?.id, range.first <= lastGone + 1 { end = range.first - 1 }
            if range.first != end + 1 { faults.append("range \(range.id) begins at \(range.first), not \(end + 1)") }
            end = range.last
            let rows = try connection.number(
                "SELECT count(*) FROM records WHERE id BETWEEN \(range.first) AND \(range.last)")
            if rows != range.records { faults.append("range \(range.id) has \(rows) rows, but says \(range.records)") }
            faults += try postingFaults(
                range.id, range.first...range.last, lastGone, isThinned, range.id == underWay, connection)
        }
        faults += try differences(
            "counts",
            "SELECT minute, series, records, occurrences, 0 FROM counts",
            """
            SELECT received_at / 60000, series, count(*), sum(count), 0 FROM every_record
            WHERE id <= \(end) GROUP BY 1, 2
            """, connection)
        faults += try differences(
            "totals", "SELECT series, records, occurrences, first_at, last_at FROM totals WHERE records > 0",
            """
            SELECT series, count(*), sum(count), min(received_at), max(received_at) FROM every_record
            WHERE id <= \(end) GROUP BY series
            """, connection)
        return faults
    }

    private static func collect(_ gone: [Gone], _ connection: DatabaseConnection) throws {
        try connection.execute(
            """
            CREATE TEMP TABLE IF NOT EXISTS gone (id INTEGER PRIMARY KEY, series, received_at, count);
            DELETE FROM gone;
            CREATE TEMP VIEW IF NOT EXISTS every_record AS
                SELECT id, series, received_at, count FROM main.records
                UNION ALL SELECT id, series, received_at, count FROM gone;
            """)
        for row in gone {
            try connection.execute(
                composedSQL: "INSERT INTO gone VALUES (\(row.id), \(row.series), \(row.receivedAt), \(row.count))")
        }
    }

    private static func postingFaults(
        _ range: Int64, _ rows: ClosedRange<RowID>, _ lastGone: RowID, _ isThinned: Bool, _ isBeingThinned: Bool,
        _ connection: DatabaseConnection
    ) throws -> [String] {
        let ids = try ids(of: "every_record", rows, connection)
        let left = try self.ids(of: "main.records", rows, connection)
        let postings = try Statement(
            composedSQL: "SELECT series, records, previous, ids FROM postings WHERE range = \(range)", on: connection
        ).all { (series: $0.int64(0), records: $0.int64(1), previous: $0.optionalInt64(2), ids: $0.bytes(3)) }
        var faults: [String] = []
        // Posting lists are removed after the records of a range.
        let mayLack = rows.upperBound <= lastGone && Set(postings.map(\.series)).isSubset(of: ids.keys)
        // An empty list remains as a link of its chain.
        let listed = Set(postings.filter { $0.records > 0 }.map(\.series))
        let expected = isThinned ? left : ids
        let isListed =
            isBeingThinned
            ? listed.isSubset(of: ids.keys) && listed.isSuperset(of: left.keys) : listed == Set(expected.keys)
        if !mayLack, !isListed { faults.append("range \(range) does not list the right series") }
        for posting in postings {
            let list = PostingList.decode(posting.ids, base: rows.lowerBound) ?? []
            let own = expected[posting.series] ?? []
            let isRight =
                isBeingThinned
                ? list == list.sorted() && Set(list).isSuperset(of: own)
                    && Set(list).isSubset(of: ids[posting.series] ?? []) : list == own
            if !isRight || posting.records != Int64(list.count) {
                faults.append("range \(range), series \(posting.series): the ids do not match its rows")
            }
            let before = try connection.numbers(
                "SELECT max(range) FROM postings WHERE series = \(posting.series) AND range < \(range)")
            // A link to a range that has been removed counts as none.
            let oldest = try connection.number("SELECT min(id) FROM ranges")
            let previous = posting.previous.flatMap { $0 < oldest ? nil : $0 }
            let isBehindGone = before.first ?? 0 == 0 && lastGone > 0
            if !isBehindGone, previous ?? 0 != before.first ?? 0 {
                faults.append("range \(range), series \(posting.series): the link to the previous range is wrong")
            }
        }
        return faults
    }

    private static func ids(
        of table: String, _ rows: ClosedRange<RowID>, _ connection: DatabaseConnection
    ) throws -> [Int64: [RowID]] {
        var ids: [Int64: [RowID]] = [:]
        try Statement(
            composedSQL: """
                SELECT id, series FROM \(table) WHERE id BETWEEN \(rows.lowerBound) AND \(rows.upperBound) ORDER BY id
                """, on: connection
        ).forEach { ids[$0.int64(1), default: []].append($0.id(0)) }
        return ids
    }

    private static func differences(
        _ name: String, _ stored: String, _ counted: String, _ connection: DatabaseConnection
    ) throws -> [String] {
        try ["\(stored) EXCEPT \(counted)", "\(counted) EXCEPT \(stored)"].flatMap { sql in
            try Statement(composedSQL: sql, on: connection).all {
                "\(name) differ at \($0.int64(0)), \($0.int64(1)), \($0.int64(2))"
            }
        }
    }
}

/// The records of a store from which retention removes some. The counts still include the removed ones.
struct RetentionAudit {
    let store: TemporaryStore
    let destination: Int64
    /// All records that `remember` has seen.
    private var seen: [RangeAudit.Gone] = []

    init(_ store: TemporaryStore, destination: Int64) {
        self.store = store
        self.destination = destination
    }

    /// Remembers the stored records before some of them are removed.
    mutating func remember() throws {
        let known = Set(seen.map(\.id))
        seen += try Statement(
            composedSQL: "SELECT id, series, received_at, count FROM records ORDER BY id", on: store.shell()
        ).all {
            RangeAudit.Gone(id: $0.id(0), series: $0.int64(1), receivedAt: $0.int64(2), count: $0.int64(3))
        }.filter { !known.contains($0.id) }
    }

    func left() throws -> Set<RowID> { Set(try store.shell().numbers("SELECT id FROM records").map { RowID($0) }) }

    /// Checks that counts, posting lists and the ledger match the remaining and the removed records.
    ///
    /// - Parameters:
    ///   - total: The number of records that were ever stored.
    ///   - underWay: The range that is being thinned, whose posting lists may still contain removed rows.
    ///   - isInterrupted: `true` if the posting lists of other ranges may contain removed rows, too. `RangeAudit` is
    ///     then skipped.
    func expectConsistentCounts(
        total: Int, underWay: Int64? = nil, isInterrupted: Bool = false, sourceLocation: Testing.SourceLocation
    ) throws {
        let shell = try store.shell()
        if !isInterrupted {
            let left = try left()
            let gone = seen.filter { !left.contains($0.id) }
            let faults = try RangeAudit.faults(shell, gone: gone, isThinned: true, underWay: underWay)
            #expect(faults == [], sourceLocation: sourceLocation)
        }
        let sum = try shell.number("SELECT sum(records) FROM series_totals")
        #expect(sum == Int64(total), sourceLocation: sourceLocation)
        try expectBalance(total: total, sourceLocation: sourceLocation)
    }

    /// Checks that the ledger balances, and that it has the right numbers of stored and of pending records.
    func expectBalance(total: Int, sourceLocation: Testing.SourceLocation) throws {
        let shell = try store.shell()
        #expect(try shell.table("SELECT * FROM ledger_check", columns: 2) == [], sourceLocation: sourceLocation)
        #expect(
            try shell.number("SELECT sum(records) FROM ledger WHERE destination = 0") == Int64(total),
            sourceLocation: sourceLocation)
        let waiting = try shell.number("SELECT count(*) FROM records WHERE id > (SELECT cursor FROM destinations)")
        let pending = try shell.number("SELECT sum(records) FROM ledger WHERE destination > 0 AND fate = 0")
        let sent = try store.reader().unansweredBatch(of: destination)?.sent.count ?? 0
        #expect(pending == waiting + Int64(sent), sourceLocation: sourceLocation)
    }
}
