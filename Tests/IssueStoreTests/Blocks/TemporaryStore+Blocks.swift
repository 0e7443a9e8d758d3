import IssueCore
import SQLiteKit

@testable import IssueStore

/// Changes to the blocks of a store that the store itself does not make.
extension TemporaryStore {
    /// Deletes records without updating anything that refers to them.
    func deleteRecords(where condition: String) throws {
        let connection = try DatabaseConnection(path: path, mode: .readWriteCreate, busyTimeout: .seconds(1))
        let log = try BlockLog(on: connection)
        let rows = try connection.numbers("SELECT id FROM records WHERE \(condition) ORDER BY id").map { RowID($0) }
        try connection.transaction { () throws(SQLiteError) in _ = try log.remove(rows) }
    }

    /// Converts the file to the format of version 8, which stored each record in a row of its own.
    func storeAsRows() throws { try Self.storeAsRows(path) }

    /// Converts a file to the format of version 8, which stored each record in a row of its own.
    static func storeAsRows(_ path: String) throws {
        let connection = try DatabaseConnection(path: path, mode: .readWriteCreate, busyTimeout: .seconds(1))
        _ = try BlockReader(on: connection)
        try connection.execute(
            """
            CREATE TABLE rows (
                id INTEGER PRIMARY KEY,
                series INTEGER NOT NULL,
                process INTEGER NOT NULL,
                received_at INTEGER NOT NULL,
                occurred INTEGER,
                first_occurred INTEGER,
                count INTEGER NOT NULL,
                message ANY,
                metadata TEXT,
                details TEXT
            ) STRICT;
            INSERT INTO rows SELECT * FROM records;
            DROP TABLE blocks;
            ALTER TABLE rows RENAME TO records;
            PRAGMA user_version = 8
            """)
    }
}
