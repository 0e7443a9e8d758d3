package import IssueCore
package import IssueProtocol
import SQLiteKit

extension StoreReader {
    /// Returns the current row of a destination, or nil if there is none.
    package func destination(_ id: Int64) throws -> DestinationRow? {
        try snapshot {
            try connection.first("SELECT id, name, cursor, express_id, state FROM destinations WHERE id = ?1", id) {
                DestinationRow($0)
            }
        }
    }

    /// The amount of data that a destination has not processed yet.
    package struct Unprocessed: Equatable, Sendable {
        /// The number of ids after the cursor, including those of records that are gone; 0 if only such ids are left.
        package var records: Int64 = 0
        /// When the oldest readable record after the cursor was received, or nil if there is none.
        package var oldest: IssueTimestamp?
        /// The number of priority records after the cursor that have not been examined yet.
        package var priorityRecords: Int64 = 0
        /// When the oldest of these was received; nil if there is none, or if the oldest can't be read.
        package var oldestPriority: IssueTimestamp?
        /// The number of requeued records that wait to be sent, without those that are known to be unreadable.
        package var requeued: Int64 = 0
        /// The number of summaries and lines of corrections that were neither delivered nor given up. Includes those in
        /// unfinished batches.
        package var unsentSummaries: Int64 = 0
        /// The number of events about corrections that have not been examined yet. Some may get no line.
        package var corrections: Int64 = 0
    }

    /// Returns the backlog of a destination.
    ///
    /// - Parameters:
    ///   - cursor: The destination's cursor, a row id.
    ///   - priority: The row up to which priority records have been examined.
    package func backlog(of destination: Int64, after cursor: RowID, priority: RowID = 0) throws -> Unprocessed {
        try snapshot {
            var backlog = Unprocessed()
            backlog.oldest = try time(
                of: "SELECT received_at FROM records WHERE id > ?1 ORDER BY id LIMIT 1", after: cursor)
            let newest = try newestRow()
            // Records in damaged blocks count, because they must expire.
            if newest > cursor, backlog.oldest != nil || !blocks.unreadable(in: cursor + 1...newest).isEmpty {
                backlog.records = Int64(newest - cursor)
            }
            backlog.oldestPriority = try time(
                of: """
                    SELECT received_at FROM records
                    WHERE id = (SELECT min(record) FROM express WHERE record > ?1)
                    """, after: max(cursor, priority))
            backlog.priorityRecords = try connection.integer(
                "SELECT count(*) FROM express WHERE record > ?1", max(cursor, priority))
            backlog.requeued = try connection.integer(
                "SELECT count(*) FROM singles WHERE destination = ?1 AND batch = 0", destination)
            for rows in blocks.unreadable(in: 1...RowID.max) where backlog.requeued > 0 {
                backlog.requeued -= try connection.integer(
                    "SELECT count(*) FROM singles WHERE destination = ?1 AND batch = 0 AND record BETWEEN ?2 AND ?3",
                    destination, rows.lowerBound, rows.upperBound)
            }
            backlog.unsentSummaries = try connection.integer(
                "SELECT count(*) FROM summaries WHERE destination = ?1 AND state = 0", destination)
            backlog.corrections = try connection.integer(
                """
                SELECT count(*) FROM correction_events
                WHERE id > (SELECT corrections_id FROM destinations WHERE id = ?1)
                """, destination)
            return backlog
        }
    }

    private func time(of sql: StaticString, after cursor: RowID) throws -> IssueTimestamp? {
        try connection.first(sql, cursor) { $0.time(0) }
    }

    /// Returns the next records after the cursor, without the attributes of their series. The result ends where the
    /// range of the records ends, where the offset of the record log's clock changes, or where series moved to other
    /// groups, whichever comes first.
    ///
    /// - Parameters:
    ///   - cursor: The row id after which the page begins.
    ///   - limit: The maximum number of records.
    ///   - marksImports: `true` to find out which records were imported from a set-aside database.
    package func page(after cursor: RowID, limit: Int, marksImports: Bool = false) throws -> ScanPage {
        try snapshot {
            var start = cursor
            while true {
                let clock = try offset(after: start)
                let move = try nextMove(after: start)
                let end = min(try rangeEnd(after: start), clock.end, move)
                let steps = try steps(above: start, through: end, limit: limit, marksImports: marksImports)
                // If the records of this range are gone, the next range may still have some.
                guard steps.isEmpty, end < .max else {
                    return ScanPage(steps: steps, offset: clock.offset, move: move)
                }
                start = end
            }
        }
    }

