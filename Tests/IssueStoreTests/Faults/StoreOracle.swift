import IssueCore
import IssueProtocol
import IssueStore
import SQLiteKit

/// Compares a store with its expected contents, by plain scans of its tables.
struct StoreOracle {
    /// Returns one message per difference. Adds the values that the database assigned to new rows to the model.
    static func faults(_ store: TemporaryStore, _ model: inout StoreModel) throws -> [String] {
        let shell = try store.shell()
        let reader = try store.reader()
        var faults = try rowFaults(shell, reader, &model)
        // The following checks would report the same fault again for each row.
        guard faults.isEmpty else { return faults }
        faults += try ledgerFaults(shell, model)
        faults += try outboxFaults(shell, reader, model)
        let gone = (0..<model.goneCount).compactMap { index -> RangeAudit.Gone? in
            guard let info = model.rowInfo[index + 1] else { return nil }
            return RangeAudit.Gone(
                id: RowID(index + 1), series: info.series, receivedAt: info.receivedAt,
                count: model.rows[Int(index)].count)
        }
        faults += try RangeAudit.faults(shell, gone: gone)
        if gone.isEmpty { faults += try LedgerAudit.faults(shell) }
        faults += try structureFaults(shell, store.settings)
        return faults
    }

    /// Returns the differences in ids, ledger and outbox only.
    static func obviousFaults(_ store: TemporaryStore, _ model: StoreModel) throws -> [String] {
        let shell = try store.shell()
        let found = try shell.numbers("SELECT id FROM records ORDER BY id")
        guard found == Array((model.goneCount + 1)..<(model.lastRow + 1)) else {
            return ["the rows are \(found), and should begin at \(model.goneCount + 1) and end at \(model.lastRow)"]
        }
        return try ledgerFaults(shell, model) + outboxFaults(shell, try store.reader(), model)
    }

    // MARK: Records

    /// Returns messages about records that are missing, invented, duplicated or changed, and about log time going back.
    private static func rowFaults(
        _ shell: DatabaseConnection, _ reader: StoreReader, _ model: inout StoreModel
    ) throws -> [String] {
        let found = try Statement(
            composedSQL: "SELECT id, series, received_at FROM records ORDER BY id", on: shell
        ).all { (id: $0.int64(0), info: StoreModel.RowInfo(series: $0.int64(1), receivedAt: $0.int64(2))) }
        let expected = (model.goneCount + 1)..<(model.lastRow + 1)
        guard found.map(\.id) == Array(expected) else {
            let ids = found.map(\.id)
            return ["the rows are \(ids.first ?? 0)...\(ids.last ?? 0) (\(ids.count)), and should be \(expected)"]
        }
        var faults: [String] = []
        for (id, info) in found {
            if let known = model.rowInfo[id], known != info {
                faults.append("row \(id) has changed: \(known), \(info)")
            }
            model.rowInfo[id] = info
            let row = model.rows[Int(id - 1)]
            let sent = row.record.withDefaults(
                receivedAt: IssueTimestamp(millisecondsSince1970: info.receivedAt))
            let stored = try reader.record(row: RowID(id))?.stored
            if stored?.record != sent || stored?.sender != row.process.sender {
                faults.append("row \(id) is not as it was sent: \(String(describing: stored))")
            }
        }
        faults += try Statement(
            composedSQL: """
                SELECT id FROM (
                    SELECT id, log, max(log) OVER (ORDER BY id) AS highest FROM (
                        SELECT id, received_at + (SELECT offset FROM clock WHERE first_id <= records.id
                                                  ORDER BY first_id DESC LIMIT 1) AS log FROM records
                    )
                ) WHERE log IS NULL OR log < highest
                """, on: shell
        ).all { "log time goes back at row \($0.int64(0))" }
        return faults
    }

    // MARK: Fates

    private static func ledgerFaults(_ shell: DatabaseConnection, _ model: StoreModel) throws -> [String] {
        var recorded: [StoreModel.Line: StoreModel.Sum] = [:]
        try Statement(
            composedSQL: """
                SELECT destination, uid, app, fate, records, occurrences
                FROM ledger LEFT JOIN accounts ON accounts.id = ledger.account WHERE records <> 0 OR occurrences <> 0
                """, on: shell
        ).forEach { row in
            let account = StoreModel.Account(uid: UInt32(clamping: row.int64(1)), app: row.text(2))
            recorded[StoreModel.Line(destination: row.int64(0), account: account, fate: row.int64(3))] =
                StoreModel.Sum(records: row.int64(4), occurrences: row.int64(5))
        }
        let counted = model.ledger
        return Set(recorded.keys).union(counted.keys).filter { recorded[$0] != counted[$0] }.map {
            "the ledger says \(String(describing: recorded[$0])) for \($0), "
                + "but should say \(String(describing: counted[$0]))"
        }
    }

    private static func outboxFaults(
        _ shell: DatabaseConnection, _ reader: StoreReader, _ model: StoreModel
    ) throws -> [String] {
        var faults: [String] = []
        for (destination, cursor) in model.cursors {
            let found = try shell.number("SELECT cursor FROM destinations WHERE id = \(destination)")
            if found != cursor.rawValue {
                faults.append("the cursor of \(destination) is \(found), but should be \(cursor)")
            }
            let batch = try reader.unansweredBatch(of: destination).map { StoreModel.Batch(sent: $0.sent.map(\.row)) }
            if batch != model.unanswered[destination] {
                faults.append(
                    "the unfinished batch of \(destination) is \(String(describing: batch)), and should be "
                        + String(describing: model.unanswered[destination]))
            }
        }
        for (producer, numbered) in model.newest {
            let marks = try Statement(composedSQL: "SELECT producer, mark FROM producers", on: shell).all {
                ($0.bytes(0), $0.bytes(1))
            }
            let count = numbered.call.json.count
            let mark = marks.first { $0.0 == producer.bytes }.flatMap { ProducerMark(bytes: $0.1) }
            let answer = mark?.received(sequence: numbered.call.numbering?.sequence ?? 0, count: Int64(count))
            let rows = (0..<count).map { ProducerMark.PastResult.stored(row: numbered.firstRow + $0) }
            if answer != .resend(rows) {
                faults.append("the mark of \(producer) returns \(String(describing: answer)), not \(rows)")
            }
        }
        return faults
    }

    // MARK: The file

    private static func structureFaults(
        _ shell: DatabaseConnection, _ settings: StoreWriterSettings
    ) throws -> [String] {
        var faults: [String] = []
        let integrity = try shell.table("PRAGMA integrity_check", columns: 1)
        if integrity != [["ok"]] { faults.append("integrity_check says \(integrity)") }
        let keys = try shell.table("PRAGMA foreign_key_check", columns: 1)
        if !keys.isEmpty { faults.append("foreign_key_check says \(keys)") }
        let open = try shell.number(
            "SELECT count(*) FROM records WHERE id > (SELECT coalesce(max(last_id), 0) FROM ranges)")
        if open >= settings.rangeRecords { faults.append("\(open) records are in no range") }
        let balance = try shell.table("SELECT * FROM ledger_check", columns: 2)
        if !balance.isEmpty { faults.append("ledger_check says \(balance)") }
        return faults
    }
}
