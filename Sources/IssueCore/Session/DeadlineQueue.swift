/// A queue of keys with deadlines, earliest first.
///
/// Each key is returned at its earliest deadline; the caller then checks whether the deadline was moved and adds it
/// again. A deadline that moves with each message therefore costs one comparison, and each key is in the queue at most
/// once.
package struct DeadlineQueue<Key: Hashable & Sendable>: Sendable {
    private struct Entry: Sendable {
        var key: Key
        var time: MonotonicInstant
    }

    /// A binary heap: no entry is due before its parent.
    private var entries: [Entry] = []
    private var indices: [Key: Int] = [:]

    package init() {}

    package var count: Int { entries.count }

    /// The earliest deadline; nil if the queue is empty.
    package var next: MonotonicInstant? { entries.first?.time }

    /// Adds a key, or moves its deadline to `time` if that is earlier.
    package mutating func bring(_ key: Key, by time: MonotonicInstant) {
        guard let index = indices[key] else {
            indices[key] = entries.count
            entries.append(Entry(key: key, time: time))
            return rise(from: entries.count - 1)
        }
        guard time < entries[index].time else { return }
        entries[index].time = time
        rise(from: index)
    }

    /// Removes a key if it is in the queue.
    package mutating func remove(_ key: Key) {
        guard let index = indices.removeValue(forKey: key) else { return }
        let last = entries.removeLast()
        guard index < entries.count else { return }
        entries[index] = last
        indices[last.key] = index
        rise(from: index)
        sink(from: index)
    }

    /// Removes and returns a key whose deadline has passed, or nil if there is none.
    package mutating func takeDue(at now: MonotonicInstant) -> Key? {
        guard let first = entries.first, first.time <= now else { return nil }
        remove(first.key)
        return first.key
    }

    private mutating func rise(from start: Int) {
        var index = start
        while index > 0, entries[index].time < entries[(index - 1) / 2].time {
            swap(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    private mutating func sink(from start: Int) {
        var index = start
        while true {
            var earliest = index
            for child in [2 * index + 1, 2 * index + 2] where child < entries.count {
                if entries[child].time < entries[earliest].time { earliest = child }
            }
            guard earliest != index else { return }
            swap(index, earliest)
            index = earliest
        }
    }

    private mutating func swap(_ one: Int, _ other: Int) {
        entries.swapAt(one, other)
        indices[entries[one].key] = one
        indices[entries[other].key] = other
    }
}
