package import IssueCore
package import IssueProtocol
import SQLiteKit

extension StoreReader {
    /// Returns the fate of a record at each destination that it was queued for.
    func fates(ofRow row: RowID) throws -> [IssueFate] {
        var searches = try known.searches ?? outbox.fateSearches()
        known.searches = nil
        defer { known.searches = searches }
        var fates: [IssueFate] = []
        for index in searches.indices where searches[index].rows.contains(row) {
            fates.append(try fate(ofRow: row, &searches[index]))
        }
        return fates
    }

    /// Returns the fates of a record, with only those responses that a viewer may see.
    private func fates(ofRow row: RowID, _ viewer: Viewer) throws -> [IssueFate] {
        try fates(ofRow: row).map { fate in
            var fate = fate
            fate.answer = viewer.shown(answer: fate.answer)
            return fate
        }
    }

    /// The result of `show`: a record, its group, and its fates.
    package struct Shown: Sendable {
        /// Nil if it is unreadable, or if none of the group's records is stored any longer.
        package var record: StoredRecord?
        package var group: IssueGroup
        package var fates: [IssueFate]
        /// The fates of the newest records of a requested group.
        package var groupFates: [GroupFates] = []
    }

    /// Returns a record by its id, or the newest record of a group by the group's id, with the fates of the group's
    /// newest records if `countsFates` is `true`.
    ///
    /// - Throws: `QueryFailure.notFound` if nothing with this id exists, the viewer must not see it, or the group has
    ///   no series; `.unreadable` if it is the id of a record in a damaged block; otherwise the error of the query.
    package func show(_ id: String, viewer: Viewer, countsFates: Bool = false) throws -> Shown {
        try snapshot {
            let group: GroupID
            var row: RowID?
            if let key = GroupKey.key(id) {
                guard let found = try self.group(key: key, viewer: viewer) else { throw QueryFailure.notFound(id: id) }
                group = found
            } else {
                let found = try find(id, viewer: viewer)
                group = found.group
                row = found.row
            }
            guard let sum = try sum(of: group) else { throw QueryFailure.notFound(id: id) }
            let newest = try newestRecord(of: group)
            let isGroup = row == nil
            row = row ?? newest
            let shown = try self.group(sum, newest: newest)
            return Shown(
                record: try row.flatMap { try record(row: $0)?.stored }, group: shown,
                fates: try row.map { try fates(ofRow: $0, viewer) } ?? [],
                groupFates: countsFates && isGroup ? try fates(ofGroup: shown.id, viewer) : [])
        }
    }

    /// The maximum number of records whose fates are counted for `show`.
    static let maxCountedFates = 1000
    /// The time after which counting ends.
    private static let fateCountTime: Duration = .milliseconds(200)

    /// Returns the fates of the newest stored records of a group.
    private func fates(ofGroup id: String, _ viewer: Viewer) throws -> [GroupFates] {
        var filter = IssueFilter()
        filter.groups = [id]
        let query = RecordQuery(filter: filter, isAscending: false, limit: Self.maxCountedFates, after: nil)
        var search = try RecordSearch(SeriesSelection(filter, viewer: viewer), query, from: nil, on: self)
        let deadline = Deadline.after(Self.fateCountTime)
        var all: [GroupFates] = []
        var count = 0
        while count < Self.maxCountedFates, !deadline.hasPassed, let row = try search.next(on: self) {
            // Posting lists may still contain records that retention is removing.
            guard try blocks.find(row) != nil else { continue }
            count += 1
            for fate in try fates(ofRow: row) {
                let index = all.firstIndex { $0.destination == fate.destination } ?? all.count
                if index == all.count { all.append(GroupFates(destination: fate.destination)) }
                all[index].counts.received += 1
                all[index].counts[fate.outcome] += 1
            }
        }
        return all
    }

    /// Returns the fates of a record by its id.
    ///
    /// - Parameters:
    ///   - id: The id of the record.
    ///   - destination: The name of a destination, or nil for all of them.
    ///   - viewer: The viewer.
    /// - Throws: `QueryFailure.notFound` if the record does not exist or the viewer must not see it, `.unreadable` if
    ///   its block is damaged, `.invalidFilter` if the destination never existed; otherwise the error of the query.
    package func fates(of id: String, _ destination: String? = nil, viewer: Viewer) throws -> [IssueFate] {
        try snapshot {
            let row = try find(id, viewer: viewer).row
            try expectDestination(destination)
            return try fates(ofRow: row, viewer).filter { destination == nil || $0.destination == destination }
        }
    }

