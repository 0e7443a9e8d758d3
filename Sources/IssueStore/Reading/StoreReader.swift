package import IssueCore
import IssueProtocol
package import SQLiteKit
import Synchronization

/// A connection for queries. It belongs to the thread that created it.
///
/// Each query uses one snapshot, which ends before the query returns, so that the writer can checkpoint the WAL.
///
/// Unless stated otherwise, a function throws only the error of its query.
package final class StoreReader {
    let connection: DatabaseConnection
    package let blocks: BlockReader
    /// Rows that the current snapshot has already looked up.
    var known = RowCache()
    /// Maps user ids to the accountable users. Only the forwarding and notifier loops set it, and only they need it.
    package var users = AccountableUsers()
    /// The last figures that were read, and the data version of the database at that time.
    var lastFigures: (version: Int64, figures: StoreFigures)?
    private let control: (any SnapshotControl)?

    /// Opens the database for reading.
    ///
    /// - Parameters:
    ///   - path: The path of the database.
    ///   - cache: The maximum size of the page cache, in KiB. A small one suffices if each row is read once.
    ///   - control: Grants each snapshot and can end it; nil if snapshots need no permission.
    ///   - toleratesDamage: `true` to read whatever is readable of a truncated or corrupt file. Reading a damaged block
    ///     then throws, so that the caller can look for its records elsewhere. If `false`, damaged blocks are skipped.
    /// - Throws: `StoreFailure` if the file cannot be opened.
    package init(
        path: String, cache: Int64 = 2048, control: (any SnapshotControl)? = nil, toleratesDamage: Bool = false
    ) throws(StoreFailure) {
        self.control = control
        do {
            connection = try DatabaseConnection(path: path, mode: .readOnly, busyTimeout: .seconds(5))
            if toleratesDamage { try connection.tolerateDamage() }
            try connection.setPragma("cache_size", to: -cache)
            try connection.setPragma("temp_store", to: "MEMORY")
            blocks = try BlockReader(on: connection, policy: toleratesDamage ? .fail : .skip)
            blocks.onDamagedBlock = control?.found
        } catch {
            throw StoreFailure(error)
        }
    }

    /// A handle to interrupt the current query from another thread.
    package var interruption: QueryInterruption { QueryInterruption(connection) }

    /// Runs queries in one snapshot. A nested call uses the snapshot of the outer call.
    ///
    /// - Parameters:
    ///   - timeout: The maximum duration. For nested calls, that of the outer call applies.
    ///   - body: The queries.
    /// - Returns: The value that `body` returns.
    /// - Throws: `StoreFailure.tooSlow` after the timeout or a cancellation, `.walTooLarge` if the snapshot was refused
    ///   or ended because the WAL is too large, or the error of `body`. An `SQLiteError` is converted to a
    ///   `StoreFailure`.
    package func snapshot<Value>(within timeout: Duration = .seconds(10), _ body: () throws -> Value) throws -> Value {
        if connection.isInTransaction { return try body() }
        let ticket = try control?.begin(interruption)
        known.forget()
        blocks.beginSnapshot()
        connection.setDeadline(.after(timeout))
        defer {
            connection.setDeadline(nil)
            blocks.endSnapshot()
        }
        let result = Result { try connection.readTransaction(body) }
        let wasInterrupted = ticket.flatMap { control?.end($0) } ?? false
        do {
            return try result.get()
        } catch let error as SQLiteError {
            throw wasInterrupted && error.isInterrupted ? StoreFailure.walTooLarge : StoreFailure(error)
        }
    }

    /// Returns the last row id of the closed ranges; 0 if there are none.
    func lastClosedID() throws -> RowID {
        try connection.first("SELECT coalesce(max(last_id), 0) FROM ranges") { $0.id(0) } ?? 0
    }

    /// Returns the id of the record in `row`. Its store code is 0 if the store that assigned the row is unknown.
    func recordID(row: RowID) throws -> RecordID {
        if let known = known.code, known.rows.contains(row) { return RecordID(store: known.code, row: row) }
        let found = try connection.first(
            """
            SELECT code, first_id, (SELECT min(first_id) - 1 FROM stores WHERE first_id > ?1)
            FROM stores WHERE first_id <= ?1 ORDER BY first_id DESC LIMIT 1
            """, row
        ) { ($0.int64(0), $0.id(1, as: RowID.self), $0.optionalID(2, as: RowID.self)) }
        guard let found else { return RecordID(store: 0, row: row) }
        let code = UInt64(bitPattern: found.0)
        known.learn(code, ofRows: found.1...max(row, found.2 ?? .max))
        return RecordID(store: code, row: row)
    }
}

