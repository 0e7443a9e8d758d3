/// Sums of records as a plain scan of the log has counted them.
struct Tally: Equatable {
    var records: Int64 = 0
    var occurrences: Int64 = 0

    mutating func add(_ count: Int64) {
        records += 1
        occurrences += count
    }
}
