package import IssueCore
package import IssueProtocol
import SQLiteKit

extension StoreWriter {
    /// Stores the records of several calls in one transaction.
    ///
    /// When this returns, all records have been synced to disk. When it throws, none of them is stored, and the same
    /// submissions can be committed again. If COMMIT itself failed (`StoreFailure.isUncertain`), the records may
    /// nevertheless be in the file when it is opened again.
    ///
    /// - Parameters:
    ///   - submissions: The calls.
    ///   - wall: The current wall-clock time.
    ///   - monotonic: The current monotonic time.
    /// - Returns: The outcomes of the calls, in order. A run of similar calls may share one outcome.
    /// - Throws: The failures of `transaction`.
    package func commit(
        _ submissions: [Submission], wall: IssueTimestamp, monotonic: MonotonicInstant
    ) throws(StoreFailure) -> [CallOutcome] {
        try transaction(mayUseReserve: false) { () throws(SQLiteError) in
            try fill(submissions, wall: wall, monotonic: monotonic, isImport: false)
        }
    }

    /// Stores calls. Must be called in a transaction, see `commit`.
    ///
    /// - Parameter isImport: `true` if the records come from a set-aside database. The verdicts of that database's
    ///   cardinality guard apply, and this store's guard is bypassed. The records change no triage state, and
    ///   `onPriorityRecords` and the notifiers do not receive them.
    func fill(
        _ submissions: [Submission], wall: IssueTimestamp, monotonic: MonotonicInstant, isImport: Bool
    ) throws(SQLiteError) -> [CallOutcome] {
        let clockBefore = memory.values.clock
        let time = memory.values.clock.committed(wall: wall, monotonic: monotonic)
        try assignStoreCode(at: time.wall)
        if memory.caches.series.isOutdated(at: time.log) { memory.caches.series.removeAll() }
        if let end = memory.caches.replacedSendersEnd, end <= time.log { memory.caches.removeReplacedSenders() }

        var commit = RecordCommit(
            on: connection, time: time, firstID: memory.open.nextID, rows: makeRowBuffer(), isImport: isImport,
            onCardinalityOverflow: callbacks.onCardinalityOverflow)
        try commit.restoreGuard(&memory, settings.retention.users)
        let outcomes = try commit.take(submissions, &memory)
        try commit.writeCountdowns(&memory)
        if commit.rows.isEmpty {
            // After a restart, the clock continues from the last row. Therefore, a commit without rows must not advance
            // the clock.
            memory.values.clock = clockBefore
        } else if let offset = time.newOffset {
            try write(clockOffset: offset, from: commit.rows.firstID)
        }
        let extensible =
            commit.rows.isEmpty
            ? commit.rows.storedCount : try blocks.append(commit.rows.rows, commit.rows.text.span)
        try memory.caches.producers.writeChanges(
            on: connection, at: time.log, of: settings.retention.users)
        var ledger = LedgerChanges()
        for (account, sum) in commit.allSums {
            ledger.received(sum, account: account, destinations: memory.values.destinations)
        }
        try ledger.write(on: connection)
        if !isImport {
            callbacks.onPriorityRecords?(commit.priority)
            try insertAlerts(commit.priority)
        }
        try insertPriority(commit.priority)
        if isRangeFull { try closeRange() }
        reuse(&commit.rows, keeping: extensible)
        return outcomes
    }

    /// Queues priority records for the destinations.
    private func insertPriority(_ priority: [PriorityRecord]) throws(SQLiteError) {
        guard !memory.values.destinations.isEmpty else { return }
        for record in priority {
            try connection.run(
                "INSERT INTO express (record, reason) VALUES (?1, ?2)", record.row, record.reason.rawValue)
        }
    }

    private func write(clockOffset offset: Int64, from first: RowID) throws(SQLiteError) {
        try connection.run("INSERT OR REPLACE INTO clock (first_id, offset) VALUES (?1, ?2)", first, offset)
    }
}

