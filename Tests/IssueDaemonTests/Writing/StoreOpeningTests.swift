import CProcesses
import Foundation
import IssueCore
import IssueProtocol
import IssueStore
import IssueTestSupport
import SQLiteKit
import Testing
import UnixIO

@testable import IssueDaemon

@Suite("Opening a file that is not a usable database")
struct StoreOpeningTests {
    private static let schema = Int64(Schema.migrator.newestVersion)

    /// A kind of unusable file, and how to make it from a used store.
    enum UnusableFile: CaseIterable {
        case damagedHeader, garbage, folder, newerVersion, olderVersionWithOurTables, foreign, readOnlyByItsHeader
        case newerFormat, emptyWithLog, goneButForItsLog, withoutTable, withoutColumn

        func put(at path: String) throws {
            switch self {
            case .damagedHeader: try patch(path, 0, [0x58])
            case .garbage: try Data(repeating: 7, count: 20_000).write(to: URL(filePath: path))
            case .folder:
                try FileManager.default.removeItem(atPath: path)
                try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            case .newerVersion: try patch(path, 60, [0, 0, 0, UInt8(StoreOpeningTests.schema) + 1])
            case .olderVersionWithOurTables: try patch(path, 60, [0, 0, 0, 0])
            case .foreign: try patch(path, 68, [1, 2, 3, 4])
            case .readOnlyByItsHeader: try patch(path, 18, [3])
            case .newerFormat: try patch(path, 47, [5])
            case .emptyWithLog:
                try Data().write(to: URL(filePath: path))
                try Data(repeating: 1, count: 5000).write(to: URL(filePath: path + "-wal"))
            case .goneButForItsLog:
                try FileManager.default.removeItem(atPath: path)
                try Data(repeating: 1, count: 5000).write(to: URL(filePath: path + "-wal"))
            case .withoutColumn:
                var content = try Data(contentsOf: URL(filePath: path))
                // Pages that SQLite has freed may contain the name, too.
                while let column = content.range(of: Data("last_version".utf8)) { content[column.lowerBound] ^= 1 }
                try content.write(to: URL(filePath: path))
            case .withoutTable:
                let connection = try DatabaseConnection(path: path, checkpointsOnClose: true)
                try connection.execute("DROP TABLE clock")
            }
        }

        private func patch(_ path: String, _ offset: UInt64, _ bytes: [UInt8]) throws {
            let file = try FileHandle(forUpdating: URL(filePath: path))
            defer { try? file.close() }
            try file.seek(toOffset: offset)
            try file.write(contentsOf: Data(bytes))
        }
    }

    private func inFolder(_ body: (String) throws -> Void) throws {
        let folder = try ScratchFolder()
        try FileSystem.setMode(0o700, of: folder.path)
        try body(folder.path)
    }

    private func opening(_ path: String) -> StoreOpening {
        StoreOpening(path: path, limits: LimitSettings(), retention: RetentionSettings())
    }