@available(*, unavailable)
extension StoreReader: Sendable {}

/// The records that a client may see. Every query has a viewer.
package enum Viewer: Equatable, Sendable {
    /// All records: for operators and readers.
    case everything
    /// The records that this user reported.
    case user(UInt32)
    /// No records: for a user id that can belong to different users over time, and for `nobody`.
    case nothing

    /// The user id to which queries are restricted; nil for no restriction. No account has the user id -1.
    private var uid: Int64? {
        switch self {
        case .everything: nil
        case .user(let uid): Int64(uid)
        case .nothing: -1
        }
    }

    /// Returns the SQL condition under which the viewer may see what belongs to a row of `accounts`.
    ///
    /// Every query that a client can start must contain this condition, or its results must be checked with `sees`.
    ///
    /// - Parameter number: The number of the statement's parameter for the viewer.
    static func condition(parameter number: Int) -> String { "(?\(number) IS NULL OR accounts.uid = ?\(number))" }

    /// Returns `true` if the viewer may see what belongs to a user. The equivalent of `condition` for values in memory.
    package func sees(_ user: Int64) -> Bool {
        switch self {
        case .everything: true
        case .user(let uid): user == uid
        case .nothing: false
        }
    }

    /// Returns the part of a destination's response that this viewer may see.
    ///
    /// The response may contain the destination's address, and counts of lines of all users. Only a viewer of
    /// everything may see all of it. For others, returns only the status code at its start; nil if there is none.
    func shown(answer: String?) -> String? {
        self == .everything ? answer : answer.flatMap(ResponseSummary.statusCode(of:))
    }
}

/// The parameter of `condition`.
extension Viewer: DatabaseValue {
    package func bind(to statement: borrowing Statement, at position: Int) { statement.bind(uid, at: position) }
}

/// A handle to interrupt the queries of a reader from another thread.
package struct QueryInterruption: Sendable {
    private let handle: InterruptHandle

    /// Creates a handle for a connection.
    package init(_ connection: DatabaseConnection) {
        handle = connection.interruptHandle
    }

    /// Interrupts the current query, and makes all further ones fail until `clear` is called.
    ///
    /// Repeat this until the query has ended: SQLite ignores an interrupt that arrives just before a statement starts
    /// to run.
    package func cancel() { handle.cancel() }

    /// Allows queries again.
    package func clear() { handle.clearCancellation() }
}

/// Decides when a reader may take a snapshot of the database, and ends snapshots that block the writer.
///
/// A snapshot keeps SQLite from resetting the WAL, so every reader must register its snapshots. Functions may be called
/// on any thread.
package protocol SnapshotControl: Sendable {
    /// Registers a snapshot that is about to be taken. May block.
    ///
    /// - Parameter interruption: Interrupts the queries of the connection that takes the snapshot.
    /// - Returns: A ticket to pass to `isInterrupted` and `end`.
    /// - Throws: `StoreFailure.walTooLarge` if no snapshot may be taken for now.
    func begin(_ interruption: QueryInterruption) throws(StoreFailure) -> UInt64

    /// Returns `true` if the snapshot must end because the WAL is too large.
    func isInterrupted(_ snapshot: UInt64) -> Bool

    /// Handles a damaged block that a reader has found. Each reader reports it once.
    func found(_ block: DamagedBlock)

    /// Unregisters the snapshot. Returns `true` if it was interrupted.
    func end(_ snapshot: UInt64) -> Bool
}

/// A cache of rows that records of one snapshot refer to, so that each is looked up only once.
struct RowCache {
    /// The maximum number of entries per table. A page of records or a batch rarely needs more.
    private static let maxEntries = 4096
    /// The total size of the cached series keys, in bytes, at which all cached series are removed. A key usually has
    /// about 300 bytes, but a sender can make it 70 times as long.
    private static let maxKeyBytes = 2 << 20

