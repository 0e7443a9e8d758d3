package import IssueCore
package import IssueProtocol
import SQLiteKit

extension StoreReader {
    /// A page of records.
    package struct RecordPage: Sendable {
        package var records: [StoredRecord]
        /// The cursor of the next page; nil if this is the last one.
        package var next: String?
        /// The newest row of the snapshot, after which a follower continues.
        package var newest: RowID
        /// The number of records that are left out because their blocks are damaged. Some might not match the filter.
        package var unreadable: Int64 = 0
    }

    /// The parameters of a list of records.
    package struct RecordQuery: Sendable {
        package var filter: IssueFilter
        package var isAscending: Bool
        /// The maximum number of records.
        package var limit: Int
        /// The cursor of the page; nil for the first page.
        package var after: String?
        /// The time after which the page ends, even without records; nil for no limit.
        package var pageTime: Duration?

        package init(
            filter: IssueFilter, isAscending: Bool, limit: Int, after: String?, pageTime: Duration? = nil
        ) {
            self.filter = filter
            self.isAscending = isAscending
            self.limit = limit
            self.after = after
            self.pageTime = pageTime
        }
    }

    /// A page ends with the entry that brings it to this size, in bytes of JSON.
    package static let pageBytes = 1 << 20

    /// Returns a page of records, in the order in which they were received or in reverse order.
    ///
    /// If `pageTime` is set, a page that takes longer or is interrupted has the records found so far, which may be
    /// none. Its cursor continues the search. An interruption before the first record was examined is thrown as an
    /// error.
    ///
    /// - Throws: `QueryFailure` if the query is invalid, or the error of the query.
    package func records(_ query: RecordQuery, viewer: Viewer) throws -> RecordPage {
        let selection = try SeriesSelection(query.filter, viewer: viewer)
        let cursor = try query.after.map { try PageCursor($0) }
        var page = RecordPage(records: [], next: nil, newest: 0)
        /// The last row that was examined.
        var edge: RowID?
        do {
            try snapshot {
                try expectDestination(query.filter.destination)
                page.newest = try newestRow()
                let deadline = query.pageTime.map { Deadline.after($0) }
                let content = RecordMatcher(query.filter)
                var search = try RecordSearch(
                    selection, query, from: cursor.map { RowID(rawValue: $0.row) }, on: self)
                var bytes = 0
                while page.next == nil, let row = try search.next(on: self) {
                    if search.isCandidate, let record = try record(row: row),
                        try matches(record, query.filter, content)
                    {
                        page.records.append(record.stored)
                        bytes += record.stored.json.count
                    }
                    edge = row
                    let isFull = page.records.count == query.limit || bytes >= Self.pageBytes
                    if isFull || deadline?.hasPassed == true {
                        page.next = PageCursor(value: 0, row: row.rawValue).text
                    }
                }
            }
        } catch let error as StoreFailure where error == .tooSlow || error == .walTooLarge {
            // The records found so far are valid, and the next page continues after them.
            guard query.pageTime != nil, let edge else { throw error }
            page.next = PageCursor(value: 0, row: edge.rawValue).text
        }
        page.unreadable = blocks.skipped.values.reduce(0) { $0 + $1.records }
        return page
    }

    /// Returns the matching records above a row, the oldest first, for a follower.
    ///
    /// - Parameters:
    ///   - row: The last row that the follower has seen.
    ///   - filter: The filter.
    ///   - limit: The maximum number of records.
    ///   - viewer: The viewer.
    /// - Returns: The records, and the row after which the follower continues.
    /// - Throws: `QueryFailure` if the filter is invalid, or the error of the query.
    package func newRecords(
        above row: RowID, _ filter: IssueFilter, limit: Int, viewer: Viewer
    ) throws -> (records: [StoredRecord], seen: RowID) {
        let query = RecordQuery(
            filter: filter, isAscending: true, limit: limit, after: PageCursor(value: 0, row: row.rawValue).text)
        let page = try records(query, viewer: viewer)
        let last = try page.next.map { RowID(rawValue: try PageCursor($0).row) }
        return (page.records, last ?? max(row, page.newest))
    }

