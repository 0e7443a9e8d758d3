import IssueCore
import IssueProtocol
import IssueStore

/// What one walk knows of the series that it meets, and the runs of those that are held back.
struct HeldRuns {
    /// What is looked at for each record stands by itself, so that to look costs no more than that.
    private struct Known {
        var firstOfGroup: Int64
        var regression: Int64
        /// Up to there each record has to be judged.
        var mutedThrough: Int64
        /// Until then the run holds; nothing where there is none.
        var until: LogInstant?
        /// Of the run's reason, among all of them.
        var place = 0
    }

    private var numbers = DenseNumbers()
    private var facts: [SeriesFacts?] = []
    private var known: [Known] = []
    private var runs: [HeldRun?] = []
    /// The series of each group, by their numbers.
    private var series: [Int64: [Int]] = [:]
    /// The runs that end when a record is let through.
    private var shared: [Int] = []
    /// Which rows were held back for which reason, by its place among all reasons.
    private var rows = [[Int64]](repeating: [], count: SuppressionReason.allCases.count)

    /// The number of a series in this walk.
    mutating func number(of id: Int64, or find: () throws -> SeriesFacts?) rethrows -> Int {
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

    func facts(_ number: Int) -> SeriesFacts? { facts[number] }

    /// Counts a record in its run; false where it has to be judged.
    @inline(__always)
    mutating func take(_ step: LogStep, _ number: Int, at now: LogInstant) -> Bool {
        guard let until = known[number].until, now < until, known[number].firstOfGroup != step.row,
            known[number].regression != step.row, known[number].mutedThrough < step.row
        else { return false }
        runs[number]?.add(step.row, count: step.count, at: now)
        rows[known[number].place].append(step.row)
        return true
    }

    /// Counts records of a series for all of which its last run held.
    mutating func take(
        _ held: ArraySlice<Int64>, _ number: Int, occurrences: Int64, _ times: ClosedRange<LogInstant>
    ) {
        runs[number]?.add(held, occurrences: occurrences, times)
        rows[known[number].place] += held
    }

    /// Whether records of a series were held back.
    func hasRun(_ number: Int) -> Bool { runs[number] != nil }

    /// From when on the next record of a series has to be judged; nothing where the next one has to be in any case.
    func end(_ number: Int) -> LogInstant? { known[number].until }

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

    mutating func begin(_ run: HeldRun?, _ number: Int) {
        runs[number] = run
        known[number].until = run?.until
        known[number].place = run?.place ?? 0
        if let run, run.endsWithAdmission { shared.append(number) }
    }

    /// The runs of a group, or all of them, each with something in it; they go on from nothing.
    mutating func end(ofGroup group: Int64? = nil) -> [HeldRun] {
        let numbers = group.map { self.numbers(ofGroup: $0) } ?? Array(known.indices)
        var ended: [HeldRun] = []
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
