/// Whose turn it is, where each may spend the same in its turn.
///
/// An item is given out as long as there is credit, whatever it costs; what it
/// costs too much is taken off the turns that follow. So costs need not be
/// known beforehand, and large ones are not passed over. Whoever comes anew
/// with little has the next turn, once.
struct Turns<Key: Hashable & Sendable>: Sendable {
    private let quantum: Int
    private var line = Line()
    /// Those who came anew with little.
    private var express = Line()
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
        if cost <= quantum / 8 { express.append(key) } else { line.append(key) }
    }

    /// Whose turn it is, or nothing when nobody has joined.
    mutating func next() -> Key? {
        if let key = express.first { return key }
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
        let isExpress = express.first != nil
        guard let key = express.first ?? line.first else {
            preconditionFailure("Only who has a turn can spend something")
        }
        credits[key] = isDone ? nil : credits[key, default: 0] - cost
        if isExpress {
            express.removeFirst()
            if !isDone { line.append(key) }
        } else if isDone {
            line.removeFirst()
        }
    }
}
