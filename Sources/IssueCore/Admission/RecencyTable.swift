/// A dictionary of bounded size that evicts the least recently used entry.
///
/// It is for data that grows with outside traffic, so that no sender controls the daemon's memory use.
struct RecencyTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Entry: Sendable {
        var key: Key
        var value: Value
        var older: Int?
        var newer: Int?
    }

    let capacity: Int
    private var entries: [Entry] = []
    private var indices: [Key: Int] = [:]
    private var oldest: Int?
    private var newest: Int?

    init(capacity: Int) {
        precondition(capacity > 0, "The capacity of a table must be positive")
        self.capacity = capacity
    }

    /// All entries, in no particular order.
    var all: some Sequence<(key: Key, value: Value)> { entries.lazy.map { ($0.key, $0.value) } }

    func contains(_ key: Key) -> Bool { indices[key] != nil }

    /// Returns the value for a key; nil if there is none. Does not count as a use.
    func peek(_ key: Key) -> Value? { indices[key].map { entries[$0].value } }

    /// Changes a value in place, which counts as a use. Returns nil if the key is unknown.
    mutating func update<Result>(_ key: Key, _ body: (inout Value) -> Result) -> Result? {
        guard let index = indices[key] else { return nil }
        touch(index)
        return body(&entries[index].value)
    }

    /// Changes a value in place, which does not count as a use. Returns nil if the key is unknown.
    mutating func alter<Result>(_ key: Key, _ body: (inout Value) -> Result) -> Result? {
        guard let index = indices[key] else { return nil }
        return body(&entries[index].value)
    }

    /// Changes all values in place, which does not count as a use.
    mutating func updateAll(_ body: (Key, inout Value) -> Void) {
        for index in entries.indices { body(entries[index].key, &entries[index].value) }
    }

    /// Inserts or replaces a value, which counts as a use. Returns the evicted entry; nil if none had to be evicted.
    mutating func insert(_ value: Value, for key: Key) -> (key: Key, value: Value)? {
        if let index = indices[key] {
            entries[index].value = value
            touch(index)
            return nil
        }
        guard entries.count >= capacity, let index = oldest else {
            entries.append(Entry(key: key, value: value))
            indices[key] = entries.count - 1
            append(entries.count - 1)
            return nil
        }
        let evicted = entries[index]
        unlink(index)
        indices[evicted.key] = nil
        entries[index] = Entry(key: key, value: value)
        indices[key] = index
        append(index)
        return (evicted.key, evicted.value)
    }

    private mutating func touch(_ index: Int) {
        guard newest != index else { return }
        unlink(index)
        append(index)
    }

    private mutating func unlink(_ index: Int) {
        let (older, newer) = (entries[index].older, entries[index].newer)
        if let older { entries[older].newer = newer } else { oldest = newer }
        if let newer { entries[newer].older = older } else { newest = older }
        entries[index].older = nil
        entries[index].newer = nil
    }

    private mutating func append(_ index: Int) {
        entries[index].older = newest
        entries[index].newer = nil
        if let newest { entries[newest].newer = index } else { oldest = index }
        newest = index
    }
}
