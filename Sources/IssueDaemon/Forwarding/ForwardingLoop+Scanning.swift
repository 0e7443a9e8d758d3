import IssueCore
import IssueProtocol
import IssueStore

extension ForwardingLoop where Destination: ~Copyable {
    /// The number of rows after which a scan ends, so that its progress is stored even if all records are suppressed.
    private static var maxScanned: Int { 65_536 }
    private static var pageRows: Int { 2048 }

    /// Scans from the cursor until the batch is full or the scan ends for another reason, such as the end of the record
    /// log. Returns the last row that was scanned or, if only damaged blocks follow, their last row. Returns the cursor
    /// if there is neither.
    func scanRows(_ scan: inout OutboxScan) throws -> RowID {
        var position = ScanCursor(row: cursor, due: admission.nextSummaryDue)
        while !scan.isFull, scan.scannedCount < Self.maxScanned {
            guard try scanPage(&position, &scan) else { break }
            // The writer waits for this snapshot to end, so the rows scanned so far become a batch.
            if service.writer.snapshots.isClosed { break }
        }
        count(position.runs.takeCounted(), &scan)
        for (reason, rows) in position.runs.held { scan.batch.held[reason, default: []] += rows }
        if position.row > cursor { scan.batch.unreadable = reader.blocks.unreadable(in: cursor + 1...position.row) }
        return position.row
    }

    /// Scans the next page of rows. Returns `false` if the scan must end, because there are no further rows or because
    /// series have moved to other groups before these rows.
    private func scanPage(_ position: inout ScanCursor, _ scan: inout OutboxScan) throws -> Bool {
        let page = try reader.page(after: position.row, limit: Self.pageRows)
        guard let lowest = page.steps.first?.row, let highest = page.steps.last?.row else {
            position.row = try lastUnreadable(after: position.row)
            return false
        }
        // The cached facts about series are valid until some series move to other groups. The scan ends there, and the
        // next one reads the facts again.
        if let move = position.move, move != page.move { return false }
        position.move = page.move
        let ahead = try reader.sentAhead(of: service.destination.id, in: lowest...highest, priority: priority)
        for step in page.steps {
            if scan.isFull { break }
            let number = try position.runs.number(of: step.series) {
                try reader.info(ofSeries: step.series, at: step.row)
            }
            let now = RecordLogInstant(milliseconds: step.receivedAt.millisecondsSince1970 &+ page.offset)
            position.row = step.row
            scan.scannedCount += 1
            if position.due.map({ $0 > now }) ?? true, ahead.isUsual(step.row),
                position.runs.count(step, number, at: now)
            {
                continue
            }
            try evaluateRow(step, number, ahead, offset: page.offset, &position, &scan)
        }
        return true
    }

    /// Returns the last row of the damaged blocks at the end of the record log; the given row if there are none. If the
    /// scan did not pass these blocks, their records would stay pending until another record is reported.
    ///
    /// - Parameter row: A row after which no record can be read.
    private func lastUnreadable(after row: RowID) throws -> RowID {
        let newest = try reader.newest()
        guard newest > row else { return row }
        return reader.blocks.unreadable(in: row + 1...newest).map(\.upperBound).max() ?? row
    }

    /// Evaluates a record that was not counted as part of a run.
    private func evaluateRow(
        _ step: ScanRow, _ number: Int, _ ahead: StoreReader.SentAhead, offset: Int64, _ position: inout ScanCursor,
        _ scan: inout OutboxScan
    ) throws {
        guard let series = position.runs.info(at: number) else {
            // The series is missing in the database. The record still counts as scanned: if a batch had decisions for
            // fewer records than its span has, storing it could fail with `StoreFailure.outdated`.
            scan.batch.exempt += 1
            return
        }
        if ahead.singles.contains(step.row) {
            scan.batch.exempt += 1
            return
        }
        var record = series.record(step, offset: offset)
        let isDue = position.due.map { $0 <= record.at } ?? false
        if isDue {
            count(position.runs.takeCounted(), &scan)
            // The next record of each series is then evaluated, so that a suppressed one opens a new window at once.
            position.runs.endAll()
            scan.batch.newSummaries += try summaries(of: admission.dueSummaries(at: record.at))
        }
        record.candidate.wasPriority = ahead.refused.contains(step.row)
        count(position.runs.takeCounted(ofGroup: series.group), &scan)
        let isAdmitted = try evaluate(record, number, &position.runs, &scan)
        // Admitting a record opens no window.
        if !isAdmitted || isDue { position.due = admission.nextSummaryDue }
    }

