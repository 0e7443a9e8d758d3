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

    @Test("One that can be read a moment later is opened anew, as often as it was the disk that would not give a page")
    func unreadablePages() throws {
        try withDatabase { path in
            let suspicion = DamageSuspicion()
            for _ in 1...5 { #expect(!suspicion.isConfirmed(Self.unreadable, at: path)) }
            #expect(!suspicion.isConfirmed(Self.damage, at: path))
            #expect(!suspicion.isConfirmed(Self.unreadable, at: path))
        }
    }

    @Test("One that is called damaged twice, and not by the disk, is set aside though it can be read")
    func hiddenDamage() throws {
        try withDatabase { path in
            let suspicion = DamageSuspicion()
            #expect(!suspicion.isConfirmed(Self.damage, at: path))
            #expect(suspicion.isConfirmed(Self.damage, at: path))
        }
    }

    @Test("One that can't be read through is set aside, whatever the disk has said")
    func damaged() throws {
        try withDatabase { path in
            try Data(repeating: 7, count: 20_000).write(to: URL(filePath: path))
            #expect(DamageSuspicion().isConfirmed(Self.unreadable, at: path))
        }
    }
}
