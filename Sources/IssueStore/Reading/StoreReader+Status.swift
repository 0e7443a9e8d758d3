import IssueCore
package import IssueProtocol
import SQLiteKit

extension StoreReader {
    /// What a viewer may know of the store, of what came in, and of each destination's sums.
    package struct Figures: Sendable {
        package var store: StoreStatus
        package var received: Int64
        package var ledgers: [DestinationFigures]
        package var suppressions: [Suppression]

        package init(
            store: StoreStatus, received: Int64, ledgers: [DestinationFigures], suppressions: [Suppression]
        ) {
            self.store = store
            self.received = received
            self.ledgers = ledgers
            self.suppressions = suppressions
        }
    }

    /// A destination's sums, and the oldest record that has no fate yet.
    package struct DestinationFigures: Sendable {
        package var name: String
        package var kind: String
        package var ledger: Ledger
        package var oldestPending: Timestamp?
    }

    package func figures(viewer: Viewer) throws -> Figures {
        try snapshot {
            Figures(
                store: try storeStatus(viewer), received: try received(viewer), ledgers: try ledgers(viewer),
                suppressions: try suppressions(viewer))
        }
    }

    private func storeStatus(_ viewer: Viewer) throws -> StoreStatus {
        let newest = try newestRow()
        let code = try recordID(row: newest).text.prefix(12)
        guard viewer == .everything else {
            return StoreStatus(
                id: String(code), records: try received(viewer), groups: try groupCount(viewer), bytes: nil,
                oldest: nil, freeBytes: nil, faults: [])
        }
        let pages = try connection.pragma("page_count")
        let pageSize = try connection.pragma("page_size")
        let oldest = try connection.withStatement("SELECT received_at FROM records ORDER BY id LIMIT 1") {
            try $0.first { Timestamp(milliseconds: $0.int64(0)) }
        }
        let records = try recordCount()
        return StoreStatus(
            id: String(code), records: records, groups: try groupCount(viewer), bytes: pages * pageSize,
            oldest: oldest, freeBytes: nil, faults: try ledgerFaults())
    }

    /// How many records are there: of closed ranges that is noted, those of the open one are counted once a commit.
    private func recordCount() throws -> Int64 {
        let version = try connection.pragma("data_version")
        if let counted, counted.version == version { return counted.records }
        let records = try connection.withStatement(
            """
            SELECT (SELECT coalesce(sum(records), 0) FROM ranges)
                 + (SELECT count(*) FROM records WHERE id > (SELECT coalesce(max(last_id), 0) FROM ranges))
            """
        ) { try $0.first { $0.int64(0) } ?? 0 }
        counted = (version, records)
        return records
    }

    /// A sentence for each ledger in which not every record has exactly one fate: our own mistake, and to be seen as one.
    private func ledgerFaults() throws -> [String] {
        try connection.withStatement(
            """
            SELECT destinations.name, accounts.app, accounts.uid, received, fated
            FROM ledger_check
            JOIN destinations ON destinations.id = ledger_check.destination
            JOIN accounts ON accounts.id = ledger_check.account
            ORDER BY destinations.id, accounts.id LIMIT 10
            """
        ) { statement in
            try statement.all { row in
                "the ledger of \(row.text(0)) does not balance: of \(row.int64(3)) records of \(row.text(1)) (user "
                    + "\(row.int64(2))), \(row.int64(4)) have a fate; please report this as a bug of issued"
            }
        }
    }

    private func groupCount(_ viewer: Viewer) throws -> Int64 {
        try connection.withStatement(
            """
            SELECT count(*) FROM groups JOIN accounts ON accounts.id = groups.account
            WHERE ?1 IS NULL OR accounts.uid = ?1
            """
        ) { statement in
            statement.bind(viewer.uid, at: 1)
            return try statement.first { $0.int64(0) } ?? 0
        }
    }

    private func received(_ viewer: Viewer) throws -> Int64 {
        try connection.withStatement(
            """
            SELECT coalesce(sum(ledger.records), 0) FROM ledger JOIN accounts ON accounts.id = ledger.account
            WHERE ledger.destination = 0 AND ledger.fate = 7 AND (?1 IS NULL OR accounts.uid = ?1)
            """
        ) { statement in
            statement.bind(viewer.uid, at: 1)
            return try statement.first { $0.int64(0) } ?? 0
        }
    }