    private func count(_ runs: [SuppressedRun], _ scan: inout OutboxScan) {
        for run in runs {
            admission.count(run)
            scan.summarise(run)
        }
    }

    /// Evaluates a record. Returns `true` if it is admitted.
    private func evaluate(
        _ record: OutboxRecord, _ number: Int, _ runs: inout SuppressedRuns, _ scan: inout OutboxScan
    ) throws -> Bool {
        let candidate = record.candidate
        try recall(candidate)
        switch admission.evaluate(candidate, at: record.at) {
        case .admit(let before, let occurrences):
            let sent = SentRecord(candidate, suppressedBefore: before, occurrences: occurrences)
            if let line = try line(of: sent) {
                scan.batch.sent.append(sent)
                scan.add(line, of: candidate.user)
                // Charged even if the request fails later, since the decisions on the following records depend on the
                // charge.
                admission.charge(line.count + 1, to: candidate.user, at: record.at)
            } else {
                scan.withhold(candidate)
            }
            runs.admitted(inGroup: candidate.group)
            return true
        case .suppress(let reason):
            scan.summarise(candidate, reason)
            runs.begin(admission.makeRun(after: candidate, heldFor: reason, at: record.at), number)
            return false
        case .withhold:
            scan.withhold(candidate)
            return false
        }
    }
}

/// A batch that is being built by a scan of the record log, or from priority or requeued records.
struct OutboxScan {
    var batch: NewBatch
    var scannedCount = 0
    private(set) var lines: BatchLines
    /// The limits that have held back records of this scan.
    private(set) var reachedLimits: Set<ReachedLimit> = []
    private var builder: BatchBuilder
    private var withheld: [AccountID: NewBatch.Tally] = [:]
    private var summarised: [AccountID: NewBatch.Tally] = [:]

    init(_ batch: NewBatch, _ limit: BatchLimit, _ body: any PreparedBody) {
        self.batch = batch
        lines = BatchLines(in: body)
        builder = BatchBuilder(limit: limit)
    }

    /// The limit of the batch.
    var limit: BatchLimit { builder.limit }
    var isFull: Bool { builder.isFull }
    var lineCount: Int { lines.count }

    /// Adds a line to the batch.
    ///
    /// - Parameters:
    ///   - line: The line, without the line break.
    ///   - user: The user whose record it is; nil for a summary or a correction.
    mutating func add(_ line: [UInt8], of user: UInt32?) {
        lines.add(line, of: user)
        builder.add(bytes: line.count + 1)
    }

    mutating func withhold(_ candidate: AdmissionCandidate) {
        batch.withheld.append(candidate.record)
        Self.count(1, candidate.count, of: candidate.account, in: &withheld)
    }

    mutating func summarise(_ candidate: AdmissionCandidate, _ reason: SuppressionReason) {
        batch.held[reason, default: []].append(candidate.record)
        reach(reason, account: candidate.account, user: candidate.user)
        Self.count(1, candidate.count, of: candidate.account, in: &summarised)
    }

    /// Counts the records of a run. Their rows are recorded separately.
    mutating func summarise(_ run: SuppressedRun) {
        Self.count(run.records, run.occurrences, of: run.account, in: &summarised)
        reach(run.reason, account: run.account, user: run.user)
    }

