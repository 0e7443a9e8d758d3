/// A record that is about to be removed, with all that has to be put right then.
struct DoomedRecord {
    var row: Int64
    var series: Int64
    var account: Int64
    var receivedAt: Int64
    var count: Int64
    /// The closed range that lists it, and its first row.
    var range: Int64
    var base: Int64
}