    /// Returns a record as the scan would read it, or nil if it is gone or unreadable or its series is lost.
    func outboxRecord(row: RowID) throws -> OutboxRecord? {
        guard let step = try steps(above: row - 1, through: row, limit: 1).first else { return nil }
        return try info(ofSeries: step.series, at: row)?.record(step, offset: try offset(after: row - 1).offset)
    }

    func steps(
        above start: RowID, through end: RowID, limit: Int, marksImports: Bool = false
    ) throws -> [ScanRow] {
        var steps: [ScanRow] = []
        guard start < end else { return steps }
        try blocks.scan(start + 1...end) { block in
            for index in block.index(from: start + 1)..<block.rows.count {
                let row = block.rows[index]
                guard row.id <= end, steps.count < limit else { break }
                steps.append(
                    ScanRow(
                        row: row.id, receivedAt: IssueTimestamp(millisecondsSince1970: row.receivedAt),
                        count: row.count, series: row.series,
                        isImported: marksImports && block.isImported(index)))
            }
            return steps.count < limit
        }
        return steps
    }

    /// The records of a row range that the scan must not treat as new.
    package struct SentAhead: Equatable, Sendable {
        /// Records that are sent outside the scan. Their batch decides their fate.
        package var singles: Set<RowID> = []
        /// Priority records that were already examined but not sent ahead. The scan requests no reserved share of the
        /// limits for them again.
        package var refused: Set<RowID> = []

        /// Returns `true` if the record is in neither set.
        package func isUsual(_ row: RowID) -> Bool {
            singles.isEmpty && refused.isEmpty || !singles.contains(row) && !refused.contains(row)
        }
    }

    /// Returns the records in `rows` that were already handled as priority or requeued records.
    ///
    /// - Parameter priority: The row up to which priority records have been examined.
    package func sentAhead(of destination: Int64, in rows: ClosedRange<RowID>, priority: RowID) throws -> SentAhead {
        try snapshot {
            var ahead = SentAhead()
            try connection.forEach(
                "SELECT record FROM singles WHERE destination = ?1 AND record BETWEEN ?2 AND ?3", destination,
                rows.lowerBound, rows.upperBound
            ) { ahead.singles.insert($0.id(0)) }
            try connection.forEach(
                "SELECT record FROM express WHERE record BETWEEN ?1 AND ?2", rows.lowerBound,
                min(rows.upperBound, priority)
            ) { if !ahead.singles.contains($0.id(0)) { ahead.refused.insert($0.id(0)) } }
            return ahead
        }
    }

    /// Returns the attributes of a series that a scan needs, or nil if a corrupt database has lost them.
    ///
    /// - Parameter row: The row of a record. The returned group is the one that the series belonged to when this record
    ///   was stored.
    package func info(ofSeries id: SeriesID, at row: RowID) throws -> SeriesInfo? {
        try snapshot {
            var facts = try connection.first(
                """
                SELECT groups.id, series.account, series.severity, series.reportable, groups.first_record,
                       groups.regression, accounts.uid
                FROM series JOIN groups ON groups.id = coalesce((
                        SELECT "group" FROM moves WHERE moves.series = ?1 AND moves.last_id >= ?2
                        ORDER BY moves.last_id LIMIT 1), series."group")
                    JOIN accounts ON accounts.id = series.account
                WHERE series.id = ?1
                """, id, row
            ) { row in
                SeriesInfo(
                    group: row.id(0), account: row.id(1),
                    user: users.owner(of: UInt32(clamping: row.int64(6))),
                    severity: IssueLevel(rank: UInt8(clamping: row.int64(2))) ?? .error,
                    isReportable: row.int64(3) != 0, firstOfGroup: row.id(4), regression: row.id(5),
                    mutes: MutedRows())
            }
            if let group = facts?.group { facts?.mutes = try mutes(ofGroup: group) }
            return facts
        }
    }

