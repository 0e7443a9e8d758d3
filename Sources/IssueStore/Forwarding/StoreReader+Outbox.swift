package import IssueCore
package import IssueProtocol
import SQLiteKit

extension StoreReader {
    /// A destination as the store knows it now.
    package func destination(_ id: Int64) throws -> DestinationRow? {
        try snapshot {
            try connection.withStatement("SELECT id, name, cursor, express_id, state FROM destinations WHERE id = ?1") {
                statement in
                statement.bind(id, at: 1)
                return try statement.first {
                    DestinationRow(
                        id: $0.int64(0), name: $0.text(1), cursor: $0.int64(2), priority: $0.int64(3),
                        state: DestinationRow.State(json: $0.text(4)))
                }
            }
        }
    }

    /// What waits behind a destination's cursor.
    package struct Backlog: Equatable, Sendable {
        package var records: Int64 = 0
        package var oldest: Timestamp?
        package var priorityRecords: Int64 = 0
        package var oldestPriority: Timestamp?
        /// Dead letters that wait to go once more.
        package var requeued: Int64 = 0
        package var unsentSummaries: Int64 = 0
    }

    /// - Parameter express: Up to which record those that are express have been looked at.
    package func backlog(of destination: Int64, after cursor: Int64, priority: Int64 = 0) throws -> Backlog {
        try snapshot {
            var backlog = Backlog()
            backlog.oldest = try time(
                of: "SELECT received_at FROM records WHERE id > ?1 ORDER BY id LIMIT 1", after: cursor)
            // Ids are also of records that are gone.
            backlog.records = backlog.oldest == nil ? 0 : max(0, try newestRow() - cursor)
            backlog.oldestPriority = try time(
                of: """
                    SELECT received_at FROM records
                    WHERE id = (SELECT min(record) FROM express WHERE record > ?1)
                    """, after: max(cursor, priority))
            backlog.priorityRecords = try count("SELECT count(*) FROM express WHERE record > ?1", max(cursor, priority))
            backlog.requeued = try count(
                "SELECT count(*) FROM singles WHERE destination = ?1 AND batch = 0", destination)
            backlog.unsentSummaries = try count(
                "SELECT count(*) FROM summaries WHERE destination = ?1 AND state = 0", destination)
            return backlog
        }
    }

    private func count(_ sql: StaticString, _ number: Int64) throws -> Int64 {
        try connection.withStatement(sql) { statement in
            statement.bind(number, at: 1)
            return try statement.first { $0.int64(0) } ?? 0
        }
    }

    private func time(of sql: StaticString, after cursor: Int64) throws -> Timestamp? {
        try connection.withStatement(sql) { statement in
            statement.bind(cursor, at: 1)
            return try statement.first { Timestamp(milliseconds: $0.int64(0)) }
        }
    }

    /// The records that lie behind the cursor, up to where their range or the log's clock changes.
    package func walk(after cursor: Int64, limit: Int) throws -> [OutboxRecord] {
        try snapshot {
            let stretch = try stretch(after: cursor, limit: limit)
            var known: [Int64: SeriesInfo] = [:]
            return try stretch.steps.compactMap { step in
                let facts = try known[step.series] ?? facts(ofSeries: step.series)
                known[step.series] = facts
                return facts?.record(step, offset: stretch.offset)
            }
        }
    }

    /// The same, without looking up what is said of their series.
    package func stretch(after cursor: Int64, limit: Int) throws -> ScanPage {
        try snapshot {
            var start = cursor
            while true {
                let clock = try offset(after: start)
                let end = min(try rangeEnd(after: start), clock.end)
                let steps = try steps(above: start, through: end, limit: limit)
                // Of a range whose records are gone there is nothing to walk, and the next may hold some.
                guard steps.isEmpty, end < .max else { return ScanPage(steps: steps, offset: clock.offset) }
                start = end
            }
        }
    }

    /// One record as the walk would meet it, or nothing where it is gone.
    func walked(row: Int64) throws -> OutboxRecord? {
        guard let step = try steps(above: row - 1, through: row, limit: 1).first else { return nil }
        return try facts(ofSeries: step.series)?.record(step, offset: try offset(after: row - 1).offset)
    }

    func steps(above start: Int64, through end: Int64, limit: Int) throws -> [ScanRow] {
        try connection.withStatement(
            """
            SELECT id, received_at, count, series FROM records WHERE id > ?1 AND id <= ?2 ORDER BY id LIMIT ?3
            """
        ) { statement in
            statement.bind(start, at: 1)
            statement.bind(end, at: 2)
            statement.bind(limit, at: 3)
            var steps: [ScanRow] = []
            try statement.forEach { row in
                steps.append(
                    ScanRow(
                        row: row.int64(0), receivedAt: Timestamp(milliseconds: row.int64(1)), count: row.int64(2),
                        series: row.int64(3)))
            }
            return steps
        }
    }