    private func names(_ folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0 != "issues.db.lock" }.sorted()
    }

    @Test("An unusable file is moved aside unchanged, and a new database is opened", arguments: UnusableFile.allCases)
    func isSetAside(lie: UnusableFile) throws {
        try inFolder { folder in
            let path = folder + "/issues.db"
            _ = try opening(path).open(log: .silent)
            try lie.put(at: path)
            var contents: [String: Data] = [:]
            for name in try names(folder) { contents[name] = try? Data(contentsOf: URL(filePath: folder + "/" + name)) }

            let (log, lines) = keptLog()
            let writer = try opening(path).open(log: log)
            #expect(writer.nextID == 1)
            #expect(try writer.configure([], at: IssueTimestamp(millisecondsSince1970: 1)).isEmpty)
            #expect(lines().count { $0.contains("moving") && $0.contains("aside") } == 1)

            let kept = try names(folder).filter { $0.contains(".damaged-") }
            #expect(!kept.isEmpty)
            for (name, content) in contents {
                let ending = name.dropFirst("issues.db".count)
                let found = kept.first { $0.hasSuffix("Z\(ending)") }
                #expect(try Data(contentsOf: URL(filePath: folder + "/" + (found ?? "none"))) == content, "\(name)")
            }
            #expect(try !names(folder).contains { $0.contains(".trial") })
        }
    }

    @Test(
        "The text about a file that was moved aside names a file that exists",
        arguments: [UnusableFile.garbage, .goneButForItsLog])
    func textAboutFile(file: UnusableFile) throws {
        try inFolder { folder in
            let store = opening(folder + "/issues.db")
            _ = try store.open(log: .silent)
            try file.put(at: store.path)
            _ = try store.open(log: .silent)
            let text = try #require(store.corruptionCheck.takeSetAside())
            let named = try #require(text.split(separator: " ").last.map { String($0) })
            #expect(FileManager.default.fileExists(atPath: named), "\(text)")
            #expect(text.contains("WAL") == (file == .goneButForItsLog))
            #expect(text.contains("was set aside: "))
        }
    }

    @Test("On a read-only file system, the error names it, and nothing is moved aside")
    func readOnlyFileSystem() throws {
        try inFolder { folder in
            var store = opening(folder + "/issues.db")
            try UnusableFile.garbage.put(at: store.path)
            store.isReadOnly = { $0 == folder }
            #expect(throws: StoreFailure.readOnly(folder)) { try store.open(log: .silent) }
            #expect(StoreFailure.readOnly("/x").description.hasPrefix("/x is on a read-only file system"))
            #expect(try names(folder) == ["issues.db"])
            store.isReadOnly = { _ in false }
            _ = try store.open(log: .silent)
        }
    }

    @Test("A database of a newer version is moved aside with its WAL")
    func keepsLog() throws {
        try inFolder { folder in
            let path = folder + "/issues.db"
            try inFolder { other in
                // Copied while it is open, so that its content is in the WAL.
                let writer = try opening(other + "/issues.db").open(log: .silent)
                let shell = try DatabaseConnection(path: other + "/issues.db")
                try shell.setPragma("user_version", to: Self.schema + 1)
                for ending in ["", "-wal"] {
                    try FileManager.default.copyItem(atPath: other + "/issues.db" + ending, toPath: path + ending)
                }
                #expect(writer.nextID == 1)
            }
            let log = try Data(contentsOf: URL(filePath: path + "-wal"))
            #expect(log.count > 8192)
            _ = try opening(path).open(log: .silent)
            let kept = try #require(try names(folder).first { $0.contains(".damaged-") && $0.hasSuffix("-wal") })
            #expect(try Data(contentsOf: URL(filePath: folder + "/" + kept)) == log)
        }
    }

    /// Copies files of a store with a commit in its WAL, as a killed run leaves them.
    ///
    /// - Parameter endings: The endings of the files' names.
    private func copyKilledRun(to path: String, _ endings: [String]) throws {
        try inFolder { other in
            // The tables are in the database, and only the commit is in the WAL.
            _ = try opening(other + "/issues.db").open(log: .silent)
            let writer = try opening(other + "/issues.db").open(log: .silent)
            writer.assignNewCode(at: IssueTimestamp(millisecondsSince1970: 1))
            for ending in endings {
                try FileManager.default.copyItem(atPath: other + "/issues.db" + ending, toPath: path + ending)
            }
            #expect(writer.nextID == 1)
        }
    }

    @Test("A missing WAL is logged, unless the last run removed it", arguments: [false, true])
    func missingWAL(wasClosed: Bool) throws {
        try inFolder { folder in
            let path = folder + "/issues.db"
            try copyKilledRun(to: path, wasClosed ? [".lock", ""] : [".lock", "", "-shm"])
            let (log, lines) = keptLog()
            let store = opening(path)
            _ = try store.open(log: log)
            // When the same process opens the database again, nothing is logged about the last run.
            _ = try store.open(log: log)
            let count = lines().count { $0.contains("id=store.commits-lost") }
            #expect(count == (wasClosed ? 0 : 1))
            #expect(try names(folder).filter { $0.contains(".damaged-") } == [])
        }
    }

    @Test("A WAL with a damaged header is logged, although SQLite takes its commits for remains of an earlier WAL")
    func damagedHeaderOfWAL() throws {
        try inFolder { folder in
            let path = folder + "/issues.db"
            try copyKilledRun(to: path, [".lock", "", "-wal", "-shm"])
            // Changes the salt in the header, so that it differs from the salt of the frames.
            let wal = try FileHandle(forUpdating: URL(filePath: path + "-wal"))
            try wal.seek(toOffset: 16)
            try wal.write(contentsOf: Data(repeating: 0x5A, count: 8))
            try wal.close()
            let (log, lines) = keptLog()
            let store = opening(path)
            _ = try store.open(log: log)
            #expect(lines().count { $0.contains("id=store.commits-lost") } == 1)
            #expect(store.lock.commitsLostAt != nil)
        }
    }

    @Test("The shared memory of an earlier WAL, as a power cut may leave it, is ignored after a boot")
    func staleIndex() throws {
        try inFolder { folder in
            let path = folder + "/issues.db"
            try inFolder { other in
                let writer = try opening(other + "/issues.db").open(log: .silent)
                writer.assignNewCode(at: IssueTimestamp(millisecondsSince1970: 1))
                try FileManager.default.copyItem(atPath: other + "/issues.db-shm", toPath: path + "-shm")
                // The next commit starts the WAL from its beginning.
                #expect(try writer.checkpoint(restarts: true))
                writer.assignNewCode(at: IssueTimestamp(millisecondsSince1970: 2))
                for ending in ["", "-wal"] {
                    try FileManager.default.copyItem(atPath: other + "/issues.db" + ending, toPath: path + ending)
                }
            }
            // The id of an earlier boot.
            try Data("11111111-2222-3333-4444-555555555555".utf8).write(to: URL(filePath: path + ".lock"))
            let (log, lines) = keptLog()
            _ = try opening(path).open(log: log)
            #expect(lines() == [])
        }
    }

    @Test("If no database can be created at a path, opening it fails and leaves no file behind")
    func stays() throws {
        try inFolder { folder in
            // The kernel refuses a path that is too long.
            let long = folder + "/" + String(repeating: "x", count: 300)
            let missing = folder + "/none/issues.db"
            for path in [long, missing] {
                #expect(throws: StoreFailure.self) { _ = try opening(path).open(log: .silent) }
            }
            let left = try names(folder)
            #expect(left.isEmpty)
        }
    }

    @Test("A file in an unreadable folder is not moved, and is used again when the folder is readable")
    func unreadableFolder() throws {
        try inFolder { folder in
            let path = folder + "/issues.db"
            _ = try opening(path).open(log: .silent)
            let before = try names(folder)
            try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: folder)
            defer { try? FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder) }
            let end = Monitor<Result<RowID, any Error>?>(nil)
            let thread = try JoinableThread(name: "opening") { [self] in
                // Root can read everything, so its thread accesses files as another user.
                if CurrentProcess.userID == 0 { processes_reach_files_as(65_534) }
                let result = Result { try opening(path).open(log: .silent).nextID }
                end.withLock { $0 = result }
            }
            thread.join()
            let failure = #expect(throws: StoreFailure.self) { _ = try end.withLock { $0 }?.get() }
            #expect(failure?.isDamage == false)

            try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder)
            #expect(try names(folder) == before)
            _ = try opening(path).open(log: .silent)
            #expect(try names(folder).filter { $0.contains(".damaged-") } == [])
        }
    }
}
