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
        var turns: Turns<UInt64>
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
    private var turns: Turns<UInt32>
    private var users: [UInt32: User] = [:]
    /// What all that waits costs.
    package private(set) var cost = 0

    /// - Parameter userQuantum: what a user is charged in one turn, of which a connection has its own share.
    package init(userQuantum: Int, connectionQuantum: Int) {
        self.connectionQuantum = connectionQuantum
        turns = Turns(quantum: userQuantum)
    }

    package var isEmpty: Bool { users.isEmpty }

    /// Puts an item behind those of the same connection.
    package mutating func append(_ item: Item, cost: Int, user: UInt32, connection: UInt64) {
        self.cost += cost
        turns.join(user, with: cost)
        users[user, default: User(turns: Turns(quantum: connectionQuantum))].turns.join(connection, with: cost)
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