/// Collects the rows that one commit stores.
///
/// The writer's memory is passed as a parameter, because accessing it as a property of a class would cost as much as
/// finding a record's series.
struct RecordCommit {
    let connection: DatabaseConnection
    let time: RecordLogClock.Reading
    /// Whether the records come from a set-aside database, whose cardinality guard has examined them.
    let isImport: Bool
    /// In an import, the verdict of the set-aside database's guard on the records of the current call.
    private(set) var importedVerdict = ReportCall.ImportedVerdict()
    let onCardinalityOverflow: ((CardinalityOverflow) -> Void)?
    var rows: RowBuffer
    private(set) var priority: [PriorityRecord] = []
    /// Whether the record that is being stored is the first one of its group.
    var isGroupNew = false
    /// The new states of muted groups whose `occurrencesLeft` has changed.
    var countdowns: [GroupID: TriageState] = [:]
    /// Whether the record that is being stored is the first critical one of its group.
    var isGroupNewlyCritical = false
    /// The changes that the record being stored makes to its group.
    private var change: NotificationKinds = []
    /// The accounts of the records.
    private var accounts = IDInterner<AccountID>()
    /// The numbers of records and occurrences of each account, in the order of `accounts`.
    private var sums: [LedgerChanges.Sum] = []

    /// - Parameters:
    ///   - firstID: The id of the first row.
    ///   - rows: A buffer without new rows.
    init(
        on connection: DatabaseConnection, time: RecordLogClock.Reading, firstID: RowID, rows: consuming RowBuffer,
        isImport: Bool, onCardinalityOverflow: ((CardinalityOverflow) -> Void)?
    ) {
        self.connection = connection
        self.time = time
        self.isImport = isImport
        self.onCardinalityOverflow = onCardinalityOverflow
        self.rows = rows
        self.rows.begin(firstID: firstID, receivedAt: time.wall.millisecondsSince1970)
    }

    /// The account ids, each with the numbers of its records and occurrences.
    var allSums: some Sequence<(AccountID, LedgerChanges.Sum)> { zip(accounts.ids, sums) }

    /// Adds a record with this number of occurrences to an account's sum.
    private mutating func count(_ occurrences: Int64, of account: AccountID) {
        let number = accounts.number(of: account)
        if number == sums.count { sums.append(LedgerChanges.Sum()) }
        sums[number].records += 1
        sums[number].occurrences += occurrences
    }

    /// Adds the records of all calls to the rows of the commit. Returns the outcomes of the calls, in order.
    mutating func take(_ submissions: [Submission], _ memory: inout WriterMemory) throws(SQLiteError) -> [CallOutcome] {
        var outcomes: [CallOutcome] = []
        outcomes.reserveCapacity(submissions.reduce(0) { $0 + $1.calls.count })
        for submission in submissions {
            let process = try entry(of: submission.process, &memory)
            memory.caches.series.use(submission.batch.directory)
            for call in submission.calls {
                try take(call, of: submission, process: process, &memory, &outcomes)
            }
        }
        return outcomes
    }

    /// Stores the records of a call, except duplicates. Appends the outcome to `outcomes`; if merged calls contain
    /// duplicates, appends one outcome per call.
    private mutating func take(
        _ call: ReportCall, of submission: Submission, process: WriterMemory.ProcessEntry, _ memory: inout WriterMemory,
        _ outcomes: inout [CallOutcome]
    ) throws(SQLiteError) {
        importedVerdict = call.verdict
        guard let numbering = call.numbering else {
            let receipts = try store(call.records, of: call, submission, process, &memory)
            outcomes.append(outcome(of: call, submission, receipts))
            return
        }
        if let receipts = try storeFresh(call, numbering, of: submission, process, &memory) {
            outcomes.append(outcome(of: call, submission, receipts))
            return
        }
        for call in call.each {
            let receipts = try storeNumbered(call, of: submission, process, &memory)
            outcomes.append(outcome(of: call, submission, receipts))
        }
    }

    private func outcome(of call: ReportCall, _ submission: Submission, _ receipts: ReceiptList) -> CallOutcome {
        CallOutcome(
            connection: submission.process.connection, token: call.token, receipts: receipts, calls: call.calls)
    }

    /// Adds records of a call to the rows of the commit. Returns the receipts of these and of the rejected records.
    mutating func store(
        _ records: Range<Int>, of call: ReportCall, _ submission: Submission, _ process: WriterMemory.ProcessEntry,
        _ memory: inout WriterMemory
    ) throws(SQLiteError) -> ReceiptList {
        let first = rows.nextID
        for index in records {
            try store(submission.batch.records[index], submission, process, &memory)
        }
        guard !call.rejected.isEmpty else {
            return .run(first: RecordID(store: memory.values.code, row: first), count: records.count)
        }
        return .mixed(receipts(of: call, first: first, memory.values))
    }

