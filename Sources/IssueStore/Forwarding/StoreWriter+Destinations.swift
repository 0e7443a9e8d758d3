package import IssueCore
package import IssueProtocol
import SQLiteKit

extension StoreWriter {
    /// A destination as configured.
    package struct ConfiguredDestination: Equatable, Sendable {
        package var name: String
        package var kind: String
        /// Whether the destination also receives records that were stored before it was first configured.
        package var takesBacklog: Bool

        package init(name: String, kind: String, takesBacklog: Bool) {
            self.name = name
            self.kind = kind
            self.takesBacklog = takesBacklog
        }
    }

    /// Registers the configured destinations. All records committed from now on are queued for them, and for no others.
    ///
    /// - Returns: The rows of the destinations, in the order of `configured`.
    package func configure(
        _ configured: [ConfiguredDestination], at now: IssueTimestamp
    ) throws(StoreFailure) -> [DestinationRow] {
        // The pages that are read to count a backlog are not needed again, so the cache is kept small meanwhile.
        try? connection.setPragma("cache_size", to: -1024)
        defer { try? Schema.setCache(connection) }
        return try transaction { () throws(SQLiteError) in try outbox.configure(configured, at: now, &memory) }
    }

    /// Returns the names of the active destinations that `configure` would deactivate.
    package func destinationsRemoved(by configured: [ConfiguredDestination]) throws(StoreFailure) -> [String] {
        let active = try Self.convertingErrors { () throws(SQLiteError) in
            try connection.all("SELECT name FROM destinations WHERE active = 1 ORDER BY id") { $0.text(0) }
        }
        return active.filter { name in !configured.contains { $0.name == name } }
    }

    /// Returns the ids of the configured destinations.
    static func activeDestinations(_ connection: DatabaseConnection) throws(SQLiteError) -> [Int64] {
        try connection.all("SELECT id FROM destinations WHERE active = 1 ORDER BY id") { $0.int64(0) }
    }
}

extension ForwardingOutbox {
    typealias ConfiguredDestination = StoreWriter.ConfiguredDestination

    func configure(
        _ configured: [ConfiguredDestination], at now: IssueTimestamp, _ memory: inout WriterMemory
    ) throws(SQLiteError) -> [DestinationRow] {
        try deactivate(allBut: configured.map(\.name), lastID: memory.open.lastID)
        var rows: [DestinationRow] = []
        for destination in configured {
            if try !resume(destination, memory.open) { try add(destination, at: now, memory.open) }
            if let row = try row(of: destination.name) { rows.append(row) }
        }
        try expireLost(memory.open)
        memory.values.destinations = rows.map(\.id)
        return rows
    }

    /// Deactivates the other destinations, and forgets their outages. Otherwise, a destination that is configured again
    /// later would be reported as delayed or recovered after all that time.
    private func deactivate(allBut names: [String], lastID: RowID) throws(SQLiteError) {
        try connection.run(
            """
            UPDATE destinations SET active = 0, given_id = ?1,
                state = iif(json_valid(state), json_remove(state, '$.outage_since', '$.failing_since'), state)
            WHERE active = 1 AND name NOT IN (SELECT value FROM json_each(?2))
            """, lastID, StoreWriter.list(names))
    }

    /// Reactivates a known destination, which also receives the records that were stored while it was not configured.
    /// Returns `false` if the destination is unknown.
    private func resume(_ destination: ConfiguredDestination, _ open: OpenRange) throws(SQLiteError) -> Bool {
        let known = try connection.first(
            "SELECT id, active, given_id FROM destinations WHERE name = ?1", destination.name
        ) {
            (id: $0.int64(0), isActive: $0.int64(1) != 0, given: $0.id(2, as: RowID.self))
        }
        guard let known else { return false }
        if !known.isActive { try addPending(known.id, recordsAbove: known.given, open) }
        // An unchanged row is not written, because startup must not need free disk space.
        try connection.run(
            "UPDATE destinations SET active = 1, kind = ?2 WHERE id = ?1 AND (active <> 1 OR kind <> ?2)", known.id,
            destination.kind)
        return true
    }

    private func add(_ destination: ConfiguredDestination, at now: IssueTimestamp, _ open: OpenRange)
        throws(SQLiteError)
    {
        let first: RowID = destination.takesBacklog ? 1 : open.nextID
        try connection.run(
            """
            INSERT INTO destinations (name, kind, since, first_id, cursor, corrections_id)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)
            """, destination.name, destination.kind, now, first, first - 1, try newestCorrectionEvent())
        if destination.takesBacklog { try addPending(connection.lastInsertedRowID, recordsAbove: 0, open) }
    }

