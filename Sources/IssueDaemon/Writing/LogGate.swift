import UnixIO

/// Where who reads long waits for a moment, so that the log can begin anew.
///
/// It can't while anybody has a snapshot of it, and somebody who takes one
/// after the other has one nearly always. The writer closes the gate, goes on
/// with its commits, and opens it again once those who were inside have left
/// and it has copied the log.
final class LogGate: Sendable {
    private struct State {
        var readers = 0
        var isClosed = false
    }

    private let state = Monitor(State())

    /// What a reader waits at most: a longer log is better than one who never reads.
    private static let patience: Duration = .seconds(1)

    /// Comes in to read, once it is open.
    func enter() {
        let deadline = MonotonicClock.now.advanced(by: Self.patience)
        _ = state.wait(deadline: deadline) { state -> Bool? in state.isClosed ? nil : true }
        state.withLock { $0.readers += 1 }
    }

    /// Has read; true where the writer waits for this.
    func leave() -> Bool {
        state.withLock { state in
            state.readers -= 1
            return state.readers == 0 && state.isClosed
        }
    }

    /// Lets nobody in from now on; true when nobody is inside.
    func close() -> Bool {
        state.withLock { state in
            state.isClosed = true
            return state.readers == 0
        }
    }

    func open() {
        state.withLock { $0.isClosed = false }
        state.broadcast()
    }
}