    private mutating func store(
        _ record: DecodedRecord, _ submission: Submission, _ process: WriterMemory.ProcessEntry,
        _ memory: inout WriterMemory
    ) throws(SQLiteError) {
        guard let found = memory.caches.series.find(record.series, sender: process.sender), !found.isWatched,
            !found.isOverflow, process.original == nil
        else { return try storeUnknown(record, submission, process, &memory) }
        let row = row(of: record, series: found.id, process, submission.batch.bytes.span)
        let reason: PriorityReason? = record.severity == .critical ? .critical : nil
        append(row, record, account: found.account, reason, submission.process.accountableUser, &memory)
    }

    /// Stores a record that needs more than a cache lookup: its series is not cached or is an overflow series, its
    /// group is not open, or its sender is an overflow sender.
    private mutating func storeUnknown(
        _ record: DecodedRecord, _ submission: Submission, _ process: WriterMemory.ProcessEntry,
        _ memory: inout WriterMemory
    ) throws(SQLiteError) {
        isGroupNew = false
        isGroupNewlyCritical = false
        defer { change = [] }
        let location: SeriesLocation
        if let known = memory.caches.series.find(record.series, sender: process.sender) {
            location = self.location(of: record, submission, known)
        } else {
            location = try findSeries(of: record, submission, process, &memory)
        }
        var row = row(of: record, series: location.series, process, submission.batch.bytes.span)
        if location.original != nil || process.original != nil {
            storeOriginal(location.original, process.original, of: record, submission.batch, in: &row)
        }
        var reason: PriorityReason? =
            record.severity == .critical ? .critical : isGroupNew ? .firstOfGroup : nil
        if isGroupNew { change.insert(.new) }
        if isGroupNewlyCritical { change.insert(.critical) }
        if location.isWatched, !isImport {
            switch try updateTriage(for: location, count: record.count, &memory) {
            case .none, .expiry: break
            case .silence: reason = nil
            case .regression:
                reason = .regression
                change.insert(record.severity == .critical ? [.regressed, .critical] : .regressed)
            }
        }
        append(row, record, account: location.account, reason, submission.process.accountableUser, &memory)
    }

    @inline(__always)
    private mutating func row(
        of record: DecodedRecord, series: SeriesID, _ process: WriterMemory.ProcessEntry, _ bytes: Span<UInt8>
    ) -> BlockRow {
        let time = rows.receivedAt
        return BlockRow(
            series: series, process: process.process, receivedAt: time,
            occurred: Self.difference(record.occurredAt, time),
            firstOccurred: Self.difference(record.firstOccurredAt, time), count: record.count,
            messageForm: record.messageForm, message: rows.take(record.message, from: bytes),
            metadata: rows.take(record.metadata, from: bytes),
            details: rows.take(record.details, from: bytes))
    }

    @inline(__always)
    private mutating func append(
        _ row: BlockRow, _ record: DecodedRecord, account: AccountID, _ reason: PriorityReason?,
        _ uid: UInt32,
        _ memory: inout WriterMemory
    ) {
        if let reason { priority.append(PriorityRecord(row: rows.nextID, reason: reason, uid: uid, change: change)) }
        memory.open.append(
            series: row.series, receivedAt: rows.receivedAt, count: row.count,
            bytes: row.byteCount + StoreWriter.rowOverhead)
        rows.append(row)
        count(record.count, of: account)
    }

    /// Returns the receipts of a call. `first` is the row id of its first stored record.
    func receipts(of call: ReportCall, first: RowID, _ values: WriterMemory.Values) -> [RecordReceipt] {
        var receipts: [RecordReceipt] = []
        var rejected = call.rejected[...]
        var row = first
        for index in 0..<call.count {
            if let next = rejected.first, next.index == index {
                receipts.append(.rejected(field: next.rejection.field, reason: next.rejection.reason))
                rejected.removeFirst()
            } else {
                receipts.append(.stored(id: values.recordID(row: row).text))
                row = row + 1
            }
        }
        return receipts
    }

