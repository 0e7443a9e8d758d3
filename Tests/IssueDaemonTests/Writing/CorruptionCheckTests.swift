import Foundation
import IssueStore
import SQLiteKit
import Testing

@testable import IssueDaemon

@Suite("A database that is reported as damaged")
struct CorruptionCheckTests {
    private static let damage = StoreFailure.damaged(SQLiteError(code: .corrupt, message: ""))
    private static let unreadable = StoreFailure.damaged(SQLiteError(code: .corrupt, message: "", systemErrno: EIO))

    private func withDatabase(_ body: (String) throws -> Void) throws {
        try ScanFixture.withPath { path in
            try DatabaseConnection(path: path).execute("CREATE TABLE t(a)")
            try body(path)
        }
    }

    /// Makes the database so large that reading all of it takes a while.
    private func enlarge(_ path: String) throws {
        try DatabaseConnection(path: path).execute(
            """
            INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400000)
            SELECT zeroblob(100) FROM n
            """)
    }

    @Test("The database is reopened if it can be read a moment later, no matter how often the disk fails")
    func unreadablePages() throws {
        try withDatabase { path in
            let corruptionCheck = CorruptionCheck()
            for _ in 1...5 { #expect(corruptionCheck.verdict(on: Self.unreadable, at: path) == .healthy) }
            #expect(corruptionCheck.verdict(on: Self.damage, at: path) == .healthy)
            #expect(corruptionCheck.verdict(on: Self.unreadable, at: path) == .healthy)
        }
    }

    @Test("A second report in ten minutes that is not caused by the disk moves even a readable database aside")
    func hiddenDamage() throws {
        try withDatabase { path in
            let corruptionCheck = CorruptionCheck()
            #expect(corruptionCheck.verdict(on: Self.damage, at: path) == .healthy)
            #expect(corruptionCheck.verdict(on: Self.damage, at: path) == .confirmed)
        }
    }

    @Test("The database is moved aside if it can't be read completely")
    func damaged() throws {
        try withDatabase { path in
            try Data(repeating: 7, count: 20_000).write(to: URL(filePath: path))
            #expect(CorruptionCheck().verdict(on: Self.unreadable, at: path) == .confirmed)
        }
    }

    @Test("The database is not moved aside because of disk errors if it is too large to be checked in time")
    func tooLarge() throws {
        try withDatabase { path in
            try enlarge(path)
            let corruptionCheck = CorruptionCheck(timeout: .zero)
            for _ in 1...3 { #expect(corruptionCheck.verdict(on: Self.unreadable, at: path) == .inconclusive) }
            #expect(CorruptionCheck().verdict(on: Self.unreadable, at: path) == .healthy)
        }
    }

    @Test(
        "If the database is too large to be checked in time, a report that is not caused by the disk is ignored once")
    func damagedAndTooLarge() throws {
        try withDatabase { path in
            try enlarge(path)
            let corruptionCheck = CorruptionCheck(timeout: .zero)
            #expect(corruptionCheck.verdict(on: Self.damage, at: path) == .inconclusive)
            #expect(corruptionCheck.verdict(on: Self.damage, at: path) == .confirmed)
        }
    }

    @Test("The database is not moved aside if another program has locked it")
    func locked() throws {
        try withDatabase { path in
            let other = try DatabaseConnection(path: path)
            try other.execute("BEGIN EXCLUSIVE")
            #expect(CorruptionCheck(timeout: .zero).verdict(on: Self.unreadable, at: path) == .inconclusive)
        }
    }
}
