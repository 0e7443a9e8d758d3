/// A number of records, and the sum of their counts: read from the store, or counted by a plain scan.
struct RecordTotals: Equatable {
    var records: Int64 = 0
    var occurrences: Int64 = 0

    mutating func add(_ count: Int64) {
        records += 1
        occurrences += count
    }

    /// Returns `true` if this can be the sum of the given records and others.
    func holds(_ other: RecordTotals) -> Bool {
        let more = records - other.records
        return more >= 0 && occurrences - other.occurrences >= more
    }
}