    private mutating func reach(_ reason: SuppressionReason, account: AccountID, user: UInt32) {
        if let limit = ReachedLimit(reason, account: account, user: user) { reachedLimits.insert(limit) }
    }

    /// The batch with the totals of withheld and summarised records.
    var finished: NewBatch {
        var batch = batch
        batch.withheldTally = Array(withheld.values)
        batch.summarised = Array(summarised.values)
        return batch
    }

    private static func count(
        _ records: Int64, _ occurrences: Int64, of account: AccountID, in tallies: inout [AccountID: NewBatch.Tally]
    ) {
        let none = NewBatch.Tally(account: account, records: 0, occurrences: 0)
        tallies[account, default: none].records += records
        tallies[account, default: none].occurrences += occurrences
    }
}

/// The position of a scan in the record log.
struct ScanCursor {
    /// The last row that was scanned.
    var row: RowID
    /// The runs of records that are suppressed without evaluating each one.
    var runs = SuppressedRuns()
    /// The last row before the next move of series to other groups; `RowID.max` if there is none. Nil before the first
    /// page.
    var move: RowID?
    /// The log time from which summaries are due (`Admission.nextSummaryDue`); nil if no window is open.
    var due: RecordLogInstant?
}

/// The series in one scan, and the runs of those that are suppressed.
struct SuppressedRuns {
    /// The values that are read for each record. They are stored separately so that the lookup is cheap.
    private struct SeriesEntry {
        var firstOfGroup: RowID
        var regression: RowID
        /// Each record up to this row must be evaluated.
        var mutedThrough: RowID
        /// The end of the run; nil if there is none.
        var until: RecordLogInstant?
        /// The index of the run's reason in `SuppressionReason.allCases`.
        var reasonIndex = 0
    }

    private var numbers = IDInterner<SeriesID>()
    private var info: [SeriesInfo?] = []
    private var entries: [SeriesEntry] = []
    private var runs: [SuppressedRun?] = []
    /// The indices of each group's series.
    private var series: [GroupID: [Int]] = [:]
    /// The indices of the series whose runs end when any record is admitted.
    private var shared: [Int] = []
    /// The suppressed rows for each reason, by the reason's index.
    private var rows = [[RowID]](repeating: [], count: SuppressionReason.allCases.count)

    /// Returns the index of a series within this scan. Calls `find` for a new one.
    mutating func number(of id: SeriesID, or find: () throws -> SeriesInfo?) rethrows -> Int {
        let number = numbers.number(of: id)
        if number == entries.count {
            let found = try find()
            info.append(found)
            entries.append(
                SeriesEntry(
                    firstOfGroup: found?.firstOfGroup ?? 0, regression: found?.regression ?? 0,
                    mutedThrough: found?.mutes.last ?? .min))
            runs.append(nil)
            if let found { series[found.group, default: []].append(number) }
        }
        return number
    }

    func info(at number: Int) -> SeriesInfo? { info[number] }

    /// Counts a record as suppressed by its series' run. Returns `false` if it must be evaluated instead.
    @inline(__always)
    mutating func count(_ step: ScanRow, _ number: Int, at now: RecordLogInstant) -> Bool {
        guard let until = entries[number].until, now < until, entries[number].firstOfGroup != step.row,
            entries[number].regression != step.row, entries[number].mutedThrough < step.row
        else { return false }
        runs[number]?.add(step.row, count: step.count, at: now)
        rows[entries[number].reasonIndex].append(step.row)
        return true
    }

    mutating func begin(_ run: SuppressedRun?, _ number: Int) {
        runs[number] = run
        entries[number].until = run?.until
        entries[number].reasonIndex = run?.reasonIndex ?? 0
        if let run, run.endsWithAdmission { shared.append(number) }
    }

