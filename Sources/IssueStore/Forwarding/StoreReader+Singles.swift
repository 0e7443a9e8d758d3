package import IssueCore
import IssueProtocol
import SQLiteKit

extension StoreReader {
    /// What of a stretch of the log the walk must not judge as if nothing had been.
    package struct GoneAhead: Equatable, Sendable {
        /// They went outside the walk, and what became of them stands there.
        package var gone: Set<Int64> = []
        /// They are express and were refused as such, so that their reserved shares have been asked.
        package var refused: Set<Int64> = []

        /// Whether a record is neither.
        package func isUsual(_ row: Int64) -> Bool {
            gone.isEmpty && refused.isEmpty || !gone.contains(row) && !refused.contains(row)
        }
    }

    package func goneAhead(of destination: Int64, in rows: ClosedRange<Int64>, express: Int64) throws -> GoneAhead {
        try snapshot {
            var ahead = GoneAhead()
            try connection.withStatement(
                "SELECT record FROM singles WHERE destination = ?1 AND record BETWEEN ?2 AND ?3"
            ) { statement in
                statement.bind(destination, at: 1)
                statement.bind(rows.lowerBound, at: 2)
                statement.bind(rows.upperBound, at: 3)
                try statement.forEach { ahead.gone.insert($0.int64(0)) }
            }
            try connection.withStatement("SELECT record FROM express WHERE record BETWEEN ?1 AND ?2") { statement in
                statement.bind(rows.lowerBound, at: 1)
                statement.bind(min(rows.upperBound, express), at: 2)
                try statement.forEach { if !ahead.gone.contains($0.int64(0)) { ahead.refused.insert($0.int64(0)) } }
            }
            return ahead
        }
    }

    /// Records that are critical or new and have not been looked at yet, the oldest first.
    package func express(above row: Int64, limit: Int) throws -> [WalkedRecord] {
        try snapshot {
            let rows = try connection.withStatement(
                "SELECT record FROM express WHERE record > ?1 ORDER BY record LIMIT ?2"
            ) { statement in
                statement.bind(row, at: 1)
                statement.bind(limit, at: 2)
                return try statement.all { $0.int64(0) }
            }
            return try rows.compactMap { try walked(row: $0) }
        }
    }

    /// Records that wait to go once more, the oldest first.
    package func requeued(for destination: Int64, limit: Int) throws -> [WalkedRecord] {
        try snapshot {
            let rows = try connection.withStatement(
                "SELECT record FROM singles WHERE destination = ?1 AND batch = 0 ORDER BY record LIMIT ?2"
            ) { statement in
                statement.bind(destination, at: 1)
                statement.bind(limit, at: 2)
                return try statement.all { $0.int64(0) }
            }
            return try rows.compactMap { try walked(row: $0) }
        }
    }

    /// What the limiter knows of a group that it does not hold in memory.
    package func limits(ofGroup group: Int64, _ destination: Int64) throws -> GroupRow? {
        try snapshot { try limits(.group, from: group, through: group, destination, LimitRows.group).first }
    }

    /// What an application's buckets hold.
    package func buckets(of account: Int64, _ destination: Int64) throws -> [BucketRow] {
        let first = LimitRows.key(BucketRow.Key(account: account, role: .common))
        return try snapshot { try limits(.bucket, from: first, through: first | 7, destination, LimitRows.bucket) }
    }

    private func limits<Value>(
        _ kind: LimitRows.Kind, from first: Int64, through last: Int64, _ destination: Int64,
        _ read: (Int64, JSONValue) -> Value?
    ) throws -> [Value] {
        try connection.withStatement(
            "SELECT key, value FROM limits WHERE destination = ?1 AND kind = ?2 AND key BETWEEN ?3 AND ?4"
        ) { statement in
            statement.bind(destination, at: 1)
            statement.bind(kind.rawValue, at: 2)
            statement.bind(first, at: 3)
            statement.bind(last, at: 4)
            return try statement.all { row in
                (try? JSONValue(json: row.text(1))).flatMap { read(row.int64(0), $0) }
            }
        }.compactMap { $0 }
    }
}