    /// What a walk has to know of a series; nothing where a damaged file has lost it.
    package func facts(ofSeries id: Int64) throws -> SeriesInfo? {
        try snapshot {
            var facts = try connection.withStatement(
                """
                SELECT series."group", series.account, series.severity, series.reportable, groups.first_record,
                       groups.regression, accounts.uid
                FROM series JOIN groups ON groups.id = series."group" JOIN accounts ON accounts.id = series.account
                WHERE series.id = ?1
                """
            ) { statement in
                statement.bind(id, at: 1)
                return try statement.first { row in
                    SeriesInfo(
                        group: row.int64(0), account: row.int64(1),
                        user: users.owner(of: UInt32(clamping: row.int64(6))),
                        severity: Severity(rawValue: UInt8(clamping: row.int64(2))) ?? .error,
                        isReportable: row.int64(3) != 0, firstOfGroup: row.int64(4), regression: row.int64(5),
                        mutes: MutedRows())
                }
            }
            if let group = facts?.group { facts?.mutes = try mutes(ofGroup: group) }
            return facts
        }
    }

    /// What wall time lacks to be log time behind the cursor, and up to which row that holds.
    func offset(after cursor: Int64) throws -> (offset: Int64, end: Int64) {
        let offset = try connection.withStatement(
            "SELECT offset FROM clock WHERE first_id <= ?1 ORDER BY first_id DESC LIMIT 1"
        ) { statement in
            statement.bind(cursor + 1, at: 1)
            return try statement.first { $0.int64(0) } ?? 0
        }
        let next = try connection.withStatement("SELECT min(first_id) FROM clock WHERE first_id > ?1") { statement in
            statement.bind(cursor + 1, at: 1)
            return try statement.first { $0.optionalInt64(0) } ?? nil
        }
        return (offset, next.map { $0 - 1 } ?? .max)
    }

    private func rangeEnd(after cursor: Int64) throws -> Int64 {
        try connection.withStatement(
            "SELECT coalesce((SELECT last_id FROM ranges WHERE last_id > ?1 ORDER BY id LIMIT 1), ?2)"
        ) { statement in
            statement.bind(cursor, at: 1)
            statement.bind(Int64.max, at: 2)
            return try statement.first { $0.int64(0) } ?? .max
        }
    }

    /// The record at a row, its metadata as they are stored.
    package func outbound(row: Int64) throws -> RecordRow? {
        try snapshot { try record(row: row, isWhole: false) }
    }

    /// The batch of a destination whose answer is not known, the oldest of them.
    ///
    /// - Parameter other: One that is known already.
    package func unansweredBatch(of destination: Int64, after other: Int64 = 0) throws -> StoredBatch? {
        try snapshot {
            let found = try connection.withStatement(
                """
                SELECT id, first_id, sent, notes, kind FROM batches
                WHERE destination = ?1 AND state = 0 AND id > ?2 ORDER BY id LIMIT 1
                """
            ) { statement in
                statement.bind(destination, at: 1)
                statement.bind(other, at: 2)
                return try statement.first { ($0.int64(0), $0.int64(1), $0.bytes(2), $0.text(3), $0.int64(4)) }
            }
            guard let (id, first, sent, notes, kind) = found else { return nil }
            let told = BatchManifest(json: notes)
            let rows = PostingList.decode(sent, base: first) ?? []
            var records: [SentRecord] = []
            for (row, note) in zip(rows, told.sent) {
                let facts = try connection.withStatement(
                    """
                    SELECT series.account, records.count FROM records JOIN series ON series.id = records.series
                    WHERE records.id = ?1
                    """
                ) { statement in
                    statement.bind(row, at: 1)
                    return try statement.first { ($0.int64(0), $0.int64(1)) }
                }
                guard let (account, count) = facts else { continue }
                records.append(
                    SentRecord(
                        row: row, account: account, count: count, suppressedBefore: note.suppressedBefore,
                        occurrences: note.occurrences))
            }
            return StoredBatch(
                id: id, kind: BatchKind(rawValue: kind) ?? .walk, summaries: told.summaries, sent: records)
        }
    }

    /// Summaries that wait to be sent, the oldest first.
    package func unsentSummaries(of destination: Int64, limit: Int) throws -> [Int64] {
        try snapshot {
            try connection.withStatement(
                "SELECT id FROM summaries WHERE destination = ?1 AND state = 0 ORDER BY id LIMIT ?2"
            ) { statement in
                statement.bind(destination, at: 1)
                statement.bind(limit, at: 2)
                return try statement.all { $0.int64(0) }
            }
        }
    }

