import IssueCore
package import IssueProtocol
import SQLiteKit

extension StoreReader {
    /// A page of records, and where the next one begins.
    package struct RecordPage: Sendable {
        package var records: [StoredRecord]
        package var next: String?
        /// The newest row of the snapshot that answered, from which on a follower goes on.
        package var newest: Int64
    }

    /// What is asked of a list of records beside the filter.
    package struct RecordQuery: Sendable {
        package var filter: IssueFilter
        package var isAscending: Bool
        package var limit: Int
        package var after: String?

        package init(filter: IssueFilter, isAscending: Bool, limit: Int, after: String?) {
            self.filter = filter
            self.isAscending = isAscending
            self.limit = limit
            self.after = after
        }
    }

    /// A page ends with the record that makes it so large, so that large ones come a few at a time.
    package static let pageBytes = 1 << 20

    /// A page of single records, by the order in which they came.
    package func records(_ query: RecordQuery, viewer: Viewer) throws -> RecordPage {
        let selection = try SeriesSelection(query.filter, viewer: viewer)
        let cursor = try query.after.map { try PageCursor($0) }
        return try snapshot {
            try expectDestination(query.filter.destination)
            var page = RecordPage(records: [], next: nil, newest: try newestRow())
            var walk = try walk(selection, query, from: cursor?.row)
            var bytes = 0
            while page.next == nil, let row = try walk.next(on: self) {
                guard let record = try record(row: row), try matches(record, query.filter) else { continue }
                page.records.append(record.stored)
                bytes += record.size
                let isFull = page.records.count == query.limit || bytes >= Self.pageBytes
                if isFull { page.next = PageCursor(value: 0, row: row).text }
            }
            return page
        }
    }

    /// Records above a row, the oldest first: what a follower has not seen yet.
    package func records(above row: Int64, _ filter: IssueFilter, limit: Int, viewer: Viewer) throws -> RecordPage {
        let query = RecordQuery(
            filter: filter, isAscending: true, limit: limit, after: PageCursor(value: 0, row: row).text)
        return try records(query, viewer: viewer)
    }

    /// The newest row, which need not be there any more where all are gone.
    func newestRow() throws -> Int64 {
        try connection.withStatement("SELECT max(id) FROM records") { try $0.first { $0.optionalInt64(0) } ?? nil }
            ?? lastClosedID()
    }

    /// One record with all that belongs to it, or nothing.
    ///
    /// - Parameter isWhole: whether its metadata are read, and what it shares with its series is said of it, too.
    package func record(row: Int64, isWhole: Bool = true) throws -> RecordRow? {
        let cells = try connection.withStatement(RecordCells.sql) { statement in
            statement.bind(row, at: 1)
            return try statement.first { RecordCells($0) }
        }
        guard let cells, let series = try series(cells.series), let sender = try sender(ofProcess: cells.process)
        else { return nil }
        return RecordRow(cells, of: series, by: sender, id: try recordID(row: row).text, isWhole: isWhole)
    }

    private func series(_ id: Int64) throws -> KnownSeries? {
        if let series = known.series(id) { return series }
        let found = try connection.withStatement(KnownSeries.sql) { statement in
            statement.bind(id, at: 1)
            return try statement.first { KnownSeries($0) } ?? nil
        }
        if let found { known.learn(found, as: id) }
        return found
    }

    private func sender(ofProcess id: Int64) throws -> Sender? {
        if let sender = known.sender(id) { return sender }
        let found = try connection.withStatement(
            """
            SELECT senders.uid, processes.gid, processes.pid, senders.command, senders.executable, senders.unit
            FROM processes JOIN senders ON senders.id = processes.sender WHERE processes.id = ?1
            """
        ) { statement in
            statement.bind(id, at: 1)
            return try statement.first { row in
                Sender(
                    uid: UInt32(clamping: row.int64(0)), gid: UInt32(clamping: row.int64(1)),
                    pid: Int32(clamping: row.int64(2)), command: Self.present(row.text(3)),
                    executable: Self.present(row.text(4)), unit: Self.present(row.text(5)))
            }
        }
        if let found { known.learn(found, ofProcess: id) }
        return found
    }

    static func present(_ text: String) -> String? { text.isEmpty ? nil : text }

    /// Whether a record is what the filter asks for, of which its series has been looked at already.
    private func matches(_ record: RecordRow, _ filter: IssueFilter) throws -> Bool {
        if let since = filter.since, record.receivedAt < since { return false }
        if let until = filter.until, record.receivedAt > until { return false }
        return try matches(fatesOf: record.row, filter)
    }

    /// Whether a record has one of the fates that the filter asks for.
    func matches(fatesOf row: Int64, _ filter: IssueFilter) throws -> Bool {
        guard let fates = filter.fates else { return true }
        return try self.fates(ofRow: row).contains { own in
            fates.contains(own.fate) && (filter.destination == nil || own.destination == filter.destination)
        }
    }

    func walk(_ selection: SeriesSelection, _ query: RecordQuery, from row: Int64?) throws -> RecordWalk {
        var series: [Int64]?
        if !selection.isEverything {
            let statement = try Statement(SeriesSelection.sql, on: connection)
            selection.bind(to: statement)
            series = try statement.all { $0.int64(0) }
        }
        return try RecordWalk(
            series: series, isAscending: query.isAscending, from: row, since: query.filter.since,
            until: query.filter.until, on: self)
    }
}