    /// Returns the newest row, after which a new follower starts.
    package func newest() throws -> RowID {
        try snapshot { try newestRow() }
    }

    /// Returns the highest id that the newest block may hold. If there is no block, returns the last id of the closed
    /// ranges; 0 if there are none.
    func newestRow() throws -> RowID {
        // Blocks do not overlap, so the last one has the highest id. `max(last_id)` would read all blocks, because the
        // column has no index.
        let last = try connection.first("SELECT last_id FROM blocks ORDER BY first_id DESC LIMIT 1") {
            $0.optionalID(0, as: RowID.self)
        }
        return try (last ?? nil) ?? lastClosedID()
    }

    /// Returns a record with its series and sender; nil if one of them does not exist or is unreadable.
    ///
    /// - Parameters:
    ///   - row: The record.
    ///   - isWhole: `true` to parse the metadata and to include the attributes of the series in the record.
    package func record(row: RowID, isWhole: Bool = true) throws -> RecordRow? {
        guard let (block, index) = try blocks.find(row), let text = try blocks.text(of: block) else { return nil }
        let cells = RecordCells(block, index, text: text)
        guard let series = try series(cells.series), let sender = try sender(ofProcess: cells.process)
        else { return nil }
        return RecordRow(cells, of: series, by: sender, id: try recordID(row: row).text, isWhole: isWhole)
    }

    private func series(_ id: SeriesID) throws -> SeriesRowCache? {
        if let series = known.series(id) { return series }
        let found = try connection.first(SeriesRowCache.sql, id) { SeriesRowCache($0) } ?? nil
        if let found { known.learn(found, as: id) }
        return found
    }

    private func sender(ofProcess id: ProcessRowID) throws -> Sender? {
        if let sender = known.sender(id) { return sender }
        let found = try connection.first(
            """
            SELECT senders.uid, processes.gid, processes.pid, senders.command, senders.executable, senders.unit
            FROM processes JOIN senders ON senders.id = processes.sender WHERE processes.id = ?1
            """, id
        ) { row in
            Sender(
                uid: UInt32(clamping: row.int64(0)), gid: UInt32(clamping: row.int64(1)),
                pid: Int32(clamping: row.int64(2)), command: Self.present(row.text(3)),
                executable: Self.present(row.text(4)), unit: Self.present(row.text(5)))
        }
        if let found { known.learn(found, ofProcess: id) }
        return found
    }

    /// Returns a text of the table `senders`; nil if it is empty, which means that the value is absent.
    static func present(_ text: String) -> String? { text.isEmpty ? nil : text }

    /// Returns `true` if a record matches the parts of a filter that do not depend on its series alone.
    ///
    /// - Parameters:
    ///   - record: A complete record.
    ///   - filter: The filter.
    ///   - content: The filter's conditions on the content of records; nil if there are none.
    func matches(_ record: RecordRow, _ filter: IssueFilter, _ content: RecordMatcher?) throws -> Bool {
        if let since = filter.since, record.receivedAt < since { return false }
        if let until = filter.until, record.receivedAt > until { return false }
        if let content, !content.matches(record.stored.record) { return false }
        return try matches(fatesOf: record.row, filter)
    }

    /// Returns `true` if a filter has no fates, or if the record has one of the filter's fates. If the filter has
    /// a destination, only the fate at this destination counts.
    func matches(fatesOf row: RowID, _ filter: IssueFilter) throws -> Bool {
        guard let fates = filter.outcomes else { return true }
        return try self.fates(ofRow: row).contains { own in
            fates.contains(own.outcome) && (filter.destination == nil || own.destination == filter.destination)
        }
    }

