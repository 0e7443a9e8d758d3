import IssueCore
import IssueProtocol
import IssueStore

extension ForwardingLoop where Destination: ~Copyable {
    /// How many rows one walk passes at most, or the rest of a range more, so that a flood of what is held back is
    /// stored in portions.
    private static var maxScanned: Int { 65_536 }
    private static var stretch: Int { 2048 }

    /// Walks on from the cursor until the batch is full, and says how far it came.
    func walkOn(_ walk: inout OutboxScan) throws -> Int64 {
        var pass = ScanCursor(position: cursor, due: admission.nextSummaryDue)
        while !walk.isFull, walk.walked < Self.maxScanned {
            if pass.isHeldBack, pass.position >= pass.rowsThrough, let lists = try reader.lists(after: pass.position) {
                try walkOn(lists, &pass, &walk)
            } else {
                guard try walkOnByRows(&pass, &walk) else { break }
            }
            // The writer waits for this snapshot. What was walked is a batch, too.
            if service.writer.snapshots.isClosed { break }
        }
        count(pass.runs.end(), &walk)
        for (reason, rows) in pass.runs.held { walk.batch.held[reason, default: []] += rows }
        return pass.position
    }

    /// Passes the next stretch, record by record; false where there is none.
    private func walkOnByRows(_ pass: inout ScanCursor, _ walk: inout OutboxScan) throws -> Bool {
        let stretch = try reader.stretch(after: pass.position, limit: Self.stretch)
        guard let lowest = stretch.steps.first?.row, let highest = stretch.steps.last?.row else { return false }
        let ahead = try reader.goneAhead(of: service.destination.id, in: lowest...highest, priority: priority)
        var held = 0
        for step in stretch.steps {
            if walk.isFull { break }
            let number = try pass.runs.number(of: step.series) { try reader.facts(ofSeries: step.series) }
            let now = RecordLogInstant(milliseconds: step.receivedAt.milliseconds &+ stretch.offset)
            pass.position = step.row
            walk.walked += 1
            if pass.due.map({ $0 > now }) ?? true, ahead.isUsual(step.row), pass.runs.take(step, number, at: now) {
                held += 1
            } else {
                _ = try meet(step, number, ahead, offset: stretch.offset, &pass, &walk)
            }
        }
        pass.isHeldBack = held > stretch.steps.count / 4 * 3
        return true
    }

    /// Judges a record that no run holds back.
    ///
    /// - Returns: the series whose next records have to be judged since.
    func meet(
        _ step: ScanRow, _ number: Int, _ ahead: StoreReader.GoneAhead, offset: Int64, _ pass: inout ScanCursor,
        _ walk: inout OutboxScan
    ) throws -> [Int] {
        guard let facts = pass.runs.facts(number) else { return [] }
        if ahead.gone.contains(step.row) {
            walk.batch.gone += 1
            return []
        }
        var record = facts.record(step, offset: offset)
        let isDue = pass.due.map { $0 <= record.at } ?? false
        if isDue {
            count(pass.runs.end(), &walk)
            // Each has to open its window anew, so that it is told in time.
            pass.runs.forget()
            walk.batch.newSummaries += try summaries(of: admission.dueSummaries(at: record.at))
        }
        record.candidate.wasPriority = ahead.refused.contains(step.row)
        count(pass.runs.end(ofGroup: facts.group), &walk)
        let released = try judge(record, number, &pass.runs, &walk)
        // What is let through opens no window.
        if released == nil || isDue { pass.due = admission.nextSummaryDue }
        return isDue ? Array(0..<pass.runs.count) : released ?? []
    }

    private func count(_ runs: [SuppressedRun], _ walk: inout OutboxScan) {
        for run in runs {
            admission.count(run)
            walk.summarise(run)
        }
    }

