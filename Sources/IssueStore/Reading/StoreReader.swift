package import IssueCore
import IssueProtocol
package import SQLiteKit
import Synchronization

/// A connection that answers questions: it belongs to the thread that made it.
///
/// Each question sees one snapshot, and none outlives its answer, so that the
/// writer's log can be copied back.
package final class StoreReader {
    let connection: Connection
    /// Of the snapshot that is open, or of none.
    var known = RowCache()
    /// Which ids share the limits of one user, for those who forward.
    package var users = AccountableUsers()
    /// How many records were there when it was asked last, and as of which state of the file.
    var counted: (version: Int64, records: Int64)?
    /// The last figures that were read, with the data version of the file at that time.
    var lastFigures: (version: Int64, figures: StoreFigures)?
    private let control: (any SnapshotControl)?

    /// - Parameters:
    ///   - cache: How much of the file it keeps in memory, in KiB; whoever reads a row once needs little.
    ///   - control: Grants each snapshot, and can end it; nil if no writer waits for the file.
    ///   - toleratesDamage: Whether it reads what can be read of a file that lacks its end.
    package init(
        path: String, cache: Int64 = 2048, control: (any SnapshotControl)? = nil, toleratesDamage: Bool = false
    ) throws(StoreFailure) {
        self.control = control
        do {
            connection = try Connection(path: path, mode: .readOnly, busyTimeout: .seconds(5))
            if toleratesDamage { try connection.tolerateDamage() }
            try connection.setPragma("cache_size", to: -cache)
            try connection.setPragma("temp_store", to: "MEMORY")
        } catch {
            throw StoreFailure(error)
        }
    }

    /// Ends the question that is being answered, from another thread.
    package var interruption: QueryInterruption { QueryInterruption(connection) }

    /// Answers one question from one snapshot, or gives up at the deadline; a question within it sees the same.
    package func snapshot<Value>(within deadline: Duration = .seconds(10), _ body: () throws -> Value) throws -> Value {
        if connection.isInTransaction { return try body() }
        let ticket = try control?.begin(interruption)
        known.forget()
        connection.setDeadline(.after(deadline))
        defer { connection.setDeadline(nil) }
        let result = Result { try connection.readTransaction(body) }
        let isForWAL = ticket.flatMap { control?.end($0) } ?? false
        do {
            return try result.get()
        } catch let error as SQLiteError {
            throw isForWAL && error.isInterrupted ? StoreFailure.walTooLarge : StoreFailure(error)
        }
    }

    /// The last id that the closed ranges hold.
    func lastClosedID() throws -> Int64 {
        try connection.withStatement("SELECT coalesce(max(last_id), 0) FROM ranges") {
            try $0.first { $0.int64(0) } ?? 0
        }
    }

    /// The id of a record by its row.
    func recordID(row: Int64) throws -> RecordID {
        if let known = known.code, known.rows.contains(row) { return RecordID(store: known.code, row: row) }
        let found = try connection.withStatement(
            """
            SELECT code, first_id, (SELECT min(first_id) - 1 FROM stores WHERE first_id > ?1)
            FROM stores WHERE first_id <= ?1 ORDER BY first_id DESC LIMIT 1
            """
        ) { statement in
            statement.bind(row, at: 1)
            return try statement.first { ($0.int64(0), $0.int64(1), $0.optionalInt64(2)) }
        }
        guard let found else { return RecordID(store: 0, row: row) }
        let code = UInt64(bitPattern: found.0)
        known.learn(code, ofRows: found.1...max(row, found.2 ?? .max))
        return RecordID(store: code, row: row)
    }
}

@available(*, unavailable)
extension StoreReader: Sendable {}

/// Ends the queries of a reader from another thread.
package struct QueryInterruption: Sendable {
    private let handle: InterruptHandle

    package init(_ connection: Connection) {
        handle = connection.interruptHandle
    }

    /// Interrupts what runs now, and has all that follows fail until `clear` is called.
    ///
    /// Repeat this until the query has ended: SQLite drops an interruption that comes between two statements.
    package func cancel() { handle.cancel() }

    /// Lets queries run again.
    package func clear() { handle.clearCancellation() }
}

/// Decides when a reader may take a snapshot of the database, and ends one that must go.
///
/// A snapshot keeps SQLite from restarting its write-ahead log, so every reader
/// must ask for one.
package protocol SnapshotControl: Sendable {
    /// Registers a snapshot that is about to be taken. May wait.
    ///
    /// - Parameter interruption: Ends the queries of the connection that takes it.
    /// - Returns: The number to call `end` with.
    /// - Throws: `StoreFailure.walTooLarge` if none may be taken for now.
    func begin(_ interruption: QueryInterruption) throws(StoreFailure) -> UInt64

    /// Returns whether the snapshot must end because the write-ahead log is too large.
    func isInterrupted(_ snapshot: UInt64) -> Bool

    /// Unregisters the snapshot, and returns whether it was interrupted.
    func end(_ snapshot: UInt64) -> Bool
}

/// What records of one snapshot share, so that each of it is looked up once.
struct RowCache {
    /// More than a page of records or a batch nearly ever has.
    private static let most = 4096

