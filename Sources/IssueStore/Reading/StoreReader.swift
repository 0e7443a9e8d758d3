package import IssueCore
import IssueProtocol
import SQLiteKit

/// A connection that answers questions: it belongs to the thread that made it.
///
/// Each question sees one snapshot, and none outlives its answer, so that the
/// writer's log can be copied back.
package final class StoreReader {
    let connection: Connection
    /// Of the snapshot that is open, or of none.
    var known = KnownRows()
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
