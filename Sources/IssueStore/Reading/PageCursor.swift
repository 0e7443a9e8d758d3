/// Where the next page begins; opaque to whoever gets it.
struct PageCursor: Equatable {
    /// What the page is sorted by, of its last row.
    var value: Int64
    /// The last row itself.
    var row: Int64

    var text: String { "\(value).\(row)" }

    init(value: Int64, row: Int64) {
        self.value = value
        self.row = row
    }

    init(_ text: String) throws(QueryFailure) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let value = Int64(parts[0]), let row = Int64(parts[1]) else {
            throw .invalidParameter("after")
        }
        self.init(value: value, row: row)
    }
}