    /// Returns the series that a filter selects, with their groups; nil if it selects all.
    func series(_ selection: SeriesSelection) throws -> [(series: SeriesID, group: GroupID)]? {
        guard !selection.isEverything else { return nil }
        return try selection.statement(SeriesSelection.sql, on: connection).all { ($0.id(0), $0.id(1)) }
    }
}

/// The values that are stored for a single record, not for its series or process.
struct RecordCells {
    enum Message {
        case whole(String)
        /// The parts that replace the placeholders of the series' template.
        case parts([UInt8])

        /// The parts; nil if the message is stored whole.
        var parts: [UInt8]? {
            switch self {
            case .whole: nil
            case .parts(let parts): parts
            }
        }
    }

    var row: RowID
    var series: SeriesID
    var process: ProcessRowID
    var receivedAt: IssueTimestamp
    /// The time of the occurrence, in milliseconds relative to `receivedAt`; nil if the record does not state it.
    var occurred: Int64?
    /// The time of the first of `count` occurrences, in the same form.
    var firstOccurred: Int64?
    var count: Int64
    var message: Message
    /// The metadata as JSON; nil if there is none.
    var metadata: String?
    /// The rarely used members as JSON; nil if there are none.
    var details: String?

    /// Selects these values from `records`, which is an ordinary table in files of earlier versions.
    static let sql: StaticString = """
        SELECT id, series, process, received_at, occurred, first_occurred, count, message, metadata, details
        FROM records WHERE id = ?1
        """

    /// Creates the values of a record in a block with this text.
    init(_ block: RecordBlock, _ index: Int, text: [UInt8]) {
        let found = block.rows[index]
        row = found.id
        series = found.series
        process = found.process
        receivedAt = IssueTimestamp(millisecondsSince1970: found.receivedAt)
        occurred = found.occurred == DecodedRecord.absent ? nil : found.occurred
        firstOccurred = found.firstOccurred == DecodedRecord.absent ? nil : found.firstOccurred
        count = found.count
        let bytes = text[found.message.lower..<found.message.upper]
        message = found.messageForm == .whole ? .whole(String(decoding: bytes, as: UTF8.self)) : .parts(Array(bytes))
        metadata = block.metadata(of: index, text.span).map { String(decoding: $0, as: UTF8.self) }
        details =
            found.details.isEmpty
            ? nil : String(decoding: text[found.details.lower..<found.details.upper], as: UTF8.self)
    }

    /// Where the record was before `repair` recovered it; nil for other records.
    var origin: RecordOrigin? {
        details.flatMap { try? JSONValue(json: $0) }.flatMap { RecordOrigin(in: $0) }
    }

    /// Reads a row of `sql`.
    init(_ row: borrowing Row) {
        self.row = row.id(0)
        series = row.id(1)
        process = row.id(2)
        receivedAt = row.time(3)
        occurred = row.optionalInt64(4)
        firstOccurred = row.optionalInt64(5)
        count = row.int64(6)
        switch row.type(7) {
        case .text: message = .whole(row.text(7))
        case .null, .blob, .integer, .real: message = .parts(row.bytes(7))
        }
        metadata = row.optionalText(8)
        details = row.optionalText(9)
    }
}

