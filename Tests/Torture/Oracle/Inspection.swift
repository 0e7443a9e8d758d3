import IssueProtocol
import IssueTestSupport
import SQLiteKit

/// Examines a store repeatedly, and compares the new rows with the oracle each time.
///
/// The content of a row is compared only once. A row that retention removes later has been counted by then, so the sums
/// that the store keeps can still be checked. Of rows that are removed before they are read, only the number is
/// checked. Each look also checks that no rows are gone except those that retention has removed.
package final class Inspection {
    /// An hour and a series. Counts are compared per hour, because the store keeps old counts only per hour, and with a
    /// shifted wall clock, any count may be old.
    struct HourKey: Hashable {
        let hour: Int64
        let series: Int64
    }

    let oracle: Oracle
    private let path: String
    var series: [Int64: ScannedSeries] = [:]
    var lastRow: Int64 = 0
    /// Ids that were skipped in this look, and their number.
    var gaps: [ClosedRange<Int64>] = []
    var overlooked: Int64 = 0
    /// The number of series that were removed in total.
    var missingSeries: Int64 = 0
    /// The number of series that were removed since the last look.
    var removedSeries: Int64 = 0
    // Sums over all rows that were seen, in closed ranges and in the open one: by series, and by account.
    var totals: [Int64: RecordTotals] = [:]
    var received: [Int64: RecordTotals] = [:]
    // Sums for closed ranges only: by series, and by hour and series.
    var closedTotals: [Int64: RecordTotals] = [:]
    var closedCounts: [HourKey: RecordTotals] = [:]
    /// The rows of the open range.
    var openRows: [(id: Int64, series: Int64, hour: Int64, count: Int64)] = []
    /// The number of rows that a closed range had when its posting lists were last compared with them.
    var comparedRanges: [Int64: Int64] = [:]
    var lastRange: Int64 = 0
    var lastClosedRow: Int64 = 0
    /// The number of rows found in total.
    package private(set) var found = 0
    var complaints: [String] = []

    package init(_ path: String, _ oracle: Oracle) {
        self.path = path
        self.oracle = oracle
    }

    /// Copies the current knowledge, for a store that will later be restored to the current state.
    package init(as other: Inspection) {
        path = other.path
        oracle = other.oracle
        series = other.series
        missingSeries = other.missingSeries
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

    /// Examines new rows, and throws if something contradicts the oracle.
    ///
    /// - Parameter isQuiet: `true` if no call is in flight, so that all outcomes are final.
    /// - Throws: `Oracle.Contradiction`, or the error of SQLite if the store cannot be read.
    package func inspect(isQuiet: Bool = true) throws {
        let ends = isQuiet ? nil : oracle.ends()
        let connection = try DatabaseConnection(path: path, mode: .readOnly, busyTimeout: .seconds(20))
        try ScannedBlock.addRecords(to: connection)
        try connection.readTransaction {
            try readSeries(connection)
            try readRows(connection)
            try noteOverlooked(connection)
            try noteRemovedSeries(connection)
            try checkBlocks(connection)
            try checkRanges(connection)
            try checkPresence(connection)
            try checkSums(connection)
        }
        overlooked = 0
        guard complaints.isEmpty else { throw Oracle.Contradiction(sentences: Array(complaints.prefix(20))) }
        try oracle.check(upTo: ends)
    }

    private func readSeries(_ connection: DatabaseConnection) throws {
        let statement = try Statement(composedSQL: ScannedSeries.query, on: connection)
        statement.bind(series.keys.max() ?? 0, at: 1)
        for found in try statement.all({ ScannedSeries($0) }) { series[found.id] = found }
    }

    private func readRows(_ connection: DatabaseConnection) throws {
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
            complaints.append("row \(row.id) has the series \(row.series), which does not exist")
            return
        }
        totals[row.series, default: RecordTotals()].add(row.count)
        received[series.account, default: RecordTotals()].add(row.count)
        openRows.append((row.id, row.series, row.receivedAt / 3_600_000, row.count))
        guard let source = Payload.source(of: row.message) else {
            complaints.append("row \(row.id) says “\(row.message)”, which was never sent")
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
