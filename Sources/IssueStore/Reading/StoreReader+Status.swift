import IssueCore
package import IssueProtocol
package import SQLiteKit

extension StoreReader {
    /// The version of the SQLite library, such as `3.40.1`.
    package static var sqliteVersion: String { DatabaseConnection.libraryVersion }

    /// The status of the store and the ledgers of all destinations, as far as a viewer may see them.
    package struct Figures: Sendable {
        package var store: StoreStatus
        /// The number of received records.
        package var received: Int64
        package var ledgers: [DestinationFigures]
        /// Current suppressions, the largest first.
        package var suppressions: [Suppression] = []
        /// The number of suppressions that are not listed.
        package var otherSuppressions = 0
        /// The number of records in damaged blocks; 0 if the viewer must not see it.
        package var damagedRecords: Int64 = 0
    }

    /// The ledger of a destination, the number of pending corrections, and the time of the oldest pending entry.
    package struct DestinationFigures: Sendable {
        package var name: String
        package var kind: String
        package var ledger: Ledger
        /// The number of corrections whose lines are pending.
        package var corrections: Int64 = 0
        /// The time of the oldest pending record or correction; nil if there is none, or if the viewer must not see it.
        package var oldestPending: IssueTimestamp?
        /// The time at which pending records last expired; nil if none did, or if the viewer must not see it.
        package var lastExpired: IssueTimestamp?
    }

    /// Returns the figures that a viewer may see.
    package func figures(viewer: Viewer) throws -> Figures {
        try figures().visible(to: viewer)
    }

    /// Returns the figures of all users. They are cached until the next commit.
    package func figures() throws -> StoreFigures {
        try snapshot {
            let version = try connection.pragma("data_version")
            if let last = lastFigures, last.version == version { return last.figures }
            let figures = try readFigures()
            lastFigures = (version, figures)
            return figures
        }
    }

    private func readFigures() throws -> StoreFigures {
        var figures = StoreFigures()
        figures.code = try recordID(row: try newestRow()).storeText
        figures.bytes = try connection.pragma("page_count") * connection.pragma("page_size")
        figures.oldest = try connection.first("SELECT received_at FROM records ORDER BY id LIMIT 1") {
            $0.time(0)
        }
        figures.records = try Self.recordCount(on: connection)
        figures.faults = try ledgerFaults()
        figures.groups = try groupCounts()
        var ledgers: [Int64: [Int64: Ledger]] = [:]
        try readLedgers(&ledgers, received: &figures.received)
        let destinations = try connection.all(
            """
            SELECT id, name, kind, cursor, json_extract(iif(json_valid(state), state, '{}'), '$.last_expired')
            FROM destinations ORDER BY id
            """
        ) {
            (
                id: $0.int64(0), name: $0.text(1), kind: $0.text(2), cursor: $0.id(3, as: RowID.self),
                lastExpired: $0.optionalTime(4)
            )
        }
        let corrections = try pendingCorrections()
        for destination in destinations {
            let own = ledgers[destination.id] ?? [:]
            let isPending = own.values.contains { $0.pending > 0 }
            let record = isPending ? try oldestPending(destination.id, cursor: destination.cursor) : nil
            let waiting = corrections[destination.id] ?? [:]
            figures.destinations.append(
                StoreFigures.Destination(
                    name: destination.name, kind: destination.kind, ledgers: own,
                    corrections: waiting.mapValues(\.count),
                    oldestPending: [record, waiting.values.map(\.oldest).min()].compactMap(\.self).min(),
                    lastExpired: destination.lastExpired))
        }
        figures.suppressions = try suppressions()
        figures.damagedRecords = try damagedRecords()
        return figures
    }

    /// Returns the number of records. Closed ranges and blocks store their numbers of records, so no block is decoded.
    package static func recordCount(on connection: DatabaseConnection) throws(SQLiteError) -> Int64 {
        try connection.integer(
            """
            SELECT coalesce(sum(records), 0)
                 + (SELECT coalesce(sum(min(max(records, 0), ?1)), 0) FROM blocks
                    WHERE first_id > (SELECT coalesce(max(last_id), 0) FROM ranges))
            FROM ranges
            """, BlockFormat.maxRecords)
    }

    /// Returns at most ten messages about ledgers that do not balance: the sum over all fates is not the number of
    /// received records or occurrences, or a count is negative.
    private func ledgerFaults() throws -> [String] {
        try connection.all(
            """
            SELECT destinations.name, accounts.app, accounts.uid, received, fated,
                   received_occurrences, fated_occurrences
            FROM ledger_check
            JOIN destinations ON destinations.id = ledger_check.destination
            JOIN accounts ON accounts.id = ledger_check.account
            ORDER BY destinations.id, accounts.id LIMIT 10
            """
        ) { row in
            "\(StoreStatus.ledgerFaultPrefix)\(row.text(0)) does not balance: \(row.text(1)) (user \(row.int64(2))) "
                + "has \(row.int64(3)) records with \(row.int64(5)) occurrences, and fates of \(row.int64(4)) "
                + "records with \(row.int64(6)) occurrences; please report this as a bug of issued"
        }
    }