    /// Returns, for each destination by name, how many of these records it has or may have received
    /// (`FateSearch.Found.mayHaveArrived`).
    package func deliveries(of rows: [RowID]) throws -> [String: Int64] {
        try snapshot {
            var counts: [String: Int64] = [:]
            for var destination in try outbox.fateSearches() {
                for row in rows where destination.rows.contains(row) {
                    let found = try destination.fate(of: row, on: outbox)
                    if found.mayHaveArrived { counts[destination.name, default: 0] += 1 }
                }
            }
            return counts
        }
    }

    /// Returns `true` if this process has reported the record with this id. A later process with the same pid does not
    /// match.
    package func isReporter(_ process: ReportingProcess, of id: String) throws -> Bool {
        try snapshot {
            guard let id = RecordID(id), try recordID(row: id.row) == id else { return false }
            return try connection.exists(
                """
                SELECT 1 FROM records
                JOIN processes ON processes.id = records.process JOIN senders ON senders.id = processes.sender
                WHERE records.id = ?1 AND senders.uid = ?2 AND processes.pid = ?3 AND processes.started = ?4
                """, id.row, process.sender.uid, Int64(process.sender.pid), process.startTime)
        }
    }

    /// Returns the row and the group of a record by its id, or by the id that it had before `repair` recovered it.
    ///
    /// - Throws: `QueryFailure.notFound` if the record does not exist or the viewer must not see it, `.unreadable` if
    ///   its block is damaged; otherwise the error of the query.
    private func find(_ text: String, viewer: Viewer) throws -> (row: RowID, group: GroupID) {
        guard let id = RecordID(text), let row = try recordID(row: id.row) == id ? id.row : recoveredRow(of: id) else {
            throw QueryFailure.notFound(id: text)
        }
        let found = try connection.first(
            composedSQL: """
                SELECT records.id, series."group" FROM records
                JOIN series ON series.id = records.series JOIN accounts ON accounts.id = series.account
                WHERE records.id = ?1 AND \(Viewer.condition(parameter: 2))
                """, row, viewer
        ) { (row: $0.id(0, as: RowID.self), group: $0.id(1, as: GroupID.self)) }
        guard let found else {
            throw try isUnreadable(row, viewer: viewer) ? QueryFailure.unreadable(id: text) : .notFound(id: text)
        }
        return found
    }

    /// Returns `true` if a record that was not found is in a damaged block, and the viewer may know that.
    private func isUnreadable(_ row: RowID, viewer: Viewer) throws -> Bool {
        guard blocks.skipped.values.contains(where: { $0.rows.contains(row) }) else { return false }
        if viewer == .everything { return true }
        // The posting lists of closed ranges show whose record it is.
        guard let account = try outbox.accounts(ofUnreadable: [row...row]).first?.account else { return false }
        let user = try connection.first("SELECT uid FROM accounts WHERE id = ?1", account) { $0.int64(0) }
        return user.map(viewer.sees) ?? false
    }

    /// Returns the record that `repair` recovered from a database in which it had this id; nil if there is none.
    ///
    /// Searches all blocks, like a search for text.
    private func recoveredRow(of id: RecordID) throws -> RowID? {
        let term = TextTerm("\"\(id.text)\"".unicodeScalars)
        var found: RowID?
        try blocks.scan(1...RowID.max) { block throws(SQLiteError) in
            guard block.rows.contains(where: { !$0.details.isEmpty }), let text = try blocks.text(of: block) else {
                return true
            }
            let index = block.rows.indices.first { index in
                let details = block.rows[index].details
                return term.occurs(in: text.span, from: details.lower, to: details.upper)
                    && RecordCells(block, index, text: text).origin?.ids.contains(id.text) == true
            }
            found = index.map { block.rows[$0].id }
            return found == nil
        }
        return found
    }

    /// Returns the group that now has the records of the group with a key (`GroupTable.holder`); nil if the group does
    /// not exist or the viewer must not see it.
    func group(key: Int64, viewer: Viewer) throws -> GroupID? {
        try group(withOwnKey: key, viewer: viewer).map { try GroupTable(connection: connection).holder(of: $0) }
    }

    /// Returns the group with an id, even if it is merged into another one.
    ///
    /// - Throws: `QueryFailure.notFound` if it does not exist or the viewer must not see it; otherwise the error of the
    ///   query.
    package func group(withOwnID id: String, viewer: Viewer) throws -> GroupID {
        try snapshot {
            guard let key = GroupKey.key(id), let group = try group(withOwnKey: key, viewer: viewer) else {
                throw QueryFailure.notFound(id: id)
            }
            return group
        }
    }

    private func group(withOwnKey key: Int64, viewer: Viewer) throws -> GroupID? {
        try connection.first(
            composedSQL: """
                SELECT groups.id FROM groups JOIN accounts ON accounts.id = groups.account
                WHERE groups.key = ?1 AND \(Viewer.condition(parameter: 2))
                """, key, viewer
        ) { $0.id(0, as: GroupID.self) }
    }

