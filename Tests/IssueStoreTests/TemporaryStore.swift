import Foundation
import IssueCore
import IssueProtocol
import SQLiteKit

@testable import IssueStore

/// A store with clocks that the test controls. `with` creates it in a folder of its own, which it removes afterwards.
final class TemporaryStore {
    let path: String
    var settings: StoreWriterSettings
    var wall = IssueTimestamp(millisecondsSince1970: 1_790_000_000_000)
    var monotonic = MonotonicInstant(sinceBoot: .seconds(1000))

    init(path: String) {
        self.path = path
        settings = StoreWriterSettings(path: path, limits: LimitSettings(), randomBits: { 0x0123_4567_89AB_CDEF })
    }

    static func with<Value>(_ body: (TemporaryStore) throws -> Value) throws -> Value {
        let folder = FileManager.default.temporaryDirectory.appending(path: "issuestore-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try body(TemporaryStore(path: folder.appending(path: "issues.db").path))
    }

    var folder: String { URL(filePath: path).deletingLastPathComponent().path }

    func writer() throws -> StoreWriter { try StoreWriter(settings) }
    func reader() throws -> StoreReader { try StoreReader(path: path) }

    /// Returns a further connection to the database, like that of the `sqlite3` shell, with the table `records`.
    func shell() throws -> DatabaseConnection {
        let shell = try DatabaseConnection(path: path, mode: .readWriteCreate, busyTimeout: .seconds(1))
        _ = try BlockReader(on: shell)
        return shell
    }

    /// Moves the database and its WAL aside, and returns the new path. The next writer creates a database with another
    /// store code, which is the same after each call.
    func setAside(as name: String = "old") throws -> String {
        let aside = "\(path).\(name)"
        for ending in ["", "-wal"] where FileManager.default.fileExists(atPath: path + ending) {
            try FileManager.default.moveItem(atPath: path + ending, toPath: aside + ending)
        }
        settings.randomBits = { 0x1111_1111_1111_1111 }
        return aside
    }

    /// Removes the records of all ranges, including the open one.
    func forgetAll(_ writer: StoreWriter) throws {
        try writer.closeOpenRange()
        while let oldest = try writer.retentionSnapshot(freeBytes: nil, wall: wall, monotonic: monotonic).oldest {
            while try !writer.forget(oldest).isDone {}
        }
    }

    /// Turns the file into one of an earlier version of the schema, by removing what later migrations have added.
    func downgrade(to version: Int) throws {
        let old = try DatabaseConnection(path: ":memory:")
        let migrations = Schema.migrations.dropLast(Schema.migrator.newestVersion - version)
        try Migrator(applicationID: Schema.applicationID, obsoleteVersion: 8, migrations: Array(migrations)).migrate(
            old)
        let shell = try shell()
        let additions = [
            // Indexes are removed before their tables and columns.
            """
            SELECT 'DROP ' || type || ' ' || name FROM sqlite_schema
            WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type
            """,
            """
            SELECT 'ALTER TABLE ' || tables.name || ' DROP COLUMN ' || columns.name
            FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns
            WHERE tables.type = 'table' AND tables.name NOT LIKE 'sqlite_%'
            """,
        ]
        for addition in additions {
            let known = Set(try old.table(addition, columns: 1))
            for row in try shell.table(addition, columns: 1) where !known.contains(row) {
                if let change = row[0] { try shell.execute(composedSQL: change) }
            }
        }
        try shell.setPragma("user_version", to: Int64(version))
    }

    /// Advances both clocks.
    func pass(_ duration: Duration) {
        wall = wall.advanced(by: duration)
        monotonic = monotonic.advanced(by: duration)
    }

    /// Advances both clocks by a second, then commits.
    @discardableResult
    func commit(_ submissions: Submission..., to writer: StoreWriter) throws -> [CallOutcome] {
        pass(.seconds(1))
        return try writer.commit(submissions, wall: wall, monotonic: monotonic)
    }

    /// Commits records as one call without numbers, a second after the previous commit. Returns the ids of the stored
    /// records.
    @discardableResult
    func store(
        _ records: [IssueRecord], from process: ReportingProcess = .ordinary, to writer: StoreWriter
    ) throws -> [RecordID] {
        let outcomes = try commit(Submission(of: records, from: process), to: writer)
        return outcomes.flatMap(\.ids)
    }
}

extension ReportingProcess {
    static let ordinary = ReportingProcess.of(uid: 1000)

    static func of(uid: UInt32, connection: UInt64? = nil, command: String? = "shop", pid: Int32 = 77) -> Self {
        ReportingProcess(
            connection: connection ?? UInt64(uid),
            sender: Sender(
                uid: uid, gid: uid + 1, pid: pid, command: command, executable: "/usr/bin/shop", unit: "shop.service"),
            startTime: 4711)
    }
}

extension CallOutcome {
    /// The ids of the stored records.
    var ids: [RecordID] {
        switch receipts {
        case .run(let first, let count):
            (0..<count).map { RecordID(store: first.store, row: first.row + $0) }
        case .mixed(let receipts):
            receipts.compactMap { receipt in
                if case .stored(let id) = receipt { RecordID(id) } else { nil }
            }
        }
    }

    var mixed: [RecordReceipt] {
        switch receipts {
        case .run: ids.map { .stored(id: $0.text) }
        case .mixed(let receipts): receipts
        }
    }
}

extension DatabaseConnection {
    /// Returns the integers in the first column of a query's result.
    func numbers(_ sql: String) throws -> [Int64] {
        try Statement(composedSQL: sql, on: self).all { $0.int64(0) }
    }

    /// Returns the first integer of a query's result; 0 if it has no rows or the value is NULL.
    func number(_ sql: String) throws -> Int64 { try numbers(sql).first ?? 0 }

    /// Returns the rows of a query's result, with every value as text, and NULL as nil.
    func table(_ sql: String, columns: Int) throws -> [[String?]] {
        try Statement(composedSQL: sql, on: self).all { row in (0..<columns).map { row.optionalText($0) } }
    }
}
