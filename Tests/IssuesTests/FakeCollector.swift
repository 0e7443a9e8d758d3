import IssueProtocol
import UnixIO

/// A daemon's end of the socket, which answers, and misbehaves when told to.
///
/// It keeps the rules for numbers: what a producer has sent is stored once, and
/// behind a refused call all others are refused.
final class FakeCollector: Sendable {
    /// What happens to a call of `Report`, one for each call in order; then all is well.
    enum Fault: Sendable {
        case none
        case busy(Duration)
        case noSpace
        case tooLarge
        case invalid
        /// The connection ends before anything is stored.
        case closeUnread
        /// All is stored, and the connection ends before the answer.
        case closeUnanswered
        /// All is stored, and the answer comes when it is released.
        case late
        /// Half of the answer, and then the end.
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
        var isReleased = false
        var isStopped = false
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

    /// Waits until so many records are stored; false when they don't come.
    func waits(forStored count: Int) -> Bool {
        waits { $0.stored.count >= count }
    }

    func waits(until condition: (State) -> Bool) -> Bool {
        let deadline = MonotonicClock.now.advanced(by: .seconds(60))
        return state.wait(deadline: deadline) { condition($0) ? true : nil } ?? false
    }

    /// Lets late answers go.
    func release() {
        state.withLock { $0.isReleased = true }
        state.broadcast()
    }

    /// Ends all connections and waits for that.
    func stop() {
        state.withLock { $0.isStopped = true }
        state.broadcast()
        _ = waits { $0.running == 0 }
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

/// A descriptor that a closure can hold.
final class DescriptorBox: Sendable {
    let descriptor: FileDescriptor

    init(_ descriptor: consuming FileDescriptor) {
        self.descriptor = descriptor
    }
}
