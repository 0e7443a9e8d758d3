/// The stretches of the log in which a group was muted, one after the other.
package struct MutedRows: Equatable, Sendable {
    private let stretches: [ClosedRange<Int64>]

    /// - Parameter stretches: in their order, none of which reaches into the next.
    package init(_ stretches: [ClosedRange<Int64>] = []) {
        self.stretches = stretches
    }

    package func contains(_ row: Int64) -> Bool {
        guard let next = stretch(endingFrom: row) else { return false }
        return next.contains(row)
    }

    /// The last of them, or none.
    package var last: Int64? { stretches.last?.upperBound }

    /// The first stretch that does not end before a row.
    private func stretch(endingFrom row: Int64) -> ClosedRange<Int64>? {
        var (lower, upper) = (0, stretches.count)
        while lower < upper {
            let middle = (lower + upper) / 2
            if stretches[middle].upperBound < row { lower = middle + 1 } else { upper = middle }
        }
        return lower < stretches.count ? stretches[lower] : nil
    }
}
