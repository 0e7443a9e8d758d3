/// Some of the lines of one batch.
package struct LineSet: Equatable, Sendable {
    /// In ascending order, none of them empty, no two of them touching.
    package private(set) var ranges: [Range<Int>] = []

    package init() {}

    package init(_ ranges: [Range<Int>]) {
        for range in ranges { insert(range) }
    }

    package var isEmpty: Bool { ranges.isEmpty }
    package var count: Int { ranges.reduce(0) { $0 + $1.count } }

    package func contains(_ line: Int) -> Bool { ranges.contains { $0.contains(line) } }

    package func contains(_ lines: Range<Int>) -> Bool {
        ranges.contains { $0.lowerBound <= lines.lowerBound && lines.upperBound <= $0.upperBound }
    }

    package mutating func insert(_ lines: Range<Int>) {
        guard !lines.isEmpty else { return }
        let touching = ranges.filter { $0.lowerBound <= lines.upperBound && lines.lowerBound <= $0.upperBound }
        let lower = min(lines.lowerBound, touching.first?.lowerBound ?? lines.lowerBound)
        let upper = max(lines.upperBound, touching.last?.upperBound ?? lines.upperBound)
        ranges.removeAll { $0.lowerBound <= lines.upperBound && lines.lowerBound <= $0.upperBound }
        let place = ranges.firstIndex { $0.lowerBound > lower } ?? ranges.count
        ranges.insert(lower..<upper, at: place)
    }

    package mutating func formUnion(_ other: LineSet) {
        for range in other.ranges { insert(range) }
    }

    /// The same lines, counted among some of the batch's alone.
    package func counted(among left: LineSet) -> LineSet {
        var counted = LineSet()
        var before = 0
        for range in left.ranges {
            for own in ranges {
                let common = range.clamped(to: own)
                guard !common.isEmpty else { continue }
                let first = before + common.lowerBound - range.lowerBound
                counted.insert(first..<first + common.count)
            }
            before += range.count
        }
        return counted
    }
}
