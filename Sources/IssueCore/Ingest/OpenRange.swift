import IssueProtocol

/// Collects the posting lists and counts of the range of ids that is still being filled.
///
/// They are written once, when the range closes. Until then, a few numbers per record are kept here. After a restart,
/// these numbers are rebuilt from the stored records of the open range.
package struct OpenRange: Sendable {
    /// The data kept for each record.
    private struct Entry {
        /// 0 for a skipped id.
        var series: SeriesID
        /// In milliseconds since 1970-01-01 UTC.
        var receivedAt: Int64
        var count: Int64
        var bytes: Int
    }

    /// The first row id of the range.
    package private(set) var firstID: RowID
    /// The size of the records in bytes, plus the bytes added with ``grow(by:)``.
    package private(set) var byteCount = 0
    /// One entry per id, in order.
    private var entries: [Entry] = []
    /// One bit for each value of the low 16 bits of a series id, set once a series with this value has a record.
    private var seriesBits = [UInt64](repeating: 0, count: 1024)
    /// The number of bits that are set: a lower bound of the number of series.
    package private(set) var seriesEstimate = 0

    package init(firstID: RowID) {
        self.firstID = firstID
    }

    /// The number of ids, including skipped ones.
    package var count: Int { entries.count }
    package var nextID: RowID { firstID + entries.count }
    package var lastID: RowID { nextID - 1 }

    /// The id of the first record in the range, and when it was received, in milliseconds since 1970-01-01 UTC; nil if
    /// there is none.
    package var first: (id: RowID, receivedAt: Int64)? {
        entries.firstIndex { $0.series != 0 }.map { (firstID + $0, entries[$0].receivedAt) }
    }

    /// Returns the series of a record in the range; nil if the range has no record with this id, or if the record could
    /// not be read when the range was rebuilt.
    package func series(ofRow row: RowID) -> SeriesID? {
        guard row >= firstID, row < nextID else { return nil }
        let series = entries[row - firstID].series
        return series == 0 ? nil : series
    }

    /// Returns the series among `candidates` that have records in the range.
    package func series(among candidates: Set<SeriesID>) -> Set<SeriesID> {
        guard !candidates.isEmpty else { return [] }
        var found: Set<SeriesID> = []
        for entry in entries where candidates.contains(entry.series) { found.insert(entry.series) }
        return found
    }

    /// Adds the record with the next id.
    ///
    /// - Parameters:
    ///   - series: The id of its series.
    ///   - receivedAt: When it was received, in milliseconds since 1970-01-01 UTC.
    ///   - count: The number of its occurrences.
    ///   - bytes: Its size in bytes.
    @inline(__always)
    package mutating func append(series: SeriesID, receivedAt: Int64, count: Int64, bytes: Int) {
        entries.append(Entry(series: series, receivedAt: receivedAt, count: count, bytes: bytes))
        byteCount &+= bytes
        note(series)
    }

    /// Adds the bytes that a new series takes beyond `RangePostings.Posting.bytesOfSeries`, so that a range with large
    /// series closes earlier.
    package mutating func grow(by bytes: Int) {
        byteCount &+= bytes
    }

    @inline(__always)
    private mutating func note(_ series: SeriesID) {
        let bit = Int(truncatingIfNeeded: series.rawValue) & 0xFFFF
        let mask: UInt64 = 1 << UInt64(bit & 63)
        if seriesBits[bit >> 6] & mask == 0 {
            seriesBits[bit >> 6] |= mask
            seriesEstimate &+= 1
        }
    }

    /// Returns `false` if the series certainly has no record in the range, and `true` if it may have one.
    package func mayContain(_ series: SeriesID) -> Bool {
        let bit = Int(truncatingIfNeeded: series.rawValue) & 0xFFFF
        return seriesBits[bit >> 6] & (1 << UInt64(bit & 63)) != 0
    }

    /// Skips an id that has no record, or none that can be read.
    package mutating func skip() {
        entries.append(Entry(series: 0, receivedAt: entries.last?.receivedAt ?? 0, count: 0, bytes: 0))
    }

    /// Restores an earlier state after a failed commit.
    ///
    /// - Parameters:
    ///   - count: The number of ids to keep.
    ///   - byteCount: The value of `byteCount` in that state.
    package mutating func truncate(to count: Int, byteCount: Int) {
        entries.removeSubrange(count...)
        self.byteCount = byteCount
        forgetSeries()
        for entry in entries where entry.series != 0 { note(entry.series) }
    }

    private mutating func forgetSeries() {
        for index in seriesBits.indices { seriesBits[index] = 0 }
        seriesEstimate = 0
    }

    /// Starts the next range, and keeps the allocated memory.
    package mutating func reset(firstID: RowID) {
        self.firstID = firstID
        byteCount = 0
        entries.removeAll(keepingCapacity: true)
        forgetSeries()
    }

    /// Returns the posting lists and counts of all records, in ascending order of series ids.
    package func postings() -> RangePostings {
        // The records are grouped by series first (counting sort), so that each list is written at once.
        var numbers = IDInterner<SeriesID>()
        var slotOfRecord = [UInt32](repeating: 0, count: count)
        var ends: [Int] = []
        for index in entries.indices where entries[index].series != 0 {
            let slot = numbers.number(of: entries[index].series)
            if slot == ends.count { ends.append(0) }
            slotOfRecord[index] = UInt32(slot)
            ends[slot] += 1
        }
        var total = 0
        for slot in ends.indices {
            total += ends[slot]
            ends[slot] = total
        }
        var records = [UInt32](repeating: 0, count: total)
        var next = ends
        for index in entries.indices.reversed() where entries[index].series != 0 {
            let slot = Int(slotOfRecord[index])
            next[slot] -= 1
            records[next[slot]] = UInt32(index)
        }
        let series = numbers.ids
        var postings = RangePostings()
        postings.reserve(series: series.count, records: total)
        for slot in series.indices.sorted(by: { series[$0] < series[$1] }) {
            postings.begin(series[slot], after: firstID)
            for position in next[slot]..<ends[slot] {
                let index = records[position]
                let entry = entries[Int(index)]
                postings.add(
                    firstID + Int(index), at: entry.receivedAt, count: entry.count, bytes: Int64(entry.bytes))
            }
            postings.end()
        }
        return postings
    }
}