    @inline(__always)
    private static func difference(_ time: Int64, _ receivedAt: Int64) -> Int64 {
        time == DecodedRecord.absent ? time : time &- receivedAt
    }
}

extension RecordCommit {
    /// Returns the row of a connection's process, with the id of the sender's row. Inserts a row for the process if
    /// none is cached. For the sender's row, see `senderEntry`.
    func entry(
        of process: ReportingProcess, _ memory: inout WriterMemory
    ) throws(SQLiteError) -> WriterMemory.ProcessEntry {
        if let known = memory.caches.processes[process.connection] { return known }
        let sender = try senderEntry(of: process.sender, user: process.accountableUser, &memory)
        try connection.run(
            "INSERT INTO processes (sender, pid, gid, started) VALUES (?1, ?2, ?3, ?4)", sender.id,
            Int64(process.sender.pid), process.sender.gid, process.startTime)
        let entry = WriterMemory.ProcessEntry(
            process: ProcessRowID(rawValue: connection.lastInsertedRowID), sender: sender.id,
            original: sender.isOverflow ? process.sender : nil)
        memory.caches.processes.insert(entry, for: process.connection)
        return entry
    }

    /// Returns the row of a sender, or that of the overflow sender if a new sender would exceed the user's limit.
    /// Inserts the row if it is new. The row has no pid or gid, because several processes share it.
    private func senderEntry(
        of sender: Sender, user: UInt32, _ memory: inout WriterMemory
    ) throws(SQLiteError) -> WriterMemory.SenderEntry {
        let kind = Sender(
            uid: sender.uid, gid: 0, pid: 0, command: sender.command, executable: sender.executable, unit: sender.unit)
        if let known = memory.caches.senders[kind] { return known }
        let entry: WriterMemory.SenderEntry
        if let id = try senderID(of: kind) {
            entry = WriterMemory.SenderEntry(id: id, isOverflow: false)
        } else {
            // In an import, the guard of the set-aside database has already replaced senders above the limit.
            switch isImport ? .allow : memory.values.cardinalityGuard.admitSender(uid: user, at: time.log) {
            case .allow: entry = WriterMemory.SenderEntry(id: try insert(kind), isOverflow: false)
            case .overflow:
                report(.senders, of: user)
                let overflow = Sender(uid: kind.uid, gid: 0, pid: 0, command: "overflow", executable: nil, unit: nil)
                let id = if let known = try senderID(of: overflow) { known } else { try insert(overflow) }
                entry = WriterMemory.SenderEntry(id: id, isOverflow: true)
                memory.caches.replacedSender(until: memory.values.cardinalityGuard.namesEnd(at: time.log))
            }
        }
        memory.caches.senders.insert(entry, for: kind)
        return entry
    }

    private func senderID(of kind: Sender) throws(SQLiteError) -> Int64? {
        try connection.first(
            "SELECT id FROM senders WHERE uid = ?1 AND command = ?2 AND executable = ?3 AND unit = ?4", kind.uid,
            kind.command ?? "", kind.executable ?? "", kind.unit ?? ""
        ) { $0.int64(0) }
    }

    private func insert(_ kind: Sender) throws(SQLiteError) -> Int64 {
        try connection.run(
            "INSERT INTO senders (uid, command, executable, unit) VALUES (?1, ?2, ?3, ?4)", kind.uid,
            kind.command ?? "", kind.executable ?? "", kind.unit ?? "")
        return connection.lastInsertedRowID
    }
}

/// The changes of one transaction to the ledger, collected so that each sum is written once.
struct LedgerChanges {
    struct Sum {
        var records: Int64 = 0
        var occurrences: Int64 = 0

        /// Returns the minimum of both sums, separately for records and occurrences.
        func limited(to other: Sum) -> Sum {
            Sum(records: min(records, other.records), occurrences: min(occurrences, other.occurrences))
        }
    }

    private struct Line: Hashable {
        /// 0 for the host itself.
        var destination: Int64
        var account: AccountID
        var fate: Int64
    }

    /// The value in the ledger's `fate` column that means "received".
    static let received: Int64 = 7

    private var sums: [Line: Sum] = [:]
    /// The destinations for which readable records have expired.
    private var destinationsWithExpiry: Set<Int64> = []

