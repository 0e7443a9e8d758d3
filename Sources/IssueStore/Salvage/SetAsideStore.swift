package import IssueCore
import IssueProtocol
import SQLiteKit

/// A database that was set aside, read as far as it can be; it is not changed.
///
/// It may hold anything: no number in it is trusted, and work is bounded by the length of the file and by time.
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
    /// The rows that are still to be looked for, the first ones last. All of them are above 0.
    private var waiting: [ClosedRange<Int64>] = []
    /// The newest row that anything says there was.
    private let known: Int64
    /// How many lookups may still fail. A file can't hold more rows than it has room for, whatever its numbers say.
    private var failuresLeft: Int64
    /// How often in a row a step came to its deadline without having read anything.
    private var fruitlessSteps = 0
    /// Whether reading was given up, so that some rows were left out.
    package private(set) var hasGivenUp = false
    /// It was made by an earlier version, and lacks what came later.
    private let isOlder: Bool

    /// How many rows one lookup reads.
    private static let stretch: Int64 = 256
    /// The limits of one step.
    private static let lookupsAtATime = 256
    private static let bytesAtATime = 8 << 20
    private static let timeOfStep: Duration = .seconds(2)
    private static let maxFruitlessSteps = 10
    /// No row is as long; with the members that can be long, a record of the largest size has several times that.
    private static let longestValue = 64 << 20
    /// No id is as high: a writer refuses such a file.
    private static let highestRow: Int64 = (1 << 60) - 1
    /// No row takes less of the file.
    private static let minRowBytes: Int64 = 8

    /// Opens a file; fails where it is none of ours, or where nothing can be told of its records.
    ///
    /// - Parameter original: The file that this is a copy of, if it is one.
    package init(path: String, original: String? = nil, randomBits: UInt64) throws(StoreFailure) {
        reader = try StoreReader(path: path, toleratesDamage: true)
        reader.connection.setLongestValue(bytes: Self.longestValue)
        let id: Int32
        let last: Int64
        do throws(SQLiteError) {
            reader.connection.setDeadline(.after(Self.timeOfStep))
            if let name = try Self.nameOfNoTable(reader.connection) {
                throw SQLiteError(code: .corrupt, message: "\(name) is no table")
            }
            id = Int32(truncatingIfNeeded: try reader.connection.pragma("application_id"))
            (known, last) = id == Schema.applicationID ? try Self.lastRow(reader.connection) : (0, 0)
            isOlder = try reader.connection.pragma("user_version") < Int64(Schema.migrator.newestVersion)
        } catch {
            throw StoreFailure(error)
        }
        guard id == Schema.applicationID else { throw .foreign("it is no database of issued") }
        if last > 0 { waiting = [1...last] }
        let pages = (try? reader.connection.pragma("page_count")) ?? 0
        let pageBytes = (try? reader.connection.pragma("page_size")) ?? 0
        let (bytes, isBeyond) = max(pages, 0).multipliedReportingOverflow(by: max(pageBytes, 0))
        failuresLeft = (isBeyond ? .max : bytes) / Self.minRowBytes + 131_072
        producer = Self.producer(reader.connection, original ?? path)
        reader.connection.setDeadline(nil)
        // Connections of the socket count from one on.
        salt = 1 << 63 | (randomBits & 0x3F_FFFF) << 40
        var limits = RecordLimits()
        // They were taken once, and are written more at large now.
        limits.recordBytes = 16 << 20
        limits.depth = 64
        limits.keys = 65_536
        decoder = RecordDecoder(limits: limits, seed: randomBits)
    }

    /// Reads a few rows more; nil behind the last.
    package func step() -> Portion? {
        guard !waiting.isEmpty else { return nil }
        let began = ContinuousClock.now
        reader.connection.setDeadline(.after(Self.timeOfStep))
        defer { reader.connection.setDeadline(nil) }
        var portion = Portion()
        var isInterrupted = false
        var lookups = 0
        while !isInterrupted, lookups < Self.lookupsAtATime, let rows = waiting.popLast() {
            lookups += 1
            do {
                if try read(rows, since: began, into: &portion) { break }
            } catch let error as SQLiteError where error.isInterrupted {
                isInterrupted = true
                // A row that can't be read in that time is left out.
                let isFirst = lookups == 1 && portion.submissions.isEmpty
                if isFirst { failed(rows, &portion) } else { waiting.append(rows) }
            } catch {
                failed(rows, &portion)
            }
        }
        fruitlessSteps = isInterrupted && portion.submissions.isEmpty ? fruitlessSteps + 1 : 0
        // Reading this file would not end.
        if fruitlessSteps >= Self.maxFruitlessSteps { giveUp() }
        return portion
    }

    private func giveUp() {
        waiting = []
        hasGivenUp = true
    }

    /// Reads the states that users have set on groups, from group rows above `row`.
    ///
    /// - Returns: Some notes in the order of their rows, and the last row; nil if there are none or they can't be read.
    package func notes(above row: Int64 = 0) -> (notes: [GroupNote], last: Int64)? {
        reader.connection.setDeadline(.after(Self.timeOfStep))
        defer { reader.connection.setDeadline(nil) }
        var last = row
        let notes = try? reader.connection.withStatement(
            """
            SELECT uid, app, fingerprint, rule, state, muted_until, muted_version, regressed, groups.id
            FROM groups JOIN accounts ON accounts.id = groups.account
            WHERE groups.id > ?1 AND (state <> 0 OR regressed <> 0)
                AND length(app) <= 1024 AND length(fingerprint) <= 1024 AND length(coalesce(muted_version, '')) <= 1024
            ORDER BY groups.id LIMIT 256
            """
        ) { (statement) throws(SQLiteError) in
            statement.bind(row, at: 1)
            return try statement.all { row in
                last = max(last, row.int64(8))
                return GroupNote(
                    uid: UInt32(clamping: row.int64(0)), app: row.text(1), fingerprint: row.text(2),
                    rule: row.int64(3),
                    standing: TriageState(
                        GroupState(rawValue: UInt8(clamping: row.int64(4))) ?? .open,
                        mutedUntil: row.optionalInt64(5).map { Timestamp(milliseconds: $0) },
                        knownVersion: row.optionalText(6).map { ApplicationVersion(text: $0) },
                        hasRegressed: row.int64(7) != 0))
            }
        }
        guard let notes, !notes.isEmpty, last > row else { return nil }
        return (notes, last)
    }

    /// The tables that are read.
    private static let tables = """
        'records', 'ranges', 'groups', 'ledger', 'stores', 'series', 'processes', 'senders', 'accounts', 'destinations',
        'batches', 'singles', 'summaries', 'summary_windows', 'dead_letters', 'mutes', 'limits', 'clock', 'express'
        """

    /// Returns a name from `tables` that is not a table. A view can produce endless rows from a file of a few pages.
    private static func nameOfNoTable(_ connection: Connection) throws(SQLiteError) -> String? {
        try Statement(
            composedSQL: """
                SELECT name FROM sqlite_schema
                WHERE lower(name) IN (\(tables)) AND (type <> 'table' OR rootpage IS NULL OR rootpage <= 0) LIMIT 1
                """, on: connection
        ).first { $0.text(0) }
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
        guard let newest = rows.max() else {
            throw failure ?? SQLiteError(code: .corrupt, message: "nothing can be read")
        }
        let last = min(max(newest, 0), highestRow)
        // Where the newest rows can't be seen, there may be a range of them behind what is known.
        return (last, failure == nil ? last : min(last + 65_536, highestRow))
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

    /// Reads the first of some rows, and leaves the others for later.
    ///
    /// - Returns: Whether the portion is as large as it may be.
    private func read(
        _ rows: ClosedRange<Int64>, since began: ContinuousClock.Instant, into portion: inout Portion
    ) throws -> Bool {
        var bytes = 0
        func leave(_ row: Int64) {
            if row <= rows.upperBound { waiting.append(row...rows.upperBound) }
        }
        let ids = try ids(in: rows)
        for (place, id) in ids.enumerated() {
            let isLate = began.duration(to: .now) >= Self.timeOfStep
            guard !isLate || place == 0, bytes < Self.bytesAtATime else {
                leave(id)
                return true
            }
            guard let record = try? record(id), record.losses.isEmpty || !isLate else {
                portion.unreadable += 1
                continue
            }
            bytes += record.size
            add(record, to: &portion)
        }
        if ids.count == Int(Self.stretch), let last = ids.last { leave(last + 1) }
        return !ids.isEmpty
    }

    /// Looks for what can be read of some rows in smaller parts.
    private func failed(_ rows: ClosedRange<Int64>, _ portion: inout Portion) {
        failuresLeft -= 1
        guard failuresLeft > 0 else { return giveUp() }
        guard rows.lowerBound < rows.upperBound else {
            if rows.lowerBound <= known { portion.unreadable += 1 }
            return
        }
        let distance = rows.upperBound - rows.lowerBound
        let middle = rows.lowerBound + (distance >= Self.stretch ? Self.stretch - 1 : distance / 2)
        waiting.append(middle + 1...rows.upperBound)
        waiting.append(rows.lowerBound...middle)
    }

    private func ids(in rows: ClosedRange<Int64>) throws -> [Int64] {
        try reader.connection.withStatement(
            "SELECT id FROM records WHERE id BETWEEN ?1 AND ?2 ORDER BY id LIMIT ?3"
        ) { statement in
            statement.bind(rows.lowerBound, at: 1)
            statement.bind(rows.upperBound, at: 2)
            statement.bind(Self.stretch, at: 3)
            return try statement.all { $0.int64(0) }.filter { rows.contains($0) }
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

extension SalvagedRecord {
    /// How much of a portion it takes, about.
    fileprivate var size: Int { 256 + bytes }
}

/// A record as a database that was set aside still has it.
struct SalvagedRecord {
    /// What belonged to it and can't be read any more.
    enum Loss: String, Comparable {
        case sender, series

        static func < (one: Loss, other: Loss) -> Bool { one.rawValue < other.rawValue }
    }

    /// Where it was there, which is also its number when it is brought over.
    var row: Int64
    /// The row of the process that has reported it there.
    var process: Int64
    var startTime: Int64
    var stored: StoredRecord
    var losses: Set<Loss>
    /// How many bytes of it can be long.
    var bytes: Int
    /// Whether some destination still had to be given it.
    var isPending = true
}

/// What somebody has said of a group, as a database that was set aside still has it.
package struct GroupNote: Equatable, Sendable {
    /// Whose group it is: a user's application's.
    package var uid: UInt32
    package var app: String
    package var fingerprint: String
    package var rule: Int64

    package var standing: TriageState
}
