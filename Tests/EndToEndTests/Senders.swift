import IssueTestSupport
import Synchronization
import UnixIO

/// Threads that each run the same function, and their results.
final class Senders: Sendable {
    private let ended: Monitor<[Result<Int, any Error>]>
    private let count: Int

    init(count: Int, _ body: @escaping @Sendable (Int) throws -> Int) throws {
        self.count = count
        ended = Monitor([])
        for number in 0..<count {
            _ = try Thread.start(name: "sender-\(number)") { [self] in
                let result = Result { try body(number) }
                ended.withLock { $0.append(result) }
                ended.broadcast()
            }
        }
    }

    struct Unfinished: Error {}

    /// Waits for all senders, and returns their results in the order in which they ended. Throws `Unfinished` if some
    /// are still running after `time`, or the first error of a sender.
    func results(within time: Duration = testTimeout) throws -> [Int] {
        let results = ended.wait(deadline: MonotonicClock.now.advanced(by: time)) { [count] in
            $0.count == count ? $0 : nil
        }
        guard let results else { throw Unfinished() }
        return try results.map { try $0.get() }
    }
}