    private var series: [Int64: SeriesRowCache] = [:]
    private var senders: [Int64: Sender] = [:]
    /// The code that the ids of some rows carry.
    private(set) var code: (rows: ClosedRange<Int64>, code: UInt64)?

    mutating func forget() {
        series.removeAll(keepingCapacity: true)
        senders.removeAll(keepingCapacity: true)
        code = nil
    }

    func series(_ id: Int64) -> SeriesRowCache? { series[id] }

    func sender(_ process: Int64) -> Sender? { senders[process] }

    mutating func learn(_ found: SeriesRowCache, as id: Int64) {
        if series.count >= Self.most { series.removeAll(keepingCapacity: true) }
        series[id] = found
    }

    mutating func learn(_ found: Sender, ofProcess id: Int64) {
        if senders.count >= Self.most { senders.removeAll(keepingCapacity: true) }
        senders[id] = found
    }

    mutating func learn(_ found: UInt64, ofRows rows: ClosedRange<Int64>) {
        code = (rows, found)
    }
}

/// What all records of one series share; one object, since a copy of it for each record would cost more than it says.
final class SeriesRowCache: LineCache {
    let description: SeriesDescription
    let app: Application?
    let source: SourceLocation?
    let group: Int64
    /// As it is shown.
    let groupID: String
    let fingerprint: String
    let firstOfGroup: Int64
    let account: Int64
    let accountName: String
    private let kept = Mutex(CachedLine())

    static let sql: StaticString = """
        SELECT series.key, groups.id, groups.key, groups.fingerprint, groups.first_record, accounts.id, accounts.app
        FROM series JOIN groups ON groups.id = series."group" JOIN accounts ON accounts.id = series.account
        WHERE series.id = ?1
        """

    /// What a destination has made of it.
    var memo: CachedLine {
        get { kept.withLock { $0 } }
        set { kept.withLock { $0 = newValue } }
    }

    func complete(_ record: inout IssueRecord) {
        record.severity = description.severity
        record.domain = description.domain
        record.code = description.code
        record.source = source
        record.app = app
        record.fingerprint = description.fingerprint
        record.reportable = description.isReportable
    }

    /// One of which no more may be known than what its records have in common.
    init(
        _ description: SeriesDescription, group: Int64 = 0, groupID: String = "", fingerprint: String = "",
        firstOfGroup: Int64 = 0, account: Int64 = 0, accountName: String = ""
    ) {
        self.description = description
        app = description.app == Application() ? nil : description.app
        source = description.source == SourceLocation() ? nil : description.source
        self.group = group
        self.groupID = groupID
        self.fingerprint = fingerprint
        self.firstOfGroup = firstOfGroup
        self.account = account
        self.accountName = accountName
    }

    /// Reads a row of the query above; nothing where it is damaged.
    convenience init?(_ row: borrowing Row) {
        guard let description = SeriesKey.decode(row.bytes(0)) else { return nil }
        self.init(
            description, group: row.int64(1), groupID: GroupID.text(key: row.int64(2)), fingerprint: row.text(3),
            firstOfGroup: row.int64(4), account: row.int64(5), accountName: row.text(6))
    }
}

/// A group's id as text: a `g` and the sixteen hexadecimal digits of its key.
enum GroupID {
    static func text(key: Int64) -> String {
        let digits = String(UInt64(bitPattern: key), radix: 16)
        return "g" + String(repeating: "0", count: 16 - digits.count) + digits
    }

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

/// Whose records somebody may see; it stands inside every query.
package enum Viewer: Equatable, Sendable {
    /// Root, the daemon's own user and the configured readers.
    case everything
    /// What a user reported himself.
    case user(UInt32)
    /// Nothing: the user's number is one that the system gives to another tomorrow.
    case nothing

    /// The only user whose rows are seen, or nothing when all are; -1 is nobody's.
    var uid: Int64? {
        switch self {
        case .everything: nil
        case .user(let uid): Int64(uid)
        case .nothing: -1
        }
    }

    /// Returns the part of a destination's answer that this viewer may see.
    ///
    /// A request carries records of several users, and an answer may quote any
    /// of them and name the destination's address. Only a viewer of everything
    /// is shown the text; others see the status code.
    func shown(answer: String?) -> String? {
        self == .everything ? answer : answer.flatMap(ResponseSummary.statusCode(of:))
    }
}

/// Why a question can't be answered as it was put.
package enum QueryFailure: Error, Equatable, Sendable {
    /// A part of the filter that means nothing.
    case invalidFilter(field: String, reason: String)
    /// A parameter beside the filter that means nothing.
    case invalidParameter(String)
    /// No record or group of this id, or none that may be seen.
    case notFound(id: String)
}

extension QueryFailure {
    package init(_ excess: QueryLimits.Excess) {
        self = .invalidFilter(field: excess.field, reason: excess.reason)
    }
}

/// Where the next page begins; opaque to whoever gets it.
struct PageCursor: Equatable {
    /// What the page is sorted by, of its last row.
    var value: Int64
    /// The last row itself.
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