    /// Adds existing records to the received and pending counts of a destination in the ledger.
    ///
    /// The sums are computed in Swift, because SQLite would sort all records to group them. Records in damaged blocks
    /// count too if their accounts are known, since they expire when the destination's cursor passes them.
    private func addPending(_ destination: Int64, recordsAbove row: RowID, _ open: OpenRange) throws(SQLiteError) {
        var numbers = IDInterner<SeriesID>()
        var sums: [LedgerChanges.Sum] = []
        var start = row
        if row == 0, try areTotalsComplete() {
            start = open.firstID - 1
            try connection.forEach("SELECT series, records, occurrences FROM totals") { row in
                _ = numbers.number(of: row.id(0))
                sums.append(LedgerChanges.Sum(records: row.int64(1), occurrences: row.int64(2)))
            }
        }
        try connection.forEach("SELECT series, count FROM records WHERE id > ?1", start) { row in
            let number = numbers.number(of: row.id(0))
            if number == sums.count { sums.append(LedgerChanges.Sum(records: 0, occurrences: 0)) }
            sums[number].records += 1
            sums[number].occurrences = sums[number].occurrences.clampedSum(row.int64(1))
        }
        var ledger = LedgerChanges()
        // The statement above has found the damaged blocks.
        for (_, account) in try accounts(ofUnreadable: blocks.unreadable(in: start + 1...RowID.max), open) {
            ledger.queued(LedgerChanges.Sum(records: 1, occurrences: 1), account: account, destination: destination)
        }
        for (series, sum) in zip(numbers.ids, sums) {
            let account = try connection.first("SELECT account FROM series WHERE id = ?1", series) {
                $0.id(0, as: AccountID.self)
            }
            if let account { ledger.queued(sum, account: account, destination: destination) }
        }
        try ledger.write(on: connection)
    }

    /// Returns `true` if the totals count exactly the records that are left in closed ranges. When retention removes
    /// records, it does not update the totals.
    private func areTotalsComplete() throws(SQLiteError) -> Bool {
        try connection.first(
            """
            SELECT (SELECT coalesce(sum(records), 0) FROM totals) = (SELECT coalesce(sum(records), 0) FROM ranges)
            """
        ) { $0.int64(0) != 0 } ?? false
    }

    private func row(of name: String) throws(SQLiteError) -> DestinationRow? {
        try connection.first("SELECT id, name, cursor, express_id, state FROM destinations WHERE name = ?1", name) {
            DestinationRow($0)
        }
    }
}

/// The stored state of a destination, apart from its batches.
package struct DestinationRow: Equatable, Sendable {
    /// The part that is stored as JSON.
    package struct State: Equatable, Sendable {
        package var progress = RetryProgress()
        /// The number of attempts to send the current batch or parts of it.
        package var batchAttempts: Int64 = 0
        package var lastAnswer: String?
        package var lastSuccess: IssueTimestamp?
        /// When a record, summary or correction last became a dead letter; nil if none did.
        package var lastDeadLetter: IssueTimestamp?
        /// The number of requests sent.
        package var requests: Int64 = 0
        /// The number of lines that were sent again; a line counts each time.
        package var resent: Int64 = 0
        /// The number of lines that the destination may have received twice.
        package var maybeDuplicate: Int64 = 0
        /// The UTC day that `dayBytes` refers to, in days since 1970.
        package var day: Int64 = 0
        /// Bytes sent on that day.
        package var dayBytes: Int64 = 0
        /// The part of `dayBytes` that is charged to each user. Users with small parts may be missing.
        package var dayUsers: [UInt32: Int64] = [:]
        /// The part of `dayBytes` that is charged to all users together, including those missing in `dayUsers`.
        package var dayCharged: Int64 = 0
        /// For each unfinished batch, the lines that may have been delivered although no response confirmed this. If a
        /// batch is missing, any of its lines may have been delivered.
        package var unacknowledged: [BatchID: LineSet] = [:]
        /// The last logged condition of the destination (`OutageLog.stored`); nil if that is `accepting`.
        package var lastLoggedState: String?
        /// The time of the first failure since the destination last accepted or rejected records; nil if the last
        /// request did not fail.
        package var failingSince: IssueTimestamp?
        /// The state of the send pacer, and when it was saved.
        package var pace: SendPacer.Saved?
        package var pacedAt: IssueTimestamp?
        /// The end of the wait that the destination has requested, or nil if there is none.
        package var retryAt: IssueTimestamp?
        /// What was reported to notifiers.
        package var watch = DestinationWatch()

        package init() {}
    }

    package var id: Int64
    package var name: String
    /// The last row that the scan has passed.
    package var cursor: RowID
    /// The row up to which priority records have been examined.
    package var priority: RowID
    package var state: State
}

extension DestinationRow {
    /// Reads the columns `id`, `name`, `cursor`, `express_id` and `state`.
    init(_ row: borrowing Row) {
        id = row.int64(0)
        name = row.text(1)
        cursor = row.id(2)
        priority = row.id(3)
        state = State(json: row.text(4))
    }
}

