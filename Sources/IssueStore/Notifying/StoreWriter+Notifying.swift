package import IssueCore
package import IssueProtocol
import SQLiteKit

/// The stored state of a notifier.
package struct NotifierRow: Equatable, Sendable {
    package var id: Int64
    package var name: String
    /// The last record whose change was examined.
    package var cursor: RowID
    /// The number of events for the notifier: the sum of `delivered`, `givenUp` and `pending`.
    package var received: Int64
    package var delivered: Int64
    package var givenUp: Int64
    package var pending: Int64
    /// The number of events that a silence covered. They do not count as received.
    package var silenced: Int64
    /// The number of delivered messages.
    package var messages: Int64
    /// The number of delivered messages that may have arrived more than once.
    package var repeated: Int64
    /// A summary of the answer or error of the last attempt, or of the answer to a test message accepted since; nil if
    /// there was neither.
    package var lastAnswer: String?
    /// The time at which the receiver last accepted a message, including a test message; nil if it accepted none.
    package var lastSuccess: IssueTimestamp?
    /// The time at which a message was last given up after an attempt; nil if none was, or if 100 messages have been
    /// settled since.
    package var lastGivenUp: IssueTimestamp?
    /// The events that are not in a message yet.
    package var waiting: [Notice]
    /// The pending message; nil if there is none.
    package var message: StoredMessage?
}

/// A pending message of a notifier, and its events.
package struct StoredMessage: Equatable, Sendable {
    package var id: Int64
    /// The time at which the message was created.
    package var at: IssueTimestamp
    /// The number of attempts, including one in progress.
    package var attempts: Int64
    /// Whether an attempt without a known result may have reached the receiver.
    package var maybeSent: Bool
    package var notices: [Notice]
}

/// The fate of a message after an attempt.
package enum MessageFate: Equatable, Sendable {
    /// The message stays pending. `maybeSent` is `true` if an attempt so far may have reached the receiver.
    case retry(maybeSent: Bool)
    case delivered
    case givenUp
}

/// The result of registering the configured notifiers.
package struct NotifierSetup: Equatable, Sendable {
    /// A notifier that is no longer configured.
    package struct Removed: Equatable, Sendable {
        package var name: String
        /// The number of its pending events, which were given up.
        package var events: Int64
    }

    /// The stored states of the configured notifiers.
    package var rows: [NotifierRow] = []
    /// The notifiers whose pending events were given up.
    package var removed: [Removed] = []
}

extension StoreWriter {
    /// Registers the configured notifiers. Changes of groups committed from now on are stored for them.
    ///
    /// A newly configured notifier starts with the changes that follow. The pending events of a notifier that is no
    /// longer configured are given up.
    ///
    /// - Parameters:
    ///   - names: The names of the notifiers that run.
    ///   - kept: The names of notifiers with an error in their section. They do not run. Their events are kept, and
    ///     changes of groups are stored for them.
    /// - Returns: The rows, in the order of `names` and then of `kept`, and the events that were given up.
    package func configureNotifiers(_ names: [String], keeping kept: [String] = []) throws(StoreFailure)
        -> NotifierSetup
    {
        try transaction { () throws(SQLiteError) in
            let table = NotificationTable(connection: connection)
            var setup = NotifierSetup()
            setup.removed = try table.deactivate(allBut: names + kept)
            for name in names + kept { try table.activate(name, cursor: memory.open.lastID) }
            memory.values.hasNotifiers = !names.isEmpty || !kept.isEmpty
            try table.removeExaminedAlerts()
            for name in names + kept {
                if let row = try table.row(named: name) { setup.rows.append(row) }
            }
            return setup
        }
    }

    /// Stores the events that a notifier reports, and advances its cursor.
    ///
    /// - Parameters:
    ///   - notices: The events. Events that are only counted are added to the count for their user and kinds.
    ///   - silences: The number of events that each silence covered, keyed by the silence's row id.
    ///   - cursor: The last record whose change was examined; nil to leave the cursor unchanged.
    /// - Returns: The new state; nil if the notifier does not exist.
    package func add(
        _ notices: [Notice], silenced silences: [Int64: Int64] = [:], cursor: RowID?, notifier id: Int64
    ) throws(StoreFailure) -> NotifierRow? {
        try transaction { () throws(SQLiteError) in
            try addNotices(notices, silenced: silences, cursor: cursor, notifier: id)
        }
    }

