/// The record of each id that a receipt has ever contained, whether or not the record still exists.
struct AssignedIDs {
    /// A reporter and a record's number, packed in one integer, by store code and then by row.
    private var owners: [Substring: [Int64]] = [:]

    /// Stores an id. Returns `true` if it was assigned to another record before.
    mutating func give(_ id: String, row: Int64, to reporter: Int, _ number: Int) -> Bool {
        let code = id.prefix { $0 != "-" }
        let owner = Int64(reporter) << 40 | Int64(number) + 1
        let row = Int(row)
        let missing = row + 1 - (owners[code]?.count ?? 0)
        if missing > 0 { owners[code, default: []].append(contentsOf: repeatElement(0, count: missing)) }
        let earlier = owners[code]?[row] ?? 0
        owners[code]?[row] = owner
        return earlier != 0 && earlier != owner
    }
}