    /// Judges one record, and says of which series the next have to be judged where it was let through.
    private func judge(
        _ record: OutboxRecord, _ number: Int, _ runs: inout SuppressedRuns, _ walk: inout OutboxScan
    ) throws -> [Int]? {
        let candidate = record.candidate
        try recall(candidate)
        switch admission.judge(candidate, at: record.at) {
        case .admit(let before, let occurrences):
            let sent = SentRecord(
                row: candidate.record, account: candidate.account, count: candidate.count, suppressedBefore: before,
                occurrences: occurrences)
            if let line = try line(of: sent) {
                walk.batch.sent.append(sent)
                walk.add(line, of: candidate.user)
                // Sent or not: what follows in this batch is judged by it.
                admission.dailyBytes.charge(line.count + 1, to: candidate.user)
            } else {
                walk.withhold(candidate)
            }
            return runs.admitted(inGroup: candidate.group)
        case .suppress(let reason):
            walk.summarise(candidate, reason)
            runs.begin(admission.run(after: candidate, heldFor: reason, at: record.at), number)
            return nil
        case .withhold:
            walk.withhold(candidate)
            return nil
        }
    }
}

/// What one walk over the log has gathered so far.
struct OutboxScan {
    var batch: NewBatch
    var walked = 0
    /// What is made of its lines, of which none is kept.
    let body: any PreparedBody
    /// Whose records take how many bytes of its lines.
    private(set) var users: [UInt32: Int] = [:]
    private var builder: BatchBuilder
    private var withheld: [Int64: NewBatch.Tally] = [:]
    private var summarised: [Int64: NewBatch.Tally] = [:]

    init(_ batch: NewBatch, _ limit: BatchLimit, _ body: any PreparedBody) {
        self.batch = batch
        self.body = body
        builder = BatchBuilder(limit: limit)
    }

    /// The most that it was to hold.
    var limit: BatchLimit { builder.limit }
    var isFull: Bool { builder.isFull }
    var lineCount: Int { builder.count }
    var lineBytes: Int { builder.bytes }

    /// - Parameter user: The user whose record it is; nil for a summary.
    mutating func add(_ line: [UInt8], of user: UInt32?) {
        body.add(line)
        builder.add(bytes: line.count + 1)
        if let user { users[user, default: 0] += line.count + 1 }
    }

    mutating func withhold(_ candidate: Candidate) {
        batch.withheld.append(candidate.record)
        Self.count(1, candidate.count, of: candidate.account, in: &withheld)
    }

    mutating func summarise(_ candidate: Candidate, _ reason: SuppressionReason) {
        batch.held[reason, default: []].append(candidate.record)
        Self.count(1, candidate.count, of: candidate.account, in: &summarised)
    }

    /// Counts records whose rows are noted one by one.
    mutating func summarise(_ run: SuppressedRun) {
        Self.count(run.records, run.occurrences, of: run.account, in: &summarised)
    }

    /// The batch with all its sums.
    var finished: NewBatch {
        var batch = batch
        batch.withheldTally = Array(withheld.values)
        batch.summarised = Array(summarised.values)
        return batch
    }

    private static func count(
        _ records: Int64, _ occurrences: Int64, of account: Int64, in tallies: inout [Int64: NewBatch.Tally]
    ) {
        let none = NewBatch.Tally(account: account, records: 0, occurrences: 0)
        tallies[account, default: none].records += records
        tallies[account, default: none].occurrences += occurrences
    }
}

/// Where one walk over the log stands.
struct ScanCursor {
    /// The last row that it has passed.
    var position: Int64
    /// What it holds back without judging each record.
    var runs = SuppressedRuns()
    /// When the next window closes.
    var due: RecordLogInstant?
    /// Up to which row records are read one by one, since too many of them have to be judged.
    var rowsThrough: Int64 = 0
    /// Whether most of what was read last was held back in runs.
    var isHeldBack = false
}

/// What one walk knows of the series that it meets, and the runs of those that are held back.
struct SuppressedRuns {
    /// What is looked at for each record stands by itself, so that to look costs no more than that.
    private struct Known {
        var firstOfGroup: Int64
        var regression: Int64
        /// Up to there each record has to be judged.
        var mutedThrough: Int64
        /// Until then the run holds; nothing where there is none.
        var until: RecordLogInstant?
        /// Of the run's reason, among all of them.
        var place = 0
    }