    package func line(ofSummary id: Int64) throws -> [UInt8] {
        try snapshot {
            try connection.withStatement("SELECT line FROM summaries WHERE id = ?1") { statement in
                statement.bind(id, at: 1)
                return try statement.first { $0.bytes(0) } ?? []
            }
        }
    }

    /// What the limiter of a destination goes on from.
    package func admissionState(of destination: Int64) throws -> AdmissionState {
        try snapshot {
            var state = AdmissionState()
            try connection.withStatement("SELECT kind, key, value FROM limits WHERE destination = ?1") { statement in
                statement.bind(destination, at: 1)
                try statement.forEach { row in
                    let key = row.int64(1)
                    guard let kind = LimitRows.Kind(rawValue: row.int64(0)),
                        let value = try? JSONValue(json: row.text(2))
                    else { return }
                    switch kind {
                    case .bucket: if let bucket = LimitRows.bucket(key, value) { state.buckets.append(bucket) }
                    case .group: if let group = LimitRows.group(key, value) { state.groups.append(group) }
                    case .window: if let window = LimitRows.window(key, value) { state.windows.append(window) }
                    case .sequence: state.accountSequences[key] = value.asInteger
                    }
                }
            }
            state.groups.sort { ($0.lastRecord, $0.group) < ($1.lastRecord, $1.group) }
            state.groups = state.groups.suffix(Admission.Bounds().groups)
            return state
        }
    }

    package func fieldTypes(of destination: Int64) throws -> FieldTypes {
        try snapshot {
            var kinds: [String: FieldTypes.Kind] = [:]
            try connection.withStatement("SELECT path, type FROM field_types WHERE destination = ?1") { statement in
                statement.bind(destination, at: 1)
                try statement.forEach { kinds[$0.text(0)] = FieldTypes.Kind(rawValue: $0.int64(1)) }
            }
            return FieldTypes(kinds)
        }
    }

    /// Whose application an account is.
    package func account(_ id: Int64) throws -> (uid: UInt32, app: String)? {
        try snapshot {
            try connection.withStatement("SELECT uid, app FROM accounts WHERE id = ?1") { statement in
                statement.bind(id, at: 1)
                return try statement.first { (UInt32(clamping: $0.int64(0)), $0.text(1)) }
            }
        }
    }
}

/// A record as the cursor meets it, before anything is looked up.
package struct ScanRow: Equatable, Sendable {
    package var row: Int64
    package var receivedAt: Timestamp
    package var count: Int64
    package var series: Int64
}

/// A stretch of the log over which its clock stays the same.
package struct ScanPage: Equatable, Sendable {
    package var steps: [ScanRow]
    /// What wall time lacks to be log time, in milliseconds.
    package var offset: Int64
}

/// A record as the cursor meets it: what admission has to know, and no more.
package struct OutboxRecord: Equatable, Sendable {
    package var candidate: Candidate
    package var at: RecordLogInstant
    package var receivedAt: Timestamp
}

/// A record that a batch sends, as far as the ledger and its line ask.
package struct SentRecord: Equatable, Sendable {
    package var row: Int64
    package var account: Int64
    package var count: Int64
    package var suppressedBefore: Int64
    package var occurrences: Int64

    package init(row: Int64, account: Int64, count: Int64, suppressedBefore: Int64, occurrences: Int64) {
        self.row = row
        self.account = account
        self.count = count
        self.suppressedBefore = suppressedBefore
        self.occurrences = occurrences
    }
}

/// What a walk has to know of a series to judge its records.
package struct SeriesInfo: Equatable, Sendable {
    package var group: Int64
    package var account: Int64
    /// Who sent it, or the user who answers for them.
    package var user: UInt32
    package var severity: Severity
    package var isReportable: Bool
    /// The row of the first record of its group.
    package var firstOfGroup: Int64
    /// The record with which its group came back last, or none.
    package var regression: Int64
    /// Which records of its group are told to nobody.
    package var mutes: MutedRows

    package func record(_ step: ScanRow, offset: Int64) -> OutboxRecord {
        OutboxRecord(
            candidate: Candidate(
                record: step.row, group: group, account: account, user: user, severity: severity,
                isFirstOfGroup: step.row == firstOfGroup || step.row == regression, count: step.count,
                isReportable: isReportable,
                isMuted: mutes.contains(step.row)),
            at: RecordLogInstant(milliseconds: step.receivedAt.milliseconds &+ offset), receivedAt: step.receivedAt)
    }
}
