import IssueCore
import IssueProtocol
import IssueStore

/// How far a walk has come in the lists of a closed range, and where it has to look at a record by itself.
struct PostingScan {
    typealias Look = RowTimes.Look

    let range: RangeLists
    /// The lists' series by their numbers in the walk, and back.
    private let numbers: [Int]
    private var lists: [Int: Int] = [:]
    /// How many records of each list were passed, and how many of those that stand for more than one occurrence.
    private var passed: [Int]
    private var passedMore: [Int]
    /// Of each list the next record that has to be looked at by itself.
    private var next: [Int64]
    private var times = RowTimes()

    /// - Parameter numbers: Of each list's series in the walk.
    init(_ range: RangeLists, numbers: [Int]) {
        self.range = range
        self.numbers = numbers
        lists = Dictionary(numbers.enumerated().map { ($1, $0) }) { first, _ in first }
        passed = [Int](repeating: 0, count: numbers.count)
        passedMore = passed
        next = range.lists.map { $0.rows[0] }
    }

    /// The next record that has to be looked at by itself.
    ///
    /// - Note: Over thousands of series this is what takes the time.
    var nextRow: Int64? {
        var least = Int64.max
        for row in next { least = min(least, row) }
        return least == .max ? nil : least
    }

    /// The first row that came at a moment or later.
    mutating func row(since moment: RecordLogInstant, _ look: Look) rethrows -> Int64? {
        try times.row(since: moment.milliseconds &- range.offset, in: range.rows, look)
    }

    /// Looks again from where on records of a series are not held back by its run.
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

    /// Counts what a series' run has held back below a row.
    ///
    /// - Returns: how many records that are.
    mutating func pass(
        _ number: Int, below row: Int64, _ runs: inout SuppressedRuns, _ look: Look
    ) rethrows -> Int {
        guard let list = lists[number] else { return 0 }
        let rows = range.lists[list].rows
        let end = Self.place(of: row, in: rows, from: passed[list])
        guard end > passed[list] else { return 0 }
        defer { passed[list] = end }
        // Without a run each of them was looked for, and what was not found is not there.
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

    /// Counts what all runs hold back below a row.
    mutating func passAll(below row: Int64, _ runs: inout SuppressedRuns, _ look: Look) rethrows -> Int {
        var count = 0
        for number in numbers { count += try pass(number, below: row, &runs, look) }
        return count
    }

    /// A record was looked at by itself, before which all of its series were passed.
    mutating func met(_ row: Int64, _ number: Int) {
        guard let list = lists[number] else { return }
        passed[list] = Self.place(of: row &+ 1, in: range.lists[list].rows, from: passed[list])
        let more = range.lists[list].more
        while passedMore[list] < more.count, more[passedMore[list]].row <= row { passedMore[list] += 1 }
    }

    private func instant(_ time: Int64) -> RecordLogInstant { RecordLogInstant(milliseconds: time &+ range.offset) }

    /// The place of the first row that is not below another.
    private static func place(of row: Int64, in rows: [Int64], from start: Int) -> Int {
        var (low, high) = (start, rows.count)
        while low < high {
            let middle = (low + high) / 2
            if rows[middle] >= row { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

/// What is held back is passed by the lists of a closed range, without reading its rows.
///
/// The order in which records are judged is that of the log, and so are all
/// decisions: between two records that have to be looked at, each is known to
/// be held back by the run of its series.
extension ForwardingLoop where Destination: ~Copyable {
    /// Of so many records one may be looked at by itself before reading all rows costs less.
    private static var minHeld: Int { 8 }

    /// Passes what is left of a closed range.
    func walkOn(_ range: RangeLists, _ pass: inout ScanCursor, _ walk: inout OutboxScan) throws {
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
        let ahead = try reader.goneAhead(of: service.destination.id, in: range.rows, priority: priority)
        let unusual = ahead.gone.union(ahead.refused).sorted()
        var (unusualMet, looked) = (0, 0)

        while !walk.isFull, looked <= range.count / Self.minHeld {
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
            // What a judgement asks of has to be counted up to it.
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
