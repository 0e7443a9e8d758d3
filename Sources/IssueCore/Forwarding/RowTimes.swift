/// The times of the records in a range of the record log, determined by reading only a few of them.
///
/// While the offset of the log's clock stays the same, times never decrease. All records between
/// two with the same time therefore have that time.
package struct RowTimes: Sendable {
    /// The row id and the time of an existing record.
    package struct Sample: Equatable, Sendable {
        /// The row id.
        package var row: Int64
        /// The time in milliseconds.
        package var at: Int64

        package init(row: Int64, at: Int64) {
            self.row = row
            self.at = at
        }
    }

    /// Returns the first record at or after a row id, or nil if there is none.
    package typealias Look = (Int64) throws -> Sample?

    /// In ascending order of row ids, and therefore of times.
    private var samples: [Sample] = []

    package init() {}

    /// Returns the time of a record that exists.
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

    /// Returns the first row id in a range from which on all records have at least a given time.
    /// Nil if all are older.
    ///
    /// Records must exist at both ends of the range.
    package mutating func row(
        since time: Int64, in rows: ClosedRange<Int64>, _ look: Look
    ) rethrows -> Int64? {
        guard let last = try self.time(of: rows.upperBound, look), last >= time else { return nil }
        let place = place { $0.at >= time }
        // Records up to `below` are older; records from `from` on are not.
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

    /// Returns the index of the first sample that fulfils a condition. All samples after it must
    /// fulfil it too.
    private func place(_ isSo: (Sample) -> Bool) -> Int {
        var (low, high) = (0, samples.count)
        while low < high {
            let middle = (low + high) / 2
            if isSo(samples[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