    private func ledgers(_ viewer: Viewer) throws -> [DestinationFigures] {
        let destinations = try connection.withStatement("SELECT id, name, kind, cursor FROM destinations ORDER BY id") {
            try $0.all { (id: $0.int64(0), name: $0.text(1), kind: $0.text(2), cursor: $0.int64(3)) }
        }
        var figures: [DestinationFigures] = []
        for destination in destinations {
            let ledger = try ledger(of: destination.id, viewer)
            var oldest: Timestamp?
            if ledger.pending > 0, viewer == .everything {
                oldest = try oldestPending(destination.id, cursor: destination.cursor)
            }
            figures.append(
                DestinationFigures(
                    name: destination.name, kind: destination.kind, ledger: ledger, oldestPending: oldest))
        }
        return figures
    }

    private func ledger(of destination: Int64, _ viewer: Viewer) throws -> Ledger {
        var ledger = Ledger()
        try connection.withStatement(
            """
            SELECT fate, sum(ledger.records) FROM ledger JOIN accounts ON accounts.id = ledger.account
            WHERE destination = ?1 AND (?2 IS NULL OR accounts.uid = ?2) GROUP BY fate
            """
        ) { statement in
            statement.bind(destination, at: 1)
            statement.bind(viewer.uid, at: 2)
            try statement.forEach { row in
                if row.int64(0) == LedgerChanges.received {
                    ledger.received = row.int64(1)
                } else if let fate = Fate(rawValue: UInt8(clamping: row.int64(0))) {
                    ledger[fate] = row.int64(1)
                }
            }
        }
        return ledger
    }

    private func oldestPending(_ destination: Int64, cursor: Int64) throws -> Timestamp? {
        try connection.withStatement(
            """
            SELECT received_at FROM records WHERE id >= min(
                    coalesce((SELECT min(first_id) FROM batches WHERE destination = ?1 AND state = 0), ?2 + 1),
                    coalesce((SELECT min(record) FROM singles WHERE destination = ?1 AND batch = 0), ?2 + 1),
                    ?2 + 1)
                AND NOT EXISTS (
                    SELECT 1 FROM singles JOIN batches ON batches.id = singles.batch
                    WHERE singles.destination = ?1 AND singles.record = records.id AND batches.state <> 0
                )
            ORDER BY id LIMIT 1
            """
        ) { statement in
            statement.bind(destination, at: 1)
            statement.bind(cursor, at: 2)
            return try statement.first { Timestamp(milliseconds: $0.int64(0)) }
        }
    }

    /// What is being held back now: the windows of each limiter that have not been told yet.
    private func suppressions(_ viewer: Viewer) throws -> [Suppression] {
        let offset = try connection.withStatement("SELECT offset FROM clock ORDER BY first_id DESC LIMIT 1") {
            try $0.first { $0.int64(0) } ?? 0
        }
        return try connection.withStatement(
            """
            SELECT destinations.name, accounts.app, groups.key, limits.key, limits.value
            FROM limits
            JOIN destinations ON destinations.id = limits.destination
            JOIN groups ON groups.id = limits.key >> 3
            JOIN accounts ON accounts.id = groups.account
            WHERE limits.kind = 2 AND destinations.active = 1 AND (?1 IS NULL OR accounts.uid = ?1)
            """
        ) { statement in
            statement.bind(viewer.uid, at: 1)
            return try statement.all { row -> Suppression? in
                guard let value = try? JSONValue(json: row.text(4)),
                    let window = LimitRows.window(row.int64(3), value), window.suppressedCount > 0
                else { return nil }
                return Suppression(
                    destination: row.text(0), app: row.text(1), group: GroupID.text(key: row.int64(2)),
                    reason: window.key.reason, count: window.suppressedCount,
                    since: Timestamp(milliseconds: window.start.milliseconds - offset))
            }
        }.compactMap { $0 }
    }
}
