import Foundation
import IssueCore
import IssueProtocol
import SQLiteKit
import Testing

@testable import IssueStore

@Suite("Opening the store")
struct OpeningTests {
    private func failure(_ body: () throws -> Void) -> StoreFailure? {
        do {
            try body()
            return nil
        } catch {
            return error as? StoreFailure
        }
    }

    /// Returns the contents of the database file and of its WAL.
    private func contents(_ store: TemporaryStore) -> [Data] {
        ["", "-wal"].map { FileManager.default.contents(atPath: store.path + $0) ?? Data() }
    }

    @Test("Opening creates a database in WAL mode with full sync, incremental vacuum and foreign keys")
    func makesFile() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            let connection = writer.connection
            #expect(try connection.pragma("page_size") == 8192)
            #expect(try connection.pragma("auto_vacuum") == 2)
            #expect(try connection.first("PRAGMA journal_mode") { $0.text(0) } == "wal")
            #expect(try connection.pragma("synchronous") == 2)
            #expect(try connection.pragma("foreign_keys") == 1)
            #expect(try connection.pragma("application_id") == Int64(Schema.applicationID))
            #expect(try connection.pragma("user_version") == Int64(Schema.migrator.newestVersion))
            #expect(writer.nextID == 1)
            try expectSound(store)
        }
    }

    @Test("Opening treats an empty file as a new database")
    func takesEmpty() throws {
        try TemporaryStore.with { store in
            try Data().write(to: URL(filePath: store.path))
            let writer = try store.writer()
            #expect(try writer.connection.pragma("page_size") == 8192)
            #expect(try writer.connection.pragma("auto_vacuum") == 2)
            let ids = try store.store([IssueRecord(message: "m")], to: writer)
            #expect(try store.reader().record(row: 1)?.stored.id == ids.first?.text)
            try expectSound(store)
        }
    }

    @Test("Opening reports a file of garbage as corrupt", arguments: [100, 512, 50_000])
    func refusesGarbage(size: Int) throws {
        try TemporaryStore.with { store in
            var samples = SampleRecords(seed: 1)
            let garbage = Data((0..<size).map { _ in UInt8(truncatingIfNeeded: samples.next()) })
            try garbage.write(to: URL(filePath: store.path))
            guard case .damaged = failure({ _ = try store.writer() }) else {
                Issue.record("garbage was opened")
                return
            }
            #expect(try Data(contentsOf: URL(filePath: store.path)) == garbage)
        }
    }

    @Test("Opening reports a store with overwritten pages as corrupt")
    func refusesDamage() throws {
        try TemporaryStore.with { store in
            _ = try SentLog.filled(store, try store.writer(), calls: 20)
            let file = try FileHandle(forUpdating: URL(filePath: store.path))
            let size = try file.seekToEnd()
            try file.seek(toOffset: 100)
            try file.write(contentsOf: Data(repeating: 0x5A, count: Int(size) - 100))
            try file.close()
            guard case .damaged = failure({ _ = try store.writer() }) else {
                Issue.record("a corrupt store was opened")
                return
            }
        }
    }

    @Test("Opening rejects the file of a newer version without changing a byte")
    func refusesNewer() throws {
        try TemporaryStore.with { store in
            try store.store([IssueRecord(message: "m")], to: store.writer())
            let version = Schema.migrator.newestVersion + 1
            try store.shell().setPragma("user_version", to: Int64(version))
            let before = contents(store)
            guard case .foreign(let message) = failure({ _ = try store.writer() }) else {
                Issue.record("a newer version was opened")
                return
            }
            #expect(message.contains("\(version)"))
            #expect(contents(store) == before)
        }
    }

    @Test("Opening rejects the file of another program without changing a byte")
    func refusesForeign() throws {
        try TemporaryStore.with { store in
            let other = try store.shell()
            try other.execute("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)")
            let before = contents(store)
            guard case .foreign = failure({ _ = try store.writer() }) else {
                Issue.record("a foreign file was opened")
                return
            }
            #expect(contents(store) == before)
        }
    }

    @Test("Opening fails if there is no folder, or if a folder has the file's name")
    func failsWithoutFolder() throws {
        try TemporaryStore.with { store in
            store.settings.path = store.path + "/no/such/folder.db"
            guard case .failed = failure({ _ = try store.writer() }) else {
                Issue.record("a file was opened in a missing folder")
                return
            }
            store.settings.path = URL(filePath: store.path).deletingLastPathComponent().path
            #expect(failure { _ = try store.writer() } != nil)
        }
    }

    @Test("Opening fails if the folder is not writable", .disabled(if: getuid() == 0, "root can write anywhere"))
    func failsReadOnly() throws {
        try TemporaryStore.with { store in
            let folder = URL(filePath: store.path).deletingLastPathComponent().path
            try FileManager.default.setAttributes([.posixPermissions: 0o500], ofItemAtPath: folder)
            defer { try? FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder) }
            guard case .failed = failure({ _ = try store.writer() }) else {
                Issue.record("a file was created in a read-only folder")
                return
            }
        }
    }

    @Test("Opening rejects a file of an earlier format as foreign, without changing a byte")
    func rejectsRows() throws {
        try TemporaryStore.with { store in
            _ = try SentLog.filled(store, try store.writer(), calls: 3)
            try store.storeAsRows()
            let before = contents(store)
            guard case .foreign(let words) = failure({ _ = try store.writer() }) else {
                Issue.record("a file of an earlier format was opened")
                return
            }
            #expect(words.contains("version 8"))
            #expect(contents(store) == before)
        }
    }

    @Test("Opening finds the records of the previous run, and a reader needs no writer")
    func findsRecords() throws {
        try TemporaryStore.with { store in
            store.settings.rangeRecords = 20
            let log = try SentLog.filled(store, try store.writer(), calls: 20)
            #expect(try store.reader().allRecords().map(\.id) == log.entries.map(\.id))
            #expect(try store.writer().nextID == RowID(log.entries.count + 1))
        }
    }
}