    private var series: [SeriesID: SeriesRowCache] = [:]
    /// The size of the keys of all cached series, in bytes.
    private var keyBytes = 0
    private var senders: [ProcessRowID: Sender] = [:]
    /// The store code that was looked up last, and the rows whose ids contain it.
    private(set) var code: (rows: ClosedRange<RowID>, code: UInt64)?
    /// The destinations, each with the batch that was read last; nil until the first fate is determined.
    var searches: [ForwardingOutbox.FateSearch]?

    mutating func forget() {
        forgetSeries()
        senders.removeAll(keepingCapacity: true)
        code = nil
        searches = nil
    }

    private mutating func forgetSeries() {
        series.removeAll(keepingCapacity: true)
        keyBytes = 0
    }

    func series(_ id: SeriesID) -> SeriesRowCache? { series[id] }

    func sender(_ process: ProcessRowID) -> Sender? { senders[process] }

    mutating func learn(_ found: SeriesRowCache, as id: SeriesID) {
        if series.count >= Self.maxEntries || keyBytes >= Self.maxKeyBytes { forgetSeries() }
        let previous = series.updateValue(found, forKey: id)
        keyBytes += found.keySize - (previous?.keySize ?? 0)
    }

    mutating func learn(_ found: Sender, ofProcess id: ProcessRowID) {
        if senders.count >= Self.maxEntries { senders.removeAll(keepingCapacity: true) }
        senders[id] = found
    }

    mutating func learn(_ found: UInt64, ofRows rows: ClosedRange<RowID>) {
        code = (rows, found)
    }
}

/// The attributes that all records of a series share. This is a class, because copying the attributes for each record
/// would cost more than copying a reference.
final class SeriesRowCache: LineCache {
    let description: SeriesDescription
    let app: Application?
    let source: SourceLocation?
    let group: GroupID
    /// The group's id in text form.
    let groupID: String
    let fingerprint: String
    let firstOfGroup: RowID
    let accountName: String
    /// The size of the key from which `description` was decoded, in bytes.
    let keySize: Int
    private let line = Mutex(CachedLine())

    static let sql: StaticString = """
        SELECT series.key, groups.id, groups.key, groups.fingerprint, groups.first_record, accounts.app
        FROM series JOIN groups ON groups.id = series."group" JOIN accounts ON accounts.id = series.account
        WHERE series.id = ?1
        """

    /// The cached line that a destination has prepared for this series.
    var cachedLine: CachedLine {
        get { line.withLock { $0 } }
        set { line.withLock { $0 = newValue } }
    }

    /// Sets the members of a record that its series determines.
    func complete(_ record: inout IssueRecord) {
        record.severity = description.severity
        record.domain = description.domain
        record.code = description.code
        record.source = source
        record.app = app
        record.fingerprint = description.fingerprint
        record.reportable = description.isReportable
    }

    /// Creates an entry from the description of a series. The other attributes may be unknown.
    init(
        _ description: SeriesDescription, group: GroupID = 0, groupID: String = "", fingerprint: String = "",
        firstOfGroup: RowID = 0, accountName: String = "", keySize: Int = 0
    ) {
        self.description = description
        app = description.app == Application() ? nil : description.app
        source = description.source == SourceLocation() ? nil : description.source
        self.group = group
        self.groupID = groupID
        self.fingerprint = fingerprint
        self.firstOfGroup = firstOfGroup
        self.accountName = accountName
        self.keySize = keySize
    }

    /// Reads a row of `sql`. Returns nil if the row is corrupt.
    convenience init?(_ row: borrowing Row) {
        let key = row.bytes(0)
        guard let description = SeriesKey.decode(key) else { return nil }
        self.init(
            description, group: row.id(1), groupID: GroupKey.text(key: row.int64(2)), fingerprint: row.text(3),
            firstOfGroup: row.id(4), accountName: row.text(5), keySize: key.count)
    }
}

/// The id of a group as clients see it: a `g` and the sixteen hexadecimal digits of the group's key.
enum GroupKey {
    static func text(key: Int64) -> String {
        "g" + String(hexadecimal: UInt64(bitPattern: key), width: 16)
    }

