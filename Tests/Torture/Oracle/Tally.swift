/// Sums of records as a plain scan of the log has counted them.
struct Tally: Equatable {
    var records: Int64 = 0
    var occurrences: Int64 = 0

    mutating func add(_ count: Int64) {
        records += 1
        occurrences += count
    }

    /// Whether it may be the sum of these records and others.
    func holds(_ other: Tally) -> Bool {
        let more = records - other.records
        return more >= 0 && occurrences - other.occurrences >= more
    }
}
