package import IssueCore
package import IssueProtocol
import SQLiteKit

extension StoreWriter {
    /// A destination as it is configured.
    package struct ConfiguredDestination: Equatable, Sendable {
        package var name: String
        package var kind: String
        /// Whether it gets what was stored before it was configured, too.
        package var takesBacklog: Bool

        package init(name: String, kind: String, takesBacklog: Bool) {
            self.name = name
            self.kind = kind
            self.takesBacklog = takesBacklog
        }
    }

    /// Makes the configured destinations known, in their order; from now on what comes in is theirs.
    package func configure(
        _ configured: [ConfiguredDestination], at now: Timestamp
    ) throws(StoreFailure) -> [DestinationRow] {
        // To count a backlog all of it may be read, of which nothing is needed again.
        try? connection.setPragma("cache_size", to: -1024)
        defer { try? Schema.setCache(connection) }
        let rows = try transaction { () throws -> [DestinationRow] in
            try rest(allBut: configured.map(\.name))
            var rows: [DestinationRow] = []
            for destination in configured {
                if try !resume(destination) { try add(destination, at: now) }
                if let row = try row(of: destination.name) { rows.append(row) }
            }
            return rows
        }
        destinations = rows.map(\.id)
        priorityDestinations = !rows.isEmpty
        return rows
    }

    /// Those that were configured last, and have not been told that they are so no more.
    static func activeDestinations(_ connection: Connection) throws -> [Int64] {
        try connection.withStatement("SELECT id FROM destinations WHERE active = 1 ORDER BY id") {
            try $0.all { $0.int64(0) }
        }
    }

    private func rest(allBut names: [String]) throws {
        var writer = JSONWriter()
        writer.array { for name in names { $0.string(name) } }
        try connection.withStatement(
            """
            UPDATE destinations SET active = 0, given_id = ?1
            WHERE active = 1 AND name NOT IN (SELECT value FROM json_each(?2))
            """
        ) { statement in
            statement.bind(open.lastID, at: 1)
            statement.bind(writer.text, at: 2)
            try statement.run()
        }
    }

    /// Takes a known destination up again; what came in while it was not configured waits for it, too.
    private func resume(_ destination: ConfiguredDestination) throws -> Bool {
        let known = try connection.withStatement("SELECT id, active, given_id FROM destinations WHERE name = ?1") {
            statement in
            statement.bind(destination.name, at: 1)
            return try statement.first { (id: $0.int64(0), isActive: $0.int64(1) != 0, given: $0.int64(2)) }
        }
        guard let known else { return false }
        if !known.isActive { try give(known.id, recordsAbove: known.given) }
        // What is so already is not written again: a start must need no room on the disk.
        try connection.withStatement(
            "UPDATE destinations SET active = 1, kind = ?2 WHERE id = ?1 AND (active <> 1 OR kind <> ?2)"
        ) { statement in
            statement.bind(known.id, at: 1)
            statement.bind(destination.kind, at: 2)
            try statement.run()
        }
        return true
    }

    private func add(_ destination: ConfiguredDestination, at now: Timestamp) throws {
        let first = destination.takesBacklog ? 1 : open.nextID
        try connection.withStatement(
            "INSERT INTO destinations (name, kind, since, first_id, cursor) VALUES (?1, ?2, ?3, ?4, ?5)"
        ) { statement in
            statement.bind(destination.name, at: 1)
            statement.bind(destination.kind, at: 2)
            statement.bind(now.milliseconds, at: 3)
            statement.bind(first, at: 4)
            statement.bind(first - 1, at: 5)
            try statement.run()
        }
        if destination.takesBacklog { try give(connection.lastInsertedRowID, recordsAbove: 0) }
    }

    /// Counts records that are there already as received by a destination, and as pending.
    ///
    /// They are added up here: to group them, SQLite would sort all of them in memory.
    private func give(_ destination: Int64, recordsAbove row: Int64) throws {
        var numbers = IDInterner()
        var sums: [LedgerChanges.Sum] = []
        var start = row
        if row == 0, try areTotalsOfWhatIsThere() {
            start = open.firstID - 1
            try connection.withStatement("SELECT series, records, occurrences FROM totals") { statement in
                try statement.forEach { row in
                    _ = numbers.number(of: row.int64(0))
                    sums.append(LedgerChanges.Sum(records: row.int64(1), occurrences: row.int64(2)))
                }
            }
        }
        try connection.withStatement("SELECT series, count FROM records WHERE id > ?1") { statement in
            statement.bind(start, at: 1)
            try statement.forEach { row in
                let number = numbers.number(of: row.int64(0))
                if number == sums.count { sums.append(LedgerChanges.Sum(records: 0, occurrences: 0)) }
                sums[number].records += 1
                sums[number].occurrences = sums[number].occurrences.clampedSum(row.int64(1))
            }
        }
        for (series, sum) in zip(numbers.ids, sums) {
            for fate in [LedgerChanges.received, Int64(Fate.pending.rawValue)] {
                try connection.withStatement(
                    """
                    INSERT INTO ledger (destination, account, fate, records, occurrences)
                    SELECT ?1, account, ?2, ?3, ?4 FROM series WHERE id = ?5
                    ON CONFLICT DO UPDATE SET records = records + excluded.records,
                                              occurrences = occurrences + excluded.occurrences
                    """
                ) { statement in
                    statement.bind(destination, at: 1)
                    statement.bind(fate, at: 2)
                    statement.bind(sum.records, at: 3)
                    statement.bind(sum.occurrences, at: 4)
                    statement.bind(series, at: 5)
                    try statement.run()
                }
            }
        }
    }

