import IssueProtocol
import IssueTestSupport
import UnixIO

/// A fake daemon that listens on a socket, with faults on request.
///
/// It follows the rules for sequence numbers: the records of a producer are stored once, and after a refused call, all
/// later calls on the connection are refused until that call is sent again.
final class FakeCollector: Sendable {
    /// The fault of a `Report` call. Each call takes the next fault of the list, except a call that is refused because
    /// of an earlier one. After the last fault, calls succeed.
    enum Fault: Sendable {
        case none
        case busy(Duration)
        case noSpace
        case tooLarge
        case invalid
        /// Closes the connection before anything is stored.
        case closeUnread
        /// Stores the records and closes the connection before the answer.
        case closeUnanswered
        /// Stores the records and delays the answer until ``FakeCollector/release()``.
        case late
        /// Sends half of the answer and closes the connection.
        case halfAnswer
    }

    struct Stored: Sendable {
        var id: String
        var producer: String
        var sequence: Int64
        var record: IssueRecord
    }

    struct State: Sendable {
        var faults: [Fault] = []
        var stored: [Stored] = []
        var marks: [String: Int64] = [:]
        var calls = 0
        var connections = 0
        /// The number of calls of `Await`.
        var awaits = 0
        /// The number of calls of `Flush`, which are never answered.
        var flushes = 0
        /// The number of calls that change a deployment or the grouping. They close the connection without a reply.
        var changes = 0
        /// Whether the fates of all records are pending.
        var holdsFates = false
        var isReleased = false
        var isStopped = false
        /// The number of running threads: one that accepts connections, and one for each connection.
        var running = 0
    }

    let path: String
    let state: Monitor<State>

    init(path: String, faults: [Fault] = []) throws {
        self.path = path
        state = Monitor(State(faults: faults))
        let listener = try Socket.listenUnix(at: .unix(path), mode: 0o600)
        let box = DescriptorBox(listener)
        state.withLock { $0.running += 1 }
        _ = try Thread.start(name: "collector") { [self] in
            accept(box)
            state.withLock { $0.running -= 1 }
            state.broadcast()
        }
    }

    var stored: [Stored] { state.withLock { $0.stored } }

    /// Waits until `count` records are stored. Returns false after a timeout.
    func waits(forStored count: Int) async throws -> Bool {
        try await waits { $0.stored.count >= count }
    }

    private func waits(blockingUntil condition: (State) -> Bool) -> Bool {
        let deadline = MonotonicClock.now.advanced(by: .seconds(60))
        return state.wait(deadline: deadline) { condition($0) ? true : nil } ?? false
    }

    func waits(until condition: @escaping @Sendable (State) -> Bool) async throws -> Bool {
        try await onThread { [self] in waits(blockingUntil: condition) }
    }

    func countAwait() {
        state.withLock { $0.awaits += 1 }
        state.broadcast()
    }

    /// Waits until the fates are no longer pending. Returns false after the timeout, or if the collector has stopped.
    func waitsForFates(within timeout: Duration) -> Bool {
        let deadline = MonotonicClock.now.advanced(by: timeout)
        return state.wait(deadline: deadline) { $0.holdsFates && !$0.isStopped ? nil : !$0.holdsFates } ?? false
    }

    func holdFates(_ holdsFates: Bool) {
        state.withLock { $0.holdsFates = holdsFates }
        state.broadcast()
    }

    /// Sends delayed answers.
    func release() {
        state.withLock { $0.isReleased = true }
        state.broadcast()
    }

    /// Closes all connections, waits for up to a minute until all threads have ended, and removes the socket.
    func stop() {
        state.withLock { $0.isStopped = true }
        state.broadcast()
        _ = waits(blockingUntil: { $0.running == 0 })
        try? FileSystem.remove(path)
    }

    var isStopped: Bool { state.withLock { $0.isStopped } }

    private func accept(_ listener: DescriptorBox) {
        while !isStopped {
            guard (try? Readiness.wait(listener.descriptor, for: .read, timeout: .milliseconds(20))) == true,
                let connection = try? listener.descriptor.accept()
            else { continue }
            let session = FakeSession(collector: self, socket: connection)
            state.withLock { state in
                state.running += 1
                state.connections += 1
            }
            _ = try? Thread.start(name: "session") { [self] in
                session.run()
                state.withLock { $0.running -= 1 }
                state.broadcast()
            }
        }
    }
}

/// A descriptor that closures can capture.
final class DescriptorBox: Sendable {
    let descriptor: FileDescriptor

    init(_ descriptor: consuming FileDescriptor) {
        self.descriptor = descriptor
    }
}
