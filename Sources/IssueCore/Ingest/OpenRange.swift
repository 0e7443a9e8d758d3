/// What the range of ids that is still being filled will be written as when it closes.
///
/// Posting lists and counts are written once for each range, never once for
/// each record: until then this is all that is kept, three numbers a record. A
/// restart reads the rows of the open range and adds them again.
package struct OpenRange: Sendable {
    /// One series' share of a range.
    package struct Posting: Equatable, Sendable {
        package var series: Int64
        package var records: Int64
        package var occurrences: Int64
        package var bytes: Int64
        package var firstAt: Int64
        package var lastAt: Int64
        package var ids: [UInt8]
        package var minutes: [Minute]
    }

    /// How many records and occurrences of a series a minute of the wall clock saw.
    package struct Minute: Equatable, Sendable {
        package var minute: Int64
        package var records: Int64
        package var occurrences: Int64
    }

    package private(set) var firstID: Int64
    package private(set) var byteCount = 0
    private var series: [Int64] = []
    private var receivedAt: [Int64] = []
    private var counts: [Int64] = []
    private var sizes: [UInt32] = []

    package init(firstID: Int64) {
        self.firstID = firstID
    }

    package var count: Int { series.count }
    package var nextID: Int64 { firstID + Int64(series.count) }
    package var lastID: Int64 { nextID - 1 }
    package var isEmpty: Bool { series.isEmpty }

    /// The first record in it, and when it came.
    package var first: (id: Int64, receivedAt: Int64)? {
        series.firstIndex { $0 != 0 }.map { (firstID + Int64($0), receivedAt[$0]) }
    }

    /// Takes note of the record with the next id.
    @inline(__always)
    package mutating func append(series: Int64, receivedAt: Int64, count: Int64, bytes: Int) {
        self.series.append(series)
        self.receivedAt.append(receivedAt)
        counts.append(count)
        sizes.append(UInt32(truncatingIfNeeded: bytes))
        byteCount &+= bytes
    }

    /// Passes an id under which nothing was stored or remains.
    package mutating func skip() {
        append(series: 0, receivedAt: receivedAt.last ?? 0, count: 0, bytes: 0)
    }

    /// Forgets all but the first records: their commit failed.
    package mutating func truncate(to count: Int, byteCount: Int) {
        series.removeSubrange(count...)
        receivedAt.removeSubrange(count...)
        counts.removeSubrange(count...)
        sizes.removeSubrange(count...)
        self.byteCount = byteCount
    }

    /// Starts the next range, keeping the memory.
    package mutating func reset(firstID: Int64) {
        self.firstID = firstID
        byteCount = 0
        series.removeAll(keepingCapacity: true)
        receivedAt.removeAll(keepingCapacity: true)
        counts.removeAll(keepingCapacity: true)
        sizes.removeAll(keepingCapacity: true)
    }

    /// The posting lists and counts of all that came in, by series in ascending order.
    package func postings() -> [Posting] {
        // First the records of each series are brought together, so that each list is written in one go.
        var numbers = DenseNumbers()
        var slotOfRecord = [UInt32](repeating: 0, count: count)
        var ends: [Int] = []
        for index in series.indices where series[index] != 0 {
            let slot = numbers.number(of: series[index])
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
        for index in series.indices.reversed() where series[index] != 0 {
            let slot = Int(slotOfRecord[index])
            next[slot] -= 1
            records[next[slot]] = UInt32(index)
        }
        let met = numbers.ids
        return met.indices.sorted { met[$0] < met[$1] }.map { slot in
            posting(of: met[slot], records[next[slot]..<ends[slot]])
        }
    }

    /// The posting list and counts of a series whose records stand at some indexes.
    private func posting(of series: Int64, _ records: ArraySlice<UInt32>) -> Posting {
        let first = Int(records[records.startIndex])
        var posting = Posting(
            series: series, records: 0, occurrences: 0, bytes: 0, firstAt: receivedAt[first],
            lastAt: receivedAt[first], ids: [], minutes: [])
        posting.ids.reserveCapacity(2 * records.count)
        var previous = firstID
        for index in records {
            let id = firstID + Int64(index)
            PostingList.append(UInt64(bitPattern: id - previous), to: &posting.ids)
            previous = id
            posting.bytes += Int64(sizes[Int(index)])
            posting.add(at: receivedAt[Int(index)], count: counts[Int(index)])
        }
        return posting
    }
}

extension OpenRange.Posting {
    fileprivate mutating func add(at time: Int64, count: Int64) {
        records += 1
        occurrences += count
        firstAt = min(firstAt, time)
        lastAt = max(lastAt, time)
        let minute = time / 60_000
        if let last = minutes.indices.last, minutes[last].minute == minute {
            minutes[last].records += 1
            minutes[last].occurrences += count
        } else {
            minutes.append(OpenRange.Minute(minute: minute, records: 1, occurrences: count))
        }
    }
}
