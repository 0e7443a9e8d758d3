import Glibc

/// The clock for deadlines and intervals. It cannot be set.
package enum MonotonicClock {
    /// The current time. Like the timeouts of poll(2), it does not advance while the host is suspended.
    package static var now: KernelInstant {
        KernelInstant(nanoseconds: nanoseconds(of: CLOCK_MONOTONIC))
    }

    static func nanoseconds(of clock: clockid_t) -> Int64 {
        var time = timespec()
        // The call fails only for a clock that does not exist.
        _ = unsafe clock_gettime(clock, &time)
        return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}

/// The clock for times shown to users. It may jump in either direction.
package enum WallClock {
    /// Milliseconds since 1970.
    package static var nowMilliseconds: Int64 {
        nowNanoseconds / 1_000_000
    }

    /// Nanoseconds since 1970.
    package static var nowNanoseconds: Int64 {
        MonotonicClock.nanoseconds(of: CLOCK_REALTIME)
    }
}

/// A point in time of the monotonic clock.
package struct KernelInstant: InstantProtocol, Hashable, Sendable {
    /// The value of `CLOCK_MONOTONIC`.
    package var nanoseconds: Int64

    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// The time since an unspecified point in the past, usually the start of the host. For code that uses `Duration`
    /// instead of this type.
    package var sinceBoot: Duration {
        .nanoseconds(nanoseconds)
    }

    /// Returns this time plus `duration`. Saturates instead of overflowing.
    package func advanced(by duration: Duration) -> KernelInstant {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.clampedNanoseconds)
        guard overflow else { return KernelInstant(nanoseconds: sum) }
        return KernelInstant(nanoseconds: duration < .zero ? .min : .max)
    }

    /// Returns the time from this instant to another; negative if the other is earlier.
    package func duration(to other: KernelInstant) -> Duration {
        .nanoseconds(other.nanoseconds) - .nanoseconds(nanoseconds)
    }

    /// The time from now to this instant; zero if it has passed.
    package var timeLeft: Duration { max(.zero, MonotonicClock.now.duration(to: self)) }

    package static func < (left: KernelInstant, right: KernelInstant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }
}

extension Duration {
    /// The duration in nanoseconds, clamped to 64 bits.
    package var clampedNanoseconds: Int64 { Int64(clamping: attoseconds / 1_000_000_000) }

    /// The duration in milliseconds for poll() and epoll_wait().
    ///
    /// Rounded up, because a wait that ends too early would make its caller spin.
    var pollMilliseconds: CInt {
        guard self > .zero else { return 0 }
        let nanoseconds = clampedNanoseconds
        let milliseconds = nanoseconds / 1_000_000 + (nanoseconds % 1_000_000 == 0 ? 0 : 1)
        return CInt(clamping: milliseconds)
    }
}
