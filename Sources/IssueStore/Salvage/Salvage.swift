package import IssueCore
package import IssueProtocol
import SQLiteKit

/// Reading records from a corrupt database whose other tables may be unreadable.
extension StoreReader {
    /// Reads what is readable of a record and the rows it refers to.
    ///
    /// Without its series, a record still has its own message text, metadata and times. Without its process or sender,
    /// it has the user. A record whose user is unknown is attributed to root.
    ///
    /// - Returns: The record, or nil if the row does not exist.
    /// - Throws: The error that prevents reading the record's own row.
    func salvage(row: RowID) throws -> SalvagedRecord? {
        let found = try connection.first(RecordCells.sql, row) { RecordCells($0) }
        guard var cells = found else { return nil }
        var losses: Set<SalvagedRecord.Loss> = []
        let series = known.series(cells.series) ?? salvageSeries(cells.series)
        if let series {
            known.learn(series, as: cells.series)
        } else {
            losses.insert(.series)
            if case .parts(let parts) = cells.message { cells.message = .whole(Self.message(ofParts: parts)) }
        }
        let process = salvageProcess(cells.process)
        let sender = sender(of: process, series: cells.series)
        if process == nil || sender?.isWhole != true { losses.insert(.sender) }
        let id = (try? recordID(row: row).text) ?? RecordID(store: 0, row: row).text
        let record = RecordRow(
            cells, of: series ?? SeriesRowCache(SeriesDescription()),
            by: sender?.sender ?? Sender(uid: 0, gid: 0, pid: process?.pid ?? 0), id: id, isWhole: true)
        return SalvagedRecord(
            row: row, process: cells.process, startTime: process?.started ?? 0, stored: record.stored, losses: losses,
            bytes: record.stored.json.count)
    }

    /// Returns the variable parts of a message whose template is lost.
    private static func message(ofParts parts: [UInt8]) -> String {
        let texts = parts.split(separator: 0x1F).map { String(decoding: $0, as: UTF8.self) }
        return texts.isEmpty ? "(message lost)" : texts.joined(separator: " … ")
    }

    private func salvageSeries(_ id: SeriesID) -> SeriesRowCache? {
        first("SELECT key FROM series WHERE id = ?1", id.rawValue) {
            let key = $0.bytes(0)
            return SeriesKey.decode(key).map { SeriesRowCache($0, keySize: key.count) }
        }
    }

    private typealias Process = (sender: Int64, gid: UInt32, pid: Int32, started: Int64)

    private func salvageProcess(_ id: ProcessRowID) -> Process? {
        first("SELECT sender, gid, pid, started FROM processes WHERE id = ?1", id.rawValue) { row in
            (row.int64(0), UInt32(clamping: row.int64(1)), Int32(clamping: row.int64(2)), row.int64(3))
        }
    }

    /// Returns the sender from its table, or from the index that contains the same columns, or at least the user of the
    /// series.
    private func sender(of process: Process?, series: SeriesID) -> (sender: Sender, isWhole: Bool)? {
        let sender =
            process?.sender ?? first("SELECT sender FROM series WHERE id = ?1", series.rawValue) { $0.int64(0) }
        let read = { (row: borrowing Row) -> (Sender, Bool)? in
            let sender = Sender(
                uid: UInt32(clamping: row.int64(0)), gid: process?.gid ?? 0, pid: process?.pid ?? 0,
                command: Self.present(row.text(1)), executable: Self.present(row.text(2)),
                unit: Self.present(row.text(3)))
            return (sender, true)
        }
        if let sender {
            let byTable = first("SELECT uid, command, executable, unit FROM senders WHERE id = ?1", sender, read)
            if let byTable { return byTable }
            let byIndex = first(
                """
                SELECT uid, command, executable, unit FROM senders INDEXED BY sqlite_autoindex_senders_1
                WHERE uid >= 0 AND +id = ?1
                """, sender, read)
            if let byIndex { return byIndex }
        }
        return first(
            "SELECT uid FROM series JOIN accounts ON accounts.id = series.account WHERE series.id = ?1", series.rawValue
        ) { row in
            (Sender(uid: UInt32(clamping: row.int64(0)), gid: process?.gid ?? 0, pid: process?.pid ?? 0), false)
        }
    }

    /// Returns the first row, or nil if there is none or it cannot be read.
    private func first<Value>(_ sql: StaticString, _ id: Int64, _ read: (borrowing Row) -> Value?) -> Value? {
        let found = try? connection.first(sql, id) { read($0) } ?? nil
        return found ?? nil
    }
}

extension StoreWriter {
    /// Stores records of a quarantined database, except those that were imported before.
    ///
    /// The cardinality guard does not count them, because it admitted them once already.
    ///
    /// - Parameters:
    ///   - wall: The current wall-clock time.
    ///   - monotonic: The current monotonic time.
    /// - Returns: The number of records that are new.
    package func importSalvaged(
        _ submissions: [Submission], wall: IssueTimestamp, monotonic: MonotonicInstant
    ) throws(StoreFailure) -> Int64 {
        let outcomes = try commit(submissions, wall: wall, monotonic: monotonic, isImport: true)
        return outcomes.reduce(0) { $0 + $1.receipts.storedCount }
    }

    /// Imports the triage states of groups that exist here and have none of their own.
    package func importSalvaged(_ notes: some Sequence<GroupNote>) throws(StoreFailure) {
        try transaction { () throws(SQLiteError) in
            for note in notes {
                guard let group = try group(of: note) else { continue }
                _ = try change(group, to: note.standing)
            }
        }
    }

    /// Returns the group that a note refers to, or nil if it does not exist or already has a triage state.
    private func group(of note: GroupNote) throws(SQLiteError) -> GroupID? {
        try connection.first(
            """
            SELECT id FROM groups
            WHERE state = 0 AND regressed = 0 AND changed_by IS NULL AND fingerprint = ?3
                AND account = (SELECT id FROM accounts WHERE uid = ?1 AND app = ?2)
            """, note.uid, note.app, note.fingerprint
        ) { $0.id(0) }
    }
}

extension ReceiptList {
    /// The number of newly stored records.
    fileprivate var storedCount: Int64 {
        switch self {
        case .run(_, let count): Int64(count)
        case .mixed(let receipts):
            Int64(
                receipts.count { receipt in
                    if case .stored = receipt { true } else { false }
                })
        }
    }
}
