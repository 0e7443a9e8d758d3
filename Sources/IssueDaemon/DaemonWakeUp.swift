import Synchronization
import UnixIO

/// Wakes the main thread when another one has come upon something that it must act on.
final class DaemonWakeUp: Sendable {
    let counter: EventCounter
    private let damage = Mutex(false)

    init() throws(Errno) {
        counter = try EventCounter()
    }

    func storeDamaged() {
        damage.withLock { $0 = true }
        counter.signal()
    }

    var isDamaged: Bool { damage.withLock { $0 } }

    /// Whether there was damage; asked once for each.
    func takeDamage() -> Bool {
        damage.withLock { isDamaged in
            defer { isDamaged = false }
            return isDamaged
        }
    }
}
