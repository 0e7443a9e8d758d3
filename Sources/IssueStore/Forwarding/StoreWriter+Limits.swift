import IssueCore
import SQLiteKit

extension StoreWriter {
    /// Writes what the limiter of a destination has changed, in the transaction that moves its cursor.
    func write(_ changes: AdmissionChanges, of destination: Int64) throws {
        for row in changes.buckets {
            try put(.bucket, LimitRows.key(row.key), LimitRows.json(row), of: destination)
        }
        for row in changes.groups { try put(.group, row.group, LimitRows.json(row), of: destination) }
        for key in changes.closedWindows {
            try connection.withStatement("DELETE FROM limits WHERE destination = ?1 AND kind = ?2 AND key = ?3") {
                statement in
                statement.bind(destination, at: 1)
                statement.bind(LimitRows.Kind.window.rawValue, at: 2)
                statement.bind(LimitRows.key(key), at: 3)
                try statement.run()
            }
        }
        // Behind those that were closed, since one of the same group and reason may have been opened after it.
        for row in changes.windows { try put(.window, LimitRows.key(row.key), LimitRows.json(row), of: destination) }
        for (account, number) in changes.accountSequences { try put(.sequence, account, "\(number)", of: destination) }
    }

    private func put(_ kind: LimitRows.Kind, _ key: Int64, _ value: String, of destination: Int64) throws {
        try connection.withStatement(
            "INSERT OR REPLACE INTO limits (destination, kind, key, value) VALUES (?1, ?2, ?3, ?4)"
        ) { statement in
            statement.bind(destination, at: 1)
            statement.bind(kind.rawValue, at: 2)
            statement.bind(key, at: 3)
            statement.bind(value, at: 4)
            try statement.run()
        }
    }
}
