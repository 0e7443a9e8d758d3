import Synchronization
import UnixIO

/// A thread whose end can be waited for with patience.
final class ThreadBox: Sendable {
    private let isDone: Monitor<Bool>

    init(name: String, _ body: @escaping @Sendable () -> Void) throws(Errno) {
        let isDone = Monitor(false)
        self.isDone = isDone
        _ = try Thread.start(name: name, stackSize: 1 << 20) {
            body()
            isDone.withLock { $0 = true }
            isDone.broadcast()
        }
    }

    /// Whether it has ended by then.
    func wait(until deadline: KernelInstant) -> Bool {
        isDone.wait(deadline: deadline) { $0 ? true : nil } ?? false
    }

    /// Waits for its end, however long it takes.
    func join() {
        _ = isDone.wait { $0 ? true : nil }
    }
}