    /// Stores events in the current transaction.
    func addNotices(
        _ notices: [Notice], silenced silences: [Int64: Int64], cursor: RowID?, notifier id: Int64
    ) throws(SQLiteError) -> NotifierRow? {
        let table = NotificationTable(connection: connection)
        for notice in notices { try table.insert(notice, notifier: id) }
        let received = notices.reduce(Int64(0)) { $0 + $1.count }
        let silenced = silences.reduce(Int64(0)) { $0 + $1.value }
        for (silence, count) in silences {
            try connection.run("UPDATE silences SET count = count + ?2 WHERE id = ?1", silence, count)
        }
        try connection.run(
            """
            UPDATE notifiers SET cursor = max(cursor, coalesce(?2, cursor)), received = received + ?3,
                silenced = silenced + ?4 WHERE id = ?1
            """, id, cursor, received, silenced)
        if cursor != nil { try table.removeExaminedAlerts() }
        return try table.row(id)
    }

    /// Creates a message from all waiting events, if there are any, and counts its first attempt. Call this before the
    /// attempt.
    ///
    /// - Returns: The new state; nil if the notifier does not exist.
    package func beginMessage(notifier id: Int64, at now: IssueTimestamp) throws(StoreFailure) -> NotifierRow? {
        try transaction { () throws(SQLiteError) in
            try connection.run(
                """
                INSERT INTO messages (notifier, at, events) SELECT ?1, ?2, events
                FROM (SELECT sum(count) AS events FROM notices WHERE notifier = ?1 AND message = 0) WHERE events > 0
                """, id, now)
            if connection.changes > 0 {
                let message = connection.lastInsertedRowID
                try connection.run("UPDATE notices SET message = ?2 WHERE notifier = ?1 AND message = 0", id, message)
            }
            return try NotificationTable(connection: connection).row(id)
        }
    }

    /// Counts another attempt to send a message. Call this before the attempt.
    package func beginAttempt(message id: Int64) throws(StoreFailure) {
        try transaction { () throws(SQLiteError) in
            try connection.run(
                "UPDATE messages SET attempts = attempts + 1, maybe_sent = 1 WHERE id = ?1 AND state = 0", id)
        }
    }

    /// Stores the result of an attempt.
    ///
    /// - Parameters:
    ///   - message: The id of the message.
    ///   - id: The id of the notifier.
    ///   - fate: The fate of the message after the attempt.
    ///   - isRepeated: `true` if the message may have arrived more than once.
    ///   - answer: A summary of the answer or the error.
    ///   - now: The current wall time.
    /// - Returns: The new state; nil if the notifier does not exist.
    package func settle(
        message: Int64, notifier id: Int64, as fate: MessageFate, isRepeated: Bool, answer: String,
        at now: IssueTimestamp
    ) throws(StoreFailure) -> NotifierRow? {
        try transaction { () throws(SQLiteError) in
            let table = NotificationTable(connection: connection)
            try table.settle(message: message, notifier: id, as: fate, isRepeated: isRepeated, answer: answer, at: now)
            return try table.row(id)
        }
    }

    /// Stores that the receiver has accepted a test message.
    ///
    /// - Returns: The new state; nil if the notifier does not exist.
    package func testAccepted(
        notifier id: Int64, answer: String, at now: IssueTimestamp
    ) throws(StoreFailure) -> NotifierRow? {
        try transaction { () throws(SQLiteError) in
            try connection.run(
                "UPDATE notifiers SET last_success = ?2, last_answer = ?3 WHERE id = ?1", id, now, answer)
            return try NotificationTable(connection: connection).row(id)
        }
    }

    static func hasActiveNotifiers(_ connection: DatabaseConnection) throws(SQLiteError) -> Bool {
        try connection.exists("SELECT 1 FROM notifiers WHERE active = 1 LIMIT 1")
    }

    /// Stores, for the notifiers, the changes that the records of a commit have made to groups.
    func insertAlerts(_ records: [PriorityRecord]) throws(SQLiteError) {
        guard memory.values.hasNotifiers else { return }
        for record in records where !record.change.isEmpty {
            try connection.run(
                "INSERT INTO alerts (record, uid, kinds) VALUES (?1, ?2, ?3)", record.row, record.uid,
                record.change.rawValue)
        }
    }
}

/// A change of a group, stored for the notifiers that have not examined it.
package struct StoredAlert: Equatable, Sendable {
    package var record: RowID
    /// The user accountable for the sender.
    package var uid: UInt32
    package var kinds: NotificationKinds

    package init(record: RowID, uid: UInt32, kinds: NotificationKinds) {
        (self.record, self.uid, self.kinds) = (record, uid, kinds)
    }
}

extension StoreReader {
    /// Returns the oldest changes after a record, at most `limit`.
    package func alerts(after record: RowID, limit: Int) throws -> [StoredAlert] {
        try snapshot {
            try connection.all(
                "SELECT record, uid, kinds FROM alerts WHERE record > ?1 ORDER BY record LIMIT ?2", record, limit
            ) {
                StoredAlert(
                    record: $0.id(0), uid: UInt32(clamping: $0.int64(1)),
                    kinds: NotificationKinds(rawValue: $0.int64(2)))
            }
        }
    }

