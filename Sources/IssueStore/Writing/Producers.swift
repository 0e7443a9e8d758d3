import IssueCore
import IssueProtocol
import SQLiteKit

extension RecordCommit {
    /// Stores the records of a numbered call, or of merged calls, and returns their receipts. Stores nothing and
    /// returns nil if one of the records was received before, or may have been.
    mutating func storeFresh(
        _ call: ReportCall, _ numbering: ReportCall.Numbering, of submission: Submission,
        _ process: WriterMemory.ProcessEntry,
        _ memory: inout WriterMemory
    ) throws(SQLiteError) -> ReceiptList? {
        guard case .fresh = try reception(of: call, numbering, submission, &memory) else { return nil }
        return try storeCounted(call, numbering, submission, process, &memory)
    }

    /// Stores the records of a call, and counts them in the mark of the producer that `reception` has found.
    private mutating func storeCounted(
        _ call: ReportCall, _ numbering: ReportCall.Numbering, _ submission: Submission,
        _ process: WriterMemory.ProcessEntry, _ memory: inout WriterMemory
    ) throws(SQLiteError) -> ReceiptList {
        let first = rows.nextID
        let receipts = try store(call.records, of: call, submission, process, &memory)
        memory.caches.producers.stored(
            ProducerMark.Call(
                sequence: numbering.sequence, count: Int64(call.count), firstRow: first,
                rejected: call.rejected.map { Int64($0.index) }))
        return receipts
    }

    /// Compares a numbered call with the mark of its producer.
    private func reception(
        of call: ReportCall, _ numbering: ReportCall.Numbering, _ submission: Submission,
        _ memory: inout WriterMemory
    ) throws(SQLiteError) -> ProducerMark.Reception {
        try memory.caches.producers.received(
            ProducerTable.Key(uid: submission.process.sender.uid, producer: numbering.producer),
            sequence: numbering.sequence, count: Int64(call.count), on: connection)
    }

    /// Stores those records of a numbered call that were not received before. Returns the receipts of all records of
    /// the call.
    mutating func storeNumbered(
        _ call: ReportCall, of submission: Submission, _ process: WriterMemory.ProcessEntry,
        _ memory: inout WriterMemory
    ) throws(SQLiteError) -> ReceiptList {
        guard let numbering = call.numbering else {
            preconditionFailure("Only numbered calls can contain duplicates")
        }
        switch try reception(of: call, numbering, submission, &memory) {
        case .fresh: return try storeCounted(call, numbering, submission, process, &memory)
        case .resend(let answers):
            return .mixed(answers.enumerated().map { receipt($0.element, at: $0.offset, of: call, memory.values) })
        case .straddles(let answers):
            return try storeRest(of: call, numbering, known: answers, submission, process, &memory)
        case .forgotten:
            return .mixed([RecordReceipt](repeating: .duplicate(id: nil), count: call.count))
        }
    }

    /// Stores the new records of a call whose first records were received before. Returns the receipts of all its
    /// records.
    private mutating func storeRest(
        of call: ReportCall, _ numbering: ReportCall.Numbering, known: [ProducerMark.PastResult],
        _ submission: Submission, _ process: WriterMemory.ProcessEntry, _ memory: inout WriterMemory
    ) throws(SQLiteError) -> ReceiptList {
        let rejectedBefore = call.rejected.count { $0.index < known.count }
        var rest = call
        rest.records = (call.records.lowerBound + known.count - rejectedBefore)..<call.records.upperBound
        rest.rejected = call.rejected.dropFirst(rejectedBefore).map {
            ReportCall.Rejected(index: $0.index - known.count, rejection: $0.rejection)
        }
        var numbering = numbering
        numbering.sequence += Int64(known.count)
        let first = rows.nextID
        _ = try storeCounted(rest, numbering, submission, process, &memory)
        let old = known.enumerated().map { receipt($0.element, at: $0.offset, of: call, memory.values) }
        return .mixed(old + receipts(of: rest, first: first, memory.values))
    }

    private func receipt(
        _ answer: ProducerMark.PastResult, at index: Int, of call: ReportCall, _ values: WriterMemory.Values
    ) -> RecordReceipt {
        switch answer {
        case .stored(let row): return .duplicate(id: values.recordID(row: row).text)
        case .forgotten: return .duplicate(id: nil)
        case .rejected:
            let rejection = call.rejected.first { $0.index == index }?.rejection
            return .rejected(field: rejection?.field, reason: rejection?.reason ?? "the record was rejected before")
        }
    }
}

/// A cache of the marks of the active producers.
struct ProducerTable {
    struct Key: Hashable {
        var uid: UInt32
        var producer: ProducerID
    }

    /// The maximum number of cached marks. A cache with more is emptied at the end of the commit.
    static let capacity = 4096
    /// The maximum number of stored marks of one accountable user. May be exceeded temporarily; see `newPerCheck`.
    static let maxPerUser: Int64 = 8192
    /// The maximum number of stored marks of all users together. May be exceeded temporarily; see `newPerCheck`.
    static let maxTotal: Int64 = 65_536
    /// The value of `newCount` at which the number of marks is checked.
    private static let newPerCheck = 1024
    /// The maximum number of marks removed at once. More than `newPerCheck`, so that an excess becomes smaller.
    private static let maxPerRemoval: Int64 = 4096

