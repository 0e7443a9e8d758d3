/// A queue of work items of many users for a few threads. It shares the threads' time fairly between users.
///
/// The next item comes from the user whose items have taken the least time so far. A user is charged for an item when
/// the item has ended, because its duration is unknown before. A user who returns after a pause gets no credit for the
/// pause.
package struct TimeShareQueue<Item: Sendable>: Sendable {
    private struct User: Sendable {
        var items = Queue<Item>()
        /// The time that the user's items have taken. When the user begins, or returns after a pause, it is raised to
        /// `level`.
        var spent: Duration
        /// The number of the user's items that run now.
        var running = 0
        /// The value of `lastSequence` when the user last got a turn, or began or returned after a pause.
        var sequence: UInt64
    }

    /// The time after which an item must end if a user who has spent less is waiting.
    package let slice: Duration
    private let maxRunningPerUser: Int
    private var users: [UInt32: User] = [:]
    /// The highest spent time with which a user has got a turn. It is reset when no user has work.
    private var level: Duration = .zero
    private var lastSequence: UInt64 = 0

    /// The number of users in memory above which all users without work are forgotten, even those whose spent time
    /// would still affect the order.
    private static var maxRememberedUsers: Int { 4096 }

    /// - Parameters:
    ///   - slice: The time after which an item must end if a user who has spent less is waiting.
    ///   - maxRunningPerUser: The maximum number of items of one user that run at a time.
    package init(slice: Duration, maxRunningPerUser: Int) {
        precondition(maxRunningPerUser > 0, "maxRunningPerUser must be positive")
        self.slice = slice
        self.maxRunningPerUser = maxRunningPerUser
    }

    /// Adds an item after the other items of the user.
    package mutating func append(_ item: Item, user: UInt32) {
        lastSequence += 1
        var entry = users[user] ?? User(spent: level, sequence: lastSequence)
        if entry.items.isEmpty, entry.running == 0 {
            entry.spent = max(entry.spent, level)
            entry.sequence = lastSequence
        }
        entry.items.append(item)
        users[user] = entry
    }

    /// Returns the next item, or nil if none may run. The item counts as running until `finished` is called for its
    /// user.
    ///
    /// - Parameter mayTake: Returns `true` if an item of this user may run now.
    package mutating func take(where mayTake: (UInt32) -> Bool = { _ in true }) -> (item: Item, user: UInt32)? {
        let candidates = users.filter { mayRun($0.value) && mayTake($0.key) }
        let next = candidates.min { ($0.value.spent, $0.value.sequence) < ($1.value.spent, $1.value.sequence) }
        guard let user = next?.key, var entry = users.removeValue(forKey: user) else { return nil }
        level = max(level, entry.spent)
        lastSequence += 1
        entry.sequence = lastSequence
        entry.running += 1
        let item = entry.items.removeFirst()
        users[user] = entry
        return (item, user)
    }

    /// Charges a user for an item that has ended, after running for `time`.
    package mutating func finished(user: UInt32, after time: Duration) {
        guard var entry = users[user], entry.running > 0 else {
            preconditionFailure("An item ended that was not running")
        }
        entry.running -= 1
        entry.spent += max(time, .zero)
        users[user] = entry
        forgetIdle(user)
    }

    /// Removes those of a user's waiting items that match. The user is not charged for them.
    package mutating func removeAll(of user: UInt32, where matches: (Item) -> Bool) {
        guard var entry = users[user] else { return }
        entry.items.removeAll(where: matches)
        users[user] = entry
        forgetIdle(user)
    }

    private mutating func forgetIdle(_ user: UInt32) {
        if let entry = users[user], entry.items.isEmpty, entry.running == 0, entry.spent <= level { users[user] = nil }
        if users.values.allSatisfy({ $0.items.isEmpty && $0.running == 0 }) {
            // No user competes for the threads now.
            users = [:]
            level = .zero
        } else if users.count > Self.maxRememberedUsers {
            users = users.filter { !$0.value.items.isEmpty || $0.value.running > 0 }
        }
    }

    /// Returns `true` if an item must end because a user who has spent less is waiting.
    ///
    /// - Parameters:
    ///   - user: The item's user id.
    ///   - time: The time that the item has run so far.
    package func mustYield(user: UInt32, after time: Duration) -> Bool {
        guard time >= slice, let spent = users[user]?.spent else { return false }
        return users.contains { $0.key != user && mayRun($0.value) && $0.value.spent < spent + time }
    }

    private func mayRun(_ user: User) -> Bool {
        !user.items.isEmpty && user.running < maxRunningPerUser
    }
}

/// A queue of keys with deadlines, earliest first.
///
/// Each key is in the queue at most once, with its earliest deadline. When that has passed, the caller computes the
/// current deadline and, if it is in the future, adds the key again. A deadline that every message postpones therefore
/// costs only a lookup and a comparison per message.
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
