/// What is left of a closed range behind a row, by the lists of its series.
package struct RangeLists: Sendable {
    /// The records of one series.
    package struct List: Sendable {
        package let series: Int64
        /// In ascending order, at least one.
        package let rows: [Int64]
        /// Those that stand for more than one occurrence, in ascending order, and for how many more.
        package fileprivate(set) var more: [(row: Int64, occurrences: Int64)] = []

        init(series: Int64, rows: [Int64]) {
            self.series = series
            self.rows = rows
        }
    }

    /// In the order of their first records.
    package private(set) var lists: [List]
    /// The first and the last record.
    package let rows: ClosedRange<Int64>
    /// What wall time lacks to be log time, in milliseconds.
    package let offset: Int64
    package let count: Int

    /// Nothing where there are none.
    init?(_ lists: [List], offset: Int64) {
        self.lists = lists.filter { !$0.rows.isEmpty }.sorted { $0.rows[0] < $1.rows[0] }
        guard let first = self.lists.first?.rows.first, let last = self.lists.compactMap(\.rows.last).max() else {
            return nil
        }
        rows = first...last
        self.offset = offset
        count = self.lists.reduce(0) { $0 + $1.rows.count }
    }

    /// Notes records that stand for more than one occurrence, in ascending order.
    mutating func note(_ more: [(series: Int64, row: Int64, occurrences: Int64)]) {
        let places = Dictionary(lists.indices.map { (lists[$0].series, $0) }) { first, _ in first }
        for record in more {
            guard let place = places[record.series] else { continue }
            lists[place].more.append((record.row, record.occurrences))
        }
    }
}
