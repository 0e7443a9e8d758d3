import IssueCore
import IssueProtocol
import SQLiteKit

/// A database that was set aside, read as far as it can be; it is not changed.
package final class SetAsideStore {
    /// What one step has read.
    package struct Portion {
        /// Calls that can be given to the store in use.
        package var submissions: [Submission] = []
        /// Rows that can't be read, as far as something says that they were there.
        package var unreadable: Int64 = 0
    }

    private let reader: StoreReader
    /// Tells this file from all others: what it has brought over is known by it.
    private let producer: ProducerID
    /// What makes connections of this file's processes unlike any other.
    private let salt: UInt64
    private var decoder: RecordDecoder
    private var next: Int64 = 1
    /// The newest row that anything says there was.
    private let known: Int64
    /// The newest row that is looked for.
    private let last: Int64
    /// It was made by an earlier version, and lacks what came later.
    private let isOlder: Bool

    /// How many rows are read at a time.
    private static let stretch: Int64 = 256

    /// Opens a file; fails where it is none of ours, or where nothing can be told of its records.
    ///
    /// - Parameter original: The file that this is a copy of, if it is one.
    package init(path: String, original: String? = nil, randomBits: UInt64) throws(StoreFailure) {
        reader = try StoreReader(path: path, toleratesDamage: true)
        let id: Int32
        do throws(SQLiteError) {
            id = Int32(truncatingIfNeeded: try reader.connection.pragma("application_id"))
            (known, last) = id == Schema.applicationID ? try Self.lastRow(reader.connection) : (0, 0)
            isOlder = try reader.connection.pragma("user_version") < Int64(Schema.migrator.newestVersion)
        } catch {
            throw StoreFailure(error)
        }
        guard id == Schema.applicationID else { throw .foreign("it is no database of issued") }
        producer = Self.producer(reader.connection, original ?? path)
        // Connections of the socket count from one on.
        salt = 1 << 63 | (randomBits & 0x3F_FFFF) << 40
        var limits = RecordLimits()
        // They were taken once, and are written more at large now.
        limits.recordBytes = 16 << 20
        limits.depth = 64
        limits.keys = 65_536
        decoder = RecordDecoder(limits: limits, seed: randomBits)
    }

    /// Reads a few rows more; nothing behind the last.
    package func step() -> Portion? {
        guard next <= last else { return nil }
        let rows = next...min(last, next + Self.stretch - 1)
        next = rows.upperBound + 1
        var portion = Portion()
        read(rows, into: &portion)
        return portion
    }

    /// What somebody has said of groups; nothing where that can't be read.
    package func notes() -> [GroupNote] {
        let notes = try? reader.connection.withStatement(
            """
            SELECT uid, app, fingerprint, rule, state, muted_until, muted_version, regressed
            FROM groups JOIN accounts ON accounts.id = groups.account WHERE state <> 0 OR regressed <> 0
            """
        ) { (statement) throws(SQLiteError) in
            try statement.all { row in
                GroupNote(
                    uid: UInt32(clamping: row.int64(0)), app: row.text(1), fingerprint: row.text(2),
                    rule: row.int64(3),
                    standing: GroupStanding(
                        GroupState(rawValue: UInt8(clamping: row.int64(4))) ?? .open,
                        mutedUntil: row.optionalInt64(5).map { Timestamp(milliseconds: $0) },
                        knownVersion: row.optionalText(6).map { ApplicationVersion(text: $0) },
                        hasRegressed: row.int64(7) != 0))
            }
        }
        return notes ?? []
    }

    /// The last row, by whatever can be read that says so.
    private static func lastRow(_ connection: Connection) throws(SQLiteError) -> (known: Int64, last: Int64) {
        var failure: SQLiteError?
        var rows: [Int64] = []
        for sql: StaticString in [
            "SELECT max(id) FROM records", "SELECT max(last_id) FROM ranges", "SELECT max(first_record) FROM groups",
            // Each record that was received has a row of its own, from the first on.
            "SELECT sum(records) FROM ledger WHERE destination = 0 AND fate = 7",
        ] {
            do throws(SQLiteError) {
                rows.append(
                    try connection.withStatement(sql) { (statement) throws(SQLiteError) in
                        try statement.first { $0.int64(0) } ?? 0
                    })
            } catch {
                failure = error
            }
        }
        guard let last = rows.max() else {
            throw failure ?? SQLiteError(code: .corrupt, message: "nothing can be read")
        }
        // Where the newest rows can't be seen, there may be a range of them behind what is known.
        return (last, failure == nil ? last : last + 65_536)
    }

    /// By the codes of the store, so that a copy of the file under another name is known, too.
    private static func producer(_ connection: Connection, _ path: String) -> ProducerID {
        var hash = SipHash(key0: 3)
        let codes = try? connection.withStatement("SELECT code FROM stores ORDER BY first_id") {
            (statement) throws(SQLiteError) in
            try statement.all { $0.int64(0) }
        }
        if let codes, !codes.isEmpty {
            for code in codes { hash.append(UInt64(bitPattern: code)) }
        } else {
            hash.append(path.utf8)
        }
        return ProducerID(high: 0x6973_7364_7265_7061, low: hash.finish())
    }

    // MARK: Reading what is there

    private func read(_ rows: ClosedRange<Int64>, into portion: inout Portion) {
        guard let ids = try? ids(in: rows) else {
            guard rows.count > 1 else {
                if rows.lowerBound <= known { portion.unreadable += 1 }
                return
            }
            let middle = rows.lowerBound + Int64(rows.count) / 2
            read(rows.lowerBound...(middle - 1), into: &portion)
            read(middle...rows.upperBound, into: &portion)
            return
        }
        for id in ids {
            guard let record = try? record(id) else {
                portion.unreadable += 1
                continue
            }
            add(record, to: &portion)
        }
    }

    private func ids(in rows: ClosedRange<Int64>) throws -> [Int64] {
        try reader.connection.withStatement("SELECT id FROM records WHERE id BETWEEN ?1 AND ?2 ORDER BY id") {
            statement in
            statement.bind(rows.lowerBound, at: 1)
            statement.bind(rows.upperBound, at: 2)
            return try statement.all { $0.int64(0) }
        }
    }

    private func record(_ row: Int64) throws -> SalvagedRecord? {
        guard var record = try reader.salvage(row: row) else { return nil }
        record.isPending = isPending(row)
        return record
    }

    /// What became of it may be unreadable: then it is as one that still has to go, since at least once is promised.
    private func isPending(_ row: Int64) -> Bool {
        if let fates = try? reader.fates(ofRow: row) { return fates.isEmpty || fates.contains { $0.fate == .pending } }
        guard isOlder else { return true }
        return (try? isPendingByCursors(row)) ?? true
    }

    /// The same by what a file of every version has: a cursor, and batches without an answer.
    private func isPendingByCursors(_ row: Int64) throws -> Bool {
        try reader.connection.withStatement(
            """
            SELECT coalesce(min(cursor), 0) < ?1
                OR EXISTS (SELECT 1 FROM batches WHERE state = 0 AND first_id <= ?1 AND last_id >= ?1)
            FROM destinations WHERE first_id <= ?1 AND (active = 1 OR given_id >= ?1)
            """
        ) { statement in
            statement.bind(row, at: 1)
            return try statement.first { $0.int64(0) != 0 } ?? true
        }
    }

    // MARK: As calls

    private func add(_ salvaged: SalvagedRecord, to portion: inout Portion) {
        let connection = salt | UInt64(truncatingIfNeeded: salvaged.process) & 0xFF_FFFF_FFFF
        if portion.submissions.last?.process.connection != connection {
            let process = ReportingProcess(
                connection: connection, sender: salvaged.stored.sender, startTime: salvaged.startTime)
            portion.submissions.append(Submission(process: process, batch: RecordBatch(), calls: []))
        }
        let place = portion.submissions.count - 1
        let first = portion.submissions[place].batch.records.count
        guard decode(salvaged, into: &portion.submissions[place].batch) else {
            portion.unreadable += 1
            return
        }
        portion.submissions[place].calls.append(
            ReportCall(
                token: 0, records: first..<first + 1, rejected: [],
                numbering: ReportCall.Numbering(producer: producer, sequence: salvaged.row)))
    }

    private func decode(_ salvaged: SalvagedRecord, into batch: inout RecordBatch) -> Bool {
        var record = salvaged.stored.record
        if !salvaged.isPending { record.reportable = false }
        let json = record.json
        var scanner = JSONScanner(json.span, maximumDepth: decoder.limits.depth, maximumKeys: decoder.limits.keys)
        do throws(JSONError) {
            guard try decoder.decode(&scanner, into: &batch) == nil else { return false }
        } catch {
            return false
        }
        let place = batch.records.count - 1
        let details = batch.records[place].details
        let more = batch.bytes[details.lower..<details.upper]
        let start = batch.bytes.count
        batch.bytes.append(contentsOf: Self.details(salvaged, before: more))
        batch.records[place].details = ByteRange(from: start, to: batch.bytes.count)
        return true
    }

    /// Where it comes from, before what else few records have.
    private static func details(_ salvaged: SalvagedRecord, before more: [UInt8]) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { details in
            details.key("recovered")
            details.object { recovered in
                recovered.member("id", salvaged.stored.id)
                recovered.member("received_at", salvaged.stored.receivedAt)
                recovered.member("pending", salvaged.isPending)
                for loss in salvaged.losses.sorted() { recovered.member(loss.rawValue, "lost") }
            }
            if !more.isEmpty {
                details.key("more")
                details.raw(more)
            }
        }
        return writer.bytes
    }
}

@available(*, unavailable)
extension SetAsideStore: Sendable {}