    /// Returns the number of groups of each user, without those merged into others.
    private func groupCounts() throws -> [Int64: Int64] {
        let counts = try connection.all(
            """
            SELECT accounts.uid, count(*) FROM groups JOIN accounts ON accounts.id = groups.account
            WHERE groups.merged_into IS NULL GROUP BY accounts.uid
            """
        ) { ($0.int64(0), $0.int64(1)) }
        // If an index is corrupt, SQLite can return a user twice.
        return Dictionary(counts, uniquingKeysWith: { $0.clampedSum($1) })
    }

    /// Reads the ledger of each destination and user, and the number of received records of each user.
    private func readLedgers(_ ledgers: inout [Int64: [Int64: Ledger]], received: inout [Int64: Int64]) throws {
        try connection.forEach(
            """
            SELECT ledger.destination, accounts.uid, ledger.fate, sum(ledger.records)
            FROM ledger JOIN accounts ON accounts.id = ledger.account GROUP BY 1, 2, 3
            """
        ) { row in
            let (destination, user, sum) = (row.int64(0), row.int64(1), row.int64(3))
            if row.int64(2) == LedgerChanges.received {
                if destination == 0 { received[user] = sum }
                ledgers[destination, default: [:]][user, default: Ledger()].received = sum
            } else if let fate = IssueFate.Outcome(databaseValue: UInt8(clamping: row.int64(2))) {
                ledgers[destination, default: [:]][user, default: Ledger()][fate] = sum
            }
        }
    }

    /// Returns the number of corrections whose lines are pending and the time of the oldest one, by active
    /// destination and user. For accounts that no longer exist, the user is -1.
    private func pendingCorrections() throws -> [Int64: [Int64: (count: Int64, oldest: IssueTimestamp)]] {
        var found: [Int64: [Int64: (count: Int64, oldest: IssueTimestamp)]] = [:]
        try connection.forEach(
            """
            SELECT waiting.destination, coalesce(accounts.uid, -1), count(*), min(waiting.at) FROM (
                SELECT summaries.destination, summaries.account, coalesce(correction_events.at, summaries.at) AS at
                FROM summaries LEFT JOIN correction_events ON correction_events.id = summaries.sequence
                WHERE summaries.state = 0 AND summaries.reason = 'correction' AND summaries.line <> ''
                UNION ALL
                SELECT destinations.id, correction_events.account, correction_events.at
                FROM destinations JOIN correction_events ON correction_events.id > destinations.corrections_id
            ) AS waiting
            JOIN destinations ON destinations.id = waiting.destination AND destinations.active = 1
            LEFT JOIN accounts ON accounts.id = waiting.account
            GROUP BY 1, 2
            """
        ) { row in
            found[row.int64(0), default: [:]][row.int64(1)] = (row.int64(2), row.time(3))
        }
        return found
    }