/// A record with its series, process and group.
package struct RecordRow: Sendable {
    package var row: RowID
    package var group: GroupID
    package var receivedAt: IssueTimestamp
    package var isFirstOfGroup: Bool
    package var fingerprint: String
    package var accountName: String
    /// The record; without the attributes of its series if `seriesCache` is set, and without its metadata if `metadata`
    /// is set.
    package var stored: StoredRecord
    /// The metadata as JSON; nil if it is part of `stored` or there is none.
    package var metadata: String?
    /// The cached attributes of its series; nil if `stored` contains them, as for a record in an overflow series.
    package var seriesCache: (any LineCache)?

    init(_ cells: RecordCells, of series: SeriesRowCache, by sender: Sender, id: String, isWhole: Bool) {
        row = cells.row
        group = series.group
        receivedAt = cells.receivedAt
        isFirstOfGroup = series.firstOfGroup == cells.row
        fingerprint = series.fingerprint
        accountName = series.accountName

        let kind = series.description
        let message =
            switch cells.message {
            case .whole(let text): text
            case .parts(let parts): MessageTemplate.message(template: kind.template, parts: parts)
            }
        let details = cells.details.flatMap { try? JSONValue(json: $0) }
        var record = IssueRecord(message: message, count: cells.count)
        // Copying the attributes of the series to each record costs more than looking them up when they are needed.
        let isShared = !isWhole && details?["original"] == nil
        seriesCache = isShared ? series : nil
        if !isShared { series.complete(&record) }
        let received = cells.receivedAt.millisecondsSince1970
        record.occurredAt = cells.occurred.map { IssueTimestamp(millisecondsSince1970: received &+ $0) } ?? receivedAt
        record.firstOccurredAt = cells.firstOccurred.map { IssueTimestamp(millisecondsSince1970: received &+ $0) }
        if isWhole {
            record.metadata = cells.metadata.flatMap { try? JSONValue(json: $0) }
        } else {
            metadata = cells.metadata
        }
        var repairs: [String] = []
        var sender = sender
        if let details {
            record.add(details, of: kind, repairs: &repairs)
            if let original = details["sender"].flatMap({ try? Sender(json: $0.json) }) {
                sender = original
                repairs.append("stored under the overflow sender of its user because of the limit on new senders")
            }
        }
        stored = StoredRecord(
            id: id, group: series.groupID, receivedAt: receivedAt, sender: sender, repairs: repairs, record: record)
    }
}

extension IssueRecord {
    /// Adds the rarely used members, which are stored as JSON, and appends notes on an unusual record to `repairs`.
    ///
    /// - Parameters:
    ///   - details: The JSON.
    ///   - series: The series under which the record is stored.
    ///   - repairs: The notes.
    fileprivate mutating func add(_ details: JSONValue, of series: SeriesDescription, repairs: inout [String]) {
        let origin = RecordOrigin(in: details)
        if let origin { repairs.append(origin.note) }
        if let original = details["original"] {
            repairs.append(
                series.fingerprint == "overflow"
                    ? "stored in the overflow issue of its application because of the limit on new issues or series"
                    : "stored in the overflow series of its issue because of the limit on new series")
            if let own = IssueRecord(message: message, details: original) {
                severity = own.severity
                domain = own.domain
                code = own.code
                source = own.source
                app = own.app
                fingerprint = own.fingerprint
                reportable = own.reportable ?? true
            }
        }
        // The import stored the record as not reportable, so that it is not forwarded again.
        if let origin, !origin.wasPending, origin.wasReportable { reportable = true }
        var own = details
        while let more = own["more"] { own = more }
        setDetails(own)
    }

    /// Creates a record from its message and its stored members; nil if they are invalid.
    private init?(message: String, details: JSONValue) {
        guard case .object(let members) = details else { return nil }
        let whole = JSONValue.object(members + [JSONValue.Member("message", .string(message))])
        guard let record = try? IssueRecord(json: whole.json) else { return nil }
        self = record
    }
}

extension RecordBlock {
    /// Returns `true` if a record was imported from a set-aside database.
    func isImported(_ index: Int) -> Bool {
        let range = rows[index].details
        guard !range.isEmpty, let text = text() else { return false }
        return RecordOrigin.isContained(in: text[range.lower..<range.upper])
    }
}

/// The origin of a record that `repair` recovered: the stores in which it was before. Stored in the record's details.
struct RecordOrigin: Equatable {
    /// The parts of a record that were unreadable.
    enum Loss: String, CaseIterable {
        case sender, series
    }

    /// The id and the time of receipt that a record had in a store.
    struct Place: Equatable {
        var id: String
        var receivedAt: String

        fileprivate func writeMembers(to writer: inout JSONWriter) {
            writer.member("id", id)
            writer.member("received_at", receivedAt)
        }
    }