    /// Whether the closed ranges hold all that ever was in them: retention leaves the totals as they are.
    private func areTotalsOfWhatIsThere() throws -> Bool {
        try connection.withStatement(
            """
            SELECT (SELECT coalesce(sum(records), 0) FROM totals) = (SELECT coalesce(sum(records), 0) FROM ranges)
            """
        ) { try $0.first { $0.int64(0) != 0 } ?? false }
    }

    private func row(of name: String) throws -> DestinationRow? {
        try connection.withStatement("SELECT id, cursor, express_id, state FROM destinations WHERE name = ?1") {
            statement in
            statement.bind(name, at: 1)
            return try statement.first {
                DestinationRow(
                    id: $0.int64(0), name: name, cursor: $0.int64(1), priority: $0.int64(2),
                    state: DestinationRow.State(json: $0.text(3)))
            }
        }
    }
}

/// What is stored of a destination beside its batches.
package struct DestinationRow: Equatable, Sendable {
    /// What has to be known again after a restart.
    package struct State: Equatable, Sendable {
        package var progress = RetryProgress()
        /// How often it was tried to send the batch that is under way, or parts of it.
        package var batchAttempts: Int64 = 0
        package var lastAnswer: String?
        package var lastSuccess: Timestamp?
        package var requests: Int64 = 0
        package var resent: Int64 = 0
        package var maybeDuplicate: Int64 = 0
        /// The UTC day that the bytes were counted on, in days since 1970.
        package var day: Int64 = 0
        package var dayBytes: Int64 = 0
        /// Those of them that were sent for each user, and for all users.
        package var dayUsers: [UInt32: Int64] = [:]
        package var dayCharged: Int64 = 0
        /// Which lines may have arrived without an answer that says so, of each batch without an end for which that is
        /// known; of others it may be all.
        package var unacknowledged: [Int64: LineSet] = [:]
        /// What was told last of the destination; nothing where it is well.
        package var told: String?
        /// How the sending was paced, and when that was.
        package var pace: SendPacer.Saved?
        package var pacedAt: Timestamp?

        package init() {}
    }

    package var id: Int64
    package var name: String
    package var cursor: Int64
    /// Up to which record those that are express have been looked at.
    package var priority: Int64
    package var state: State
}

extension DestinationRow.State {
    init(json: String) {
        self.init()
        guard let value = try? JSONValue(json: json) else { return }
        progress.attempts = Int(value["attempts"]?.asInteger ?? 0)
        progress.spent = .milliseconds(value["spent"]?.asInteger ?? 0)
        batchAttempts = value["batch_attempts"]?.asInteger ?? 0
        lastAnswer = value["last_answer"]?.asString
        lastSuccess = value["last_success"]?.asInteger.map { Timestamp(milliseconds: $0) }
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
        told = value["told"]?.asString
        for entry in value["doubts"]?.asArray ?? [] {
            let numbers = entry.asArray?.compactMap(\.asInteger).map { Int(clamping: $0) } ?? []
            guard let batch = numbers.first else { continue }
            let ranges = stride(from: 1, to: numbers.count - 1, by: 2).map {
                numbers[$0]..<max(numbers[$0], numbers[$0 + 1])
            }
            unacknowledged[Int64(batch)] = LineSet(ranges)
        }
        guard let factor = value["pace_factor"]?.asDouble, let level = value["pace_level"]?.asDouble,
            let at = value["paced_at"]?.asInteger
        else { return }
        pace = SendPacer.Saved(factor: factor, level: level, backlog: value["pace_backlog"]?.asDouble ?? level)
        pacedAt = Timestamp(milliseconds: at)
    }

    var json: String {
        var writer = JSONWriter()
        writer.object { object in
            object.member("attempts", Int64(progress.attempts))
            object.member("spent", progress.spent.wholeMilliseconds)
            object.member("batch_attempts", batchAttempts)
            object.member("last_answer", ifPresent: lastAnswer)
            object.member("last_success", ifPresent: lastSuccess?.milliseconds)
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
            object.member("told", ifPresent: told)
            if !unacknowledged.isEmpty {
                object.key("doubts")
                object.array { list in
                    for (batch, lines) in unacknowledged.sorted(by: { $0.key < $1.key }) {
                        list.array { list in
                            list.integer(batch)
                            for range in lines.ranges {
                                list.integer(Int64(range.lowerBound))
                                list.integer(Int64(range.upperBound))
                            }
                        }
                    }
                }
            }
            if let pace, let pacedAt {
                object.key("pace_factor")
                object.raw("\(pace.factor)")
                object.key("pace_level")
                object.raw("\(pace.level)")
                object.key("pace_backlog")
                object.raw("\(pace.backlog)")
                object.member("paced_at", pacedAt.milliseconds)
            }
        }
        return writer.text
    }
}
