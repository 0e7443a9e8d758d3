import SQLiteKit

/// The daemon's database, read from beside it.
package struct DatabaseFile {
    private let connection: Connection

    package init(_ path: String, writable: Bool = false) throws {
        connection = try Connection(
            path: path, mode: writable ? .readWriteCreate : .readOnly, busyTimeout: .seconds(5))
    }

    /// Each row's columns as text.
    package func rows(_ sql: String, columns: Int) throws -> [[String]] {
        try Statement(composedSQL: sql, on: connection).all { row in
            (0..<columns).map { row.isNull($0) ? "NULL" : row.text($0) }
        }
    }

    /// The rows that must not be there: accounts whose records have not exactly one fate each.
    package var ledgerFaults: [[String]] {
        get throws { try rows("SELECT * FROM ledger_check", columns: 6) }
    }

    package func execute(_ sql: String) throws {
        try connection.execute(composedSQL: sql)
    }
}

extension DaemonFixture {
    /// Looks into its database, while it runs or after.
    package var file: DatabaseFile {
        get throws { try DatabaseFile(database) }
    }
}