/// The posting lists and counts of a range, in flat arrays. A range may have thousands of series, and a commit waits
/// for this computation.
package struct RangePostings: Equatable, Sendable {
    /// The records of one series in a range.
    package struct Posting: Equatable, Sendable {
        package var series: SeriesID
        package var records: Int64 = 0
        package var occurrences: Int64 = 0
        /// The approximate bytes that a series takes in the database in addition to its records: its posting list,
        /// counts, attributes and issue. Without them, a user with one record in each of many issues would seem to use
        /// little space.
        package static let bytesOfSeries: Int64 = 400

        /// The approximate bytes that the records and the series take.
        package var bytes = bytesOfSeries
        /// The earliest and the latest time at which one of the records was received, in milliseconds since 1970-01-01
        /// UTC.
        package var firstAt = Int64.max
        package var lastAt = Int64.min
        /// The range of its posting list in `RangePostings.ids`.
        package var ids: Range<Int>
    }

    /// The numbers of records and occurrences of a series in one minute of wall time.
    package struct Minute: Equatable, Sendable {
        package var series: SeriesID
        /// The minute, counted from 1970-01-01 UTC.
        package var minute: Int64
        package var records: Int64
        package var occurrences: Int64
    }

    /// In ascending order of series ids.
    package var postings: [Posting] = []
    /// The concatenated posting lists, each in the form of `PostingList`.
    package private(set) var ids: [UInt8] = []
    /// In the order of `postings`. A series may have several entries for the same minute; their numbers add up.
    package private(set) var minutes: [Minute] = []

    private var current = Posting(series: 0, ids: 0..<0)
    private var minute: Minute?
    private var previous: RowID = 0

    init() {}

    mutating func reserve(series: Int, records: Int) {
        postings.reserveCapacity(series)
        minutes.reserveCapacity(series)
        ids.reserveCapacity(2 * records)
    }

    /// Begins the records of a series. They must be added in ascending order of their ids.
    ///
    /// - Parameters:
    ///   - series: The series.
    ///   - base: The id that is subtracted from that of the first record.
    mutating func begin(_ series: SeriesID, after base: RowID) {
        current = Posting(series: series, ids: ids.count..<ids.count)
        previous = base
    }

    /// Adds a record of the current series.
    mutating func add(_ id: RowID, at time: Int64, count: Int64, bytes: Int64) {
        PostingList.append(UInt64(bitPattern: id.rawValue - previous.rawValue), to: &ids)
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

    /// Ends the records of the current series.
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

/// A posting list: the row ids of a series in a range, stored as differences. One id usually takes one or two bytes.
///
/// Each difference is a variable-length integer (LEB128): groups of seven bits, lowest first; all bytes but the last
/// have the high bit set.
package enum PostingList {
    /// Appends a number as LEB128.
    @inlinable @inline(__always)
    package static func append(_ number: UInt64, to output: inout [UInt8]) {
        var rest = number
        while rest >= 0x80 {
            output.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        output.append(UInt8(truncatingIfNeeded: rest))
    }

    /// Returns the number at an index and moves the index past it; nil if the bytes end early or the number exceeds 64
    /// bits.
    package static func number(in bytes: Span<UInt8>, at index: inout Int) -> UInt64? {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while index < bytes.count, shift < 64 {
            let byte = bytes[index]
            index += 1
            // The tenth byte can hold one bit only.
            guard shift < 63 || byte <= 1 else { return nil }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
        return nil
    }

    /// Encodes ids.
    ///
    /// - Parameters:
    ///   - ids: The ids, in ascending order.
    ///   - base: The id that is subtracted from the first one.
    package static func encode(_ ids: some Sequence<RowID>, base: RowID) -> [UInt8] {
        var output: [UInt8] = []
        var previous = base.rawValue
        for id in ids {
            append(UInt64(bitPattern: id.rawValue &- previous), to: &output)
            previous = id.rawValue
        }
        return output
    }

    /// Decodes the posting list in an array; nil if the bytes are corrupt.
    package static func decode(_ bytes: [UInt8], base: RowID) -> [RowID]? {
        decode(bytes.span, base: base)
    }

    /// Decodes ids; nil if the bytes are corrupt.
    ///
    /// - Parameters:
    ///   - bytes: The posting list.
    ///   - base: The base that was used for encoding.
    package static func decode(_ bytes: Span<UInt8>, base: RowID) -> [RowID]? {
        var ids: [RowID] = []
        // Most ids take one byte.
        ids.reserveCapacity(bytes.count)
        var index = 0
        var previous = base.rawValue
        while index < bytes.count {
            guard let difference = number(in: bytes, at: &index) else { return nil }
            previous &+= Int64(bitPattern: difference)
            ids.append(RowID(rawValue: previous))
        }
        return ids
    }
}
