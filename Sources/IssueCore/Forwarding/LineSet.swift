/// Some of the lines of one batch.
///
/// A destination's answer decides how many separate ranges there are, up to
/// one for every second line, so nothing here compares each range with each.
package struct LineSet: Equatable, Sendable {
    /// In ascending order, none of them empty, no two of them touching.
    package private(set) var ranges: [Range<Int>] = []

    package init() {}

    package init(_ ranges: [Range<Int>]) {
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) { insert(range) }
    }

    package var isEmpty: Bool { ranges.isEmpty }
    package var count: Int { ranges.reduce(0) { $0 + $1.count } }

    package func contains(_ line: Int) -> Bool {
        let place = firstPlace { $0.upperBound > line }
        return place < ranges.count && ranges[place].contains(line)
    }

    package func contains(_ lines: Range<Int>) -> Bool {
        let place = firstPlace { $0.upperBound >= lines.upperBound }
        return place < ranges.count && ranges[place].lowerBound <= lines.lowerBound
    }

    /// Lines after all others are appended without a look at these.
    package mutating func insert(_ lines: Range<Int>) {
        guard !lines.isEmpty else { return }
        guard let last = ranges.last, lines.lowerBound <= last.upperBound else {
            ranges.append(lines)
            return
        }
        let first = firstPlace { $0.upperBound >= lines.lowerBound }
        let end = firstPlace { $0.lowerBound > lines.upperBound }
        var joined = lines
        if first < end {
            let lower = min(lines.lowerBound, ranges[first].lowerBound)
            joined = lower..<max(lines.upperBound, ranges[end - 1].upperBound)
        }
        ranges.replaceSubrange(first..<end, with: CollectionOfOne(joined))
    }

    package mutating func formUnion(_ other: LineSet) {
        guard !other.isEmpty else { return }
        self = LineSet(ranges + other.ranges)
    }

    /// The same lines, counted among some of the batch's alone.
    package func counted(among left: LineSet) -> LineSet {
        var counted = LineSet()
        var before = 0
        var place = 0
        for range in left.ranges {
            while place < ranges.count, ranges[place].upperBound <= range.lowerBound { place += 1 }
            while place < ranges.count, ranges[place].lowerBound < range.upperBound {
                let common = range.clamped(to: ranges[place])
                let first = before + common.lowerBound - range.lowerBound
                counted.insert(first..<first + common.count)
                // The rest of a range that goes on is in the next one of `left`.
                guard ranges[place].upperBound <= range.upperBound else { break }
                place += 1
            }
            before += range.count
        }
        return counted
    }

    /// Where the first range stands that meets a condition which all ranges after it meet as well.
    private func firstPlace(where isMet: (Range<Int>) -> Bool) -> Int {
        var (low, high) = (0, ranges.count)
        while low < high {
            let middle = low + (high - low) / 2
            if isMet(ranges[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
