package import IssueCore
package import IssueProtocol
import SQLiteKit

extension StoreWriter {
    /// Stores the records of several calls in one transaction.
    ///
    /// When this returns, all records have been synced to disk. When it throws, none of them is stored, and the same
    /// submissions can be committed again.
    ///
    /// - Parameters:
    ///   - wall: The current wall-clock time.
    ///   - monotonic: The current monotonic time.
    /// - Returns: The outcomes of the calls, in order. A run of similar calls may share one outcome.
    /// - Throws: `StoreFailure` as `transaction` does.
    package func commit(
        _ submissions: [Submission], wall: Timestamp, monotonic: MonotonicInstant
    ) throws(StoreFailure) -> [CallOutcome] {
        let before = (
            clock: clock, open: open.count, bytes: open.byteCount, stores: storeIDs, guardian: guardian,
            isGuardRestored: isGuardRestored
        )
        do {
            let outcomes = try transaction(mayUseReserve: false) {
                try fill(submissions, wall: wall, monotonic: monotonic)
            }
            if isRangeFull { startRange() }
            return outcomes
        } catch {
            clock = before.clock
            open.truncate(to: before.open, byteCount: before.bytes)
            storeIDs = before.stores
            guardian = before.guardian
            isGuardRestored = before.isGuardRestored
            producers.removeAll()
            forgetCaches()
            throw error
        }
    }

    private func fill(
        _ submissions: [Submission], wall: Timestamp, monotonic: MonotonicInstant
    ) throws -> [CallOutcome] {
        let clockBefore = clock
        let time = clock.committed(wall: wall, monotonic: monotonic)
        try nameStore(at: time.wall)
        try restoreGuard(at: time)
        if series.isOutdated(at: time.log) { series.removeAll() }

        var commit = Commit(time: time, rows: takeRows())
        commit.rows.firstID = open.nextID
        commit.rows.receivedAt = time.wall.milliseconds
        let outcomes = try take(submissions, &commit)
        if commit.rows.isEmpty {
            // The clock continues from the last row, so a commit without rows does not advance it.
            clock = clockBefore
        } else if let offset = time.newOffset {
            try write(clockOffset: offset, from: commit.rows.firstID)
        }
        try insert(commit.rows)
        try producers.writeChanges(on: connection, at: time.log)
        var ledger = LedgerChanges()
        for (account, sum) in commit.allSums { ledger.received(sum, account: account, destinations: destinations) }
        try ledger.write(on: connection)
        try insertPriority(commit.priority)
        if isRangeFull { try closeRange() }
        giveBack(commit.rows)
        return outcomes
    }

    /// Adds the records of all calls to the rows of the commit.
    private func take(_ submissions: [Submission], _ commit: inout Commit) throws -> [CallOutcome] {
        swap(&commit.open, &open)
        swap(&commit.series, &series)
        defer {
            swap(&commit.open, &open)
            swap(&commit.series, &series)
        }
        var outcomes: [CallOutcome] = []
        outcomes.reserveCapacity(submissions.reduce(0) { $0 + $1.calls.count })
        for submission in submissions {
            let process = try entry(of: submission.process, at: commit.time.log)
            commit.series.turn(to: submission.batch.directory)
            for call in submission.calls {
                try take(call, of: submission, process: process, &commit, &outcomes)
            }
        }
        return outcomes
    }

    /// Stores the records of a call, or recognizes them as duplicates.
    private func take(
        _ call: ReportCall, of submission: Submission, process: ProcessEntry, _ commit: inout Commit,
        _ outcomes: inout [CallOutcome]
    ) throws {
        guard let numbering = call.numbering else {
            let receipts = try store(call.records, of: call, submission, process, &commit)
            outcomes.append(outcome(of: call, submission, receipts))
            return
        }
        if let receipts = try takeFresh(call, numbering, of: submission, process, &commit) {
            outcomes.append(outcome(of: call, submission, receipts))
            return
        }
        for call in call.each {
            let receipts = try takeNumbered(call, of: submission, process, &commit)
            outcomes.append(outcome(of: call, submission, receipts))
        }
    }

    private func outcome(of call: ReportCall, _ submission: Submission, _ receipts: ReceiptList) -> CallOutcome {
        CallOutcome(
            connection: submission.process.connection, token: call.token, receipts: receipts, calls: call.calls)
    }

    /// Adds the records of a call to the rows of the commit and returns their receipts.
    func store(
        _ records: Range<Int>, of call: ReportCall, _ submission: Submission, _ process: ProcessEntry,
        _ commit: inout Commit
    ) throws -> ReceiptList {
        let first = commit.rows.nextID
        for index in records {
            commit.series.prefetch(submission.batch.records, behind: index)
            try store(submission.batch.records[index], submission, process, &commit)
        }
        guard !call.rejected.isEmpty else {
            return .run(first: RecordID(store: code, row: first), count: records.count)
        }
        return .mixed(receipts(of: call, first: first))
    }