    /// The number of marks that were inserted, or whose time of use was updated, since the last check for too many
    /// marks.
    private var newCount = 0
    private var marks: [Key: ProducerMark] = [:]
    /// The producers whose marks this commit must write.
    private var changed: Set<Key> = []
    /// The producer of the last call. Its mark is kept outside `marks` and changed in place, because consecutive calls
    /// mostly come from the same producer.
    private var current: Key?
    /// The mark of `current`.
    private var mark = ProducerMark()
    /// Whether this commit must write `mark`.
    private var isChanged = false

    /// Returns which records of a call have been received before.
    mutating func received(
        _ key: Key, sequence: Int64, count: Int64, on connection: DatabaseConnection
    ) throws(SQLiteError) -> ProducerMark.Reception {
        if key != current { try makeCurrent(key, on: connection) }
        return mark.received(sequence: sequence, count: count)
    }

    /// Adds a call, or the new part of a call, to the mark of the producer last passed to `received`.
    mutating func stored(_ call: ProducerMark.Call) {
        mark.stored(call)
        isChanged = true
    }

    /// Makes a producer the current one.
    private mutating func makeCurrent(_ key: Key, on connection: DatabaseConnection) throws(SQLiteError) {
        storeCurrentMark()
        // The mark is removed from `marks` so that it can be changed in place.
        if let known = marks.removeValue(forKey: key) { mark = known } else { mark = try stored(key, on: connection) }
        current = key
    }

    private mutating func storeCurrentMark() {
        guard let key = current else { return }
        marks[key] = mark
        if isChanged { changed.insert(key) }
        current = nil
        mark = ProducerMark()
        isChanged = false
    }

    private func stored(_ key: Key, on connection: DatabaseConnection) throws(SQLiteError) -> ProducerMark {
        let stored = try connection.first(
            "SELECT mark FROM producers WHERE uid = ?1 AND producer = ?2", key.uid,
            DatabaseBytes.blob(key.producer.bytes)
        ) { $0.bytes(0) }
        return stored.flatMap { ProducerMark(bytes: $0) } ?? ProducerMark()
    }

    /// Writes the changed marks in the transaction of the records that changed them.
    mutating func writeChanges(
        on connection: DatabaseConnection, at now: RecordLogInstant, of users: AccountableUsers
    ) throws(SQLiteError) {
        storeCurrentMark()
        for key in changed {
            guard let mark = marks[key] else { continue }
            try update(mark, of: key, on: connection, at: now)
        }
        changed.removeAll(keepingCapacity: true)
        if marks.count > Self.capacity { marks.removeAll() }
        if newCount >= Self.newPerCheck {
            newCount = 0
            try Self.removeExcess(of: users, on: connection)
        }
    }

    /// If there are more marks than a limit allows, removes the excess, but at most `maxPerRemoval` marks: the least
    /// recently used marks of the accountable user who has the most.
    ///
    /// This is needed because a user can invent any number of producers, and retention removes no marks when space is
    /// short.
    ///
    /// - Parameters:
    ///   - maxPerUser: The maximum number of marks of a user.
    ///   - maxTotal: The maximum number of marks of all users together.
    ///   - users: Maps user ids to accountable users.
    ///   - connection: The writer's connection, in a transaction.
    static func removeExcess(
        maxPerUser: Int64 = ProducerTable.maxPerUser, maxTotal: Int64 = ProducerTable.maxTotal,
        of users: AccountableUsers, on connection: DatabaseConnection
    ) throws(SQLiteError) {
        let total = try connection.integer("SELECT count(*) FROM producers INDEXED BY producers_by_use")
        guard total > min(maxPerUser, maxTotal) else { return }
        let counts = try connection.all(
            "SELECT uid, count(*) FROM producers INDEXED BY producers_by_use GROUP BY uid"
        ) { (user: UInt32(clamping: $0.int64(0)), count: $0.int64(1)) }
        let byOwner = Dictionary(grouping: counts) { users.owner(of: $0.user) }
            .mapValues { (ids: $0.map { Int64($0.user) }, count: $0.reduce(0) { $0 + $1.count }) }
        guard let largest = byOwner.values.max(by: { $0.count < $1.count }),
            largest.count > maxPerUser || total > maxTotal
        else { return }
        let excess = max(largest.count - maxPerUser, min(largest.count, total - maxTotal))
        try connection.run(
            """
            DELETE FROM producers WHERE (uid, producer) IN
                (SELECT uid, producer FROM producers INDEXED BY producers_by_use
                WHERE uid IN (SELECT value FROM json_each(?1)) ORDER BY used_at LIMIT ?2)
            """, StoreWriter.list(largest.ids), min(excess, maxPerRemoval))
    }

    /// Writes a mark. Updates its time of use at most once an hour, so that most commits need not write the index on
    /// this time.
    private mutating func update(
        _ mark: ProducerMark, of key: Key, on connection: DatabaseConnection, at now: RecordLogInstant
    ) throws(SQLiteError) {
        func run(_ sql: StaticString, _ time: RecordLogInstant) throws(SQLiteError) {
            try connection.run(
                sql, key.uid, DatabaseBytes.blob(key.producer.bytes), DatabaseBytes.blob(mark.bytes), time.milliseconds)
        }
        try run(
            "UPDATE producers SET mark = ?3 WHERE uid = ?1 AND producer = ?2 AND used_at > ?4",
            now.advanced(by: .seconds(-3600)))
        if connection.changes > 0 { return }
        newCount += 1
        try run("INSERT OR REPLACE INTO producers (uid, producer, mark, used_at) VALUES (?1, ?2, ?3, ?4)", now)
    }
}
