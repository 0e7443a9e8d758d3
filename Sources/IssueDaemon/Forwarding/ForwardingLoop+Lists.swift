import IssueCore
import IssueProtocol
import IssueStore

/// What is held back is passed by the lists of a closed range, without reading its rows.
///
/// The order in which records are judged is that of the log, and so are all
/// decisions: between two records that have to be looked at, each is known to
/// be held back by the run of its series.
extension ForwardingLoop where Destination: ~Copyable {
    /// Of so many records one may be looked at by itself before reading all rows costs less.
    private static var leastHeld: Int { 8 }

    /// Passes what is left of a closed range.
    func walkOn(_ range: RangeLists, _ pass: inout LogPass, _ walk: inout Walk) throws {
        func look(_ row: Int64) throws -> RowTimes.Sample? {
            try reader.step(from: row, through: range.rows.upperBound).map {
                RowTimes.Sample(row: $0.row, at: $0.receivedAt.milliseconds)
            }
        }
        let numbers = try range.lists.map { list in
            try pass.runs.number(of: list.series) { try reader.facts(ofSeries: list.series) }
        }
        var lists = ListWalk(range, numbers: numbers)
        for number in numbers { try lists.turn(number, pass.runs, look) }
        let ahead = try reader.goneAhead(of: service.destination.id, in: range.rows, express: express)
        let unusual = ahead.gone.union(ahead.refused).sorted()
        var (unusualMet, looked) = (0, 0)

        while !walk.isFull, looked <= range.count / Self.leastHeld {
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
            let now = LogInstant(milliseconds: step.receivedAt.milliseconds &+ range.offset)
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
