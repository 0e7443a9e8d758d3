/// A bounded dictionary that gives up what has not been used for longest.
///
/// Every table that outside traffic can fill is one of these, so that no
/// sender decides how much memory the daemon takes.
struct RecencyTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Entry: Sendable {
        var key: Key
        var value: Value
        var older: Int?
        var newer: Int?
    }

    let capacity: Int
    private var entries: [Entry] = []
    private var places: [Key: Int] = [:]
    private var oldest: Int?
    private var newest: Int?

    init(capacity: Int) {
        precondition(capacity > 0, "A table that can hold nothing gives up each entry before it is used")
        self.capacity = capacity
    }

    var count: Int { entries.count }
    /// All entries, in no particular order.
    var all: some Sequence<(key: Key, value: Value)> { entries.lazy.map { ($0.key, $0.value) } }

    func contains(_ key: Key) -> Bool { places[key] != nil }

    /// The value, without counting as a use.
    func peek(_ key: Key) -> Value? { places[key].map { entries[$0].value } }

    /// Changes a value in place, which counts as a use; nothing happens where there is none.
    mutating func update<Result>(_ key: Key, _ body: (inout Value) -> Result) -> Result? {
        guard let place = places[key] else { return nil }
        touch(place)
        return body(&entries[place].value)
    }

    /// Changes a value in place, which does not count as a use; nothing happens where there is none.
    mutating func alter<Result>(_ key: Key, _ body: (inout Value) -> Result) -> Result? {
        guard let place = places[key] else { return nil }
        return body(&entries[place].value)
    }

    /// Changes every value, which does not count as a use.
    mutating func updateAll(_ body: (Key, inout Value) -> Void) {
        for place in entries.indices { body(entries[place].key, &entries[place].value) }
    }

    /// Puts a value in, and says what had to go for it.
    mutating func insert(_ value: Value, for key: Key) -> (key: Key, value: Value)? {
        if let place = places[key] {
            entries[place].value = value
            touch(place)
            return nil
        }
        guard entries.count >= capacity, let place = oldest else {
            entries.append(Entry(key: key, value: value))
            places[key] = entries.count - 1
            append(entries.count - 1)
            return nil
        }
        let gone = entries[place]
        unlink(place)
        places[gone.key] = nil
        entries[place] = Entry(key: key, value: value)
        places[key] = place
        append(place)
        return (gone.key, gone.value)
    }

    private mutating func touch(_ place: Int) {
        guard newest != place else { return }
        unlink(place)
        append(place)
    }

    private mutating func unlink(_ place: Int) {
        let (older, newer) = (entries[place].older, entries[place].newer)
        if let older { entries[older].newer = newer } else { oldest = newer }
        if let newer { entries[newer].older = older } else { newest = older }
        entries[place].older = nil
        entries[place].newer = nil
    }

    private mutating func append(_ place: Int) {
        entries[place].older = newest
        entries[place].newer = nil
        if let newest { entries[newest].newer = place } else { oldest = place }
        newest = place
    }
}
