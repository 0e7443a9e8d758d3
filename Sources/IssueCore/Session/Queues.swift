/// A queue of work for the writer that is fair between users and between the connections of each user.
///
/// Users take turns. In each turn, a user may spend a quantum, from which the cost of the taken items is deducted. A
/// user who exceeds the quantum waits longer for the next turn. A user who sends little therefore need not wait until
/// the long queue of another user is empty, however many connections fill it. The items of a connection keep their
/// order.
package struct FairQueue<Item: Sendable>: Sendable {
    private struct User: Sendable {
        var schedule: DeficitRoundRobin<UInt64>
        /// The waiting items of each connection.
        var queues: [UInt64: Queue<(item: Item, cost: Int)>] = [:]

        /// The cost of the next item; 0 if there is none.
        mutating func nextCost() -> Int { schedule.next().flatMap { queues[$0]?.first?.cost } ?? 0 }

        mutating func take() -> (item: Item, cost: Int)? {
            guard let connection = schedule.next(), let next = queues[connection]?.removeFirst() else { return nil }
            let isDone = queues[connection]?.isEmpty == true
            if isDone { queues[connection] = nil }
            schedule.charge(next.cost, isDone: isDone)
            return next
        }
    }

    private let connectionQuantum: Int
    private var schedule: DeficitRoundRobin<UInt32>
    private var users: [UInt32: User] = [:]
    /// The total cost of the waiting items.
    package private(set) var cost = 0

    /// - Parameters:
    ///   - userQuantum: The cost that a user may spend in one turn.
    ///   - connectionQuantum: The cost that one of the user's connections may spend in one turn.
    package init(userQuantum: Int, connectionQuantum: Int) {
        self.connectionQuantum = connectionQuantum
        schedule = DeficitRoundRobin(quantum: userQuantum)
    }

    package var isEmpty: Bool { users.isEmpty }

    /// Adds an item after the other items of the same connection.
    package mutating func append(_ item: Item, cost: Int, user: UInt32, connection: UInt64) {
        self.cost += cost
        schedule.join(user, with: cost)
        users[user, default: User(schedule: DeficitRoundRobin(quantum: connectionQuantum))].schedule.join(
            connection, with: cost)
        users[user]?.queues[connection, default: Queue()].append((item, cost))
    }

    /// Removes and returns items in the order of turns until their cost reaches a limit. Returns at least one item
    /// unless the queue is empty.
    ///
    /// An item that costs more than the limit is taken alone: items taken with it would have to wait for its end.
    package mutating func take(upTo limit: Int) -> [Item] {
        var taken: [Item] = []
        var spent = 0
        while spent < limit, let user = schedule.next() {
            if !taken.isEmpty, let cost = users[user]?.nextCost(), cost > limit { break }
            guard let next = users[user]?.take() else {
                preconditionFailure("A user has a turn but no waiting items")
            }
            taken.append(next.item)
            spent += next.cost
            let isDone = users[user]?.queues.isEmpty == true
            if isDone { users[user] = nil }
            schedule.charge(next.cost, isDone: isDone)
        }
        cost -= spent
        return taken
    }
}

/// A scheduler in which each key may spend the same cost per turn (deficit round robin).
///
/// A key with credit is served whatever its item costs, and an excess is deducted from its following turns. Expensive
/// items are therefore not skipped. A new key with a small first item is served before the others, but only with that
/// item.
struct DeficitRoundRobin<Key: Hashable & Sendable>: Sendable {
    private let quantum: Int
    /// The keys in the order of their turns.
    private var queue = Queue<Key>()
    /// New keys with small first items, which are served before `queue`.
    private var priority = Queue<Key>()
    /// The cost that each key may still spend in its turn; negative after an excess.
    private var credits: [Key: Int] = [:]

    init(quantum: Int) {
        precondition(quantum > 0, "The quantum must be positive")
        self.quantum = quantum
    }

    /// Adds a key unless it has already joined. It is served after the others unless its first item is small.
    ///
    /// - Parameter cost: The cost of the key's first item.
    mutating func join(_ key: Key, with cost: Int) {
        guard credits[key] == nil else { return }
        credits[key] = quantum
        if cost <= quantum / 8 { priority.append(key) } else { queue.append(key) }
    }

