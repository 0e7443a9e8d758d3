import UnixIO

/// A group of threads that are all joined at the end.
final class ThreadGroup: Sendable {
    private final class Handle: Sendable {
        let thread: Monitor<Thread?>

        init(_ thread: consuming Thread) {
            self.thread = Monitor(thread)
        }
    }

    private struct State: Sendable {
        var handles: [Int: Handle] = [:]
        var finished: [Int] = []
        var next = 0
    }

    private let state = Monitor(State())

    func start(name: String, body: @escaping @Sendable () -> Void) throws(Errno) {
        joinFinished()
        // Registered under the lock, so that a thread that ends immediately finds its entry.
        try state.withLock { state throws(Errno) in
            let number = state.next
            state.next += 1
            let thread = try Thread.start(name: name, stackSize: 2 * 1024 * 1024) { [self] in
                body()
                self.state.withLock { $0.finished.append(number) }
            }
            state.handles[number] = Handle(thread)
        }
    }

    /// Waits for all threads. No thread may be started meanwhile.
    func join() {
        let handles = state.withLock { state in
            defer { state = State() }
            return Array(state.handles.values)
        }
        handles.forEach(Self.join)
    }

    private func joinFinished() {
        let handles = state.withLock { state in
            defer { state.finished = [] }
            return state.finished.compactMap { state.handles.removeValue(forKey: $0) }
        }
        handles.forEach(Self.join)
    }

    private static func join(_ handle: Handle) {
        if let thread = handle.thread.withLock({ $0.take() }) { thread.join() }
    }
}
