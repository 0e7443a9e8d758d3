import Foundation
import IssueCore
import SQLiteKit
import Testing

@testable import IssueDaemon

@Suite("The WAL of a killed run")
struct LeftoverWALTests {
    private static let frame = 24 + 4096

    /// Returns the finding for a database with a WAL of ten transactions, as a
    /// killed run leaves it, after `spoil` has changed the files.
    private func finding(_ spoil: (_ path: String) throws -> Void) throws -> LeftoverWAL.Finding {
        let folder = FileManager.default.temporaryDirectory.appending(path: "oldlog-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (used, left) = (folder.path + "/used", folder.path + "/issues.db")
        let connection = try Connection(path: used)
        _ = try connection.setPragma("page_size", to: 4096)
        _ = try connection.setPragma("journal_mode", to: "WAL")
        try connection.execute("CREATE TABLE t (x)")
        _ = try connection.checkpoint(.restart)
        for _ in 0..<10 { try connection.execute("INSERT INTO t VALUES (1)") }
        for ending in ["", "-wal", "-shm"] {
            try FileManager.default.copyItem(atPath: used + ending, toPath: left + ending)
        }
        try spoil(left)
        return LeftoverWAL.finding(besides: left)
    }

    private func overwrite(_ path: String, from start: Int, count: Int) throws {
        let file = try FileHandle(forUpdating: URL(filePath: path))
        try file.seek(toOffset: UInt64(start))
        try file.write(contentsOf: Data(repeating: 0x5A, count: count))
        try file.close()
    }

    @Test("A complete WAL, and one with an unfinished last transaction, are valid")
    func whole() throws {
        #expect(try finding { _ in } == .whole)
        let cutOff = try finding { path in
            let end = UInt64(32 + 5 * Self.frame + 9)
            try FileHandle(forUpdating: URL(filePath: path + "-wal")).truncate(atOffset: end)
        }
        #expect(cutOff == .whole)
    }

    @Test("The transactions after the first invalid frame are counted as lost", arguments: 0..<10)
    func brokenOff(place: Int) throws {
        let finding = try finding { try overwrite($0 + "-wal", from: 32 + place * Self.frame + 100, count: 9) }
        #expect(finding == .brokenOff(commits: 10 - place))
    }

    @Test("An unreadable WAL and a missing WAL are detected")
    func gone() throws {
        #expect(try finding { try overwrite($0 + "-wal", from: 0, count: 10 * Self.frame) } == .unreadable)
        #expect(try finding { try FileManager.default.removeItem(atPath: $0 + "-wal") } == .gone)
    }

    @Test("A WAL that the last run removed is not reported as missing")
    func stopped() throws {
        let finding = try finding { path in
            for ending in ["-wal", "-shm"] { try FileManager.default.removeItem(atPath: path + ending) }
        }
        #expect(finding == .whole)
    }
}
