import IssueCore
import IssueProtocol
import IssueStore

/// The expected contents of a store: all acknowledged records and their fates.
///
/// Ids are assigned from 1 without gaps, so the row with id 1 is the first one here.
struct StoreModel {
    struct Row {
        var record: IssueRecord
        var process: ReportingProcess
        var account: Account
        var count: Int64
        var fates: [Int64: IssueFate.Outcome]
    }

    struct Account: Hashable {
        var uid: UInt32
        var app: String
    }

    /// A row of the ledger.
    struct Line: Hashable {
        var destination: Int64
        var account: Account
        var fate: Int64
    }

    struct Sum: Equatable {
        var records: Int64 = 0
        var occurrences: Int64 = 0
    }

    /// The values that the database assigned to a row. They must not change, and counts are computed from them.
    struct RowInfo: Equatable {
        var series: Int64
        var receivedAt: Int64
    }

    struct Batch: Equatable {
        var sent: [RowID]
    }

    struct Numbered {
        var call: SentCall
        var process: ReportingProcess
        var firstRow: RowID
    }

    var rows: [Row] = []
    var rowInfo: [Int64: RowInfo] = [:]
    var cursors: [Int64: RowID] = [:]
    var unanswered: [Int64: Batch] = [:]
    /// The newest call of each producer.
    var newest: [ProducerID: Numbered] = [:]

    var lastRow: Int64 { Int64(rows.count) }

    /// The number of rows that retention has removed. They are the first ones.
    private(set) var goneCount: Int64 = 0

    mutating func received(_ records: [IssueRecord], _ call: SentCall, from process: ReportingProcess) {
        if let producer = call.numbering?.producer {
            newest[producer] = Numbered(call: call, process: process, firstRow: RowID(lastRow + 1))
        }
        let fates = cursors.mapValues { _ in IssueFate.Outcome.pending }
        for record in records {
            let account = Account(uid: process.sender.uid, app: record.app?.name ?? process.sender.command ?? "")
            rows.append(
                Row(record: record, process: process, account: account, count: record.count ?? 1, fates: fates))
        }
    }

    mutating func stored(_ batch: NewBatch) {
        guard let span = batch.span else { return }
        let (sent, withheld) = (batch.sent.map(\.row), Set(batch.withheld))
        for row in span {
            if withheld.contains(row) {
                self[row, batch.destination] = .withheld
            } else if !sent.contains(row) {
                self[row, batch.destination] = .summarised
            }
        }
        cursors[batch.destination] = span.upperBound
        if !sent.isEmpty { unanswered[batch.destination] = Batch(sent: sent) }
    }

    mutating func settled(_ batch: StoredBatch, dead: Set<Int>, destination: Int64) {
        for (line, record) in batch.sent.enumerated() {
            self[record.row, destination] = dead.contains(line) ? .deadLettered : .delivered
        }
        unanswered[destination] = nil
    }

    /// Marks the rows through `last` as removed by retention.
    mutating func forgot(through last: RowID) {
        while goneCount < last.rawValue {
            goneCount += 1
            for (destination, fate) in rows[Int(goneCount - 1)].fates where fate == .pending {
                self[RowID(goneCount), destination] = .expired
            }
        }
        for (destination, cursor) in cursors { cursors[destination] = max(cursor, last) }
        for (destination, batch) in unanswered {
            let left = batch.sent.filter { $0 > last }
            unanswered[destination] = left.isEmpty ? nil : Batch(sent: left)
        }
    }

    subscript(row: RowID, destination: Int64) -> IssueFate.Outcome? {
        get { rows[Int(row - 1)].fates[destination] }
        set { rows[Int(row - 1)].fates[destination] = newValue }
    }

    /// The complete ledger, computed from the rows.
    var ledger: [Line: Sum] {
        var sums: [Line: Sum] = [:]
        func add(_ destination: Int64, _ fate: Int64, _ row: Row) {
            let line = Line(destination: destination, account: row.account, fate: fate)
            sums[line, default: Sum()].records += 1
            sums[line, default: Sum()].occurrences += row.count
        }
        // Destination 0 is the store itself, and fate 7 counts the received records.
        for row in rows {
            add(0, 7, row)
            for (destination, fate) in row.fates {
                add(destination, 7, row)
                add(destination, Int64(fate.databaseValue), row)
            }
        }
        return sums
    }
}
