/// When the records of a stretch of the log came, of which only a few have been looked at.
///
/// Over one offset of the log's clock none came before one that stands before
/// it. So what lies between two that came at the same time came then, too.
package struct RowTimes: Sendable {
    /// A record that is there, and when it came.
    package struct Sample: Equatable, Sendable {
        package var row: Int64
        package var at: Int64

        package init(row: Int64, at: Int64) {
            self.row = row
            self.at = at
        }
    }

    /// Answers the first record at a row or behind it.
    package typealias Look = (Int64) throws -> Sample?

    /// In ascending order, of rows and so of times.
    private var samples: [Sample] = []

    package init() {}

    /// When a record came that is there.
    package mutating func time(of row: Int64, _ look: Look) rethrows -> Int64? {
        let place = place { $0.row >= row }
        if place < samples.count {
            if samples[place].row == row { return samples[place].at }
            if place > 0, samples[place - 1].at == samples[place].at { return samples[place].at }
        }
        guard let found = try look(row) else { return nil }
        learn(found)
        return found.at
    }

    /// The first row from which on each record came at a time or later, of a stretch whose rows are there at both ends;
    /// nothing where all of them came before.
    package mutating func row(
        since time: Int64, in rows: ClosedRange<Int64>, _ look: Look
    ) rethrows -> Int64? {
        guard let last = try self.time(of: rows.upperBound, look), last >= time else { return nil }
        let place = place { $0.at >= time }
        // What lies at or below the one came before; from the other on, nothing did.
        var below = place > 0 ? max(samples[place - 1].row, rows.lowerBound - 1) : rows.lowerBound - 1
        var from = samples[place].row
        while from - below > 1 {
            let middle = below + (from - below) / 2
            guard let found = try look(middle), found.row < from else {
                from = middle
                continue
            }
            learn(found)
            if found.at >= time { from = middle } else { below = found.row }
        }
        return max(from, rows.lowerBound)
    }

    private mutating func learn(_ sample: Sample) {
        let place = place { $0.row >= sample.row }
        if place < samples.count, samples[place].row == sample.row { return }
        samples.insert(sample, at: place)
    }

    /// The place of the first sample that something is so of, as it is of all behind it.
    private func place(_ isSo: (Sample) -> Bool) -> Int {
        var (low, high) = (0, samples.count)
        while low < high {
            let middle = (low + high) / 2
            if isSo(samples[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