    /// Returns the state of a notifier; nil if it does not exist.
    package func notifier(_ id: Int64) throws -> NotifierRow? {
        try snapshot { try NotificationTable(connection: connection).row(id) }
    }
}

/// The tables of notifiers, their events and their messages.
struct NotificationTable {
    let connection: DatabaseConnection

    /// The number of settled messages that are kept per notifier.
    private static let keptMessages = 100
    /// The maximum number of changes that are kept for notifiers that have not examined them. Checked whenever a range
    /// is closed.
    static let maxAlerts = 100_000

    func row(named name: String) throws(SQLiteError) -> NotifierRow? {
        let id = try connection.first("SELECT id FROM notifiers WHERE name = ?1", name) { $0.int64(0) }
        guard let id else { return nil }
        return try row(id)
    }

    func row(_ id: Int64) throws(SQLiteError) -> NotifierRow? {
        let found = try connection.first(
            """
            SELECT name, cursor, received, delivered, given_up, silenced, messages, repeated, last_answer, last_success,
                (SELECT coalesce(sum(count), 0) FROM notices WHERE notifier = ?1),
                (SELECT max(settled_at) FROM messages WHERE notifier = ?1 AND state = 2)
            FROM notifiers WHERE id = ?1
            """, id
        ) {
            NotifierRow(
                id: id, name: $0.text(0), cursor: $0.id(1), received: $0.int64(2), delivered: $0.int64(3),
                givenUp: $0.int64(4), pending: $0.int64(10), silenced: $0.int64(5), messages: $0.int64(6),
                repeated: $0.int64(7), lastAnswer: $0.optionalText(8), lastSuccess: $0.optionalTime(9),
                lastGivenUp: $0.optionalTime(11), waiting: [])
        }
        guard var row = found else { return nil }
        row.waiting = try notices(of: id, message: 0)
        row.message = try connection.first(
            "SELECT id, at, attempts, maybe_sent FROM messages WHERE notifier = ?1 AND state = 0 ORDER BY id LIMIT 1",
            id
        ) {
            StoredMessage(
                id: $0.int64(0), at: $0.time(1), attempts: $0.int64(2), maybeSent: $0.int64(3) != 0, notices: [])
        }
        if let message = row.message { row.message?.notices = try notices(of: id, message: message.id) }
        return row
    }

    private func notices(of notifier: Int64, message: Int64) throws(SQLiteError) -> [Notice] {
        try connection.all(
            """
            SELECT id, kinds, record, uid, count, text, at FROM notices WHERE notifier = ?1 AND message = ?2 ORDER BY id
            """, notifier, message
        ) {
            Notice(
                id: $0.int64(0), kinds: NotificationKinds(rawValue: $0.int64(1)),
                record: $0.optionalInt64(2).map { RowID(rawValue: $0) },
                uid: $0.optionalInt64(3).map { UInt32(clamping: $0) }, count: $0.int64(4),
                text: $0.optionalText(5), at: $0.time(6))
        }
    }

    // MARK: Configuration

    /// Deactivates the notifiers with other names, and gives up their pending events. Returns those that had any.
    func deactivate(allBut names: [String]) throws(SQLiteError) -> [NotifierSetup.Removed] {
        let known = try connection.all("SELECT id, name, active FROM notifiers ORDER BY id") {
            (id: $0.int64(0), name: $0.text(1), isActive: $0.int64(2) != 0)
        }
        var removed: [NotifierSetup.Removed] = []
        for notifier in known where !names.contains(notifier.name) {
            let events = try dropPending(of: notifier.id)
            if events > 0 { removed.append(NotifierSetup.Removed(name: notifier.name, events: events)) }
            if notifier.isActive { try connection.run("UPDATE notifiers SET active = 0 WHERE id = ?1", notifier.id) }
        }
        return removed
    }

    func activate(_ name: String, cursor: RowID) throws(SQLiteError) {
        let isActive = try connection.first("SELECT active FROM notifiers WHERE name = ?1", name) { $0.int64(0) != 0 }
        // An unchanged row is not written, because startup must not need free disk space.
        guard isActive != true else { return }
        try connection.run(
            """
            INSERT INTO notifiers (name, cursor) VALUES (?1, ?2)
            ON CONFLICT (name) DO UPDATE SET active = 1, cursor = excluded.cursor
            """, name, cursor)
    }