    /// Returns the time at which the oldest record that may be pending at a destination was received; nil if there is
    /// none. All records in the span of an unfinished batch count as pending, even withheld and summarised ones.
    private func oldestPending(_ destination: Int64, cursor: RowID) throws -> IssueTimestamp? {
        try connection.first(
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
            """, destination, cursor
        ) { $0.time(0) }
    }

    /// Returns the numbers of suppressed records that no summary counts yet, by destination, application and limit,
    /// each with its user. The largest comes first.
    private func suppressions() throws -> [(user: Int64, suppression: Suppression)] {
        struct Key: Hashable {
            var destination: String
            var user: Int64
            var account: AccountID
            var reason: SuppressionReason
        }
        let offset = try recordLogOffset()
        var sums: [Key: Suppression] = [:]
        try connection.forEach(
            """
            SELECT destinations.name, accounts.id, accounts.app, groups.key, limits.key, limits.value,
                   accounts.uid
            FROM limits
            JOIN destinations ON destinations.id = limits.destination
            JOIN groups ON groups.id = limits.key >> 3
            JOIN accounts ON accounts.id = groups.account
            WHERE limits.kind = 2 AND destinations.active = 1
            """
        ) { row in
            guard let value = try? JSONValue(json: row.text(5)),
                let window = LimitRows.window(row.int64(4), value), window.suppressedCount > 0
            else { return }
            let since = IssueTimestamp(millisecondsSince1970: window.start.milliseconds - offset)
            let key = Key(
                destination: row.text(0), user: row.int64(6), account: row.id(1), reason: window.key.reason)
            guard var sum = sums[key] else {
                sums[key] = Suppression(
                    destination: key.destination, app: row.text(2), group: GroupKey.text(key: row.int64(3)),
                    reason: key.reason, count: Int(clamping: window.suppressedCount), since: since, groups: 1)
                return
            }
            sum.group = nil
            sum.groups = (sum.groups ?? 0) + 1
            sum.count = Int(clamping: Int64(sum.count).clampedSum(window.suppressedCount))
            sum.since = min(sum.since, since)
            sums[key] = sum
        }
        return sums.sorted { left, right in
            if left.value.count != right.value.count { return left.value.count > right.value.count }
            return (left.key.destination, left.key.account, left.key.reason.rawValue)
                < (right.key.destination, right.key.account, right.key.reason.rawValue)
        }.map { ($0.key.user, $0.value) }
    }
}

/// The figures of all users, read in one snapshot. `visible(to:)` returns those that a viewer may see.
package struct StoreFigures: Sendable {
    struct Destination: Sendable {
        var name: String
        var kind: String
        /// The ledger of each user, by user id.
        var ledgers: [Int64: Ledger]
        /// The number of pending corrections, by user id.
        var corrections: [Int64: Int64]
        var oldestPending: IssueTimestamp?
        /// The time at which pending records last expired; nil if none did.
        var lastExpired: IssueTimestamp?
    }

    /// The store code in the id of the newest record.
    var code = ""
    var records: Int64 = 0
    /// The size of the database, in bytes.
    var bytes: Int64 = 0
    var oldest: IssueTimestamp?
    var faults: [String] = []
    /// The number of groups, by user id.
    var groups: [Int64: Int64] = [:]
    /// The number of received records, by user id.
    var received: [Int64: Int64] = [:]
    var destinations: [Destination] = []
    /// The suppressions of all users, the largest first.
    var suppressions: [(user: Int64, suppression: Suppression)] = []
    /// The number of records in damaged blocks.
    var damagedRecords: Int64 = 0
    /// The maximum number of suppressions that a viewer sees.
    private static let maxSuppressions = 50

    /// Creates the figures of an empty store.
    package init() {}

    /// Returns the figures that a viewer may see.
    package func visible(to viewer: Viewer) -> StoreReader.Figures {
        let received = Self.sum(received, viewer)
        let groups = Self.sum(groups, viewer)
        let held = suppressions.filter { viewer.sees($0.user) }
        let isAll = viewer == .everything
        let store =
            isAll
            ? StoreStatus(
                id: code, records: Int(clamping: records), groups: Int(clamping: groups), bytes: Int(clamping: bytes),
                oldest: oldest, freeBytes: nil,
                faults: faults)
            : StoreStatus(
                id: code, records: Int(clamping: received), groups: Int(clamping: groups), bytes: nil, oldest: nil,
                freeBytes: nil, faults: [])
        return StoreReader.Figures(
            store: store, received: received,
            ledgers: destinations.map { destination in
                StoreReader.DestinationFigures(
                    name: destination.name, kind: destination.kind, ledger: Self.sum(destination.ledgers, viewer),
                    corrections: Self.sum(destination.corrections, viewer),
                    oldestPending: isAll ? destination.oldestPending : nil,
                    lastExpired: isAll ? destination.lastExpired : nil)
            },
            suppressions: held.prefix(Self.maxSuppressions).map(\.suppression),
            otherSuppressions: max(0, held.count - Self.maxSuppressions), damagedRecords: isAll ? damagedRecords : 0)
    }

    private static func sum(_ values: [Int64: Int64], _ viewer: Viewer) -> Int64 {
        values.reduce(0) { viewer.sees($1.key) ? $0.clampedSum($1.value) : $0 }
    }

    private static func sum(_ ledgers: [Int64: Ledger], _ viewer: Viewer) -> Ledger {
        var sum = Ledger()
        for (user, ledger) in ledgers where viewer.sees(user) {
            sum.received = sum.received.clampedSum(ledger.received)
            for fate in IssueFate.Outcome.allCases { sum[fate] = sum[fate].clampedSum(ledger[fate]) }
        }
        return sum
    }
}

/// Checks a database file for corruption.
package enum StoreCheck {
    /// The result of a check.
    package enum Finding: Equatable, Sendable {
        /// All pages are intact.
        case whole
        /// Some pages are corrupt or unreadable, or the file cannot be opened for a reason other than those of
        /// `inconclusive`.
        case damaged
        /// The check was interrupted or blocked by a lock, or the host lacks a resource that the check needs.
        case inconclusive
    }

    /// Checks all pages of a file.
    ///
    /// - Parameters:
    ///   - path: The path of the database.
    ///   - time: The maximum duration. It may be exceeded, because a single step of SQLite may read the whole file.
    ///   - begun: Called with a closure that interrupts the check from another thread. The closure has no effect before
    ///     the check begins and after it has ended. Not called if the file cannot be opened.
    package static func check(
        at path: String, within time: Duration, begun: (_ end: @escaping @Sendable () -> Void) -> Void
    ) -> Finding {
        do {
            let connection = try DatabaseConnection(path: path, mode: .readOnly, busyTimeout: time)
            connection.setDeadline(.after(time))
            let handle = connection.interruptHandle
            begun { handle.interrupt() }
            let statement = try Statement("PRAGMA quick_check(1)", on: connection)
            return try statement.first { $0.text(0) } == "ok" ? .whole : .damaged
        } catch {
            return error.isBusy || error.isHostFailure ? .inconclusive : .damaged
        }
    }
}
