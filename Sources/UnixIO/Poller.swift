import CLinux
import Glibc

/// Waits for many descriptors at once (epoll).
///
/// Other threads may add, change and remove descriptors during a wait. A closed descriptor is removed automatically,
/// unless a duplicate of it stays open. The events of a wait may include a descriptor that has been closed since.
package struct Poller: ~Copyable, Sendable {
    /// Determines when a descriptor is reported.
    package enum Trigger: Sendable {
        /// As long as the descriptor is ready.
        case level
        /// Each time the descriptor becomes ready. The caller must then read or write until EAGAIN.
        case edge
    }

    private let descriptor: FileDescriptor
    private let capacity: CInt

    /// Creates a poller.
    ///
    /// - Parameter capacity: The maximum number of events per wait. A larger value than 256 counts as 256.
    package init(capacity: Int = 256) throws(Errno) {
        precondition(capacity > 0, "The capacity must be positive")
        descriptor = FileDescriptor(owning: try calling { clinux_poller_create() })
        // The C wrapper collects events on its stack, in an array of 256.
        self.capacity = CInt(min(capacity, 256))
    }

    /// Adds a descriptor.
    ///
    /// - Parameters:
    ///   - watched: The descriptor.
    ///   - token: Identifies the descriptor in events.
    ///   - interest: The operations to wait for.
    ///   - trigger: When the descriptor is reported.
    package borrowing func add(
        _ watched: borrowing FileDescriptor, token: UInt64, for interest: Interest, trigger: Trigger = .level
    ) throws(Errno) {
        let flags = Self.flags(interest, trigger)
        try calling { clinux_poller_add(descriptor.rawValue, watched.rawValue, flags, token) }
    }

    /// Changes the token, interest and trigger of a descriptor.
    package borrowing func modify(
        _ watched: borrowing FileDescriptor, token: UInt64, for interest: Interest, trigger: Trigger = .level
    ) throws(Errno) {
        let flags = Self.flags(interest, trigger)
        try calling { clinux_poller_modify(descriptor.rawValue, watched.rawValue, flags, token) }
    }

    /// Removes a descriptor.
    package borrowing func remove(_ watched: borrowing FileDescriptor) throws(Errno) {
        try calling { clinux_poller_remove(descriptor.rawValue, watched.rawValue) }
    }

    /// Waits until a descriptor is ready, and replaces the contents of the array with the events.
    ///
    /// The array is empty after the timeout, or if a signal ended the wait. Its storage is reused, so a wait allocates
    /// no memory after the array has grown.
    ///
    /// - Parameter timeout: The maximum time to wait; nil for no limit.
    package borrowing func wait(into events: inout [PollEvent], timeout: Duration? = nil) throws(Errno) {
        events.removeAll(keepingCapacity: true)
        let milliseconds = timeout?.pollMilliseconds ?? -1
        try events.append(addingCapacity: Int(capacity)) { (output: inout OutputSpan<PollEvent>) throws(Errno) in
            try unsafe output.withUnsafeMutableBufferPointer { buffer, initialized throws(Errno) in
                do throws(Errno) {
                    let count = try calling {
                        unsafe clinux_poller_wait(
                            descriptor.rawValue, PollEvent.forKernel(buffer), capacity, milliseconds)
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

/// An event of a ready descriptor. The token identifies the descriptor.
package struct PollEvent: Hashable, Sendable {
    package let token: UInt64
    private let flags: UInt32

    /// Returns the address of the buffer as a pointer to events of the C wrapper.
    ///
    /// Both types consist of a 64-bit and a 32-bit number, so the wrapper can write its events directly into the
    /// caller's array.
    static func forKernel(_ buffer: UnsafeMutableBufferPointer<PollEvent>) -> UnsafeMutablePointer<clinux_event>? {
        precondition(
            MemoryLayout<PollEvent>.stride == MemoryLayout<clinux_event>.stride,
            "The layouts of PollEvent and clinux_event differ")
        return unsafe UnsafeMutableRawPointer(buffer.baseAddress)?.assumingMemoryBound(to: clinux_event.self)
    }

    /// Whether reading does not block: it returns bytes, the end, or an error.
    package var isReadable: Bool { has(CLINUX_READ) || has(CLINUX_PEER_CLOSED) || isHungUp }
    package var isWritable: Bool { has(CLINUX_WRITE) || isHungUp }
    /// Whether the connection has ended in both directions or failed. Bytes that arrived earlier may still be unread.
    package var isHungUp: Bool { has(CLINUX_HANG_UP) || has(CLINUX_ERROR) }
    /// Whether the peer will send nothing else. The peer may still read.
    package var isPeerClosed: Bool { has(CLINUX_PEER_CLOSED) || has(CLINUX_HANG_UP) }

    private func has(_ flag: UInt32) -> Bool {
        flags & flag != 0
    }
}

/// The operations that a caller wants to perform on a descriptor.
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
    /// Waits until the descriptor is ready.
    ///
    /// An error or hang-up counts as ready; the next call on the descriptor reports it.
    ///
    /// - Parameter timeout: The maximum time to wait; nil for no limit.
    /// - Returns: `false` after the timeout.
    @discardableResult
    package static func wait(
        _ descriptor: borrowing FileDescriptor, for interest: Interest, timeout: Duration? = nil
    ) throws(Errno) -> Bool {
        var events = CInt(0)
        if interest.contains(.read) { events |= CInt(POLLIN) }
        if interest.contains(.write) { events |= CInt(POLLOUT) }
        var entry = pollfd(fd: descriptor.rawValue, events: Int16(truncatingIfNeeded: events), revents: 0)

        let deadline = timeout.map { MonotonicClock.now.advanced(by: $0) }
        while true {
            let remaining = deadline.map { MonotonicClock.now.duration(to: $0) }
            do throws(Errno) {
                let count = try Forks.admitted { () throws(Errno) in
                    try calling { unsafe poll(&entry, 1, remaining?.pollMilliseconds ?? -1) }
                }
                guard count == 0 else { return true }
                guard let deadline, MonotonicClock.now < deadline else { return false }
                // poll() cannot wait longer than 24 days, so a longer wait continues.
            } catch .interrupted {
                // Retried here, because the elapsed time must be subtracted.
                continue
            }
        }
    }
}

/// Wakes a thread that waits for its descriptor (eventfd). May be signalled on any thread.
package struct EventCounter: ~Copyable, Sendable {
    /// Readable while the counter is not zero.
    package let descriptor: FileDescriptor

    /// Creates a counter with the value zero.
    package init() throws(Errno) {
        descriptor = FileDescriptor(owning: try calling { clinux_event_counter_create() })
    }

    /// Counts one event. Never blocks.
    package borrowing func signal() {
        var one: UInt64 = 1
        // EAGAIN means that the counter is at its maximum, so the waiting thread is woken anyway.
        _ = try? retrying { unsafe Glibc.write(descriptor.rawValue, &one, 8) }
    }

    /// Returns the number of events since the last call, and resets the counter.
    @discardableResult
    package borrowing func take() -> UInt64 {
        var count: UInt64 = 0
        let read = try? retrying { unsafe Glibc.read(descriptor.rawValue, &count, 8) }
        return read == 8 ? count : 0
    }
}

/// A signal number.
package struct Signal: RawRepresentable, Hashable, Sendable {
    package var rawValue: CInt

    package init(rawValue: CInt) {
        self.rawValue = rawValue
    }

    package static let hangUp = Signal(rawValue: SIGHUP)
    package static let interrupt = Signal(rawValue: SIGINT)
    package static let pipe = Signal(rawValue: SIGPIPE)
    package static let terminate = Signal(rawValue: SIGTERM)

    /// Makes the whole process ignore the signal. Not for use in libraries.
    package func ignore() throws(Errno) {
        try calling { clinux_signal_ignore(rawValue) }
    }

    /// Sends the signal to a process.
    package func send(to pid: Int32) throws(Errno) {
        precondition(pid > 0, "Zero and negative ids denote process groups")
        try calling { Glibc.kill(pid, rawValue) }
    }
}

/// Receives signals as readable events instead of in a handler (signalfd).
package struct SignalReceiver: ~Copyable, Sendable {
    /// Readable while a signal is pending.
    package let descriptor: FileDescriptor

    /// Creates a receiver. Blocks the signals for the current thread and the threads that it starts later.
    ///
    /// Must be called before other threads exist: a thread that does not block a signal would receive it, and the
    /// default action would end the process.
    package init(_ signals: [Signal]) throws(Errno) {
        let numbers = signals.map(\.rawValue)
        try calling { unsafe clinux_signals_block(numbers, numbers.count) }
        let rawValue = try calling { unsafe clinux_signal_receiver_create(numbers, numbers.count) }
        descriptor = FileDescriptor(owning: rawValue)
    }

    /// Returns the next pending signal, or nil if there is none.
    package borrowing func next() throws(Errno) -> Signal? {
        do throws(Errno) {
            return Signal(rawValue: try retrying { clinux_signal_receiver_next(descriptor.rawValue) })
        } catch .wouldBlock {
            return nil
        }
    }
}
