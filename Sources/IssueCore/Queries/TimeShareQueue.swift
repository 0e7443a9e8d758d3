/// A queue of work items of many users for a few threads, charged by the time they take.
///
/// The next item belongs to the user whose items have taken the least time. The duration of an item is only known
/// afterwards, so its user is charged when it has ended. A user who returns after a pause gets no credit for the unused
/// time.
package struct TimeShareQueue<Item: Sendable>: Sendable {
    private struct User: Sendable {
        var items = Queue<Item>()
        var spent: Duration
        var running = 0
        /// The number of the user's last turn, in the order of all turns.
        var sequence: UInt64
    }

    /// The time after which an item must end if a user who has spent less is waiting.
    package let slice: Duration
    private let maxRunningPerUser: Int
    private var users: [UInt32: User] = [:]
    /// The time that the last user to get a turn had spent.
    private var level: Duration = .zero
    private var lastSequence: UInt64 = 0

    /// The maximum number of users without work who are remembered until their spent time no longer matters.
    private static var maxIdleUsers: Int { 4096 }

    /// - Parameters:
    ///   - slice: The time after which an item must end if a user who has spent less is waiting.
    ///   - maxRunningPerUser: The maximum number of items of one user that run at a time.
    package init(slice: Duration, maxRunningPerUser: Int) {
        precondition(maxRunningPerUser > 0, "maxRunningPerUser must be positive")
        self.slice = slice
        self.maxRunningPerUser = maxRunningPerUser
    }

    /// The number of items of all users that wait.
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
    /// - Parameter mayTake: Whether an item of this user may run now.
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

    /// Removes the waiting items of a user that match. The user is not charged for them.
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
        } else if users.count > Self.maxIdleUsers {
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
