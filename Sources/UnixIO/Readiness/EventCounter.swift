import CLinux
import Glibc

/// Wakes a thread that waits in a poller, from any other thread.
package struct EventCounter: ~Copyable, Sendable {
    /// Readable as long as the counter is not zero.
    package let descriptor: FileDescriptor

    package init() throws(Errno) {
        descriptor = FileDescriptor(owning: try calling { clinux_event_counter_create() })
    }

    /// Counts one event. Never blocks and never fails in a way that matters.
    package borrowing func signal() {
        var one: UInt64 = 1
        // EAGAIN means that the counter is full, so the waiter is awake anyway.
        _ = try? retrying { unsafe Glibc.write(descriptor.rawValue, &one, 8) }
    }

    /// How many events were counted since the last time; 0 if none.
    @discardableResult
    package borrowing func take() -> UInt64 {
        var count: UInt64 = 0
        let read = try? retrying { unsafe Glibc.read(descriptor.rawValue, &count, 8) }
        return read == 8 ? count : 0
    }
}
