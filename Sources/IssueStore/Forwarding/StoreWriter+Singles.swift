import IssueCore
import IssueProtocol
import SQLiteKit

/// Records that go outside the walk.
extension StoreWriter {
    /// Notes which batch carries a record that went ahead or goes again, and how far those that are express were looked
    /// at.
    func carry(_ batch: NewBatch, in id: Int64) throws {
        if batch.kind == .express || batch.kind == .requeued {
            for record in batch.sent { try put(single: record.row, in: id, batch.destination) }
        }
        guard let express = batch.expressThrough else { return }
        try connection.withStatement("UPDATE destinations SET express_id = max(express_id, ?2) WHERE id = ?1") {
            statement in
            statement.bind(batch.destination, at: 1)
            statement.bind(express, at: 2)
            try statement.run()
        }
    }

    /// - Parameter batch: Nothing where it waits for one.
    func put(single row: Int64, in batch: Int64?, _ destination: Int64) throws {
        try connection.withStatement(
            """
            INSERT INTO singles (destination, record, batch) VALUES (?1, ?2, ?3)
            ON CONFLICT DO UPDATE SET batch = excluded.batch
            """
        ) { statement in
            statement.bind(destination, at: 1)
            statement.bind(row, at: 2)
            statement.bind(batch ?? 0, at: 3)
            try statement.run()
        }
    }

    /// The batch that carries a record outside the walk: 0 where it waits for one, nothing where it went with the walk.
    func single(_ row: Int64, _ destination: Int64) throws -> Int64? {
        try connection.withStatement("SELECT batch FROM singles WHERE destination = ?1 AND record = ?2") { statement in
            statement.bind(destination, at: 1)
            statement.bind(row, at: 2)
            return try statement.first { $0.int64(0) }
        }
    }

    /// Which of the records in a stretch go outside the walk, and in which batch.
    func singles(in rows: ClosedRange<Int64>, _ destination: Int64) throws -> [Int64: Int64] {
        let found = try connection.withStatement(
            "SELECT record, batch FROM singles WHERE destination = ?1 AND record BETWEEN ?2 AND ?3"
        ) { statement in
            statement.bind(destination, at: 1)
            statement.bind(rows.lowerBound, at: 2)
            statement.bind(rows.upperBound, at: 3)
            return try statement.all { ($0.int64(0), $0.int64(1)) }
        }
        return Dictionary(found) { first, _ in first }
    }

    /// They live as long as their records.
    func forgetSingles(through row: Int64) throws {
        try connection.withStatement(
            "DELETE FROM singles WHERE destination IN (SELECT id FROM destinations) AND record <= ?1"
        ) { statement in
            statement.bind(row, at: 1)
            try statement.run()
        }
    }

    /// They live as long as their records.
    func forgetSingles(in rows: ClosedRange<Int64>) throws {
        try connection.withStatement(
            """
            DELETE FROM singles WHERE destination IN (SELECT id FROM destinations) AND record BETWEEN ?1 AND ?2
                AND NOT EXISTS (SELECT 1 FROM records WHERE records.id = record)
            """
        ) { statement in
            statement.bind(rows.lowerBound, at: 1)
            statement.bind(rows.upperBound, at: 2)
            try statement.run()
        }
    }
}