    private var numbers = IDInterner()
    private var facts: [SeriesInfo?] = []
    private var known: [Known] = []
    private var runs: [SuppressedRun?] = []
    /// The series of each group, by their numbers.
    private var series: [Int64: [Int]] = [:]
    /// The runs that end when a record is let through.
    private var shared: [Int] = []
    /// Which rows were held back for which reason, by its place among all reasons.
    private var rows = [[Int64]](repeating: [], count: SuppressionReason.allCases.count)

    /// The number of a series in this walk.
    mutating func number(of id: Int64, or find: () throws -> SeriesInfo?) rethrows -> Int {
        let number = numbers.number(of: id)
        if number == known.count {
            let found = try find()
            facts.append(found)
            known.append(
                Known(
                    firstOfGroup: found?.firstOfGroup ?? 0, regression: found?.regression ?? 0,
                    mutedThrough: found?.mutes.last ?? .min))
            runs.append(nil)
            if let found { series[found.group, default: []].append(number) }
        }
        return number
    }

    func facts(_ number: Int) -> SeriesInfo? { facts[number] }

    /// Counts a record in its run; false where it has to be judged.
    @inline(__always)
    mutating func take(_ step: ScanRow, _ number: Int, at now: RecordLogInstant) -> Bool {
        guard let until = known[number].until, now < until, known[number].firstOfGroup != step.row,
            known[number].regression != step.row, known[number].mutedThrough < step.row
        else { return false }
        runs[number]?.add(step.row, count: step.count, at: now)
        rows[known[number].place].append(step.row)
        return true
    }

    /// Counts records of a series for all of which its last run held.
    mutating func take(
        _ held: ArraySlice<Int64>, _ number: Int, occurrences: Int64, _ times: ClosedRange<RecordLogInstant>
    ) {
        runs[number]?.add(held, occurrences: occurrences, times)
        rows[known[number].place] += held
    }

    /// Whether records of a series were held back.
    func hasRun(_ number: Int) -> Bool { runs[number] != nil }

    /// From when on the next record of a series has to be judged; nothing where the next one has to be in any case.
    func end(_ number: Int) -> RecordLogInstant? { known[number].until }

    /// The first row, of this one and those behind it, whose record has to be judged whatever the run says.
    func exception(_ number: Int, from row: Int64) -> Int64? {
        let one = known[number]
        if one.mutedThrough >= row { return row }
        return [one.firstOfGroup, one.regression].filter { $0 >= row }.min()
    }

    /// The series of a group that were met.
    func numbers(ofGroup group: Int64) -> [Int] { series[group] ?? [] }

    /// How many series were met.
    var count: Int { known.count }

    mutating func begin(_ run: SuppressedRun?, _ number: Int) {
        runs[number] = run
        known[number].until = run?.until
        known[number].place = run?.place ?? 0
        if let run, run.endsWithAdmission { shared.append(number) }
    }

    /// The runs of a group, or all of them, each with something in it; they go on from nothing.
    mutating func end(ofGroup group: Int64? = nil) -> [SuppressedRun] {
        let numbers = group.map { self.numbers(ofGroup: $0) } ?? Array(known.indices)
        var ended: [SuppressedRun] = []
        for number in numbers {
            guard let run = runs[number], run.records > 0 else { continue }
            ended.append(run)
            runs[number] = run.emptied
        }
        return ended
    }

    /// The next record of each series has to be judged.
    mutating func forget() {
        for number in known.indices { known[number].until = nil }
        shared.removeAll(keepingCapacity: true)
    }

    /// A record of a group was let through: the next ones for which that may change something have to be judged.
    ///
    /// - Returns: their series.
    @discardableResult
    mutating func admitted(inGroup group: Int64) -> [Int] {
        let ended = shared + numbers(ofGroup: group)
        for number in ended { known[number].until = nil }
        shared.removeAll(keepingCapacity: true)
        return ended
    }

    /// The rows of all runs.
    var held: [(reason: SuppressionReason, rows: [Int64])] {
        zip(SuppressionReason.allCases, rows).filter { !$1.isEmpty }.map { ($0, $1) }
    }
}