    /// Removes and returns what the runs of a group, or of all groups, have counted. The runs continue.
    mutating func takeCounted(ofGroup group: GroupID? = nil) -> [SuppressedRun] {
        let numbers = group.map { series[$0] ?? [] } ?? Array(entries.indices)
        var taken: [SuppressedRun] = []
        for number in numbers {
            guard let run = runs[number], run.records > 0 else { continue }
            taken.append(run)
            runs[number] = run.emptied
        }
        return taken
    }

    /// Ends all runs, so that the next record of each series is evaluated.
    mutating func endAll() {
        for number in entries.indices { entries[number].until = nil }
        shared.removeAll(keepingCapacity: true)
    }

    /// Ends the runs that may change because a record of a group was admitted.
    mutating func admitted(inGroup group: GroupID) {
        for number in shared { entries[number].until = nil }
        for number in series[group] ?? [] { entries[number].until = nil }
        shared.removeAll(keepingCapacity: true)
    }

    /// The rows of all runs, by reason.
    var held: [(reason: SuppressionReason, rows: [RowID])] {
        zip(SuppressionReason.allCases, rows).filter { !$1.isEmpty }.map { ($0, $1) }
    }
}

/// Publishes the state of the limits for the method `Limits`, so that no query needs this thread.
extension ForwardingLoop where Destination: ~Copyable {
    /// The time of the last publication, the rows that had been examined by then, and the names in it.
    struct PublishedLimits {
        var cursor: RowID?
        var priority: RowID?
        var at: MonotonicInstant
        var accounts: [AccountID: LimitView.Application] = [:]
        var groups: [GroupID: String] = [:]
    }

    /// The minimum interval between publications. Each one copies some tables, so not every batch causes one.
    private static var limitsInterval: Duration { .seconds(1) }

    /// When the limits must be published; nil if `cursor` and `priority` are the same as at the last complete
    /// publication.
    var limitsDue: MonotonicInstant? {
        guard published.cursor != cursor || published.priority != priority else { return nil }
        return published.cursor == nil ? published.at : published.at.advanced(by: Self.limitsInterval)
    }

    /// Publishes the limits if they are due.
    ///
    /// - Parameter isLast: `true` to publish them now because the service stops.
    func publishLimits(isLast: Bool = false) {
        let now = Clock.monotonic
        guard isLast || limitsDue.map({ $0 <= now }) ?? false else { return }
        // Set also if reading fails, because a time in the past would be due at once again.
        published.at = now
        published.cursor = published.cursor ?? 0
        published.priority = nil
        guard let offset = try? reader.recordLogOffset() else { return }
        let wall = Clock.wall.millisecondsSince1970
        let logTime = RecordLogInstant(milliseconds: wall + offset)
        admission.removeExpiredHistory(at: logTime)
        var view = LimitView(admission, offset: offset, at: logTime)
        let isComplete = name(&view, at: logTime)
        // Names that could not be read are read again the next time.
        if isComplete { (published.cursor, published.priority) = (cursor, priority) }
        service.statusRegistry.update(view, of: service.destination.name)
    }

    /// Adds the names of applications and groups to the view. Removes from the history the applications and groups that
    /// no longer exist.
    ///
    /// Returns `false` if some names could not be read.
    private func name(_ view: inout LimitView, at now: RecordLogInstant) -> Bool {
        var isComplete = true
        var accounts: Set<AccountID> = []
        var groups: Set<GroupID> = []
        for account in view.accounts {
            do {
                view.names[account] = try published.accounts[account] ?? reader.account(account)
                if view.names[account] == nil { accounts.insert(account) }
            } catch {
                isComplete = false
            }
        }
        for group in view.groupIDs {
            do {
                view.groupNames[group] = try published.groups[group] ?? reader.publicID(of: group)
                if view.groupNames[group] == nil { groups.insert(group) }
            } catch {
                isComplete = false
            }
        }
        (published.accounts, published.groups) = (view.names, view.groupNames)
        if !accounts.isEmpty || !groups.isEmpty {
            admission.removeHistory(accounts: accounts, groups: groups, at: now)
        }
        return isComplete
    }
}
