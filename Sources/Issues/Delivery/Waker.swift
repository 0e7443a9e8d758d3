internal import UnixIO

/// Wakes the thread that waits for the daemon's answers and for new issues.
final class Waker: Sendable {
    let counter: EventCounter

    init() throws(Errno) {
        counter = try EventCounter()
    }

    func wake() {
        counter.signal()
    }
}
