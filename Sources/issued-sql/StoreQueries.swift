package import IssueCommands
import IssueCore
import IssueProtocol
import IssueStore
import SQLiteKit
import UnixIO

@main
enum Program {
    static func main() {
        IssueControl.runProcess(Array(CommandLine.arguments.dropFirst())) { (path) throws(CommandFailure) in
            try StoreQueries(path: path)
        }
    }
}

/// Runs queries that a user has written, on the daemon's database or on a copy of it.
///
/// The database is opened read-only, and only statements that read are allowed. A result is collected before any of it
/// is printed. Otherwise, a slow reader of the output would prolong the snapshot, which keeps the daemon from resetting
/// the WAL.
package final class StoreQueries: SQLDatabase {
    private let connection: DatabaseConnection
    private let blocks: BlockReader
    private let path: String
    private let limits: Limits

    /// The limits that no option of the command changes.
    package struct Limits: Sendable {
        /// The maximum size of a result, in bytes.
        package var resultBytes = 64 << 20
        /// The size of the WAL, in bytes, above which a query is interrupted. Unless a backup is running, the daemon
        /// interrupts its own queries at the same size.
        package var walBytes: Int64

        /// - Parameter fileSystemBytes: The size of the file system of the database; nil if unknown.
        package init(fileSystemBytes: Int64? = nil) {
            walBytes = DiskBudget(fileSystemBytes: fileSystemBytes).maxWALBytes / 2
        }
    }

    /// The maximum time to wait for a lock. A reader waits only while the WAL is recovered after a crash.
    private static let busyTimeout: Duration = .seconds(5)

    /// Opens a database.
    ///
    /// - Parameters:
    ///   - path: The path of the file; nil for the path that `standardPath` returns.
    ///   - limits: The limits of all queries; nil for those of the file system of the database.
    /// - Throws: `CommandFailure` if the file cannot be read, is not a database of issued, or was created by a newer
    ///   version.
    package init(path: String?, limits: Limits? = nil) throws(CommandFailure) {
        let name =
            path
            ?? Self.standardPath(
                userID: CurrentProcess.userID, environment: { ProcessEnvironment[$0] },
                home: UserDatabase.homeFolder(of: CurrentProcess.userID))
        // `DatabaseConnection` rejects a symbolic link, so the target of the link is opened.
        self.path = (try? FileSystem.resolvedPath(name)) ?? name
        self.limits = limits ?? Limits(fileSystemBytes: FileSystem.size(ofFileSystemOf: self.path))
        // Opening a pipe would block until another process opens it for writing.
        if let kind = try? FileSystem.status(of: self.path).kind, kind != .regular {
            throw CommandFailure(.refused, "cannot use \(name): it is not a regular file")
        }
        do throws(SQLiteError) {
            connection = try DatabaseConnection(path: self.path, mode: .readOnly, busyTimeout: Self.busyTimeout)
            let application = try connection.pragma("application_id")
            let version = try connection.pragma("user_version")
            guard application == Int64(Schema.applicationID) else {
                throw SQLiteError(code: .notADatabase, message: "it is not a database of issued")
            }
            guard version <= Int64(Schema.migrator.newestVersion) else {
                throw SQLiteError(code: .notADatabase, message: "it was created by a newer version of issued")
            }
            // Loads the schema. Otherwise, SQLite reports an unknown column as a change of the schema.
            _ = try connection.first("SELECT count(*) FROM sqlite_schema") { $0.int64(0) }
            // Adds the table `records`. In a file of an earlier version, the real table of that name hides it.
            blocks = try BlockReader(on: connection)
        } catch {
            throw Self.failure(toOpen: name, isStandard: path == nil, error)
        }
        connection.setLongestValue(bytes: self.limits.resultBytes)
        connection.restrictToReading()
    }

    /// Returns the path of the daemon's database.
    ///
    /// - Parameters:
    ///   - userID: The user. If they are not root and their own daemon has a database, its path is returned; otherwise
    ///     that of the system daemon.
    ///   - environment: Returns the value of an environment variable; nil if it is not set.
    ///   - home: The user's home folder, used if `HOME` is not an absolute path; nil if unknown.
    package static func standardPath(
        userID: UInt32, environment: (String) -> String?, home: String?
    ) -> String {
        let hostPath = "/var/lib/issued/issues.db"
        guard userID != 0 else { return hostPath }
        // Like the daemon, this ignores relative paths.
        func folder(_ name: String) -> String? { environment(name).flatMap { $0.hasPrefix("/") ? $0 : nil } }
        let stateFolder = folder("XDG_STATE_HOME") ?? (folder("HOME") ?? home).map { "\($0)/.local/state" }
        guard let stateFolder else { return hostPath }
        let userPath = "\(stateFolder)/issued/issues.db"
        return (try? FileSystem.status(of: userPath)) == nil ? hostPath : userPath
    }

    package func contains(store: String) throws(CommandFailure) -> Bool {
        do throws(SQLiteError) {
            let stores = try connection.all("SELECT code FROM stores") { UInt64(bitPattern: $0.int64(0)) }
            // Until the first record is stored, the table is empty, and the daemon reports the store code 0.
            return (stores.isEmpty ? [0] : stores).contains {
                RecordID(store: $0, row: RowID(rawValue: 0)).storeText == store
            }
        } catch {
            throw CommandFailure(.refused, "the database cannot be read: \(error.text)")
        }
    }

    package func isComplete(_ text: String) -> Bool { SQLText.isComplete(text) }

    package func runFirst(
        of text: inout ArraySlice<UInt8>, within bounds: SQLBounds
    ) throws(CommandFailure) -> SQLResult? {
        let walGuard = WALGuard(path: "\(path)-wal", maxBytes: limits.walBytes, interrupting: connection)
        connection.setDeadline(.after(bounds.time))
        defer { connection.setDeadline(nil) }
        do throws(SQLiteError) {
            defer { walGuard.end() }
            guard let statement = try Statement(firstReadingIn: &text, on: connection) else { return nil }
            return try read(statement, maxRows: bounds.rows)
        } catch {
            throw failure(error, bounds, isWALLimit: walGuard.hasInterrupted)
        }
    }

    package var mainQueries: [(name: String, sql: String)] { StoreReader.mainQueries }

    package func makeAnonymizer() -> RecordAnonymizer {
        var anonymizer = Anonymizer()
        return { message, metadata, details in
            let values = [metadata, details].map { try? JSONValue(json: $0) }
            let kept = values[0].map { String(decoding: anonymizer.value($0).json, as: UTF8.self) }
            return (anonymizer.message(message, values: values.compactMap { $0 }), kept ?? "")
        }
    }

    private func read(_ statement: borrowing Statement, maxRows: Int) throws(SQLiteError) -> SQLResult {
        var result = SQLResult(columns: statement.columnNames, rows: [])
        var bytes = 0
        // Forgets the blocks that an earlier, failed query skipped.
        _ = blocks.takeSkipped()
        while let row = try statement.step({ row in result.columns.indices.map { SQLValue(row, column: $0) } }) {
            guard result.rows.count < maxRows else {
                result.isCut = true
                break
            }
            bytes += row.reduce(0) { $0 + $1.size }
            guard bytes <= limits.resultBytes else {
                throw SQLiteError(code: .tooBig, message: "result too large")
            }
            result.rows.append(row)
        }
        statement.reset()
        result.unreadable = blocks.takeSkipped().reduce(0) { $0 + $1.records }
        return result
    }

    private func failure(_ error: SQLiteError, _ bounds: SQLBounds, isWALLimit: Bool) -> CommandFailure {
        switch error.code {
        case .interrupted where isWALLimit:
            CommandFailure(
                .tryAgain,
                "the query was interrupted because it kept the daemon from resetting its write-ahead log: try again, "
                    + "or query a copy (issuectl backup)")
        case .interrupted:
            CommandFailure(
                .tryAgain,
                "the query took longer than \(bounds.time): ask for less, or allow more time with --timeout")
        case .unauthorized:
            CommandFailure(
                .refused, "the statement is not allowed: only SELECT, EXPLAIN and some PRAGMA statements are allowed")
        case .tooBig:
            CommandFailure(
                .refused, "the result is larger than \(limits.resultBytes >> 20) MiB: ask for less with WHERE or LIMIT")
        case .error:
            CommandFailure(
                .refused, "the query is invalid: \(error.message) (for the tables: issuectl sql 'PRAGMA table_list')")
        case .busy: CommandFailure(.tryAgain, "the database is locked: try again")
        default:
            CommandFailure(
                .refused,
                error.isCorruption
                    ? "the database is damaged: \(error.text) (the daemon moves a damaged database aside by itself; "
                        + "then issuectl repair recovers its records)"
                    : "the query failed: \(error.text)")
        }
    }

    private static func failure(
        toOpen path: String, isStandard: Bool, _ error: SQLiteError
    ) -> CommandFailure {
        switch error.code {
        case .cannotOpen where error.systemErrno == Errno.noSuchFile.rawValue:
            CommandFailure(
                .refused,
                "there is no database at \(path)"
                    + (isStandard ? ": name the file with --database, or the daemon's socket with --socket" : ""))
        case .cannotOpen where [Errno.accessDenied, .notPermitted].contains { $0.rawValue == error.systemErrno }:
            CommandFailure(
                .refused,
                "permission denied for \(path): run this as root or as the daemon's user, for example with sudo")
        case .notADatabase: CommandFailure(.refused, "cannot use \(path): \(error.message)")
        case .busy: CommandFailure(.tryAgain, "the database \(path) is locked: try again")
        default: CommandFailure(.refused, "cannot open \(path): \(error.text)")
        }
    }
}

