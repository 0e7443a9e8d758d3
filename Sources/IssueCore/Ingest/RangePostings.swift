/// The posting lists and counts of a range, side by side, since thousands of series may share it and a commit waits.
package struct RangePostings: Equatable, Sendable {
    /// One series' share of a range.
    package struct Posting: Equatable, Sendable {
        package var series: Int64
        package var records: Int64 = 0
        package var occurrences: Int64 = 0
        package var bytes: Int64 = 0
        package var firstAt = Int64.max
        package var lastAt = Int64.min
        /// Where its list lies in `ids`.
        package var ids: Range<Int>
    }

    /// How many records and occurrences of a series a minute of the wall clock saw.
    package struct Minute: Equatable, Sendable {
        package var series: Int64
        package var minute: Int64
        package var records: Int64
        package var occurrences: Int64
    }

    /// By series in ascending order.
    package private(set) var postings: [Posting] = []
    /// The lists, one behind the other, each in the form of `PostingList`.
    package private(set) var ids: [UInt8] = []
    /// Of each series in turn.
    package private(set) var minutes: [Minute] = []

    private var current = Posting(series: 0, ids: 0..<0)
    private var minute: Minute?
    private var previous: Int64 = 0

    init() {}

    /// The ids of a series that the lists name.
    package func list(of posting: Posting) -> [UInt8] { Array(ids[posting.ids]) }

    mutating func reserve(series: Int, records: Int) {
        postings.reserveCapacity(series)
        minutes.reserveCapacity(series)
        ids.reserveCapacity(2 * records)
    }

    /// The records of a series follow, in ascending order.
    mutating func begin(_ series: Int64, after base: Int64) {
        current = Posting(series: series, ids: ids.count..<ids.count)
        previous = base
    }

    /// One of its records.
    mutating func add(_ id: Int64, at time: Int64, count: Int64, bytes: Int64) {
        PostingList.append(UInt64(bitPattern: id - previous), to: &ids)
        previous = id
        current.records += 1
        current.occurrences += count
        current.bytes += bytes
        current.firstAt = min(current.firstAt, time)
        current.lastAt = max(current.lastAt, time)
        let minute = time / 60_000
        if self.minute?.minute != minute {
            endMinute()
            self.minute = Minute(series: current.series, minute: minute, records: 0, occurrences: 0)
        }
        self.minute?.records += 1
        self.minute?.occurrences += count
    }

    /// There were all of its records.
    mutating func end() {
        endMinute()
        current.ids = current.ids.lowerBound..<ids.count
        postings.append(current)
    }

    private mutating func endMinute() {
        guard let ended = minute else { return }
        minutes.append(ended)
        minute = nil
    }
}
