import Foundation
import IssueStore
import SQLiteKit
import Testing

@testable import IssueDaemon

@Suite("A database that is called damaged")
struct DamageSuspicionTests {
    private static let damage = StoreFailure.damaged(SQLiteError(code: .corrupt, message: ""))
    private static let unreadable = StoreFailure.damaged(SQLiteError(code: .corrupt, message: "", systemErrno: EIO))

    private func withDatabase(_ body: (String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "issued-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "issues.db").path
        try Connection(path: path).execute("CREATE TABLE t(a)")
        try body(path)
    }

    /// Makes it so large that reading it through takes a while.
    private func enlarge(_ path: String) throws {
        try Connection(path: path).execute(
            """
            INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400000)
            SELECT zeroblob(100) FROM n
            """)
    }

    @Test("One that can be read a moment later is opened anew, as often as it was the disk that would not give a page")
    func unreadablePages() throws {
        try withDatabase { path in
            let suspicion = CorruptionCheck()
            for _ in 1...5 { #expect(suspicion.verdict(on: Self.unreadable, at: path) == .healthy) }
            #expect(suspicion.verdict(on: Self.damage, at: path) == .healthy)
            #expect(suspicion.verdict(on: Self.unreadable, at: path) == .healthy)
        }
    }

    @Test("One that is called damaged twice, and not by the disk, is set aside though it can be read")
    func hiddenDamage() throws {
        try withDatabase { path in
            let suspicion = CorruptionCheck()
            #expect(suspicion.verdict(on: Self.damage, at: path) == .healthy)
            #expect(suspicion.verdict(on: Self.damage, at: path) == .confirmed)
        }
    }

    @Test("One that can't be read through is set aside, whatever the disk has said")
    func damaged() throws {
        try withDatabase { path in
            try Data(repeating: 7, count: 20_000).write(to: URL(filePath: path))
            #expect(CorruptionCheck().verdict(on: Self.unreadable, at: path) == .confirmed)
        }
    }

    @Test("One that is too large to be read through in time is not set aside for what the disk would not give")
    func tooLarge() throws {
        try withDatabase { path in
            try enlarge(path)
            let suspicion = CorruptionCheck(timeout: .zero)
            for _ in 1...3 { #expect(suspicion.verdict(on: Self.unreadable, at: path) == .untold) }
            #expect(CorruptionCheck().verdict(on: Self.unreadable, at: path) == .healthy)
        }
    }

    @Test(
        "One that is called damaged, and not by the disk, and that can't be read through in time, has one more chance")
    func damagedAndTooLarge() throws {
        try withDatabase { path in
            try enlarge(path)
            let suspicion = CorruptionCheck(timeout: .zero)
            #expect(suspicion.verdict(on: Self.damage, at: path) == .untold)
            #expect(suspicion.verdict(on: Self.damage, at: path) == .confirmed)
        }
    }

    @Test("One that another program holds is not set aside")
    func locked() throws {
        try withDatabase { path in
            let other = try Connection(path: path)
            try other.execute("BEGIN EXCLUSIVE")
            #expect(CorruptionCheck(timeout: .zero).verdict(on: Self.unreadable, at: path) == .untold)
        }
    }
}
