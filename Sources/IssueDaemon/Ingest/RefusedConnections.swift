import IssueCore
import IssueProtocol
import UnixIO

/// Refused connections, which are answered and closed after a moment.
///
/// Clients that connect again as soon as they are refused would otherwise keep the socket thread and the processors
/// busy. Connections that were refused together are answered a few at a time.
struct RefusedConnections {
    /// A reference, because an array can't hold a noncopyable descriptor.
    private final class Connection {
        let descriptor: FileDescriptor

        init(_ descriptor: consuming FileDescriptor) {
            self.descriptor = descriptor
        }
    }

    /// How long a refused client waits for its answer.
    static let delay: Duration = .milliseconds(250)
    /// The maximum number of connections that are answered without a pause.
    static let portion = 16
    /// The time between two portions, so that the socket thread can serve others.
    static let pause: Duration = .milliseconds(1)
    /// The number of descriptors that are left for everything except connections.
    private static let otherDescriptors = 1024

    private let capacity: Int
    /// In the order of their times. Those before `head` have been answered.
    private var waiting: [(connection: Connection, time: MonotonicInstant)?] = []
    private var head = 0
    /// The end of the pause after a portion.
    private var pausedUntil = MonotonicInstant(sinceBoot: .zero)

    /// - Parameters:
    ///   - maxConnections: The maximum number of connections that are not refused.
    ///   - openFileLimit: The maximum number of descriptors of the process.
    init(maxConnections: Int, openFileLimit: Int) {
        capacity = max(0, min(maxConnections, openFileLimit - maxConnections - Self.otherDescriptors))
    }

    var isEmpty: Bool { head == waiting.count }

    /// The time at which the next connection is answered; nil if none is waiting.
    var deadline: MonotonicInstant? { isEmpty ? nil : waiting[head].map { max($0.time, pausedUntil) } }

    /// Adds a connection. If there are too many, the one that has waited longest is answered immediately.
    mutating func add(_ descriptor: consuming FileDescriptor, at now: MonotonicInstant) {
        waiting.append((Connection(descriptor), now.advanced(by: Self.delay)))
        if waiting.count - head > capacity { answerNext() }
    }

    /// Answers connections that have waited long enough.
    mutating func answerDue(at now: MonotonicInstant) {
        for _ in 0..<Self.portion {
            guard let deadline, deadline <= now else { return }
            answerNext()
        }
        pausedUntil = now.advanced(by: Self.pause)
    }

    /// Answers all connections, because their descriptors are needed or the daemon stops.
    mutating func answerAll() {
        while !isEmpty { answerNext() }
    }

    /// Sends an error without waiting, and closes the connection.
    private mutating func answerNext() {
        if let next = waiting[head] {
            _ = next.connection.descriptor.attemptSend(CollectorError.busy(retryAfter: .seconds(1)).reply.message)
        }
        waiting[head] = nil
        head += 1
        if head == waiting.count {
            waiting.removeAll(keepingCapacity: head <= 64)
            head = 0
        } else if head >= 64, 2 * head >= waiting.count {
            waiting.removeFirst(head)
            head = 0
        }
    }
}
