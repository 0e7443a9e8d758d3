import CLinux

/// Waits for many descriptors at once.
///
/// Descriptors may be added, changed and removed by other threads while one
/// waits. A descriptor that is closed leaves by itself, unless a duplicate of
/// it stays open; its last events may still be on their way then.
package struct Poller: ~Copyable, Sendable {
    /// When a descriptor is reported.
    package enum Trigger: Sendable {
        /// As long as it is ready.
        case level
        /// Each time it becomes ready; the caller must then go on to EAGAIN.
        case edge
    }

    private let descriptor: FileDescriptor
    private let capacity: CInt

    /// Makes a poller that reports at most so many events at a time.
    package init(capacity: Int = 256) throws(Errno) {
        precondition(capacity > 0, "A poller needs room for one event at least")
        descriptor = FileDescriptor(owning: try calling { clinux_poller_create() })
        // The shim gathers them on its stack, which ends at this number.
        self.capacity = CInt(min(capacity, 256))
    }

    package borrowing func add(
        _ watched: borrowing FileDescriptor, token: UInt64, for interest: Interest, trigger: Trigger = .level
    ) throws(Errno) {
        let flags = Self.flags(interest, trigger)
        try calling { clinux_poller_add(descriptor.rawValue, watched.rawValue, flags, token) }
    }

    package borrowing func modify(
        _ watched: borrowing FileDescriptor, token: UInt64, for interest: Interest, trigger: Trigger = .level
    ) throws(Errno) {
        let flags = Self.flags(interest, trigger)
        try calling { clinux_poller_modify(descriptor.rawValue, watched.rawValue, flags, token) }
    }

    package borrowing func remove(_ watched: borrowing FileDescriptor) throws(Errno) {
        try calling { clinux_poller_remove(descriptor.rawValue, watched.rawValue) }
    }

    /// Replaces the array's content by what is ready; empty after the timeout.
    ///
    /// The array's storage is used again, so a wait allocates nothing once the
    /// array has grown. A signal also ends the wait, with an empty array.
    package borrowing func wait(into events: inout [PollEvent], timeout: Duration? = nil) throws(Errno) {
        events.removeAll(keepingCapacity: true)
        let milliseconds = timeout?.pollMilliseconds ?? -1
        try events.append(addingCapacity: Int(capacity)) { (output: inout OutputSpan<PollEvent>) throws(Errno) in
            try unsafe output.withUnsafeMutableBufferPointer { room, initialized throws(Errno) in
                do throws(Errno) {
                    let count = try calling {
                        unsafe clinux_poller_wait(
                            descriptor.rawValue, PollEvent.forKernel(room), capacity, milliseconds)
                    }
                    initialized = Int(count)
                } catch .interrupted {
                    initialized = 0
                }
            }
        }
    }

    private static func flags(_ interest: Interest, _ trigger: Trigger) -> UInt32 {
        var flags: UInt32 = 0
        if interest.contains(.read) { flags |= CLINUX_READ | CLINUX_PEER_CLOSED }
        if interest.contains(.write) { flags |= CLINUX_WRITE }
        switch trigger {
        case .level: break
        case .edge: flags |= CLINUX_EDGE
        }
        return flags
    }
}