extension SQLValue {
    fileprivate init(_ row: borrowing Row, column: Int) {
        switch row.type(column) {
        case .null: self = .null
        case .integer: self = .integer(row.int64(column))
        case .real: self = .real(row.double(column))
        case .text: self = .text(row.text(column))
        case .blob: self = .blob(row.bytes(column))
        }
    }

    /// The approximate size in memory, in bytes.
    fileprivate var size: Int {
        switch self {
        case .null, .integer, .real: 16
        case .text(let text): 16 + text.utf8.count
        case .blob(let bytes): 16 + bytes.count
        }
    }
}

/// Interrupts a query if the WAL grows beyond a limit.
///
/// The snapshot of a query keeps the daemon from resetting the WAL. On a large file system, the daemon stops storing
/// records when the WAL has 48 MiB, or 384 MiB during a backup; on a small one, earlier (`WALLimits`, `DiskBudget`).
private final class WALGuard: Sendable {
    private struct State {
        var isOver = false
        var hasInterrupted = false
    }

    /// The time between two checks of the size.
    private static let interval: Duration = .milliseconds(100)

    private let state = Monitor(State())
    private let handle: InterruptHandle

    /// Starts a thread that watches the WAL. If the WAL is already larger than `maxBytes`, any further growth
    /// interrupts the query.
    ///
    /// - Parameters:
    ///   - path: The path of the WAL.
    ///   - maxBytes: The size above which the query is interrupted.
    ///   - connection: The connection of the query.
    init(path: String, maxBytes: Int64, interrupting connection: DatabaseConnection) {
        handle = connection.interruptHandle
        let limit = max(maxBytes, Self.size(of: path))
        // If no thread can be started, the deadline still ends the query.
        _ = try? Thread.start(name: "wal-guard") { [state, handle] in
            while true {
                let next = MonotonicClock.now.advanced(by: Self.interval)
                guard state.wait(deadline: next, until: { $0.isOver ? true : nil }) == nil else { return }
                guard Self.size(of: path) > limit else { continue }
                // `end` sets `isOver` under the same lock, so the next query is never interrupted.
                state.withLock { state in
                    guard !state.isOver else { return }
                    state.hasInterrupted = true
                    handle.cancel()
                }
            }
        }
    }

    /// Whether the query was interrupted.
    var hasInterrupted: Bool { state.withLock { $0.hasInterrupted } }

    /// Stops the thread, and clears the interruption so that the next query can run.
    func end() {
        state.withLock { $0.isOver = true }
        state.signal()
        handle.clearCancellation()
    }

    private static func size(of path: String) -> Int64 {
        (try? FileSystem.status(of: path))?.size ?? 0
    }
}
