/// Whose turn it is, where each may spend the same in its turn.
///
/// An item is given out as long as there is credit, whatever it costs; what it
/// costs too much is taken off the turns that follow. So costs need not be
/// known beforehand, and large ones are not passed over.
struct Turns<Key: Hashable & Sendable>: Sendable {
    private let quantum: Int
    private var line: [Key] = []
    private var first = 0
    private var credits: [Key: Int] = [:]

    init(quantum: Int) {
        precondition(quantum > 0, "A turn in which nothing may be spent never ends")
        self.quantum = quantum
    }

    /// Has turns from now on, behind all that have them already.
    mutating func join(_ key: Key) {
        guard credits[key] == nil else { return }
        credits[key] = quantum
        line.append(key)
    }

    /// Whose turn it is, or nothing when nobody has joined.
    mutating func next() -> Key? {
        while first < line.count {
            let key = line[first]
            let credit = credits[key, default: 0]
            if credit > 0 { return key }
            credits[key] = credit + quantum
            advance()
            line.append(key)
        }
        return nil
    }

    /// The one whose turn it is has spent something.
    mutating func charge(_ cost: Int) {
        credits[line[first], default: 0] -= cost
    }

    /// The one whose turn it is has nothing more to spend it for.
    mutating func leave() {
        credits[line[first]] = nil
        advance()
    }

    private mutating func advance() {
        first += 1
        if first >= 64, 2 * first >= line.count {
            line.removeFirst(first)
            first = 0
        }
    }
}