    /// Returns the group at the end of the chain of merges that begins with a group; the group itself if it is not
    /// merged.
    func root(of group: GroupID) throws -> GroupID { try GroupTable(connection: connection).root(of: group) }

    /// Returns the counts of a group; nil if it has no series.
    func sum(of group: GroupID) throws -> GroupSum? {
        try connection.first(
            """
            SELECT sum(records), CAST(total(occurrences) AS INTEGER), min(first_at), max(last_at)
            FROM series_totals WHERE "group" = ?1
            """, group
        ) { row in
            row.isNull(0)
                ? nil
                : GroupSum(
                    group: group, records: row.int64(0), occurrences: row.int64(1), firstAt: row.int64(2),
                    lastAt: row.int64(3), sortKey: 0)
        } ?? nil
    }
}

/// Determines the fate of one record at one destination.
extension StoreReader {
    var outbox: ForwardingOutbox { ForwardingOutbox(connection: connection, blocks: blocks) }

    /// Returns the fate of a record at a destination that it was queued for.
    private func fate(ofRow row: RowID, _ destination: inout ForwardingOutbox.FateSearch) throws -> IssueFate {
        let id = destination.id
        let found = try destination.fate(of: row, on: outbox)
        var fate = IssueFate(
            destination: destination.name, outcome: found.fate, attempts: 0, timestamp: nil, answer: nil,
            maybeDuplicate: false)
        guard let batch = found.batch else { return fate }
        fate.timestamp = batch.at
        switch fate.outcome {
        // The record was in no request, so the response of the batch does not apply to it.
        case .withheld: break
        case .summarised:
            // If the summary that counts the record became a dead letter, so did the record.
            guard let reason = batch.notes.held.reason(of: row),
                let summary = try connection.summary(counting: row, for: reason, id), summary.state == .dead
            else { break }
            fate.outcome = .deadLettered
            _ = try connection.first("SELECT attempts, at, answer FROM dead_letters WHERE summary = ?1", summary.id) {
                fate.copyResponse(fromDeadLetter: $0)
            }
        case .deadLettered:
            fate.maybeDuplicate = batch.maybeDuplicate
            _ = try connection.first(
                "SELECT attempts, at, answer FROM dead_letters WHERE record = ?1 AND destination = ?2", row, id
            ) { fate.copyResponse(fromDeadLetter: $0) }
        case .pending, .delivered, .unconfirmed, .expired:
            fate.attempts = Int(clamping: batch.attempts)
            fate.answer = batch.answer
            fate.maybeDuplicate = batch.maybeDuplicate
            guard fate.outcome == .pending else { break }
            // The destination's state describes the batch that is being sent: the record's batch or, if that batch was
            // preempted, another one.
            guard let state = try destination.state(on: outbox), state.batchAttempts > 0 else { break }
            fate.attempts = Int(clamping: state.batchAttempts)
            fate.answer = state.lastAnswer
        }
        return fate
    }
}

extension IssueFate {
    fileprivate mutating func copyResponse(fromDeadLetter row: borrowing Row) {
        attempts = row.int(0)
        timestamp = row.time(1)
        answer = row.optionalText(2)
    }
}

extension ForwardingOutbox {
    /// A row of `batches`, with the columns that determine the fates of its records.
    struct SentBatch {
        var id: BatchID
        /// The span of the batch.
        var rows: ClosedRange<RowID>
        /// 0: a response is awaited. 1: delivered, or nothing is left to send. 2: sent, but delivery was not
        /// confirmed.
        private var state: Int64
        var sent: [RowID]
        private var sentRows: Set<RowID>
        private var withheld: Set<RowID>
        private var dead: Set<RowID>
        var notes: BatchManifest
        var at: IssueTimestamp
        var attempts: Int64
        var answer: String?
        var maybeDuplicate: Bool

        /// Reads the columns `id`, `first_id`, `last_id`, `state`, `sent`, `withheld`, `dead`, `notes`, `at`,
        /// `attempts`, `answer` and `maybe_duplicate`.
        init(_ row: borrowing Row) {
            let first = row.id(1, as: RowID.self)
            id = row.id(0)
            rows = first...max(first, row.id(2))
            state = row.int64(3)
            sent = PostingList.decode(row.bytes(4), base: first) ?? []
            sentRows = Set(sent)
            withheld = Set(PostingList.decode(row.bytes(5), base: first) ?? [])
            dead = Set(PostingList.decode(row.bytes(6), base: first) ?? [])
            notes = BatchManifest(json: row.text(7))
            at = row.time(8)
            attempts = row.int64(9)
            answer = row.optionalText(10)
            maybeDuplicate = row.int64(11) != 0
        }

