import Glibc

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
