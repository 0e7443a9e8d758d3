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

        /// Returns the cost of the next item; 0 if there is none.
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

/// Chooses the maximum cost of a commit.
///
/// Large commits are cheapest per record, but every report that arrives during a commit waits for it. While only bulk
/// senders are active, that latency harms no one. After a low-volume connection was seen, commits stay small for
/// `smallCommitPeriod`. A connection whose recent reports cost little may turn out to be low-volume, so commits are
/// small for `smallCommitMoment` after each of its reports.
package struct CommitSizePolicy: Sendable {
    private let bulk: Int
    private let shared: Int
    /// The cost of the reports in this interval, by connection.
    private var counts: [UInt64: Int] = [:]
    /// The cost of the reports in the last interval and in the one before it, by connection.
    private var last: [UInt64: Int] = [:]
    private var beforeLast: [UInt64: Int] = [:]
    /// The end of this interval; nil before the first report. The first report after this time begins another interval.
    private var end: MonotonicInstant?
    /// The time until which commits are small; nil before the first report of a connection that may be low-volume.
    private var sharedUntil: MonotonicInstant?

    /// The interval over which the cost of a connection's reports is added up.
    package static let interval: Duration = .seconds(1)
    /// How long commits stay small after a low-volume connection was seen.
    package static let smallCommitPeriod: Duration = .seconds(60)
    /// How long commits stay small after a report of a connection that may be low-volume. This includes bulk senders
    /// that have just started.
    package static let smallCommitMoment: Duration = .milliseconds(250)
    /// A connection is low-volume if its reports cost at most this much in each of three consecutive intervals.
    private static let lowVolumeLimit = 1000

    /// - Parameters:
    ///   - bulk: The maximum cost of a commit while only bulk senders are active, in the units of `ReportCost`.
    ///   - shared: The maximum cost of a commit after a report of a connection that is or may be low-volume.
    package init(bulk: Int, shared: Int) {
        self.bulk = bulk
        self.shared = shared
    }

    /// Returns the cost at which the next commit is full, in the units of `ReportCost`. Its last submission may exceed
    /// it.
    package func limit(at now: MonotonicInstant) -> Int {
        guard let sharedUntil, now < sharedUntil else { return bulk }
        return shared
    }

    /// Counts a report.
    ///
    /// - Parameters:
    ///   - cost: The report's cost, in the units of `ReportCost`.
    ///   - connection: The connection's id.
    ///   - now: The current time.
    package mutating func arrived(_ cost: Int, connection: UInt64, at now: MonotonicInstant) {
        if let end, now >= end { evaluate(at: now) }
        if end == nil { end = now.advanced(by: Self.interval) }
        counts[connection, default: 0] += cost
        if mayBeLowVolume(connection) { keepSmall(until: now.advanced(by: Self.smallCommitMoment)) }
    }

    /// Returns `true` if a connection's reports have cost little in this interval and in each of the last two.
    private func mayBeLowVolume(_ connection: UInt64) -> Bool {
        max(counts[connection] ?? 0, last[connection] ?? 0, beforeLast[connection] ?? 0) <= Self.lowVolumeLimit
    }

    private mutating func keepSmall(until time: MonotonicInstant) {
        sharedUntil = sharedUntil.map { max($0, time) } ?? time
    }

    private mutating func evaluate(at now: MonotonicInstant) {
        // A bulk sender also looks low-volume in the intervals in which it starts and stops, so three consecutive
        // intervals are compared.
        if last.keys.contains(where: mayBeLowVolume) { keepSmall(until: now.advanced(by: Self.smallCommitPeriod)) }
        (beforeLast, last, counts) = (last, counts, [:])
        end = nil
    }
}

/// The estimated cost of reports for the writer. The unit is the cost of a record of typical size whose series is
/// cached.
///
/// The size of commits and the turns of users are measured in this cost. A commit with many new series therefore has
/// fewer records and does not take much longer than others.
package enum ReportCost {
    /// The cost of a record whose series is not cached, so that it must be looked up and perhaps inserted.
    private static let newSeries = 8
    /// The cost of a record in an overflow series. Such a record stores attributes that are otherwise stored once per
    /// series.
    private static let overflowed = 4
    /// The typical size of a record, in bytes.
    private static let typicalBytes = 1024

    /// Returns the cost of a report, at least 1.
    ///
    /// - Parameters:
    ///   - records: The number of its records.
    ///   - bytes: The size of its records, in bytes.
    ///   - newSeries: The number of records whose series is not cached.
    ///   - overflowed: The number of other records that belong to an overflow series.
    package static func of(records: Int, bytes: Int, newSeries: Int, overflowed: Int) -> Int {
        let work = records + newSeries * (Self.newSeries - 1) + overflowed * (Self.overflowed - 1)
        return max(1, work, bytes / typicalBytes)
    }
}