        /// Returns the fate of a record that the batch covers.
        func fate(of row: RowID) -> IssueFate.Outcome {
            if withheld.contains(row) { return .withheld }
            if dead.contains(row) { return .deadLettered }
            guard sentRows.contains(row) else { return .summarised }
            switch state {
            case 0: return .pending
            case 2: return .unconfirmed
            default: return .delivered
            }
        }
    }

    /// Finds the fates of many records at one destination.
    struct FateSearch {
        let id: Int64
        let name: String
        /// The records that the destination was or will be given.
        let rows: ClosedRange<RowID>
        private let cursor: RowID
        /// The batch from the scan that was looked up last. Consecutive records are usually in the same batch.
        private var scanned: SentBatch?
        /// The batch that was looked up last for a record sent outside the scan; nil if that record waits for a batch.
        private var carrier: SentBatch?
        /// The state of the destination; nil if it has not been read yet.
        private var state: DestinationRow.State?

        /// The fate of a record.
        struct Found {
            var fate = IssueFate.Outcome.pending
            /// The batch that determines the fate; nil if the record waits for one.
            var batch: SentBatch?
            /// Whether the record is sent outside the scan.
            var isSingle = false

            /// Whether the destination has or may have received the record: it is delivered, unconfirmed or in flight.
            var mayHaveArrived: Bool {
                switch fate {
                case .delivered, .unconfirmed: true
                case .pending: batch != nil
                case .summarised, .deadLettered, .withheld, .expired: false
                }
            }
        }

        /// Reads the columns `id`, `name`, `first_id`, the last row, and `cursor`.
        fileprivate init(_ row: borrowing Row) {
            (id, name, cursor) = (row.int64(0), row.text(1), row.id(4))
            let first = row.id(2, as: RowID.self)
            rows = first...max(first, row.id(3))
        }

        /// Returns the fate of a record in `rows`.
        mutating func fate(of row: RowID, on outbox: ForwardingOutbox) throws(SQLiteError) -> Found {
            if let single = try outbox.single(row, id) {
                if carrier?.id != single { carrier = single > 0 ? try outbox.batch(single) : nil }
                return Found(fate: carrier?.fate(of: row) ?? .pending, batch: carrier, isSingle: true)
            }
            guard row <= cursor else { return Found() }
            if scanned?.rows.contains(row) != true { scanned = try outbox.batch(with: row, id) }
            return scanned.map { Found(fate: $0.fate(of: row), batch: $0) } ?? Found()
        }

        /// Returns the state of the destination. It is read once.
        mutating func state(on outbox: ForwardingOutbox) throws(SQLiteError) -> DestinationRow.State? {
            if state == nil {
                state = try outbox.connection.first("SELECT state FROM destinations WHERE id = ?1", id) {
                    DestinationRow.State(json: $0.text(0))
                }
            }
            return state
        }
    }

    /// Returns a search for each destination that is configured or was given records.
    func fateSearches() throws(SQLiteError) -> [FateSearch] {
        try connection.all(
            """
            SELECT id, name, first_id, CASE active WHEN 1 THEN ?1 ELSE given_id END, cursor FROM destinations
            WHERE active = 1 OR given_id >= first_id ORDER BY id
            """, RowID.max
        ) { FateSearch($0) }
    }

    /// Returns the batch that comes from a destination's scan and whose span contains a row; nil if there is none.
    private func batch(with row: RowID, _ destination: Int64) throws(SQLiteError) -> SentBatch? {
        let id = try connection.first(
            "SELECT id FROM batches WHERE destination = ?1 AND last_id >= ?2 AND kind = 0 ORDER BY last_id LIMIT 1",
            destination, row
        ) { $0.id(0, as: BatchID.self) }
        guard let id, let batch = try batch(id), batch.rows.contains(row) else { return nil }
        return batch
    }

    /// Returns a batch; nil if it does not exist.
    func batch(_ id: BatchID) throws(SQLiteError) -> SentBatch? {
        try connection.first(
            """
            SELECT id, first_id, last_id, state, sent, withheld, dead, notes, at, attempts, answer, maybe_duplicate
            FROM batches WHERE id = ?1
            """, id
        ) { SentBatch($0) }
    }

    /// Returns the batch of a record that is sent outside the scan: 0 if the record waits for one, nil if the record is
    /// left to the scan.
    func single(_ row: RowID, _ destination: Int64) throws(SQLiteError) -> BatchID? {
        try connection.first("SELECT batch FROM singles WHERE destination = ?1 AND record = ?2", destination, row) {
            $0.id(0)
        }
    }
}
