import Foundation
import SQLiteKit

/// A database file in a temporary folder, which is removed at the end of the scope.
struct TemporaryDatabase {
    let path: String

    static func with<Value>(_ body: (TemporaryDatabase) throws -> Value) throws -> Value {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sqlitekit-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try body(TemporaryDatabase(path: folder.appending(path: "test.db").path))
    }

    /// Opens a writer in WAL mode.
    func writer(checkpointsOnClose: Bool = false) throws -> DatabaseConnection {
        let connection = try DatabaseConnection(path: path, checkpointsOnClose: checkpointsOnClose)
        try connection.setPragma("journal_mode", to: "WAL")
        return connection
    }

    func reader() throws -> DatabaseConnection {
        try DatabaseConnection(path: path, mode: .readOnly)
    }
}

extension DatabaseConnection {
    /// Returns the number in the first column of the first row of a query; 0 if it is NULL, nil if there is no row.
    func number(_ sql: String) throws -> Int64? {
        try Statement(composedSQL: sql, on: self).first { $0.int64(0) }
    }
}
