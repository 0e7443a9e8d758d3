import IssueCore
import IssueProtocol

/// The series seen lately, by their numbers in the directory of a batch, so that finding a record's series is one
/// look-up and no query.
///
/// A series has a row for each sender, mostly one. When it holds too many it
/// forgets them all: the database knows them.
struct SeriesTable {
    struct Entry {
        var sender: Int64
        var id: Int64
        var account: Int64
        /// Whether somebody has said of its group what its records have to be judged by.
        fileprivate(set) var isWatched: Bool
        /// The next entry with the same number, counted from one, or 0.
        fileprivate var next: UInt32 = 0

        init(sender: Int64, id: Int64, account: Int64, isWatched: Bool) {
            self.sender = sender
            self.id = id
            self.account = account
            self.isWatched = isWatched
        }
    }

    static let capacity = 32_768

    /// What the numbers mean.
    private var directory: SeriesDirectory.Identity?
    /// For each number its first entry, counted from one, or 0.
    private var first: [UInt32] = []
    private var entries: [Entry] = []

    init() {}

    var isFull: Bool { entries.count >= Self.capacity }

    /// Goes by the numbers of a directory from now on.
    mutating func turn(to directory: borrowing SeriesDirectory) {
        guard directory.identity !== self.directory else { return }
        removeAll()
        self.directory = directory.identity
    }

    /// A sender's series with a number.
    @inline(__always)
    func find(_ number: UInt32, sender: Int64) -> Entry? {
        guard number < first.count else { return nil }
        var place = first[Int(number)]
        while place > 0 {
            let entry = entries[Int(place) &- 1]
            if entry.sender == sender { return entry }
            place = entry.next
        }
        return nil
    }

    /// Has the entries fetched of series that are looked for in a moment.
    @inline(__always)
    func prefetch(_ records: [DecodedRecord], behind index: Int) {
        let (near, far) = (index &+ 8, index &+ 16)
        if far < records.count { first.prefetch(at: Int(records[far].series)) }
        guard near < records.count else { return }
        let number = Int(records[near].series)
        if number < first.count { entries.prefetch(at: Int(first[number]) &- 1) }
    }

    mutating func insert(_ number: UInt32, _ entry: Entry) {
        while first.count <= number { first.append(0) }
        var entry = entry
        entry.next = first[Int(number)]
        entries.append(entry)
        first[Int(number)] = UInt32(entries.count)
    }

    /// Something was said of the group of some series, or what was said has ended.
    mutating func watch(_ series: Set<Int64>, _ isWatched: Bool) {
        for index in entries.indices where series.contains(entries[index].id) { entries[index].isWatched = isWatched }
    }

    mutating func removeAll() {
        directory = nil
        first = []
        entries = []
    }
}
