import CLinux
import Glibc

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

/// A descriptor that has become ready, by the token it was added with.
package struct PollEvent: Hashable, Sendable {
    package let token: UInt64
    private let flags: UInt32

    /// The same room, in the kernel shim's words.
    ///
    /// Both types hold a 64-bit and then a 32-bit number, so the shim can fill
    /// the caller's array without a copy.
    static func forKernel(_ room: UnsafeMutableBufferPointer<PollEvent>) -> UnsafeMutablePointer<clinux_event>? {
        precondition(
            MemoryLayout<PollEvent>.stride == MemoryLayout<clinux_event>.stride,
            "An event has another layout than its shim")
        return unsafe UnsafeMutableRawPointer(room.baseAddress)?.assumingMemoryBound(to: clinux_event.self)
    }

    /// A read will give bytes, the end, or an error, but will not wait.
    package var isReadable: Bool { has(CLINUX_READ) || has(CLINUX_PEER_CLOSED) || isHungUp }
    package var isWritable: Bool { has(CLINUX_WRITE) || isHungUp }
    /// Nothing can be exchanged any more in either direction.
    package var isHungUp: Bool { has(CLINUX_HANG_UP) || has(CLINUX_ERROR) }
    /// The peer will send nothing more; it may still read.
    package var isPeerClosed: Bool { has(CLINUX_PEER_CLOSED) || has(CLINUX_HANG_UP) }

    private func has(_ flag: UInt32) -> Bool {
        flags & flag != 0
    }
}

/// What a caller wants to do with a descriptor.
package struct Interest: OptionSet, Hashable, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    package static let read = Interest(rawValue: 1)
    package static let write = Interest(rawValue: 2)
}

/// Waits for a single descriptor.
package enum Readiness {
    /// Returns true once the descriptor is ready, and false after the timeout.
    ///
    /// An error or a hang-up counts as ready: the next call tells which.
    @discardableResult
    package static func wait(
        _ descriptor: borrowing FileDescriptor, for interest: Interest, timeout: Duration? = nil
    ) throws(Errno) -> Bool {
        try wait(descriptor.rawValue, for: interest, timeout: timeout)
    }

    /// The same for one of the streams that the process started with.
    @discardableResult
    package static func wait(
        _ stream: StandardStream, for interest: Interest, timeout: Duration? = nil
    ) throws(Errno) -> Bool {
        try wait(stream.rawValue, for: interest, timeout: timeout)
    }

    private static func wait(
        _ descriptor: CInt, for interest: Interest, timeout: Duration?
    ) throws(Errno) -> Bool {
        var events = CInt(0)
        if interest.contains(.read) { events |= CInt(POLLIN) }
        if interest.contains(.write) { events |= CInt(POLLOUT) }
        var entry = pollfd(fd: descriptor, events: Int16(truncatingIfNeeded: events), revents: 0)

        let deadline = timeout.map { MonotonicClock.now.advanced(by: $0) }
        while true {
            let remaining = deadline.map { MonotonicClock.now.duration(to: $0) }
            do throws(Errno) {
                let count = try Forks.admitted { () throws(Errno) in
                    try calling { unsafe poll(&entry, 1, remaining?.pollMilliseconds ?? -1) }
                }
                guard count == 0 else { return true }
                guard let deadline, MonotonicClock.now < deadline else { return false }
                // poll() cannot count further than 24 days; go on.
            } catch .interrupted {
                // Retried here, since the time that has passed must be taken off.
                continue
            }
        }
    }
}

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