    /// Returns the key that has the turn; nil if there are no keys.
    mutating func next() -> Key? {
        if let key = priority.first { return key }
        while let key = queue.first {
            let credit = credits[key, default: 0]
            if credit > 0 { return key }
            credits[key] = credit + quantum
            queue.append(queue.removeFirst())
        }
        return nil
    }

    /// Charges the key that has the turn.
    ///
    /// - Parameters:
    ///   - cost: The cost of the item served.
    ///   - isDone: `true` if the key has no further items.
    mutating func charge(_ cost: Int, isDone: Bool) {
        let isPriority = priority.first != nil
        guard let key = priority.first ?? queue.first else {
            preconditionFailure("No key has a turn")
        }
        credits[key] = isDone ? nil : credits[key, default: 0] - cost
        if isPriority {
            _ = priority.removeFirst()
            if !isDone { queue.append(key) }
        } else if isDone {
            _ = queue.removeFirst()
        }
    }
}

/// A first-in, first-out queue. `removeFirst` takes constant time on average.
struct Queue<Element> {
    private var elements: [Element] = []
    private var start = 0

    var count: Int { elements.count - start }
    var isEmpty: Bool { count == 0 }
    var first: Element? { isEmpty ? nil : elements[start] }

    mutating func append(_ element: Element) { elements.append(element) }

    /// Removes and returns the first element. There must be one.
    mutating func removeFirst() -> Element {
        let first = elements[start]
        start += 1
        if start == elements.count {
            elements.removeAll(keepingCapacity: elements.count <= 64)
            start = 0
        } else if start >= 64, 2 * start >= elements.count {
            elements.removeFirst(start)
            start = 0
        }
        return first
    }

    mutating func removeAll(where matches: (Element) -> Bool) {
        elements.removeFirst(start)
        start = 0
        elements.removeAll(where: matches)
    }
}

extension Queue: Sendable where Element: Sendable {}

/// The order in which connections that are ready at the same time are served.
///
/// A round of the event loop serves connections only for a short time and leaves the rest to the next round, so the
/// order determines which ones wait. First comes one connection of each user, then a second one of each, and so on.
/// Among users, and among the connections of a user, the one whose last turn is longest ago comes first. A user who
/// sends little therefore waits for at most one turn of each other user, however many connections the others have. The
/// poller reports at most 256 connections at once, in rotation. If more are ready, this order applies only to the
/// reported ones.
package struct ReadOrder: Sendable {
    /// A connection that is ready.
    package struct Candidate: Equatable, Sendable {
        /// The index of the event that the poller has reported.
        package var index: Int
        package var user: UInt32
        /// The round of the user's last turn.
        package var userRound: UInt64
        /// The round of the connection's last turn.
        package var round: UInt64
        /// The number of connections of the same user that come before this one.
        fileprivate var layer = 0

        package init(index: Int, user: UInt32, userRound: UInt64, round: UInt64) {
            (self.index, self.user, self.userRound, self.round) = (index, user, userRound, round)
        }
    }

    private var candidates: [Candidate] = []

    package init() {}

    /// Removes the candidates of the last round. Keeps their storage.
    package mutating func removeAll() { candidates.removeAll(keepingCapacity: true) }

    package mutating func add(_ candidate: Candidate) { candidates.append(candidate) }

    /// Returns the candidates in the order of their turns.
    package mutating func arranged() -> [Candidate] {
        guard candidates.count > 1 else { return candidates }
        candidates.sort { ($0.user, $0.round, $0.index) < ($1.user, $1.round, $1.index) }
        for index in 1..<candidates.count where candidates[index].user == candidates[index - 1].user {
            candidates[index].layer = candidates[index - 1].layer + 1
        }
        candidates.sort { ($0.layer, $0.userRound, $0.user) < ($1.layer, $1.userRound, $1.user) }
        return candidates
    }
}

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

    /// The number of waiting items of all users.
    package var waitingCount: Int { users.values.reduce(0) { $0 + $1.items.count } }

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
/// costs only one comparison per message.
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
