/// What ends by time alone, the earliest first.
///
/// It is asked to hand a key out by some time, not at that time: a later
/// deadline of the same key is found when the earlier one has come. So a
/// deadline that moves on with each message costs one comparison, and a key
/// stands in the queue at most once.
package struct DeadlineQueue<Key: Hashable & Sendable>: Sendable {
    private struct Entry: Sendable {
        var key: Key
        var time: MonotonicInstant
    }

    /// A heap: no entry is due before the one at half its place.
    private var entries: [Entry] = []
    private var places: [Key: Int] = [:]

    package init() {}

    package var count: Int { entries.count }

    /// When the next key is to be handed out.
    package var next: MonotonicInstant? { entries.first?.time }

    /// Has a key handed out no later than at a time.
    package mutating func bring(_ key: Key, by time: MonotonicInstant) {
        guard let place = places[key] else {
            places[key] = entries.count
            entries.append(Entry(key: key, time: time))
            return rise(from: entries.count - 1)
        }
        guard time < entries[place].time else { return }
        entries[place].time = time
        rise(from: place)
    }

    /// A key is not handed out any more.
    package mutating func remove(_ key: Key) {
        guard let place = places.removeValue(forKey: key) else { return }
        let last = entries.removeLast()
        guard place < entries.count else { return }
        entries[place] = last
        places[last.key] = place
        rise(from: place)
        sink(from: place)
    }

    /// Hands out a key whose time has come; it has no deadline any more then.
    package mutating func takeDue(at now: MonotonicInstant) -> Key? {
        guard let first = entries.first, first.time <= now else { return nil }
        remove(first.key)
        return first.key
    }

    private mutating func rise(from start: Int) {
        var place = start
        while place > 0, entries[place].time < entries[(place - 1) / 2].time {
            swap(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    private mutating func sink(from start: Int) {
        var place = start
        while true {
            var earliest = place
            for child in [2 * place + 1, 2 * place + 2] where child < entries.count {
                if entries[child].time < entries[earliest].time { earliest = child }
            }
            guard earliest != place else { return }
            swap(place, earliest)
            place = earliest
        }
    }

    private mutating func swap(_ one: Int, _ other: Int) {
        entries.swapAt(one, other)
        places[entries[one].key] = one
        places[entries[other].key] = other
    }
}