    /// Returns log time minus wall time for the row after the cursor, in milliseconds, and the last row to which this
    /// difference applies.
    func offset(after cursor: RowID) throws -> (offset: Int64, end: RowID) {
        let offset = try connection.integer(
            "SELECT offset FROM clock WHERE first_id <= ?1 ORDER BY first_id DESC LIMIT 1", cursor + 1)
        let next =
            try connection.first("SELECT min(first_id) FROM clock WHERE first_id > ?1", cursor + 1) {
                $0.optionalID(0, as: RowID.self)
            } ?? nil
        return (offset, next.map { $0 - 1 } ?? .max)
    }

    /// Returns the last row before the next move of series to other groups; `RowID.max` if there is none after the
    /// cursor.
    func nextMove(after cursor: RowID) throws -> RowID {
        try connection.first("SELECT min(last_id) FROM moves WHERE last_id > ?1", cursor) {
            $0.optionalID(0, as: RowID.self) ?? .max
        } ?? .max
    }

    private func rangeEnd(after cursor: RowID) throws -> RowID {
        try connection.first(
            "SELECT coalesce((SELECT last_id FROM ranges WHERE last_id > ?1 ORDER BY id LIMIT 1), ?2)", cursor,
            RowID.max
        ) { $0.id(0) } ?? .max
    }

    /// Returns a record of a batch as it is sent, or nil if it is gone or unreadable. Does not parse the record's
    /// metadata.
    package func outbound(_ sent: SentRecord, host: String) throws -> OutboundRecord? {
        guard let row = try snapshot({ try record(row: sent.row, isWhole: false) }) else { return nil }
        return OutboundRecord(
            stored: row.stored, storedMetadata: row.metadata, app: row.accountName, fingerprint: row.fingerprint,
            host: host, suppressedBefore: sent.suppressedBefore, occurrences: sent.occurrences,
            seriesCache: row.seriesCache, user: users.owner(of: row.stored.sender.uid))
    }

    /// Returns the oldest batch that awaits a destination's response, or nil if there is none. Records that have been
    /// removed are left out, so the lines after them have lower indices than when the batch was stored, and
    /// `StoredBatch.isWhole` is `false`.
    ///
    /// - Parameter other: The id of a batch that is already known. Only later batches are considered.
    package func unansweredBatch(of destination: Int64, after other: BatchID = 0) throws -> StoredBatch? {
        try snapshot {
            let found = try connection.first(
                """
                SELECT id, first_id, sent, notes, kind FROM batches
                WHERE destination = ?1 AND state = 0 AND id > ?2 ORDER BY id LIMIT 1
                """, destination, other
            ) {
                ($0.id(0, as: BatchID.self), $0.id(1, as: RowID.self), $0.bytes(2), $0.text(3), $0.int64(4))
            }
            guard let (id, first, sent, notes, kind) = found else { return nil }
            let manifest = BatchManifest(json: notes)
            let rows = PostingList.decode(sent, base: first) ?? []
            var records: [SentRecord] = []
            for (row, note) in zip(rows, manifest.sent) {
                let facts = try connection.first(
                    """
                    SELECT series.account, records.count FROM records JOIN series ON series.id = records.series
                    WHERE records.id = ?1
                    """, row
                ) { ($0.id(0, as: AccountID.self), $0.int64(1)) }
                // The line of an unreadable record can't be built again. The batch keeps the record, so that it expires
                // when the batch is settled.
                guard let (account, count) = try facts ?? unreadable(row) else { continue }
                records.append(
                    SentRecord(
                        row: row, account: account, count: count, suppressedBefore: note.suppressedBefore,
                        occurrences: note.occurrences))
            }
            return StoredBatch(
                id: id, kind: BatchKind(rawValue: kind) ?? .walk, summaries: manifest.summaries, sent: records,
                isWhole: manifest.isWhole(lines: manifest.summaries.count + records.count))
        }
    }

    /// Returns the account of a record in a damaged block, and 1 for its unknown number of occurrences; nil if the
    /// account is unknown or the record was removed.
    private func unreadable(_ row: RowID) throws -> (AccountID, Int64)? {
        let found = try outbox.accounts(ofUnreadable: blocks.unreadable(in: row...row))
        return found.first.map { ($0.account, 1) }
    }

