import IssueCore
import SQLiteKit

/// Recounts what closed ranges say by a plain scan of their rows, and says where they differ.
struct RangeAudit {
    /// A row that retention has taken: counts and totals still tell of it.
    struct Gone {
        var id: Int64
        var series: Int64
        var receivedAt: Int64
        var count: Int64
    }

    /// What is wrong, a sentence each; nothing where ranges, postings, counts and totals are exact.
    ///
    /// - Parameter gone: the first rows of all, which retention has taken.
    static func faults(_ connection: Connection, gone: [Gone] = []) throws -> [String] {
        try collect(gone, connection)
        let lastGone = gone.last?.id ?? 0
        let ranges = try Statement(
            composedSQL: "SELECT id, first_id, last_id, records FROM ranges ORDER BY id", on: connection
        ).all { (id: $0.int64(0), first: $0.int64(1), last: $0.int64(2), records: $0.int64(3)) }
        var faults: [String] = []
        var end: Int64 = 0
        for range in ranges {
            // The rows of the first ranges go, too, once their records are gone.
            if range.id == ranges.first?.id, range.first <= lastGone + 1 { end = range.first - 1 }
            if range.first != end + 1 { faults.append("range \(range.id) begins at \(range.first), not \(end + 1)") }
            end = range.last
            let rows = try connection.number(
                "SELECT count(*) FROM records WHERE id BETWEEN \(range.first) AND \(range.last)")
            if rows != range.records { faults.append("range \(range.id) holds \(rows), and says \(range.records)") }
            faults += try postingFaults(range.id, range.first...range.last, lastGone, connection)
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

    private static func collect(_ gone: [Gone], _ connection: Connection) throws {
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
        _ range: Int64, _ rows: ClosedRange<Int64>, _ lastGone: Int64, _ connection: Connection
    ) throws -> [String] {
        var ids: [Int64: [Int64]] = [:]
        try Statement(
            composedSQL: """
                SELECT id, series FROM every_record WHERE id BETWEEN \(rows.lowerBound) AND \(rows.upperBound) ORDER BY id
                """, on: connection
        ).forEach { ids[$0.int64(1), default: []].append($0.int64(0)) }
        let postings = try Statement(
            composedSQL: "SELECT series, records, previous, ids FROM postings WHERE range = \(range)", on: connection
        ).all { (series: $0.int64(0), records: $0.int64(1), previous: $0.optionalInt64(2), ids: $0.bytes(3)) }
        var faults: [String] = []
        // They are the last that goes of a range.
        let mayLack = rows.upperBound <= lastGone && Set(postings.map(\.series)).isSubset(of: ids.keys)
        // A list from which all was erased stays, as a link of its chain.
        if !mayLack, Set(postings.filter { $0.records > 0 }.map(\.series)) != Set(ids.keys) {
            faults.append("range \(range) lists other series")
        }
        for posting in postings {
            let own = ids[posting.series] ?? []
            if PostingList.decode(posting.ids, base: rows.lowerBound) != own || posting.records != Int64(own.count) {
                faults.append("range \(range), series \(posting.series): other ids than its rows")
            }
            let before = try connection.numbers(
                "SELECT max(range) FROM postings WHERE series = \(posting.series) AND range < \(range)")
            // Below what retention has removed nothing is linked any more.
            let oldest = try connection.number("SELECT min(id) FROM ranges")
            let previous = posting.previous.flatMap { $0 < oldest ? nil : $0 }
            let isBehindGone = before.first ?? 0 == 0 && lastGone > 0
            if !isBehindGone, previous ?? 0 != before.first ?? 0 {
                faults.append("range \(range), series \(posting.series): a wrong range before it")
            }
        }
        return faults
    }

    private static func differences(
        _ name: String, _ stored: String, _ counted: String, _ connection: Connection
    ) throws -> [String] {
        try ["\(stored) EXCEPT \(counted)", "\(counted) EXCEPT \(stored)"].flatMap { sql in
            try Statement(composedSQL: sql, on: connection).all {
                "\(name) differ at \($0.int64(0)), \($0.int64(1)), \($0.int64(2))"
            }
        }
    }
}
