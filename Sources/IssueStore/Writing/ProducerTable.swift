import IssueCore
import IssueProtocol
import SQLiteKit

/// The marks of the producers that report now; the database holds all of them.
struct ProducerTable {
    struct Key: Hashable {
        var uid: UInt32
        var producer: ProducerID
    }

    static let capacity = 4096

    private var marks: [Key: ProducerMark] = [:]
    private var changed: Set<Key> = []

    mutating func mark(of key: Key, on connection: Connection) throws -> ProducerMark {
        if let known = marks[key] { return known }
        let stored = try connection.withStatement("SELECT mark FROM producers WHERE uid = ?1 AND producer = ?2") {
            statement in
            statement.bind(Int64(key.uid), at: 1)
            statement.bind(blob: key.producer.bytes, at: 2)
            return try statement.first { $0.bytes(0) }
        }
        return stored.flatMap { ProducerMark(bytes: $0) } ?? ProducerMark()
    }

    mutating func stored(_ call: ProducerMark.Call, of key: Key, after mark: ProducerMark) {
        var mark = mark
        mark.stored(call)
        marks[key] = mark
        changed.insert(key)
    }

    /// Writes the marks that moved, in the transaction of the records that moved them.
    mutating func writeChanges(on connection: Connection, at wall: Timestamp) throws {
        for key in changed {
            guard let mark = marks[key] else { continue }
            try connection.withStatement(
                "INSERT OR REPLACE INTO producers (uid, producer, mark, used_at) VALUES (?1, ?2, ?3, ?4)"
            ) { statement in
                statement.bind(Int64(key.uid), at: 1)
                statement.bind(blob: key.producer.bytes, at: 2)
                statement.bind(blob: mark.bytes, at: 3)
                statement.bind(wall.milliseconds, at: 4)
                try statement.run()
            }
        }
        changed.removeAll(keepingCapacity: true)
        if marks.count > Self.capacity { marks.removeAll() }
    }

    /// Forgets all that is not in the database.
    mutating func removeAll() {
        marks.removeAll()
        changed.removeAll()
    }
}
