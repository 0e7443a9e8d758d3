import Foundation
import IssueProtocol
import IssueTestSupport
import UnixIO

/// A kind of damage to the files of the store while the daemon does not run.
struct Damage: Sendable {
    let name: String
    /// Whether the daemon must detect the damage and move the file aside; nil if that depends on what it reads.
    let isSetAside: Bool?
    let spoil: @Sendable (DaemonFixture) throws -> Void

    static let all: [Damage] = [
        Damage(name: "header", isSetAside: true) { try overwrite($0.database, from: 0, count: 100) },
        Damage(name: "first page", isSetAside: true) { try overwrite($0.database, from: 100, count: 8092) },
        Damage(name: "all other pages", isSetAside: true) { try overwrite($0.database, from: 8192, count: .max) },
        Damage(name: "file emptied", isSetAside: false) { try truncate($0.database, to: 0) },
        Damage(name: "file cut in the middle", isSetAside: nil) { daemon in
            try truncate(daemon.database, to: try size(daemon.database) / 2 / 8192 * 8192)
        },
        Damage(name: "file cut within a page", isSetAside: true) { try truncate($0.database, to: 5000) },
        Damage(name: "file of a newer version", isSetAside: true) { daemon in
            try DatabaseFile(daemon.database, writable: true).execute("PRAGMA user_version = 9999")
        },
        Damage(name: "file of another program", isSetAside: true) { daemon in
            try FileManager.default.removeItem(atPath: daemon.database)
            try DatabaseFile(daemon.database, writable: true).execute("CREATE TABLE theirs (x)")
        },
        Damage(name: "a table is missing", isSetAside: true) { daemon in
            try DatabaseFile(daemon.database, writable: true).execute("DROP TABLE ledger")
        },
        Damage(name: "text instead of the file", isSetAside: true) { daemon in
            try Data("This is not a database.\n".utf8).write(to: URL(filePath: daemon.database))
        },
        Damage(name: "file removed", isSetAside: false) { try FileManager.default.removeItem(atPath: $0.database) },
        Damage(name: "noise instead of the WAL", isSetAside: false) { daemon in
            try Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }).write(
                to: URL(filePath: daemon.database + "-wal"))
        },
        Damage(name: "noise instead of the shared memory", isSetAside: false) { daemon in
            try Data((0..<40_000).map { UInt8(truncatingIfNeeded: $0 &* 37) }).write(
                to: URL(filePath: daemon.database + "-shm"))
        },
    ]

    private static func size(_ path: String) throws -> Int {
        Int(try FileSystem.status(of: path).size)
    }

    private static func truncate(_ path: String, to size: Int) throws {
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        try file.truncate(atOffset: UInt64(size))
    }

    private static func overwrite(_ path: String, from start: Int, count: Int) throws {
        let count = min(count, try size(path) - start)
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        try file.seek(toOffset: UInt64(start))
        try file.write(contentsOf: Data(repeating: 0x5A, count: count))
    }
}
