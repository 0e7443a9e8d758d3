import Foundation
import SQLiteKit

/// A database file in a folder of its own, removed when the scope ends.
struct TemporaryDatabase {
    let path: String

    static func with<Value>(_ body: (TemporaryDatabase) throws -> Value) throws -> Value {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sqlitekit-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try body(TemporaryDatabase(path: folder.appending(path: "test.db").path))
    }

    /// Opens a writer whose file keeps a write-ahead log.
    func writer(checkpointsOnClose: Bool = false) throws -> Connection {
        let connection = try Connection(path: path, checkpointsOnClose: checkpointsOnClose)
        try connection.setPragma("journal_mode", to: "WAL")
        return connection
    }

    func reader() throws -> Connection {
        try Connection(path: path, mode: .readOnly)
    }
}

extension Connection {
    /// The one number that a query answers.
    func number(_ sql: String) throws -> Int64? {
        try Statement(composedSQL: sql, on: self).first { $0.int64(0) }
    }
}
