import SQLiteKit

/// The daemon's database, opened by another process.
package struct DatabaseFile {
    private let connection: DatabaseConnection

    package init(_ path: String, writable: Bool = false) throws {
        connection = try DatabaseConnection(
            path: path, mode: writable ? .readWriteCreate : .readOnly, busyTimeout: .seconds(5))
        try ScannedBlock.addRecords(to: connection)
    }

    /// Returns the columns of each row as text; the text of a null value is `NULL`.
    package func rows(_ sql: String, columns: Int) throws -> [[String]] {
        try Statement(composedSQL: sql, on: connection).all { row in
            (0..<columns).map { row.isNull($0) ? "NULL" : row.text($0) }
        }
    }

    /// Accounts whose records do not have exactly one fate each. Must be empty.
    package var ledgerFaults: [[String]] {
        get throws { try rows("SELECT * FROM ledger_check", columns: 6) }
    }

    package func execute(_ sql: String) throws {
        try connection.execute(composedSQL: sql)
    }

    /// Removes a record from its block, and changes nothing else. Has no effect if no block covers this id.
    ///
    /// - Throws: `ScannedBlock.Invalid` if the block does not contain the record, or no other record.
    package func hideRecord(_ id: Int64) throws {
        guard var block = try ScannedBlock.containing(id, connection) else { return }
        let (records, checksum, body) = try block.removing(id)
        let statement = try Statement(
            "UPDATE blocks SET records = ?1, checksum = ?2, body = ?3 WHERE first_id = ?4", on: connection)
        statement.bind(records, at: 1)
        statement.bind(checksum, at: 2)
        statement.bind(DatabaseBytes.blob(body), at: 3)
        statement.bind(block.firstID, at: 4)
        try statement.run()
    }
}

extension DaemonFixture {
    /// The daemon's database, while the daemon runs or after it has ended.
    package var file: DatabaseFile {
        get throws { try DatabaseFile(database) }
    }
}
