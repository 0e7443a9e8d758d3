import SQLiteKit

extension Inspection {
    private struct ClosedRange {
        let id: Int64
        let first: Int64
        let last: Int64
        let records: Int64
    }

    /// Checks that no two blocks overlap and none crosses the end of a range.
    func checkBlocks(_ connection: DatabaseConnection) throws {
        let overlaps = try Statement(
            """
            SELECT count(*) FROM (SELECT last_id, lead(first_id) OVER (ORDER BY first_id) AS next FROM blocks)
            WHERE next <= last_id
            """, on: connection
        ).first { $0.int64(0) }
        if overlaps != 0 { complaints.append("blocks overlap") }
        let crossing = try Statement(
            """
            SELECT count(*) FROM ranges JOIN blocks
                ON blocks.first_id = (SELECT max(first_id) FROM blocks WHERE first_id <= ranges.last_id)
            WHERE blocks.last_id > ranges.last_id
            """, on: connection
        ).first { $0.int64(0) }
        if crossing != 0 { complaints.append("a block crosses the end of a range") }
    }

    /// Checks that the posting lists and counts of newly closed ranges match their rows.
    func checkRanges(_ connection: DatabaseConnection) throws {
        let statement = try Statement(
            "SELECT id, first_id, last_id, records FROM ranges WHERE id > ?1 ORDER BY id", on: connection)
        statement.bind(lastRange, at: 1)
        let ranges = try statement.all {
            ClosedRange(id: $0.int64(0), first: $0.int64(1), last: $0.int64(2), records: $0.int64(3))
        }
        for range in ranges { try check(range, connection) }
        guard !ranges.isEmpty else { return }
        try checkClosedTotals(connection)
        try checkClosedCounts(connection)
    }

    private func check(_ range: ClosedRange, _ connection: DatabaseConnection) throws {
        if range.first != lastClosedRow + 1 {
            complaints.append("range \(range.id) begins at \(range.first), and the one before ends at \(lastClosedRow)")
        }
        let rows = openRows.prefix { $0.id <= range.last }
        openRows.removeFirst(rows.count)
        var ids: [Int64: [Int64]] = [:]
        for row in rows {
            ids[row.series, default: []].append(row.id)
            // Since the last look, retention may have removed all records of a series, and then its sums.
            guard series[row.series] != nil else { continue }
            closedTotals[row.series, default: RecordTotals()].add(row.count)
            closedCounts[HourKey(hour: row.hour, series: row.series), default: RecordTotals()].add(row.count)
        }
        lastRange = range.id
        lastClosedRow = range.last
        // If the range lacks rows, retention has started on it, and its posting lists change with its rows.
        guard range.records == range.last - range.first + 1 else { return }

        let statement = try Statement("SELECT series, ids FROM postings WHERE range = ?1", on: connection)
        statement.bind(range.id, at: 1)
        var postings: [Int64: [Int64]] = [:]
        for (series, bytes) in try statement.all({ ($0.int64(0), $0.bytes(1)) }) {
            postings[series] = Self.ids(bytes, after: range.first)
        }
        if postings != ids { complaints.append("the posting lists of range \(range.id) do not match its rows") }
    }

    /// Decodes a posting list: differences in groups of seven bits, the lowest first.
    static func ids(_ bytes: [UInt8], after base: Int64) -> [Int64] {
        var ids: [Int64] = []
        var previous = base
        var difference: Int64 = 0
        var shift: Int64 = 0
        for byte in bytes {
            difference |= Int64(byte & 0x7F) << shift
            shift += 7
            guard byte < 0x80 else { continue }
            previous += difference
            ids.append(previous)
            difference = 0
            shift = 0
        }
        return ids
    }

    private func checkClosedTotals(_ connection: DatabaseConnection) throws {
        let statement = try Statement(
            "SELECT series, records, occurrences FROM totals WHERE records > 0", on: connection)
        let stored = try statement.all { ($0.int64(0), RecordTotals(records: $0.int64(1), occurrences: $0.int64(2))) }
        compare(
            "totals", Dictionary(stored) { first, _ in first }, with: &closedTotals, isComplete: removedSeries == 0)
    }

    private func checkClosedCounts(_ connection: DatabaseConnection) throws {
        let statement = try Statement(
            """
            SELECT minute / 60, series, sum(records), sum(occurrences) FROM counts
            WHERE series IN (SELECT id FROM series) GROUP BY 1, 2
            """, on: connection)
        let stored = try statement.all {
            (
                HourKey(hour: $0.int64(0), series: $0.int64(1)),
                RecordTotals(records: $0.int64(2), occurrences: $0.int64(3))
            )
        }
        compare(
            "counts", Dictionary(stored) { first, _ in first }, with: &closedCounts, isComplete: removedSeries == 0)
    }

    /// Checks what must be true at every commit: the sums of each series and account, and the balance of the ledger.
    func checkSums(_ connection: DatabaseConnection) throws {
        var statement = try Statement(
            "SELECT series, records, occurrences FROM series_totals WHERE records > 0", on: connection)
        let series = try statement.all { ($0.int64(0), RecordTotals(records: $0.int64(1), occurrences: $0.int64(2))) }
        compare(
            "series_totals", Dictionary(series) { first, _ in first }, with: &totals, isComplete: removedSeries == 0)

        statement = try Statement(
            "SELECT account, records, occurrences FROM ledger WHERE destination = 0 AND fate = 7 AND records > 0",
            on: connection)
        let accounts = try statement.all { ($0.int64(0), RecordTotals(records: $0.int64(1), occurrences: $0.int64(2))) }
        compare("the ledger", Dictionary(accounts) { first, _ in first }, with: &received)

        statement = try Statement("SELECT count(*) FROM ledger_check", on: connection)
        if try statement.first({ $0.int64(0) }) != 0 { complaints.append("the ledger does not balance") }
    }
}
