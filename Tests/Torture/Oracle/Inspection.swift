import IssueProtocol
import SQLiteKit

/// Looks through a store again and again, each time at what is new in it, and compares all with the oracle.
///
/// A row is looked at once, while it is there; what retention takes later has
/// been counted, so that the counts that stay can be checked. Of what it took
/// before anybody looked, the number is checked, and at each look that nothing
/// is gone but what it says it took.
package final class Inspection {
    /// Counts of long ago are kept by the hour, and with a wall clock that is set anything may be of long ago.
    struct HourKey: Hashable {
        let hour: Int64
        let series: Int64
    }

    let oracle: Oracle
    private let path: String
    var series: [Int64: ScannedSeries] = [:]
    var lastRow: Int64 = 0
    /// Ids that were passed in this look, and how many.
    var gaps: [ClosedRange<Int64>] = []
    var overlooked: Int64 = 0
    /// All rows that were seen, of ranges that are closed and of the open one.
    var totals: [Int64: Tally] = [:]
    var received: [Int64: Tally] = [:]
    /// The same of ranges that are closed alone.
    var closedTotals: [Int64: Tally] = [:]
    var closedCounts: [HourKey: Tally] = [:]
    /// Rows of the open range.
    var openRows: [(id: Int64, series: Int64, hour: Int64, count: Int64)] = []
    /// How many rows a closed range had when its posting lists were compared with them.
    var comparedRanges: [Int64: Int64] = [:]
    var lastRange: Int64 = 0
    var lastClosedRow: Int64 = 0
    /// How many rows were found in all.
    package private(set) var found = 0
    var complaints: [String] = []

    package init(_ path: String, _ oracle: Oracle) {
        self.path = path
        self.oracle = oracle
    }

    /// What is known now, for a store that will be as it is now.
    package init(as other: Inspection) {
        path = other.path
        oracle = other.oracle
        series = other.series
        lastRow = other.lastRow
        totals = other.totals
        received = other.received
        closedTotals = other.closedTotals
        closedCounts = other.closedCounts
        openRows = other.openRows
        lastRange = other.lastRange
        lastClosedRow = other.lastClosedRow
        found = other.found
    }

    /// Looks at what is new, and throws what contradicts the oracle.
    ///
    /// - Parameter isQuiet: whether nothing is under way any more, so that all is settled.
    package func look(isQuiet: Bool = true) throws {
        let ends = isQuiet ? nil : oracle.ends()
        let connection = try Connection(path: path, mode: .readOnly, busyTimeout: .seconds(20))
        try connection.readTransaction {
            try readSeries(connection)
            try readRows(connection)
            try noteOverlooked(connection)
            try checkRanges(connection)
            try checkPresence(connection)
            try checkSums(connection)
        }
        overlooked = 0
        guard complaints.isEmpty else { throw Oracle.Contradiction(sentences: Array(complaints.prefix(20))) }
        try oracle.judge(upTo: ends)
    }

    private func readSeries(_ connection: Connection) throws {
        let statement = try Statement(composedSQL: ScannedSeries.query, on: connection)
        statement.bind(series.keys.max() ?? 0, at: 1)
        for found in try statement.all({ ScannedSeries($0) }) { series[found.id] = found }
    }

    private func readRows(_ connection: Connection) throws {
        let statement = try Statement(
            composedSQL: "SELECT \(ScannedRow.columns) FROM records WHERE id > ?1 ORDER BY id", on: connection)
        statement.bind(lastRow, at: 1)
        try statement.forEach { row in
            take(ScannedRow(row) { series[$0]?.template })
        }
    }

    private func take(_ row: ScannedRow) {
        if row.id > lastRow + 1 { gaps.append(lastRow + 1...row.id - 1) }
        lastRow = row.id
        found += 1
        guard let series = series[row.series] else {
            complaints.append("row \(row.id) has the series \(row.series), which there is not")
            return
        }
        totals[row.series, default: Tally()].add(row.count)
        received[series.account, default: Tally()].add(row.count)
        openRows.append((row.id, row.series, row.receivedAt / 3_600_000, row.count))
        guard let source = Payload.source(of: row.message) else {
            complaints.append("row \(row.id) says “\(row.message)”, which nobody has sent")
            return
        }
        guard let expected = oracle.found(source.reporter, source.number, at: row.id) else { return }
        if let difference = series.difference(of: row, from: expected.record) {
            complaints.append("row \(row.id), reporter \(source.reporter)'s record \(source.number): \(difference)")
        }
        if series.uid != Int64(expected.uid) {
            complaints.append("row \(row.id) belongs to the user \(series.uid), not to \(expected.uid)")
        }
    }
}
