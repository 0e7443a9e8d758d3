import IssueCore
import IssueProtocol
import IssueStore

/// The position of an outbox scan within the posting lists of a closed range,
/// and the next row that must be read individually.
struct PostingScan {
    typealias Look = RowTimes.Look

    let range: RangeLists
    /// The index of each list's series within the scan, and the reverse
    /// mapping.
    private let numbers: [Int]
    private var lists: [Int: Int] = [:]
    /// The number of records of each list that were passed, and of those with
    /// more than one occurrence.
    private var passed: [Int]
    private var passedMore: [Int]
    /// The next row of each list that must be read individually.
    private var next: [Int64]
    private var times = RowTimes()

    /// Creates a scan.
    ///
    /// - Parameters:
    ///   - range: The posting lists of the range.
    ///   - numbers: The index within the scan of each list's series.
    init(_ range: RangeLists, numbers: [Int]) {
        self.range = range
        self.numbers = numbers
        lists = Dictionary(numbers.enumerated().map { ($1, $0) }) { first, _ in first }
        passed = [Int](repeating: 0, count: numbers.count)
        passedMore = passed
        next = range.lists.map { $0.rows[0] }
    }

    /// The next row that must be read individually; nil if there is none.
    ///
    /// With thousands of series, most of the time is spent here.
    var nextRow: Int64? {
        var least = Int64.max
        for row in next { least = min(least, row) }
        return least == .max ? nil : least
    }

    /// Returns the first row that was received at `moment` or later; nil if
    /// there is none in the range.
    mutating func row(since moment: RecordLogInstant, _ look: Look) rethrows -> Int64? {
        try times.row(since: moment.milliseconds &- range.offset, in: range.rows, look)
    }

    /// Recomputes from which row on records of a series are not suppressed by
    /// its run.
    mutating func turn(_ number: Int, _ runs: SuppressedRuns, _ look: Look) rethrows {
        guard let list = lists[number] else { return }
        let rows = range.lists[list].rows
        guard passed[list] < rows.count else { return next[list] = .max }
        let first = rows[passed[list]]
        next[list] = first
        guard let end = runs.end(number) else { return }
        var row = try self.row(since: end, look) ?? .max
        if let exception = runs.exception(number, from: first) { row = min(row, exception) }
        let place = Self.place(of: row, in: rows, from: passed[list])
        next[list] = place < rows.count ? rows[place] : .max
    }

    /// Counts the records of a series below a row that its run has suppressed.
    ///
    /// - Returns: The number of these records.
    mutating func pass(
        _ number: Int, below row: Int64, _ runs: inout SuppressedRuns, _ look: Look
    ) rethrows -> Int {
        guard let list = lists[number] else { return 0 }
        let rows = range.lists[list].rows
        let end = Self.place(of: row, in: rows, from: passed[list])
        guard end > passed[list] else { return 0 }
        defer { passed[list] = end }
        // Without a run, each record was read individually. Records that were
        // not found have been removed.
        guard runs.hasRun(number) else { return 0 }
        let held = rows[passed[list]..<end]
        let first = try times.time(of: rows[passed[list]], look) ?? 0
        let last = try times.time(of: rows[end - 1], look) ?? first
        var occurrences = Int64(held.count)
        let more = range.lists[list].more
        while passedMore[list] < more.count, more[passedMore[list]].row < row {
            occurrences = occurrences.clampedSum(more[passedMore[list]].occurrences)
            passedMore[list] += 1
        }
        runs.take(held, number, occurrences: occurrences, instant(first)...instant(max(first, last)))
        return held.count
    }

    /// Counts the records of all series below a row that their runs have
    /// suppressed. Returns their number.
    mutating func passAll(below row: Int64, _ runs: inout SuppressedRuns, _ look: Look) rethrows -> Int {
        var count = 0
        for number in numbers { count += try pass(number, below: row, &runs, look) }
        return count
    }

