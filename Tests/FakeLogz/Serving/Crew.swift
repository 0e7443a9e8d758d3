import UnixIO

/// A group of threads that are all joined at the end.
final class Crew: Sendable {
    private final class Member: Sendable {
        let thread: Monitor<Thread?>

        init(_ thread: consuming Thread) {
            self.thread = Monitor(thread)
        }
    }

    private struct Roll: Sendable {
        var members: [Int: Member] = [:]
        var finished: [Int] = []
        var next = 0
    }

    private let roll = Monitor(Roll())

    func start(name: String, body: @escaping @Sendable () -> Void) throws(Errno) {
        joinFinished()
        // Registered under the lock, so that a thread that ends immediately finds its entry.
        try roll.withLock { roll throws(Errno) in
            let number = roll.next
            roll.next += 1
            let thread = try Thread.start(name: name, stackSize: 2 * 1024 * 1024) { [self] in
                body()
                self.roll.withLock { $0.finished.append(number) }
            }
            roll.members[number] = Member(thread)
        }
    }

    /// Waits for all threads. No thread may be started meanwhile.
    func join() {
        let members = roll.withLock { roll in
            defer { roll = Roll() }
            return Array(roll.members.values)
        }
        members.forEach(Self.join)
    }

    private func joinFinished() {
        let members = roll.withLock { roll in
            defer { roll.finished = [] }
            return roll.finished.compactMap { roll.members.removeValue(forKey: $0) }
        }
        members.forEach(Self.join)
    }

    private static func join(_ member: Member) {
        if let thread = member.thread.withLock({ $0.take() }) { thread.join() }
    }
}
