import IssueCore
import IssueProtocol
import SQLiteKit

/// Recounts the fates of all records by plain scans, and reports where the ledger differs.
struct LedgerAudit {
    private struct Line: Hashable {
        var destination: Int64
        var account: Int64
        var fate: Int64
    }

    private struct Sum: Equatable {
        var records: Int64 = 0
        var occurrences: Int64 = 0
    }

    private struct DecodedBatch {
        var rows: ClosedRange<RowID>
        var state: Int64
        var sent: Set<RowID>
        var withheld: Set<RowID>
        var dead: Set<RowID>
    }

    private static let received: Int64 = 7
    private let connection: DatabaseConnection
    private var sums: [Line: Sum] = [:]

    /// Returns one message per difference, none if the ledger is right.
    ///
    /// Only for files from which retention has removed no records. Erased records count neither in the ledger nor here.
    static func faults(_ connection: DatabaseConnection) throws -> [String] {
        var audit = LedgerAudit(connection: connection)
        return try audit.run()
    }

    private init(connection: DatabaseConnection) {
        self.connection = connection
    }

    private mutating func run() throws -> [String] {
        let records = try Statement(
            composedSQL: """
                SELECT records.id, series.account, records.count
                FROM records JOIN series ON series.id = records.series ORDER BY records.id
                """, on: connection
        ).all { (row: $0.id(0, as: RowID.self), account: $0.int64(1), count: $0.int64(2)) }
        for record in records { add(0, record.account, Self.received, record.count) }

        let destinations = try Statement(
            composedSQL: "SELECT id, first_id, active, given_id, cursor FROM destinations", on: connection
        ).all {
            (
                id: $0.int64(0), first: $0.id(1, as: RowID.self),
                last: $0.int64(2) == 1 ? .max : $0.id(3, as: RowID.self),
                cursor: $0.id(4, as: RowID.self)
            )
        }
        for destination in destinations {
            let spans = try spans(of: destination.id)
            let singles = try singles(of: destination.id)
            for record in records where record.row >= destination.first && record.row <= destination.last {
                add(destination.id, record.account, Self.received, record.count)
                let span = spans.first { $0.rows.contains(record.row) }
                let fate =
                    if let carrier = singles[record.row] {
                        carrier.map { Self.fate(of: record.row, in: $0) } ?? .pending
                    } else if record.row > destination.cursor {
                        IssueFate.Outcome.pending
                    } else {
                        Self.fate(of: record.row, in: span)
                    }
                add(destination.id, record.account, Int64(fate.databaseValue), record.count)
            }
            try addDeadSummaries(of: destination.id)
        }
        return try differences() + violations()
    }

    private static func fate(of row: RowID, in span: DecodedBatch?) -> IssueFate.Outcome {
        guard let span else { return .pending }
        if span.withheld.contains(row) { return .withheld }
        if span.dead.contains(row) { return .deadLettered }
        if span.sent.contains(row) { return [.pending, .delivered, .unconfirmed][Int(span.state)] }
        return .summarised
    }

    private func spans(of destination: Int64) throws -> [DecodedBatch] {
        try Statement(
            composedSQL: "\(Self.batches) WHERE destination = \(destination) AND kind = 0", on: connection
        ).all(Self.span)
    }

    private static let batches = "SELECT first_id, last_id, state, sent, withheld, dead FROM batches"

    private static func span(_ row: borrowing Row) -> DecodedBatch {
        let first = row.id(0, as: RowID.self)
        return DecodedBatch(
            rows: first...row.id(1), state: row.int64(2), sent: ids(row.bytes(3), first),
            withheld: ids(row.bytes(4), first), dead: ids(row.bytes(5), first))
    }

    /// Returns the batch of each record that was sent outside the scan, nil for records that wait.
    private func singles(of destination: Int64) throws -> [RowID: DecodedBatch?] {
        let rows = try Statement(
            composedSQL: "SELECT record, batch FROM singles WHERE destination = \(destination)", on: connection
        ).all { (record: $0.id(0, as: RowID.self), batch: $0.int64(1)) }
        var found: [RowID: DecodedBatch?] = [:]
        for row in rows {
            let span = try Statement(composedSQL: "\(Self.batches) WHERE id = \(row.batch)", on: connection)
                .first(Self.span)
            found[row.record] = .some(span)
        }
        return found
    }

    private static func ids(_ list: [UInt8], _ base: RowID) -> Set<RowID> {
        Set(PostingList.decode(list, base: base) ?? [])
    }

    /// Counts the records of undeliverable summaries as dead letters.
    private mutating func addDeadSummaries(of destination: Int64) throws {
        let dead = try Statement(
            composedSQL: """
                SELECT account, records, occurrences FROM summaries WHERE destination = \(destination) AND state = 2
                """, on: connection
        ).all { (account: $0.int64(0), records: $0.int64(1), occurrences: $0.int64(2)) }
        for summary in dead {
            add(
                destination, summary.account, Int64(IssueFate.Outcome.summarised.databaseValue), -summary.occurrences,
                records: -summary.records)
            add(
                destination, summary.account, Int64(IssueFate.Outcome.deadLettered.databaseValue), summary.occurrences,
                records: summary.records)
        }
    }

    private mutating func add(
        _ destination: Int64, _ account: Int64, _ fate: Int64, _ occurrences: Int64, records: Int64 = 1
    ) {
        let line = Line(destination: destination, account: account, fate: fate)
        sums[line, default: Sum()].records += records
        sums[line, default: Sum()].occurrences += occurrences
    }

    private func differences() throws -> [String] {
        var stored: [Line: Sum] = [:]
        try Statement(
            composedSQL: "SELECT destination, account, fate, records, occurrences FROM ledger", on: connection
        ).forEach { row in
            let line = Line(destination: row.int64(0), account: row.int64(1), fate: row.int64(2))
            stored[line] = Sum(records: row.int64(3), occurrences: row.int64(4))
        }
        return Set(stored.keys).union(sums.keys).compactMap { line in
            let (recorded, counted) = (stored[line] ?? Sum(), sums[line] ?? Sum())
            guard recorded != counted else { return nil }
            return "destination \(line.destination), account \(line.account), fate \(line.fate): "
                + "the ledger says \(recorded), the records say \(counted)"
        }
    }

    private func violations() throws -> [String] {
        try Statement(composedSQL: "SELECT destination, account FROM ledger_check", on: connection).all {
            "ledger_check names destination \($0.int64(0)), account \($0.int64(1))"
        }
    }
}
