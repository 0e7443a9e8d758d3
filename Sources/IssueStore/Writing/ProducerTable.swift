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
    /// Calls of one producer mostly follow each other: its mark is kept at hand, and changed in place.
    private var current: Key?
    private var mark = ProducerMark()
    private var isChanged = false

    /// Which records of a call are known already.
    mutating func received(
        _ key: Key, sequence: Int64, count: Int64, on connection: Connection
    ) throws -> ProducerMark.Reception {
        if key != current { try turn(to: key, on: connection) }
        return mark.received(sequence: sequence, count: count)
    }

    /// The call of the producer that was asked about last is in the transaction that is about to be committed.
    mutating func stored(_ call: ProducerMark.Call) {
        mark.stored(call)
        isChanged = true
    }

    private mutating func turn(to key: Key, on connection: Connection) throws {
        putBack()
        // Taken out of the table, so that it is changed in place.
        mark = try marks.removeValue(forKey: key) ?? stored(key, on: connection)
        current = key
    }

    private mutating func putBack() {
        guard let key = current else { return }
        marks[key] = mark
        if isChanged { changed.insert(key) }
        current = nil
        mark = ProducerMark()
        isChanged = false
    }

    private func stored(_ key: Key, on connection: Connection) throws -> ProducerMark {
        let stored = try connection.withStatement("SELECT mark FROM producers WHERE uid = ?1 AND producer = ?2") {
            statement in
            statement.bind(Int64(key.uid), at: 1)
            statement.bind(blob: key.producer.bytes, at: 2)
            return try statement.first { $0.bytes(0) }
        }
        return stored.flatMap { ProducerMark(bytes: $0) } ?? ProducerMark()
    }

    /// Writes the marks that moved, in the transaction of the records that moved them.
    mutating func writeChanges(on connection: Connection, at now: LogInstant) throws {
        putBack()
        for key in changed {
            guard let mark = marks[key] else { continue }
            try connection.withStatement(
                "INSERT OR REPLACE INTO producers (uid, producer, mark, used_at) VALUES (?1, ?2, ?3, ?4)"
            ) { statement in
                statement.bind(Int64(key.uid), at: 1)
                statement.bind(blob: key.producer.bytes, at: 2)
                statement.bind(blob: mark.bytes, at: 3)
                statement.bind(now.milliseconds, at: 4)
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
        current = nil
        mark = ProducerMark()
        isChanged = false
    }
}
