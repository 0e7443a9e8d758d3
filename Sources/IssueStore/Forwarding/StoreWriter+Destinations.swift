import IssueCore
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
        expressDestinations = !rows.isEmpty
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
        var numbers = DenseNumbers()
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
                    id: $0.int64(0), name: name, cursor: $0.int64(1), express: $0.int64(2),
                    state: DestinationRow.State(json: $0.text(3)))
            }
        }
    }
}