    private func store(
        _ record: DecodedRecord, _ submission: Submission, _ process: ProcessEntry, _ commit: inout Commit
    ) throws {
        guard let found = commit.series.find(record.series, sender: process.sender), !found.isWatched,
            !found.isOverflow, process.original == nil
        else { return try storeUnknown(record, submission, process, &commit) }
        let row = row(of: record, series: found.id, process, submission.batch.bytes.span, &commit)
        let reason: PriorityReason? = record.severity == .critical ? .critical : nil
        append(row, record, account: found.account, reason, submission.process.accountableUser, &commit)
    }

    /// Stores a record that needs more than a cache lookup: its series is not cached, its group is not open, or its
    /// sender is an overflow sender.
    private func storeUnknown(
        _ record: DecodedRecord, _ submission: Submission, _ process: ProcessEntry, _ commit: inout Commit
    ) throws {
        commit.newGroup = false
        let known = commit.series.find(record.series, sender: process.sender)
        let place =
            try known.map { self.place(of: record, submission, $0) }
            ?? findSeries(of: record, submission, process, &commit)
        var row = row(of: record, series: place.series, process, submission.batch.bytes.span, &commit)
        if place.original != nil || process.original != nil {
            keepWhole(place.original, process.original, of: record, submission.batch, in: &row, &commit)
        }
        var reason: PriorityReason? =
            record.severity == .critical ? .critical : commit.newGroup ? .firstOfGroup : nil
        if place.isWatched, !isImporting {
            switch try effect(of: place, &commit) {
            case .none, .expiry: break
            case .silence: reason = nil
            case .regression: reason = .regression
            }
        }
        append(row, record, account: place.account, reason, submission.process.accountableUser, &commit)
    }

    @inline(__always)
    private func row(
        of record: DecodedRecord, series: Int64, _ process: ProcessEntry, _ bytes: Span<UInt8>, _ commit: inout Commit
    ) -> RowBuffer.Row {
        let time = commit.rows.receivedAt
        return RowBuffer.Row(
            series: series, process: process.process, occurred: Self.difference(record.occurredAt, time),
            firstOccurred: Self.difference(record.firstOccurredAt, time), count: record.count,
            messageForm: record.messageForm, message: commit.rows.take(record.message, from: bytes),
            metadata: commit.rows.take(record.metadata, from: bytes),
            details: commit.rows.take(record.details, from: bytes))
    }

    @inline(__always)
    private func append(
        _ row: RowBuffer.Row, _ record: DecodedRecord, account: Int64, _ reason: PriorityReason?, _ uid: UInt32,
        _ commit: inout Commit
    ) {
        if let reason { commit.priority.append(News(record: commit.rows.nextID, reason: reason, uid: uid)) }
        commit.open.append(
            series: row.series, receivedAt: commit.rows.receivedAt, count: row.count,
            bytes: row.byteCount + Self.rowOverhead)
        commit.rows.append(row)
        commit.count(record.count, of: account)
    }

    /// Returns the receipts of a call. `first` is the row id of its first stored record.
    func receipts(of call: ReportCall, first: Int64) -> [RecordReceipt] {
        var receipts: [RecordReceipt] = []
        var rejected = call.rejected[...]
        var row = first
        for index in 0..<call.count {
            if let next = rejected.first, next.index == index {
                receipts.append(.rejected(field: next.rejection.field, reason: next.rejection.reason))
                rejected.removeFirst()
            } else {
                receipts.append(.stored(id: recordID(row: row).text))
                row += 1
            }
        }
        return receipts
    }

    /// Inserts the rows into `records`.
    private func insert(_ rows: RowBuffer) throws {
        guard !rows.isEmpty else { return }
        try batchTable.withRows(rows.cells, bytes: rows.text.bytes) {
            try connection.withStatement(
                """
                INSERT INTO records (id, series, process, received_at, occurred, first_occurred, count, message,
                                     metadata, details)
                SELECT id, series, process, ?1, occurred, first_occurred, count, message, metadata, details
                FROM batch
                """
            ) { statement in
                statement.bind(rows.receivedAt, at: 1)
                try statement.run()
            }
        }
        let last = rows.nextID - 1
        precondition(
            connection.lastInsertedRowID == last,
            "The inserted rows do not have the ids that their receipts contain")
    }

    private func insertPriority(_ priority: [News]) throws {
        if !isImporting { onPriorityRecords?(priority) }
        guard priorityDestinations else { return }
        for news in priority {
            try connection.withStatement("INSERT INTO express (record, reason) VALUES (?1, ?2)") { statement in
                statement.bind(news.record, at: 1)
                statement.bind(news.reason.rawValue, at: 2)
                try statement.run()
            }
        }
    }

