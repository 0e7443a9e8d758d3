import IssueProtocol

/// What the range of ids that is still being filled will be written as when it closes.
///
/// Posting lists and counts are written once for each range, never once for
/// each record: until then this is all that is kept, three numbers a record. A
/// restart reads the rows of the open range and adds them again.
package struct OpenRange: Sendable {
    /// What is kept of a record until its range closes.
    private struct Entry {
        var series: Int64
        var receivedAt: Int64
        var count: Int64
        var bytes: Int
    }

    package private(set) var firstID: Int64
    package private(set) var byteCount = 0
    private var entries: [Entry] = []

    package init(firstID: Int64) {
        self.firstID = firstID
    }

    package var count: Int { entries.count }
    package var nextID: Int64 { firstID + Int64(entries.count) }
    package var lastID: Int64 { nextID - 1 }
    package var isEmpty: Bool { entries.isEmpty }

    /// The first record in it, and when it came.
    package var first: (id: Int64, receivedAt: Int64)? {
        entries.firstIndex { $0.series != 0 }.map { (firstID + Int64($0), entries[$0].receivedAt) }
    }

    /// Takes note of the record with the next id.
    @inline(__always)
    package mutating func append(series: Int64, receivedAt: Int64, count: Int64, bytes: Int) {
        entries.append(Entry(series: series, receivedAt: receivedAt, count: count, bytes: bytes))
        byteCount &+= bytes
    }

    /// Passes an id under which nothing was stored or remains.
    package mutating func skip() {
        append(series: 0, receivedAt: entries.last?.receivedAt ?? 0, count: 0, bytes: 0)
    }

    /// Forgets all but the first records: their commit failed.
    package mutating func truncate(to count: Int, byteCount: Int) {
        entries.removeSubrange(count...)
        self.byteCount = byteCount
    }

    /// Starts the next range, keeping the memory.
    package mutating func reset(firstID: Int64) {
        self.firstID = firstID
        byteCount = 0
        entries.removeAll(keepingCapacity: true)
    }

    /// The posting lists and counts of all that came in, by series in ascending order.
    package func postings() -> RangePostings {
        // First the records of each series are brought together, so that each list is written in one go.
        var numbers = IDInterner()
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
        let met = numbers.ids
        var postings = RangePostings()
        postings.reserve(series: met.count, records: total)
        for slot in met.indices.sorted(by: { met[$0] < met[$1] }) {
            postings.begin(met[slot], after: firstID)
            for place in next[slot]..<ends[slot] {
                if place + 16 < total { entries.prefetch(at: Int(records[place + 16])) }
                let index = records[place]
                let entry = entries[Int(index)]
                postings.add(
                    firstID + Int64(index), at: entry.receivedAt, count: entry.count, bytes: Int64(entry.bytes))
            }
            postings.end()
        }
        return postings
    }
}

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

/// The ids of a series in a range, as differences in integers of variable length: one or two bytes an id.
///
/// Each number is cut into groups of seven bits, the lowest first; all but the
/// last byte of a number have the high bit set (LEB128).
package enum PostingList {
    /// Appends a number.
    @inlinable @inline(__always)
    package static func append(_ number: UInt64, to output: inout [UInt8]) {
        var rest = number
        while rest >= 0x80 {
            output.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        output.append(UInt8(truncatingIfNeeded: rest))
    }

    /// Reads the number at an index and moves the index past it, or nothing when the bytes end or it exceeds 64 bits.
    package static func number(in bytes: Span<UInt8>, at index: inout Int) -> UInt64? {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while index < bytes.count, shift < 64 {
            let byte = bytes[index]
            index += 1
            // The tenth byte has room for one bit.
            guard shift < 63 || byte <= 1 else { return nil }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
        return nil
    }

    /// Ascending ids as bytes.
    package static func encode(_ ids: some Sequence<Int64>, base: Int64) -> [UInt8] {
        var output: [UInt8] = []
        var previous = base
        for id in ids {
            append(UInt64(bitPattern: id &- previous), to: &output)
            previous = id
        }
        return output
    }

    /// The ids that bytes stand for, or nothing when they are damaged.
    package static func decode(_ bytes: [UInt8], base: Int64) -> [Int64]? {
        decode(bytes.span, base: base)
    }

    /// The ids that bytes stand for, or nothing when they are damaged.
    package static func decode(_ bytes: Span<UInt8>, base: Int64) -> [Int64]? {
        var ids: [Int64] = []
        // Most take one byte.
        ids.reserveCapacity(bytes.count)
        var index = 0
        var previous = base
        while index < bytes.count {
            guard let difference = number(in: bytes, at: &index) else { return nil }
            previous &+= Int64(bitPattern: difference)
            ids.append(previous)
        }
        return ids
    }
}