    /// Adds records of an account to what the host has received, and queues them for the given destinations.
    mutating func received(_ sum: Sum, account: AccountID, destinations: [Int64]) {
        add(sum, destination: 0, account: account, fate: Self.received)
        for destination in destinations { queued(sum, account: account, destination: destination) }
    }

    /// Adds records of an account to the received and the pending records of a destination.
    mutating func queued(_ sum: Sum, account: AccountID, destination: Int64) {
        add(sum, destination: destination, account: account, fate: Self.received)
        add(sum, destination: destination, account: account, fate: Int64(IssueFate.Outcome.pending.databaseValue))
    }

    /// Moves records of an account from one fate to another.
    mutating func moved(
        _ sum: Sum, account: AccountID, destination: Int64, from: IssueFate.Outcome, to: IssueFate.Outcome
    ) {
        if to == .expired { destinationsWithExpiry.insert(destination) }
        shift(sum, account: account, destination: destination, from: from, to: to)
    }

    /// Moves unreadable records from `pending` to `expired`. By default, moves one record and one occurrence, because
    /// the number of its occurrences is unknown. `ForwardingOutbox.expireRemainingOccurrences` moves the others.
    mutating func expiredUnreadable(
        _ sum: Sum = Sum(records: 1, occurrences: 1), account: AccountID, destination: Int64
    ) {
        shift(sum, account: account, destination: destination, from: .pending, to: .expired)
    }

    /// Subtracts erased records of an account from the received records of a destination, and from its records with
    /// the given fate. Pass nil as `fate` for the host itself, whose records have no fates.
    mutating func erased(_ sum: Sum, account: AccountID, destination: Int64, fate: IssueFate.Outcome?) {
        let negative = Sum(records: -sum.records, occurrences: -sum.occurrences)
        add(negative, destination: destination, account: account, fate: Self.received)
        if let fate { add(negative, destination: destination, account: account, fate: Int64(fate.databaseValue)) }
    }

    private mutating func shift(
        _ sum: Sum, account: AccountID, destination: Int64, from: IssueFate.Outcome, to: IssueFate.Outcome
    ) {
        let negative = Sum(records: -sum.records, occurrences: -sum.occurrences)
        add(negative, destination: destination, account: account, fate: Int64(from.databaseValue))
        add(sum, destination: destination, account: account, fate: Int64(to.databaseValue))
    }

    private mutating func add(_ sum: Sum, destination: Int64, account: AccountID, fate: Int64) {
        let line = Line(destination: destination, account: account, fate: fate)
        var total = sums[line] ?? Sum()
        total.records += sum.records
        total.occurrences = total.occurrences.clampedSum(sum.occurrences)
        sums[line] = total
    }

    /// Returns the accounts with changes at a destination.
    func accounts(at destination: Int64) -> Set<AccountID> {
        Set(sums.keys.lazy.filter { $0.destination == destination }.map(\.account))
    }

    /// Adds the changes to the `ledger` table, in the current transaction.
    func write(on connection: DatabaseConnection) throws(SQLiteError) {
        // The number of occurrences is clamped, because an overflow would make this commit fail, and all later ones
        // with records of the account.
        for (line, sum) in sums {
            try connection.run(
                """
                INSERT INTO ledger (destination, account, fate, records, occurrences) VALUES (?1, ?2, ?3, ?4, ?5)
                ON CONFLICT DO UPDATE SET records = records + ?4,
                                          occurrences = min(occurrences, 9223372036854775807 - ?5) + ?5
                """, line.destination, line.account, line.fate, sum.records, sum.occurrences)
        }
        for destination in destinationsWithExpiry { try Self.noteExpiry(at: destination, on: connection) }
    }

    /// Stores the current time as that of the last expiry at a destination.
    ///
    /// The time is a member of the destination's stored state, but not of `DestinationRow.State`. Therefore,
    /// `ForwardingOutbox.write` keeps the member when it replaces the stored state.
    private static func noteExpiry(at destination: Int64, on connection: DatabaseConnection) throws(SQLiteError) {
        try connection.run(
            """
            UPDATE destinations SET state = json_set(
                CASE WHEN json_valid(state) THEN state ELSE '{}' END, '$.last_expired', strftime('%s', 'now') * 1000)
            WHERE id = ?1
            """, destination)
    }
}