    private func write(clockOffset offset: Int64, from first: Int64) throws {
        try connection.withStatement("INSERT OR REPLACE INTO clock (first_id, offset) VALUES (?1, ?2)") { statement in
            statement.bind(first, at: 1)
            statement.bind(offset, at: 2)
            try statement.run()
        }
    }

    @inline(__always)
    private static func difference(_ time: Int64, _ receivedAt: Int64) -> Int64 {
        time == DecodedRecord.absent ? time : time &- receivedAt
    }

    /// Empties all caches of rows that a failed transaction may have created.
    func forgetCaches() {
        series.removeAll()
        senders.removeAll()
        processes.removeAll()
        accounts.removeAll()
        users.removeAll()
        triageStates.removeAll()
    }
}

extension StoreWriter {
    /// The data that one commit collects before it is written.
    struct Commit {
        var time: RecordLogClock.Reading
        var rows: RowBuffer
        /// Moved here from the writer while records are stored. Each access to a part of the writer's property would
        /// cost as much as finding a record's series.
        var open = OpenRange(firstID: 0)
        var series = SeriesTable()
        var priority: [News] = []
        var newGroup = false
        /// The accounts of the records. Indices match `sums`.
        private var accounts = IDInterner()
        /// The records and occurrences that each account has received, at its index in `accounts`.
        private var sums: [LedgerChanges.Sum] = []

        init(time: RecordLogClock.Reading, rows: consuming RowBuffer) {
            self.time = time
            self.rows = rows
        }

        /// Adds a record with this number of occurrences to an account's sum.
        mutating func count(_ occurrences: Int64, of account: Int64) {
            let number = accounts.number(of: account)
            if number == sums.count { sums.append(LedgerChanges.Sum()) }
            sums[number].records += 1
            sums[number].occurrences += occurrences
        }

        /// The account ids and what each has received.
        var allSums: some Sequence<(Int64, LedgerChanges.Sum)> { zip(accounts.ids, sums) }
    }
}

/// The changes of one transaction to the ledger, collected so that each sum is written once.
struct LedgerChanges {
    struct Sum {
        var records: Int64 = 0
        var occurrences: Int64 = 0
    }

    private struct Line: Hashable {
        var destination: Int64
        var account: Int64
        var fate: Int64
    }

    /// The value in the ledger's `fate` column that means "received".
    static let received: Int64 = 7

    private var sums: [Line: Sum] = [:]

    var isEmpty: Bool { sums.isEmpty }

    /// Adds records of an account to what the store and the given destinations have received.
    mutating func received(_ sum: Sum, account: Int64, destinations: [Int64]) {
        add(sum, destination: 0, account: account, fate: Self.received)
        for destination in destinations {
            add(sum, destination: destination, account: account, fate: Self.received)
            add(sum, destination: destination, account: account, fate: Int64(Fate.pending.rawValue))
        }
    }

    /// Moves records of an account from one fate to another.
    mutating func moved(_ sum: Sum, account: Int64, destination: Int64, from: Fate, to: Fate) {
        let negative = Sum(records: -sum.records, occurrences: -sum.occurrences)
        add(negative, destination: destination, account: account, fate: Int64(from.rawValue))
        add(sum, destination: destination, account: account, fate: Int64(to.rawValue))
    }

    /// Subtracts erased records of an account from what a destination has received, and from their fate unless it is
    /// nil.
    mutating func erased(_ sum: Sum, account: Int64, destination: Int64, fate: Fate?) {
        let negative = Sum(records: -sum.records, occurrences: -sum.occurrences)
        add(negative, destination: destination, account: account, fate: Self.received)
        if let fate { add(negative, destination: destination, account: account, fate: Int64(fate.rawValue)) }
    }

    private mutating func add(_ sum: Sum, destination: Int64, account: Int64, fate: Int64) {
        let line = Line(destination: destination, account: account, fate: fate)
        sums[line, default: Sum()].records += sum.records
        sums[line, default: Sum()].occurrences += sum.occurrences
    }

    /// Adds the changes to the `ledger` table, in the current transaction.
    func write(on connection: Connection) throws {
        for (line, sum) in sums {
            try connection.withStatement(
                """
                INSERT INTO ledger (destination, account, fate, records, occurrences) VALUES (?1, ?2, ?3, ?4, ?5)
                ON CONFLICT DO UPDATE SET records = records + ?4, occurrences = occurrences + ?5
                """
            ) { statement in
                statement.bind(line.destination, at: 1)
                statement.bind(line.account, at: 2)
                statement.bind(line.fate, at: 3)
                statement.bind(sum.records, at: 4)
                statement.bind(sum.occurrences, at: 5)
                try statement.run()
            }
        }
    }
}
