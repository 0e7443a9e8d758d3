package import IssueCore
import IssueProtocol
import SQLiteKit

/// Reads the records of a set-aside database as far as possible. Does not change the file.
///
/// The content of the file is untrusted. No number in it is relied on, and the work is bounded by the size of the file
/// and by time.
package final class SetAsideStore {
    /// The result of one step.
    package struct Portion {
        /// Calls to commit to the current store.
        package var submissions: [Submission] = []
        /// The number of records that are known to have existed, but cannot be read or are invalid.
        package var unreadable: Int64 = 0
    }

    private let reader: StoreReader
    /// The store code for records whose own code is lost. It depends only on the path of the file or, for a copy, of
    /// the original, so that records that were imported before are recognised.
    private let fallbackCode: UInt64
    /// Bits that distinguish the connection numbers of this file's processes from all others.
    private let salt: UInt64
    private var decoder: RecordDecoder
    /// The row ranges that have not been read yet, the lowest last. All rows are above 0.
    private var waiting: [ClosedRange<RowID>] = []
    /// The newest row that is known to have existed, according to the readable tables; 0 if there is none.
    private let known: RowID
    /// The number of lookups that may still fail before reading is abandoned. It depends on the size of the file.
    private var failuresLeft: Int64
    /// The number of consecutive steps that reached their deadline without reading anything.
    private var fruitlessSteps = 0
    /// Whether reading was abandoned, and the scan has not yet searched for the rows that were left out.
    package private(set) var hasGivenUp = false
    /// Whether more records may be unreadable than the steps have counted so far.
    package private(set) var isUnreadableMinimum = false
    /// Whether no table shows how many records the file had.
    package let isSizeUnknown: Bool
    /// Whether the schema of the file is older than the newest one, so that tables may be missing.
    private let isOlder: Bool
    /// Finds the blocks that could not be read with queries; nil if the scan has ended, if the file has a table
    /// `records`, or if the schema or the page size cannot be read.
    private var scan: BlockScan?
    /// The block that the scan has found last, and its rows that have not been read yet; nil if there are none.
    private var found: (block: RecordBlock, rows: ArraySlice<RowID>)?
    /// The number of records that were read or counted as unreadable.
    private var countedRecords: Int64 = 0
    /// The lowest row that was read; nil if none was.
    private var firstReadRow: RowID?

    /// The maximum number of rows per lookup.
    private static let rowsPerLookup = 256
    // The limits of one step.
    private static let maxLookupsPerStep = 256
    private static let maxBytesPerStep = 8 << 20
    private static let stepTimeout: Duration = .seconds(2)
    /// The number of fruitless steps after which reading is abandoned.
    private static let maxFruitlessSteps = 10
    /// The maximum size of a value or a row, in bytes. No valid one is larger.
    private static let maxValueBytes = 64 << 20
    /// The highest valid id. The writer rejects a file with a higher one.
    private static let maxRow = RowID(rawValue: (1 << 60) - 1)
    /// The minimum size of a row in the file, in bytes.
    private static let minRowBytes: Int64 = 8

    /// Opens a set-aside database.
    ///
    /// - Parameters:
    ///   - path: The path of the database.
    ///   - original: The path of the file that this one is a copy of; nil if it is not a copy.
    ///   - randomBits: Random bits for the seed of hash tables and for connection numbers.
    ///   - redactor: Removes secrets from the records, and finds the marks of secrets that were removed before.
    /// - Throws: `StoreFailure.foreign` if the file is not a database of issued, or another failure if it cannot be
    ///   opened, its schema cannot be read, or something else, such as a view, has the name of a table.
    package init(
        path: String, original: String? = nil, randomBits: UInt64, redactor: Redactor = Redactor()
    ) throws(StoreFailure) {
        reader = try StoreReader(path: path, toleratesDamage: true)
        reader.connection.setLongestValue(bytes: Self.maxValueBytes)
        let id: Int32
        let last: RowID
        do throws(SQLiteError) {
            reader.connection.setDeadline(.after(Self.stepTimeout))
            if let name = try Self.firstNonTable(reader.connection) {
                throw SQLiteError(code: .corrupt, message: "\(name) is not a table")
            }
            id = Int32(truncatingIfNeeded: try reader.connection.pragma("application_id"))
            (known, last, isSizeUnknown) =
                id == Schema.applicationID ? Self.lastRow(reader.connection) : (0, 0, false)
            isOlder = try reader.connection.pragma("user_version") < Int64(Schema.migrator.newestVersion)
        } catch {
            throw StoreFailure(error)
        }
        guard id == Schema.applicationID else { throw .foreign("the file is not a database of issued") }
        if last > 0 { waiting = [1...last] }
        let pages = (try? reader.connection.pragma("page_count")) ?? 0
        let pageBytes = (try? reader.connection.pragma("page_size")) ?? 0
        let (bytes, hasOverflowed) = max(pages, 0).multipliedReportingOverflow(by: max(pageBytes, 0))
        failuresLeft = (hasOverflowed ? .max : bytes) / Self.minRowBytes + 131_072
        fallbackCode = Self.code(ofStoreAt: original ?? path)
        // A table with this name hides the records in the blocks.
        let hasRecordTable = try? reader.connection.exists("SELECT 1 FROM sqlite_schema WHERE lower(name) = 'records'")
        if hasRecordTable == false { scan = BlockScan(reader.connection) }
        reader.connection.setDeadline(nil)
        // Connections of the socket are numbered from 1, so the highest bit of their numbers is 0.
        salt = 1 << 63 | (randomBits & 0x3F_FFFF) << 40
        var limits = RecordLimits()
        // The records were within the normal limits when they were reported, but their JSON can be larger here.
        limits.recordBytes = 16 << 20
        limits.depth = 64
        limits.keys = 65_536
        decoder = RecordDecoder(limits: limits, seed: randomBits, redactor: redactor)
    }

    /// Reads the next records.
    ///
    /// - Returns: The records that were read, possibly none; nil after the last record.
    package func step() -> Portion? {
        guard !waiting.isEmpty else { return stepOfScan() }
        let began = ContinuousClock.now
        reader.connection.setDeadline(.after(Self.stepTimeout))
        defer { reader.connection.setDeadline(nil) }
        var portion = Portion()
        var isInterrupted = false
        var lookups = 0
        while !isInterrupted, lookups < Self.maxLookupsPerStep, let rows = waiting.popLast() {
            lookups += 1
            do {
                if try read(rows, since: began, into: &portion) { break }
            } catch let error as SQLiteError where error.isInterrupted {
                isInterrupted = true
                // If the first lookup of the step reads nothing, its range is split or, if it is a single row, left
                // out.
                let isFirst = lookups == 1 && portion.submissions.isEmpty
                if isFirst { failed(rows, &portion) } else { waiting.append(rows) }
            } catch {
                failed(rows, &portion)
            }
        }
        fruitlessSteps = isInterrupted && portion.submissions.isEmpty ? fruitlessSteps + 1 : 0
        // Without this limit, reading might never end.
        if fruitlessSteps >= Self.maxFruitlessSteps { giveUp() }
        return portion
    }

    /// Reads records of blocks that only the scan finds.
    ///
    /// - Returns: The records that were read, possibly none; nil after the last block.
    private func stepOfScan() -> Portion? {
        guard scan != nil else { return nil }
        let began = ContinuousClock.now
        connection.setDeadline(.after(Self.stepTimeout))
        defer {
            connection.setDeadline(nil)
            reader.blocks.use(nil)
        }
        var portion = Portion()
        var bytes = 0
        while bytes < Self.maxBytesPerStep, began.duration(to: .now) < Self.stepTimeout {
            if let (block, rows) = found {
                reader.blocks.use(block)
                let rest = read(rows, since: began, bytes: &bytes, into: &portion)
                found = rest.isEmpty ? nil : (block, rest)
                continue
            }
            switch scan?.step() {
            case .searched: continue
            case .found(let block, let rows): found = (block, rows[...])
            case .ended, nil:
                portion.unreadable += unreadableAfterScan()
                // The scan has also searched for the rows that were left out when reading was abandoned.
                hasGivenUp = false
                scan = nil
                return portion
            }
        }
        return portion
    }

    /// Returns the number of records that are known to have existed, but were found neither by the scan nor before.
    /// Sets `isUnreadableMinimum`.
    private func unreadableAfterScan() -> Int64 {
        guard let storedRecords else {
            isUnreadableMinimum = true
            // Retention removes the oldest records first, so the rows before the first readable one were probably
            // removed. Rows of overwritten blocks are not counted, because looking them up does not fail.
            return scan?.missing(from: firstReadRow ?? 0) ?? 0
        }
        let missing = max(0, storedRecords - countedRecords)
        // If purges have erased none of the received records, `known` is the newest row. Otherwise, blocks after it may
        // have been lost, too.
        let received = try? reader.connection.integer(Self.receivedSQL)
        isUnreadableMinimum = received == nil || missing > 0 && received != known.rawValue
        return missing
    }

    /// The number of records that the file contained when it was intact, according to its closed ranges and `known`;
    /// nil if the ranges cannot be read or the sum overflows. A purge closes the open range first, so each row of the
    /// open range is a record.
    private var storedRecords: Int64? {
        let sql: StaticString = "SELECT coalesce(sum(records), 0), coalesce(max(last_id), 0) FROM ranges"
        let closed = try? connection.first(sql) { (records: max(0, $0.int64(0)), last: $0.id(1, as: RowID.self)) }
        guard let closed else { return nil }
        let (sum, overflow) = closed.records.addingReportingOverflow(Int64(max(0, known - closed.last)))
        return overflow ? nil : sum
    }

    private func giveUp() {
        waiting = []
        hasGivenUp = true
    }

    /// The connection to the set-aside database.
    var connection: DatabaseConnection { reader.connection }

    /// Runs queries with the time limit of a step. Returns the value of `body`, or nil if they fail.
    func bounded<Value>(_ body: () throws(SQLiteError) -> Value?) -> Value? {
        connection.setDeadline(.after(Self.stepTimeout))
        defer { connection.setDeadline(nil) }
        do throws(SQLiteError) { return try body() } catch { return nil }
    }

    /// The tables that are read.
    private static let tables = """
        'blocks', 'records', 'ranges', 'groups', 'ledger', 'stores', 'series', 'processes', 'senders', 'accounts',
        'destinations', 'batches', 'singles', 'summaries', 'summary_windows', 'dead_letters', 'mutes', 'limits', 'clock',
        'express', 'deployments', 'moves', 'corrections'
        """

    /// Returns the name of one of `tables` that is not an ordinary table in this file; nil if there is none. A view
    /// could produce endless rows from a file of a few pages.
    private static func firstNonTable(_ connection: DatabaseConnection) throws(SQLiteError) -> String? {
        try Statement(
            composedSQL: """
                SELECT name FROM sqlite_schema
                WHERE lower(name) IN (\(tables)) AND (type <> 'table' OR rootpage IS NULL OR rootpage <= 0) LIMIT 1
                """, on: connection
        ).first { $0.text(0) }
    }

    /// The query for the number of records that were received, except those that purges have erased.
    private static let receivedSQL: StaticString =
        "SELECT sum(records) FROM ledger WHERE destination = 0 AND fate = 7"

    /// Returns the newest row that is known to have existed, according to the readable tables, and the last row to look
    /// for. `isSizeUnknown` is `true` if none of the tables is readable. The scan can still find blocks then.
    private static func lastRow(
        _ connection: DatabaseConnection
    ) -> (known: RowID, last: RowID, isSizeUnknown: Bool) {
        var hasFailed = false
        var rows: [RowID] = []
        for sql: StaticString in [
            "SELECT max(id) FROM records", "SELECT max(last_id) FROM ranges", "SELECT max(first_record) FROM groups",
            // Row ids start at 1, so the newest one is not lower than the number of received records.
            receivedSQL,
        ] {
            if let row = try? connection.integer(sql) { rows.append(RowID(row)) } else { hasFailed = true }
        }
        let last = min(max(rows.max() ?? 0, 0), maxRow)
        // If a table is unreadable, the records of an open range may follow the last known one.
        return (last, hasFailed ? min(last + 65_536, maxRow) : last, rows.isEmpty)
    }

    /// Derives a store code from the path of a database or, for a copy, of the original.
    private static func code(ofStoreAt path: String) -> UInt64 {
        var hash = SipHash(key0: 3)
        hash.append(path.utf8)
        return max(hash.finish() & RecordID.storeBits, 1)
    }

    // MARK: Reading rows

    /// Reads the first records in a range of rows, and keeps the rest of the range for later.
    ///
    /// - Returns: `true` if the step should end.
    private func read(
        _ rows: ClosedRange<RowID>, since began: ContinuousClock.Instant, into portion: inout Portion
    ) throws -> Bool {
        /// Keeps the rows from this one on for later.
        func leave(_ row: RowID) {
            if row <= rows.upperBound { waiting.append(row...rows.upperBound) }
        }
        let ids = try ids(in: rows)
        var bytes = 0
        let rest = read(ids[...], since: began, bytes: &bytes, into: &portion)
        if let next = rest.first {
            leave(next)
            return true
        }
        if ids.count == Self.rowsPerLookup, let last = ids.last { leave(last + 1) }
        return !ids.isEmpty
    }

    /// Reads records until a limit of the step is reached, but tries to read at least one record if `bytes` is 0.
    ///
    /// - Parameters:
    ///   - ids: The rows of the records.
    ///   - began: The time at which the step began.
    ///   - bytes: The size of the records that the step has read. Increased by this function.
    ///   - portion: The portion to which the records are added.
    /// - Returns: The rows that are left.
    private func read(
        _ ids: ArraySlice<RowID>, since began: ContinuousClock.Instant, bytes: inout Int, into portion: inout Portion
    ) -> ArraySlice<RowID> {
        func hasEnded() -> Bool { began.duration(to: .now) >= Self.stepTimeout }
        var block: RecordBlock?
        for (index, id) in zip(ids.indices, ids) {
            let isAlone = index == ids.startIndex && bytes == 0
            guard isAlone || !hasEnded(), bytes < Self.maxBytesPerStep else { return ids[index...] }
            if isAlone, hasEnded() { connection.setDeadline(.after(Self.stepTimeout)) }
            guard let record = try? record(id) else {
                // The cause may be that the deadline of the step has passed. The row is then read again at the start of
                // the next step.
                if hasEnded(), !isAlone { return ids[index...] }
                lost(id, &portion)
                continue
            }
            // If the deadline has passed, it may be the cause of a missing sender or series.
            if !record.losses.isEmpty, !isAlone, hasEnded() { return ids[index...] }
            if scan != nil, found == nil {
                if block?.index(of: id) == nil { block = try? reader.blocks.find(id)?.block }
                scan?.setRead(id, of: block)
            }
            countedRecords += 1
            firstReadRow = min(id, firstReadRow ?? id)
            bytes += record.size
            add(record, to: &portion)
        }
        return ids[ids.endIndex...]
    }

    /// Counts a row as unreadable, unless the scan may find it.
    private func lost(_ row: RowID, _ portion: inout Portion) {
        if scan?.setFailed(row) == true { return }
        if scan == nil { isUnreadableMinimum = true }
        countedRecords += 1
        portion.unreadable += 1
    }

    /// Splits a range that could not be read, and keeps the parts for later. A single row is not kept, but counted as
    /// unreadable if it may have existed, unless the scan may find it. Gives up after too many failures.
    private func failed(_ rows: ClosedRange<RowID>, _ portion: inout Portion) {
        failuresLeft -= 1
        guard failuresLeft > 0 else { return giveUp() }
        guard rows.lowerBound < rows.upperBound else {
            if rows.lowerBound <= known { lost(rows.lowerBound, &portion) }
            return
        }
        let distance = rows.upperBound - rows.lowerBound
        let middle = rows.lowerBound + (distance >= Self.rowsPerLookup ? Self.rowsPerLookup - 1 : distance / 2)
        waiting.append(middle + 1...rows.upperBound)
        waiting.append(rows.lowerBound...middle)
    }

    private func ids(in rows: ClosedRange<RowID>) throws -> [RowID] {
        try reader.connection.all(
            "SELECT id FROM records WHERE id BETWEEN ?1 AND ?2 ORDER BY id LIMIT ?3", rows.lowerBound, rows.upperBound,
            Self.rowsPerLookup
        ) { $0.id(0) }.filter { rows.contains($0) }
    }

    private func record(_ row: RowID) throws -> SalvagedRecord? {
        guard var record = try reader.salvage(row: row) else { return nil }
        // A record that was no longer pending at an earlier repair is not forwarded again.
        record.isPending = record.origin?.wasPending != false && isPending(row)
        return record
    }

    /// Returns `true` if a record must still be forwarded: it is pending or a dead letter at a destination, or it has
    /// no fates. If its fates cannot be read, the cursors and batches decide in a file with an older schema. If these
    /// cannot be read either, or if the schema is not older, returns `true`, because a duplicate is better than a lost
    /// record.
    private func isPending(_ row: RowID) -> Bool {
        if let fates = try? reader.fates(ofRow: row) {
            return fates.isEmpty || fates.contains { $0.outcome == .pending || $0.outcome == .deadLettered }
        }
        guard isOlder else { return true }
        return (try? isPendingByCursors(row)) ?? true
    }

    /// Approximates `isPending` with columns that files of all versions have: cursors, and batches without a response.
    private func isPendingByCursors(_ row: RowID) throws -> Bool {
        try reader.connection.first(
            """
            SELECT coalesce(min(cursor), 0) < ?1
                OR EXISTS (SELECT 1 FROM batches WHERE state = 0 AND first_id <= ?1 AND last_id >= ?1)
            FROM destinations WHERE first_id <= ?1 AND (active = 1 OR given_id >= ?1)
            """, row
        ) { $0.int64(0) != 0 } ?? true
    }

    // MARK: Converting records to calls

    /// Adds a record as a call of its own to a submission of its process. Counts it as unreadable if it is rejected.
    private func add(_ salvaged: SalvagedRecord, to portion: inout Portion) {
        let connection = salt | UInt64(truncatingIfNeeded: salvaged.process.rawValue) & 0xFF_FFFF_FFFF
        if portion.submissions.last?.process.connection != connection {
            let process = ReportingProcess(
                connection: connection, sender: salvaged.stored.sender, startTime: salvaged.startTime)
            portion.submissions.append(Submission(process: process, batch: RecordBatch(), calls: []))
        }
        let index = portion.submissions.count - 1
        let first = portion.submissions[index].batch.records.count
        guard decode(salvaged, into: &portion.submissions[index].batch) else {
            portion.unreadable += 1
            // A step without submissions shows that nothing could be read.
            if portion.submissions[index].calls.isEmpty { portion.submissions.removeLast() }
            return
        }
        // A record that was recovered before is recognised by the id that it got first or, if that id is lost, by its
        // row in this file.
        var call = ReportCall(token: 0, records: first..<first + 1, rejected: [], numbering: nil)
        call.original =
            salvaged.original
            ?? ReportCall.Original(
                id: RecordID(store: fallbackCode, row: salvaged.row), receivedAt: salvaged.stored.receivedAt)
        call.verdict = salvaged.verdict
        portion.submissions[index].calls.append(call)
    }

    /// Adds a record to a batch. Returns `false` if it is rejected.
    private func decode(_ salvaged: SalvagedRecord, into batch: inout RecordBatch) -> Bool {
        var record = salvaged.stored.record
        if !salvaged.isPending { record.reportable = false }
        let json = record.json
        var scanner = JSONScanner(json.span, maximumDepth: decoder.limits.depth, maximumKeys: decoder.limits.keys)
        do throws(JSONError) {
            guard try decoder.decode(&scanner, splitAs: salvaged.message(decoder.limits), into: &batch) == nil else {
                return false
            }
        } catch {
            return false
        }
        let index = batch.records.count - 1
        let details = batch.records[index].details
        let more = batch.bytes[details.lower..<details.upper]
        let start = batch.bytes.count
        batch.bytes.append(contentsOf: Self.details(salvaged, before: more))
        batch.records[index].details = ByteRange(from: start, to: batch.bytes.count)
        return true
    }

    /// Returns details that contain the origin of a record and, as `more`, the record's own details.
    private static func details(_ salvaged: SalvagedRecord, before more: [UInt8]) -> [UInt8] {
        var origin = RecordOrigin(
            place: .init(id: salvaged.stored.id, receivedAt: salvaged.stored.receivedAt.description),
            wasPending: salvaged.isPending, wasReportable: salvaged.stored.record.reportable ?? true,
            losses: salvaged.losses)
        if let earlier = salvaged.origin { origin.follow(earlier) }
        var writer = JSONWriter()
        writer.object { details in
            details.key(RecordOrigin.key)
            origin.write(to: &details)
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

/// A record of a set-aside database.
struct SalvagedRecord {
    /// Its row in the set-aside database.
    var row: RowID
    /// The id of the process that reported it, in the set-aside database.
    var process: ProcessRowID
    /// The start time of this process, in clock ticks since boot; 0 if unknown.
    var startTime: Int64
    var stored: StoredRecord
    /// The template and the parts of its message; nil if the template is lost or not that of the message. The parts are
    /// nil if the message was stored whole.
    var split: (template: [UInt8], parts: [UInt8]?)?
    /// Where it was before an earlier repair recovered it; nil for other records.
    var origin: RecordOrigin?
    /// The verdict of the database's cardinality guard.
    var verdict = ReportCall.ImportedVerdict()
    var losses: Set<RecordOrigin.Loss>
    /// The size of its JSON, in bytes.
    var bytes: Int
    /// Whether it must still be forwarded.
    var isPending = true

    /// Its id and time of receipt in the first database that stored it; nil if the id is lost.
    var original: ReportCall.Original? {
        guard let id = RecordID(origin?.first.id ?? stored.id), id.store != 0 else { return nil }
        guard let origin else { return ReportCall.Original(id: id, receivedAt: stored.receivedAt) }
        return ReportCall.Original(id: id, receivedAt: IssueTimestamp(origin.first.receivedAt))
    }

    /// The approximate size in a portion, in bytes.
    var size: Int { 256 + bytes }

    /// Returns how its message was split; nil if that is unknown.
    func message(_ limits: RecordLimits) -> SplitMessage? {
        split.flatMap { SplitMessage(template: $0.template, parts: $0.parts, limits: limits) }
    }
}

/// Reads records from a database in which the rows that they refer to may be unreadable.
extension StoreReader {
    /// Reads a record and the rows that it refers to, as far as these are readable.
    ///
    /// Without its series, a record still has the text of its message that is not in the template, its metadata and its
    /// times. Without its process, it has the sender of its series, but no gid and pid. Without its sender, it has
    /// only the user of its series, and the gid and pid of its process if that is readable. A record whose user is
    /// unknown is attributed to root.
    ///
    /// - Returns: The record; nil if the row does not exist.
    /// - Throws: The error that prevents reading the record's own row.
    func salvage(row: RowID) throws -> SalvagedRecord? {
        let found = try connection.first(RecordCells.sql, row) { RecordCells($0) }
        guard var cells = found else { return nil }
        var losses: Set<RecordOrigin.Loss> = []
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
        let details = cells.details.flatMap { try? JSONValue(json: $0) }
        // The template of an overflow series is not that of the message.
        let isOverflow = details?["original"] != nil
        let id = (try? recordID(row: row).text) ?? RecordID(store: 0, row: row).text
        let record = RecordRow(
            cells, of: series ?? SeriesRowCache(SeriesDescription()),
            by: sender?.sender ?? Sender(uid: 0, gid: 0, pid: process?.pid ?? 0), id: id, isWhole: true)
        var verdict = ReportCall.ImportedVerdict()
        if let series {
            if isOverflow {
                verdict.series =
                    series.description.fingerprint == "overflow" ? .overflowGroup(.issues) : .overflowSeries
            }
            let name = record.stored.record.app?.name ?? record.stored.sender.command
            if series.accountName == "overflow", name != "overflow" { verdict.application = .overflow }
        }
        return SalvagedRecord(
            row: row, process: cells.process, startTime: process?.started ?? 0, stored: record.stored,
            split: isOverflow ? nil : series.map { ($0.description.template, cells.message.parts) },
            origin: details.flatMap { RecordOrigin(in: $0) }, verdict: verdict, losses: losses,
            bytes: record.stored.json.count)
    }

    /// Returns a text with the variable parts of a message whose template is lost.
    private static func message(ofParts parts: [UInt8]) -> String {
        let texts = parts.split(separator: 0x1F).map { String(decoding: $0, as: UTF8.self) }
        return texts.isEmpty ? "(message lost)" : texts.joined(separator: " … ")
    }

    private func salvageSeries(_ id: SeriesID) -> SeriesRowCache? {
        let account = first(
            "SELECT accounts.app FROM series JOIN accounts ON accounts.id = series.account WHERE series.id = ?1",
            id.rawValue
        ) { $0.text(0) }
        return first("SELECT key FROM series WHERE id = ?1", id.rawValue) {
            let key = $0.bytes(0)
            return SeriesKey.decode(key).map {
                SeriesRowCache($0, accountName: account ?? "", keySize: key.count)
            }
        }
    }

    private typealias Process = (sender: Int64, gid: UInt32, pid: Int32, started: Int64)

    private func salvageProcess(_ id: ProcessRowID) -> Process? {
        first("SELECT sender, gid, pid, started FROM processes WHERE id = ?1", id.rawValue) { row in
            (row.int64(0), UInt32(clamping: row.int64(1)), Int32(clamping: row.int64(2)), row.int64(3))
        }
    }

    /// Returns the sender of the process or, if the process is unreadable, of the series. Reads it from its table, or
    /// from the index that contains the same columns. If neither is readable, returns a sender that has only the user
    /// of the series, and the gid and pid of the process; nil if the series or its account is unreadable, too.
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

    /// Returns what `read` makes of the first row; nil if there is no row or it cannot be read.
    private func first<Value>(_ sql: StaticString, _ id: Int64, _ read: (borrowing Row) -> Value?) -> Value? {
        let found = try? connection.first(sql, id) { read($0) } ?? nil
        return found ?? nil
    }
}