    /// Marks a row as read individually. All earlier rows of its series must
    /// have been passed.
    mutating func met(_ row: Int64, _ number: Int) {
        guard let list = lists[number] else { return }
        passed[list] = Self.place(of: row &+ 1, in: range.lists[list].rows, from: passed[list])
        let more = range.lists[list].more
        while passedMore[list] < more.count, more[passedMore[list]].row <= row { passedMore[list] += 1 }
    }

    private func instant(_ time: Int64) -> RecordLogInstant { RecordLogInstant(milliseconds: time &+ range.offset) }

    /// Returns the index of the first element of `rows`, from index `start`,
    /// that is not below `row`.
    private static func place(of row: Int64, in rows: [Int64], from start: Int) -> Int {
        var (low, high) = (start, rows.count)
        while low < high {
            let middle = (low + high) / 2
            if rows[middle] >= row { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

/// Scanning suppressed records with the posting lists of a closed range,
/// without reading their rows.
///
/// Records are evaluated in the order of the record log, so all decisions are
/// the same as without the lists. Each record between two rows that are read is
/// known to be suppressed by the run of its series.
extension ForwardingLoop where Destination: ~Copyable {
    /// If more than one in this many records must be read individually, reading
    /// all rows is cheaper.
    private static var minSuppressed: Int { 8 }

    /// Scans the rest of a closed range.
    func scanOn(_ range: RangeLists, _ pass: inout ScanCursor, _ walk: inout OutboxScan) throws {
        func look(_ row: Int64) throws -> RowTimes.Sample? {
            try reader.step(from: row, through: range.rows.upperBound).map {
                RowTimes.Sample(row: $0.row, at: $0.receivedAt.milliseconds)
            }
        }
        let numbers = try range.lists.map { list in
            try pass.runs.number(of: list.series) { try reader.facts(ofSeries: list.series) }
        }
        var lists = PostingScan(range, numbers: numbers)
        for number in numbers { try lists.turn(number, pass.runs, look) }
        let ahead = try reader.sentAhead(of: service.destination.id, in: range.rows, priority: priority)
        let unusual = ahead.gone.union(ahead.refused).sorted()
        var (unusualMet, looked) = (0, 0)

        while !walk.isFull, looked <= range.count / Self.minSuppressed {
            let due = try pass.due.flatMap { try lists.row(since: $0, look) }
            let nextUnusual = unusualMet < unusual.count ? unusual[unusualMet] : nil
            guard let next = [lists.nextRow, due, nextUnusual].compactMap({ $0 }).min(),
                let step = try reader.step(from: max(next, pass.position + 1), through: range.rows.upperBound)
            else {
                walk.walked += try lists.passAll(below: .max, &pass.runs, look)
                pass.position = range.rows.upperBound
                return
            }
            let number = try pass.runs.number(of: step.series) { try reader.facts(ofSeries: step.series) }
            let now = RecordLogInstant(milliseconds: step.receivedAt.milliseconds &+ range.offset)
            let isDue = pass.due.map { $0 <= now } ?? false
            let group = pass.runs.facts(number)?.group
            // The counts that the decision depends on must be up to date.
            let asked = isDue ? numbers : group.map { pass.runs.numbers(ofGroup: $0) } ?? [number]
            for number in asked { walk.walked += try lists.pass(number, below: step.row, &pass.runs, look) }
            var released: [Int] = []
            if isDue || !ahead.isUsual(step.row) || !pass.runs.take(step, number, at: now) {
                released = try meet(step, number, ahead, offset: range.offset, &pass, &walk)
            }
            lists.met(step.row, number)
            walk.walked += 1
            looked += 1
            pass.position = step.row
            while unusualMet < unusual.count, unusual[unusualMet] <= step.row { unusualMet += 1 }
            for number in released {
                walk.walked += try lists.pass(number, below: step.row, &pass.runs, look)
                try lists.turn(number, pass.runs, look)
            }
            try lists.turn(number, pass.runs, look)
        }
        walk.walked += try lists.passAll(below: pass.position, &pass.runs, look)
        if !walk.isFull { pass.rowsThrough = range.rows.upperBound }
    }
}