    /// Removes the changes that all active notifiers have examined; all changes if none is active.
    func removeExaminedAlerts() throws(SQLiteError) {
        try connection.run(
            """
            DELETE FROM alerts WHERE record <= coalesce(
                (SELECT min(cursor) FROM notifiers WHERE active = 1), (SELECT max(record) FROM alerts))
            """)
    }

    /// Removes the oldest changes if there are more than `count`. Many changes accumulate only if a notifier can't run
    /// because of an error in its section.
    func limitAlerts(to count: Int = Self.maxAlerts) throws(SQLiteError) {
        try connection.run(
            "DELETE FROM alerts WHERE record <= (SELECT record FROM alerts ORDER BY record DESC LIMIT 1 OFFSET ?1)",
            count)
    }

    /// Gives up all pending events, removes all changes, and ends the counting of occurrences. Called for a copy of a
    /// store, because the original store sends the messages.
    func dropPending() throws(SQLiteError) {
        let notifiers = try connection.all("SELECT id FROM notifiers") { $0.int64(0) }
        for id in notifiers { _ = try dropPending(of: id) }
        try connection.run("DELETE FROM alerts")
    }

    /// Gives up the pending events of a notifier, and returns their number.
    private func dropPending(of id: Int64) throws(SQLiteError) -> Int64 {
        try EscalationTable(connection: connection).end(notifier: id)
        let isPending = try connection.exists(
            "SELECT 1 FROM notices WHERE notifier = ?1 UNION ALL SELECT 1 FROM messages WHERE notifier = ?1 AND state = 0",
            id)
        guard isPending else { return 0 }
        let events = try connection.integer("SELECT coalesce(sum(count), 0) FROM notices WHERE notifier = ?1", id)
        try connection.run("UPDATE notifiers SET given_up = given_up + ?2 WHERE id = ?1", id, events)
        try connection.run("DELETE FROM notices WHERE notifier = ?1", id)
        try connection.run("UPDATE messages SET state = 2 WHERE notifier = ?1 AND state = 0", id)
        return events
    }

    // MARK: Events

    func insert(_ notice: Notice, notifier: Int64) throws(SQLiteError) {
        if notice.isOnlyCounted {
            try connection.run(
                """
                UPDATE notices SET count = count + ?4 WHERE notifier = ?1 AND message = 0 AND uid IS ?2 AND kinds = ?3
                    AND record IS NULL AND text IS NULL
                """, notifier, notice.uid, notice.kinds.rawValue, notice.count)
            if connection.changes > 0 { return }
        }
        try connection.run(
            """
            INSERT INTO notices (notifier, kinds, record, uid, count, text, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
            """, notifier, notice.kinds.rawValue, notice.record, notice.uid, notice.count, notice.text, notice.at)
    }

    // MARK: Messages

    func settle(
        message: Int64, notifier id: Int64, as fate: MessageFate, isRepeated: Bool, answer: String,
        at now: IssueTimestamp
    ) throws(SQLiteError) {
        let state: Int64
        switch fate {
        case .retry(let maybeSent):
            try connection.run(
                "UPDATE messages SET maybe_sent = ?2 WHERE id = ?1 AND state = 0", message, maybeSent)
            return try setLastAnswer(answer, notifier: id)
        case .delivered: state = 1
        case .givenUp: state = 2
        }
        try connection.run(
            "UPDATE messages SET state = ?2, settled_at = ?3 WHERE id = ?1 AND state = 0", message, state, now)
        guard connection.changes > 0 else { return }
        let events = try connection.integer(
            "SELECT coalesce(sum(count), 0) FROM notices WHERE notifier = ?1 AND message = ?2", id, message)
        let isDelivered = fate == .delivered
        try connection.run(
            """
            UPDATE notifiers SET delivered = delivered + ?2, given_up = given_up + ?3, messages = messages + ?4,
                repeated = repeated + ?5, last_success = coalesce(?6, last_success)
            WHERE id = ?1
            """, id, isDelivered ? events : 0, isDelivered ? 0 : events, isDelivered ? Int64(1) : 0,
            isDelivered && isRepeated ? Int64(1) : 0, isDelivered ? now.millisecondsSince1970 : nil)
        try setLastAnswer(answer, notifier: id)
        try connection.run("DELETE FROM notices WHERE notifier = ?1 AND message = ?2", id, message)
        try connection.run(
            """
            DELETE FROM messages WHERE notifier = ?1 AND state <> 0 AND id <= (
                SELECT id FROM messages WHERE notifier = ?1 AND state <> 0 ORDER BY id DESC LIMIT 1 OFFSET ?2)
            """, id, Self.keptMessages)
    }

    private func setLastAnswer(_ answer: String, notifier id: Int64) throws(SQLiteError) {
        try connection.run("UPDATE notifiers SET last_answer = ?2 WHERE id = ?1", id, answer)
    }
}
