package import IssueCore

/// What of a range is removed so that others keep theirs: the noisiest groups of one user, and how far that is.
package struct Thinning: Sendable {
    package let range: RetentionFacts.ClosedRange
    package let user: UInt32
    /// Whether nothing of the range would be left, and it is the oldest: it goes as a whole, which is cheaper.
    package let isWhole: Bool
    /// The series that go, and whose they are.
    let accounts: [Int64: Int64]
    /// The last records of their groups, which go last of all.
    let spared: [Int64: Int64]
    /// The rows of the range that stay, in ascending order.
    let staying: [Int64]
    /// The row to go on from.
    private(set) var next: Int64
    /// How many of those that stay lie before it.
    private(set) var passed = 0
    /// The series whose posting lists still name what is gone.
    var lists: [Int64]

    init(
        range: RetentionFacts.ClosedRange, user: UInt32, isWhole: Bool, accounts: [Int64: Int64],
        staying: [Int64], spared: [Int64: Int64]
    ) {
        self.range = range
        self.user = user
        self.isWhole = isWhole
        self.accounts = accounts
        self.staying = staying
        self.spared = spared
        next = range.firstID
        lists = accounts.keys.sorted()
    }

    /// Goes on from a row.
    mutating func turn(to row: Int64) {
        next = row
        while passed < staying.count, staying[passed] < row { passed += 1 }
    }
}
