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
        var numbers = DenseNumbers()
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