extension DestinationRow.State {
    init(json: String) {
        self.init()
        guard let value = try? JSONValue(json: json) else { return }
        progress.attempts = Int(value["attempts"]?.asInteger ?? 0)
        progress.spent = .milliseconds(value["spent"]?.asInteger ?? 0)
        batchAttempts = value["batch_attempts"]?.asInteger ?? 0
        lastAnswer = value["last_answer"]?.asString
        lastSuccess = value["last_success"]?.asInteger.map { IssueTimestamp(millisecondsSince1970: $0) }
        lastDeadLetter = value["last_dead_letter"]?.asInteger.map { IssueTimestamp(millisecondsSince1970: $0) }
        requests = value["requests"]?.asInteger ?? 0
        resent = value["resent"]?.asInteger ?? 0
        maybeDuplicate = value["maybe_duplicate"]?.asInteger ?? 0
        day = value["day"]?.asInteger ?? 0
        dayBytes = value["day_bytes"]?.asInteger ?? 0
        dayCharged = value["day_charged"]?.asInteger ?? 0
        for entry in value["day_users"]?.asArray ?? [] {
            guard let pair = entry.asArray?.compactMap(\.asInteger), pair.count == 2,
                let user = UInt32(exactly: pair[0])
            else { continue }
            dayUsers[user] = pair[1]
        }
        lastLoggedState = value["told"]?.asString
        failingSince = value["failing_since"]?.asInteger.map { IssueTimestamp(millisecondsSince1970: $0) }
        retryAt = value["retry_at"]?.asInteger.map { IssueTimestamp(millisecondsSince1970: $0) }
        watch.outageSince = value["outage_since"]?.asInteger.map { IssueTimestamp(millisecondsSince1970: $0) }
        watch.unreportedDeadLetters = value["dead_letters"]?.asInteger ?? 0
        watch.deadLettersReportedAt = value["dead_letters_reported_at"]?.asInteger.map {
            IssueTimestamp(millisecondsSince1970: $0)
        }
        for entry in value["doubts"]?.asArray ?? [] {
            let numbers = entry.asArray?.compactMap(\.asInteger).map { Int(clamping: $0) } ?? []
            guard let batch = numbers.first else { continue }
            let ranges = stride(from: 1, to: numbers.count - 1, by: 2).map {
                numbers[$0]..<max(numbers[$0], numbers[$0 + 1])
            }
            unacknowledged[BatchID(batch)] = LineSet(ranges)
        }
        guard let factor = value["pace_factor"]?.asDouble, let level = value["pace_level"]?.asDouble,
            let at = value["paced_at"]?.asInteger
        else { return }
        pace = SendPacer.Saved(factor: factor, level: level, backlog: value["pace_backlog"]?.asDouble ?? level)
        pacedAt = IssueTimestamp(millisecondsSince1970: at)
    }

    var json: String {
        var writer = JSONWriter()
        writer.object { object in
            object.member("attempts", Int64(progress.attempts))
            object.member("spent", progress.spent.wholeMilliseconds)
            object.member("batch_attempts", batchAttempts)
            object.member("last_answer", ifPresent: lastAnswer)
            object.member("last_success", ifPresent: lastSuccess?.millisecondsSince1970)
            object.member("last_dead_letter", ifPresent: lastDeadLetter?.millisecondsSince1970)
            object.member("requests", requests)
            object.member("resent", resent)
            object.member("maybe_duplicate", maybeDuplicate)
            object.member("day", day)
            object.member("day_bytes", dayBytes)
            if !dayUsers.isEmpty {
                object.member("day_charged", dayCharged)
                object.key("day_users")
                object.array { list in
                    for (user, bytes) in dayUsers.sorted(by: { $0.key < $1.key }) {
                        list.array { list in
                            list.integer(Int64(user))
                            list.integer(bytes)
                        }
                    }
                }
            }
            object.member("told", ifPresent: lastLoggedState)
            object.member("failing_since", ifPresent: failingSince?.millisecondsSince1970)
            object.member("retry_at", ifPresent: retryAt?.millisecondsSince1970)
            object.member("outage_since", ifPresent: watch.outageSince?.millisecondsSince1970)
            let deadLetters = watch.unreportedDeadLetters
            object.member("dead_letters", ifPresent: deadLetters > 0 ? deadLetters : nil)
            object.member("dead_letters_reported_at", ifPresent: watch.deadLettersReportedAt?.millisecondsSince1970)
            if !unacknowledged.isEmpty {
                object.key("doubts")
                object.array { list in
                    for (batch, lines) in unacknowledged.sorted(by: { $0.key < $1.key }) {
                        list.array { list in
                            list.integer(batch.rawValue)
                            for range in lines.ranges {
                                list.integer(Int64(range.lowerBound))
                                list.integer(Int64(range.upperBound))
                            }
                        }
                    }
                }
            }
            if let pace, let pacedAt {
                object.member("pace_factor", ifPresent: pace.factor)
                object.member("pace_level", ifPresent: pace.level)
                object.member("pace_backlog", ifPresent: pace.backlog)
                object.member("paced_at", pacedAt.millisecondsSince1970)
            }
        }
        return writer.text
    }
}