    /// The record's place in the store from which it was last recovered.
    var place: Place
    /// The record's places in the stores in which it was before that, the latest first.
    var earlier: [Place] = []
    /// Whether a destination may still have needed the record when it was recovered from `place`. If not, the record is
    /// not forwarded again.
    var wasPending: Bool
    /// Whether the client marked the record as reportable.
    var wasReportable: Bool
    var losses: Set<Loss>

    static let key = "recovered"
    /// The maximum number of earlier places. A damaged file may name more.
    static let maxEarlier = 64

    init(place: Place, wasPending: Bool, wasReportable: Bool, losses: Set<Loss>) {
        (self.place, self.wasPending, self.wasReportable, self.losses) = (place, wasPending, wasReportable, losses)
    }

    /// Reads the origin from a record's details; nil if it was not recovered.
    init?(in details: JSONValue) {
        // A record in an overflow series or of an overflow sender has its own details in the member `more`.
        guard let value = details[Self.key] ?? details["more"]?[Self.key] else { return nil }
        place = Self.place(value)
        earlier = Self.limited((value["earlier"]?.asArray ?? []).map(Self.place))
        wasPending = value["pending"]?.asBool ?? true
        wasReportable = value["reportable"]?.asBool ?? true
        losses = Set(Loss.allCases.filter { value[$0.rawValue] != nil })
    }

    /// The possible beginnings of details that contain an origin. An origin is the first member; in an overflow series,
    /// or for an overflow sender, it is in the member `more`.
    private static let beginnings = [key, "original", "sender"].map { Array("{\"\($0)\":".utf8) }

    /// Returns `true` if a record's details, which are JSON, contain an origin.
    static func isContained(in details: ArraySlice<UInt8>) -> Bool {
        // Most details are those of ordinary records, and parsing them would take long.
        guard beginnings.contains(where: { details.starts(with: $0) }) else { return false }
        return (try? JSONValue(json: String(decoding: details, as: UTF8.self))).flatMap { Self(in: $0) } != nil
    }

    private static func place(_ value: JSONValue) -> Place {
        Place(id: value["id"]?.asString ?? "?", receivedAt: value["received_at"]?.asString ?? "?")
    }

    /// The record's place in the store that received it from the client.
    var first: Place { earlier.last ?? place }

    /// The ids that the record had, the latest first.
    var ids: [String] { [place.id] + earlier.map(\.id) }

    /// Adds the origin that the record already had in the store from which it was recovered.
    mutating func follow(_ origin: RecordOrigin) {
        earlier = Self.limited([origin.place] + origin.earlier)
        losses.formUnion(origin.losses)
    }

    /// Returns at most `maxEarlier` places: the latest ones, and always the earliest one, because repairs identify the
    /// record by it.
    private static func limited(_ earlier: [Place]) -> [Place] {
        guard earlier.count > maxEarlier, let first = earlier.last else { return earlier }
        return earlier.prefix(maxEarlier - 1) + [first]
    }

    func write(to writer: inout JSONWriter) {
        writer.object { recovered in
            place.writeMembers(to: &recovered)
            recovered.member("pending", wasPending)
            if !wasReportable { recovered.member("reportable", false) }
            for loss in losses.map(\.rawValue).sorted() { recovered.member(loss, "lost") }
            guard !earlier.isEmpty else { return }
            recovered.key("earlier")
            recovered.array { list in
                for place in earlier { list.object { place.writeMembers(to: &$0) } }
            }
        }
    }

    /// The note for `StoredRecord.repairs`.
    var note: String {
        var note =
            "recovered from a database that was moved aside, where it was \(place.id), received at "
            + place.receivedAt
        for place in earlier { note += "; before that it was \(place.id), received at \(place.receivedAt)" }
        if !wasPending { note += "; not forwarded again because it was no longer pending" }
        if losses.contains(.series) { note += "; its source, application and part of its message are lost" }
        if losses.contains(.sender) { note += "; part of its sender is lost" }
        return note
    }
}