    /// Returns the key of a group by its id; nil if the text is not an id of a group.
    static func key(_ text: String) -> Int64? {
        guard text.utf8.count == 17, text.utf8.first == UInt8(ascii: "g"),
            text.utf8.dropFirst().allSatisfy({
                UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || UInt8(ascii: "a")...UInt8(ascii: "f") ~= $0
            }),
            let key = UInt64(text.dropFirst(), radix: 16)
        else { return nil }
        return Int64(bitPattern: key)
    }
}

/// The reason why a query is invalid or has no result.
package enum QueryFailure: Error, Equatable, Sendable {
    /// A part of the filter is invalid.
    case invalidFilter(field: String, reason: String)
    /// A parameter other than the filter is invalid. The string is its name.
    case invalidParameter(String)
    /// Nothing with this id exists, or the viewer must not see it.
    case notFound(id: String)
    /// The record with this id is in a damaged block.
    case unreadable(id: String)
}

extension QueryFailure {
    /// Converts the excess of a query limit to a failure.
    package init(_ excess: QueryLimits.Excess) {
        self = .invalidFilter(field: excess.field, reason: excess.reason)
    }
}

extension StoreReader {
    /// The maximum number of destinations that an error names.
    private static let maxNamedDestinations = 10

    /// Throws `QueryFailure.invalidFilter` if the named destination never existed. An empty result would hide a
    /// misspelt name.
    func expectDestination(_ name: String?) throws {
        guard let name else { return }
        let isKnown = try connection.exists("SELECT 1 FROM destinations WHERE name = ?1", name)
        guard !isKnown else { return }
        let names = try connection.all(
            "SELECT name FROM destinations ORDER BY name LIMIT ?1", Int64(Self.maxNamedDestinations + 1)
        ) { $0.text(0) }
        var known = names.prefix(Self.maxNamedDestinations).joined(separator: ", ")
        if names.count > Self.maxNamedDestinations { known += ", …" }
        throw QueryFailure.invalidFilter(
            field: "destination",
            reason: "there is no destination \"\(name)\"\(known.isEmpty ? "" : "; known: \(known)")")
    }
}

/// The position after which the next page begins. Clients must treat it as opaque.
struct PageCursor: Equatable {
    /// The sort key of the last group or the time of the last deployment of the page; 0 for other pages.
    var value: Int64
    /// The row id of the last entry of the page or, for a page of records, of the last record that was examined.
    var row: Int64

    var text: String { "\(value).\(row)" }

    init(value: Int64, row: Int64) {
        self.value = value
        self.row = row
    }

    init(_ text: String) throws(QueryFailure) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let value = Int64(parts[0]), let row = Int64(parts[1]) else {
            throw .invalidParameter("after")
        }
        self.init(value: value, row: row)
    }
}

extension StoreReader {
    /// The main queries of `List`, `Show`, `Records`, `Histogram`, `Status` and forwarding, some of them simplified,
    /// and queries of two views. Each has a name.
    ///
    /// Support bundles contain their query plans, which show a missing index or a bad plan. Parameters are not bound.
    package static var mainQueries: [(name: String, sql: String)] {
        [
            ("List: groups, newest first", groupSumsSQL(.newest, isBounded: false)),
            ("List: groups in a period, most occurrences first", groupSumsSQL(.most, isBounded: true)),
            ("Records and searches: series of a filter", SeriesSelection.sql),
            ("Show: counts of a group", "SELECT sum(records) FROM series_totals WHERE \"group\" = ?1"),
            (
                "Histogram: counts per minute",
                "SELECT series, minute, records FROM counts WHERE minute BETWEEN ?1 AND ?2"
            ),
            (
                "Status: ledgers",
                "SELECT destination, account, fate, sum(records) FROM ledger GROUP BY destination, account, fate"
            ),
            ("Forwarding: levels of the limits", "SELECT kind, key, value FROM limits WHERE destination = ?1"),
            ("sqlite: view issues", "SELECT * FROM issues LIMIT 10"),
            ("sqlite: view recent", "SELECT * FROM recent LIMIT 10"),
        ]
    }
}
