/// What waits for the writer, in turns: of users, and for each user of his connections.
///
/// With its turn comes a quantum that its items are charged to; what it takes
/// beyond that it waits for the longer. So whoever sends little never waits for
/// all that somebody else has sent, whether over one connection or over many,
/// and the items of a connection keep their order.
package struct FairQueue<Item: Sendable>: Sendable {
    private struct Line: Sendable {
        var items: [(item: Item, cost: Int)] = []
        var first = 0

        var isEmpty: Bool { first == items.count }

        mutating func take() -> (item: Item, cost: Int) {
            let next = items[first]
            first += 1
            if first == items.count {
                items = []
                first = 0
            } else if first >= 64, 2 * first >= items.count {
                items.removeFirst(first)
                first = 0
            }
            return next
        }
    }

    private struct User: Sendable {
        var turns: DeficitRoundRobin<UInt64>
        var lines: [UInt64: Line] = [:]

        mutating func take() -> (item: Item, cost: Int)? {
            guard let connection = turns.next(), let next = lines[connection]?.take() else { return nil }
            let isDone = lines[connection]?.isEmpty == true
            if isDone { lines[connection] = nil }
            turns.charge(next.cost, isDone: isDone)
            return next
        }
    }

    private let connectionQuantum: Int
    private var turns: DeficitRoundRobin<UInt32>
    private var users: [UInt32: User] = [:]
    /// What all that waits costs.
    package private(set) var cost = 0

    /// - Parameter userQuantum: what a user is charged in one turn, of which a connection has its own share.
    package init(userQuantum: Int, connectionQuantum: Int) {
        self.connectionQuantum = connectionQuantum
        turns = DeficitRoundRobin(quantum: userQuantum)
    }

    package var isEmpty: Bool { users.isEmpty }

    /// Puts an item behind those of the same connection.
    package mutating func append(_ item: Item, cost: Int, user: UInt32, connection: UInt64) {
        self.cost += cost
        turns.join(user, with: cost)
        users[user, default: User(turns: DeficitRoundRobin(quantum: connectionQuantum))].turns.join(
            connection, with: cost)
        users[user]?.lines[connection, default: Line()].items.append((item, cost))
    }

    /// Takes out what has its turn, until it has cost as much as is given; one item in any case, if there is one.
    package mutating func take(upTo limit: Int) -> [Item] {
        var taken: [Item] = []
        var spent = 0
        while spent < limit, let user = turns.next() {
            guard let next = users[user]?.take() else {
                preconditionFailure("A user who has a turn has something waiting")
            }
            taken.append(next.item)
            spent += next.cost
            let isDone = users[user]?.lines.isEmpty == true
            if isDone { users[user] = nil }
            turns.charge(next.cost, isDone: isDone)
        }
        cost -= spent
        return taken
    }
}

/// Whose turn it is, where each may spend the same in its turn.
///
/// An item is given out as long as there is credit, whatever it costs; what it
/// costs too much is taken off the turns that follow. So costs need not be
/// known beforehand, and large ones are not passed over. Whoever comes anew
/// with little has the next turn, once.
struct DeficitRoundRobin<Key: Hashable & Sendable>: Sendable {
    private let quantum: Int
    private var line = Line()
    /// Those who came anew with little.
    private var priority = Line()
    private var credits: [Key: Int] = [:]

    /// Keys in their order, of which those at the front go.
    private struct Line: Sendable {
        private var keys: [Key] = []
        private var start = 0

        var first: Key? { start < keys.count ? keys[start] : nil }

        mutating func append(_ key: Key) { keys.append(key) }

        mutating func removeFirst() {
            start += 1
            if start >= 64, 2 * start >= keys.count {
                keys.removeFirst(start)
                start = 0
            }
        }
    }

    init(quantum: Int) {
        precondition(quantum > 0, "A turn in which nothing may be spent never ends")
        self.quantum = quantum
    }

    /// Has turns from now on, behind all that have them already, unless it comes with little.
    mutating func join(_ key: Key, with cost: Int) {
        guard credits[key] == nil else { return }
        credits[key] = quantum
        if cost <= quantum / 8 { priority.append(key) } else { line.append(key) }
    }

    /// Whose turn it is, or nothing when nobody has joined.
    mutating func next() -> Key? {
        if let key = priority.first { return key }
        while let key = line.first {
            let credit = credits[key, default: 0]
            if credit > 0 { return key }
            credits[key] = credit + quantum
            line.removeFirst()
            line.append(key)
        }
        return nil
    }

    /// The one whose turn it is has spent something, and may have nothing more to spend it for.
    mutating func charge(_ cost: Int, isDone: Bool) {
        let isPriority = priority.first != nil
        guard let key = priority.first ?? line.first else {
            preconditionFailure("Only who has a turn can spend something")
        }
        credits[key] = isDone ? nil : credits[key, default: 0] - cost
        if isPriority {
            priority.removeFirst()
            if !isDone { line.append(key) }
        } else if isDone {
            line.removeFirst()
        }
    }
}