    /// Returns the ids of summaries and lines of corrections that were neither delivered nor given up, oldest first.
    /// Includes those in unfinished batches.
    ///
    /// - Parameter limit: The maximum number of summaries.
    package func unsentSummaries(of destination: Int64, limit: Int) throws -> [Int64] {
        try snapshot {
            try connection.all(
                "SELECT id FROM summaries WHERE destination = ?1 AND state = 0 ORDER BY id LIMIT ?2", destination, limit
            ) { $0.int64(0) }
        }
    }

    /// Returns the stored line of a summary; nil if the summary does not exist or was erased.
    package func line(ofSummary id: Int64) throws -> [UInt8]? {
        try snapshot {
            try connection.first("SELECT line FROM summaries WHERE id = ?1 AND line <> ''", id) { $0.bytes(0) }
        }
    }

    /// Returns the types of the fields that have been sent to a destination.
    package func fieldTypes(of destination: Int64) throws -> FieldTypes {
        try snapshot {
            var kinds: [String: FieldTypes.Kind] = [:]
            try connection.forEach("SELECT path, type FROM field_types WHERE destination = ?1", destination) {
                kinds[$0.text(0)] = FieldTypes.Kind(rawValue: $0.int64(1))
            }
            return FieldTypes(kinds)
        }
    }

    /// Returns the user id and the application name of an account, or nil if the account does not exist.
    package func account(_ id: AccountID) throws -> (uid: UInt32, app: String)? {
        try snapshot {
            try connection.first("SELECT uid, app FROM accounts WHERE id = ?1", id) {
                (UInt32(clamping: $0.int64(0)), $0.text(1))
            }
        }
    }
}

/// A record as the scan reads it, without the attributes of its series.
package struct ScanRow: Equatable, Sendable {
    package var row: RowID
    package var receivedAt: IssueTimestamp
    /// The number of occurrences that the record represents.
    package var count: Int64
    package var series: SeriesID
    /// Whether the record was imported from a set-aside database; `false` if this was not asked for.
    package var isImported = false
}

/// Consecutive records with the same offset between wall time and log time.
package struct ScanPage: Equatable, Sendable {
    package var steps: [ScanRow]
    /// Log time minus wall time, in milliseconds.
    package var offset: Int64
    /// The last row before the next move of series to other groups; `RowID.max` if there is none.
    package var move: RowID
}

/// A record with the attributes that admission needs.
package struct OutboxRecord: Equatable, Sendable {
    package var candidate: AdmissionCandidate
    package var at: RecordLogInstant
}

/// A record that a batch sends, with the numbers that the ledger and the record's line need.
package struct SentRecord: Equatable, Sendable {
    package var row: RowID
    package var account: AccountID
    /// The number of occurrences that the record represents.
    package var count: Int64
    /// The number of records of its group that were suppressed since a record of the group was last sent.
    package var suppressedBefore: Int64
    /// The number of occurrences of its group so far.
    package var occurrences: Int64

    package init(row: RowID, account: AccountID, count: Int64, suppressedBefore: Int64, occurrences: Int64) {
        self.row = row
        self.account = account
        self.count = count
        self.suppressedBefore = suppressedBefore
        self.occurrences = occurrences
    }
}

/// The attributes of a series that a scan needs to evaluate its records.
package struct SeriesInfo: Equatable, Sendable {
    package var group: GroupID
    package var account: AccountID
    /// The accountable user of the account's user id.
    package var user: UInt32
    package var severity: IssueLevel
    package var isReportable: Bool
    /// The row of the first record of its group.
    package var firstOfGroup: RowID
    /// The row of the record that caused its group's last regression, or 0.
    package var regression: RowID
    /// The rows of its group that are muted.
    package var mutes: MutedRows

    /// Combines a scanned record with the attributes of its series.
    ///
    /// - Parameters:
    ///   - step: A record of the series.
    ///   - offset: Log time minus wall time, in milliseconds.
    package func record(_ step: ScanRow, offset: Int64) -> OutboxRecord {
        OutboxRecord(
            candidate: AdmissionCandidate(
                record: step.row, group: group, account: account, user: user, severity: severity,
                isFirstOfGroup: step.row == firstOfGroup || step.row == regression, count: step.count,
                isReportable: isReportable,
                isMuted: mutes.contains(step.row)),
            at: RecordLogInstant(milliseconds: step.receivedAt.millisecondsSince1970 &+ offset))
    }
}
