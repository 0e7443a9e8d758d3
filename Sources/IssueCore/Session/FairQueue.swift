/// A queue of work for the writer that is fair between users and between the connections of each user.
///
/// Each turn has a quantum to which the items taken are charged. A user who exceeds it waits longer for the next turn.
/// A user who sends little therefore never waits for everything another user has sent, over one connection or many. The
/// items of a connection keep their order.
package struct FairQueue<Item: Sendable>: Sendable {
    private struct User: Sendable {
        var schedule: DeficitRoundRobin<UInt64>
        var lines: [UInt64: Queue<(item: Item, cost: Int)>] = [:]

        /// The cost of the next item; 0 if there is none.
        mutating func nextCost() -> Int { schedule.next().flatMap { lines[$0]?.first?.cost } ?? 0 }

        mutating func take() -> (item: Item, cost: Int)? {
            guard let connection = schedule.next(), let next = lines[connection]?.removeFirst() else { return nil }
            let isDone = lines[connection]?.isEmpty == true
            if isDone { lines[connection] = nil }
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
        users[user]?.lines[connection, default: Queue()].append((item, cost))
    }

    /// Removes and returns items in the order of turns until their cost reaches a limit. Returns at least one item
    /// unless the queue is empty.
    ///
    /// An item that costs more than the limit is never taken together with others, so that they do not wait for it.
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
            let isDone = users[user]?.lines.isEmpty == true
            if isDone { users[user] = nil }
            schedule.charge(next.cost, isDone: isDone)
        }
        cost -= spent
        return taken
    }
}

/// A scheduler in which each key may spend the same cost per turn (deficit round robin).
///
/// An item is served as long as there is credit, whatever it costs; any excess is deducted from the following turns.
/// Costs therefore need not be known in advance, and expensive items are not skipped. A new key with a small first item
/// gets the next turn, once.
struct DeficitRoundRobin<Key: Hashable & Sendable>: Sendable {
    private let quantum: Int
    private var line = Queue<Key>()
    /// New keys with small first items.
    private var priority = Queue<Key>()
    private var credits: [Key: Int] = [:]

    init(quantum: Int) {
        precondition(quantum > 0, "The quantum must be positive")
        self.quantum = quantum
    }

    /// Adds a key unless it has joined already. It is served after the others unless its first item is small.
    mutating func join(_ key: Key, with cost: Int) {
        guard credits[key] == nil else { return }
        credits[key] = quantum
        if cost <= quantum / 8 { priority.append(key) } else { line.append(key) }
    }

    /// Returns the key that has the turn, or nil if there are none.
    mutating func next() -> Key? {
        if let key = priority.first { return key }
        while let key = line.first {
            let credit = credits[key, default: 0]
            if credit > 0 { return key }
            credits[key] = credit + quantum
            line.append(line.removeFirst())
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
        guard let key = priority.first ?? line.first else {
            preconditionFailure("No key has a turn")
        }
        credits[key] = isDone ? nil : credits[key, default: 0] - cost
        if isPriority {
            _ = priority.removeFirst()
            if !isDone { line.append(key) }
        } else if isDone {
            _ = line.removeFirst()
        }
    }
}

/// A first-in, first-out queue. Removing takes constant time on average.
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
