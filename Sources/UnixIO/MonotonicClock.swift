import Glibc

/// The clock for deadlines and intervals: nobody can set it.
package enum MonotonicClock {
    /// Stands still while the host sleeps, as poll and timers do.
    package static var now: KernelInstant {
        KernelInstant(nanoseconds: nanoseconds(of: CLOCK_MONOTONIC))
    }

    /// Nanoseconds since the host started, sleep included.
    package static var nanosecondsSinceBoot: Int64 {
        nanoseconds(of: CLOCK_BOOTTIME)
    }

    static func nanoseconds(of clock: clockid_t) -> Int64 {
        var time = timespec()
        // It fails only for a clock that does not exist.
        _ = unsafe clock_gettime(clock, &time)
        return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}

/// The clock for what people read. It may jump in either direction.
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

/// A moment of the clock that only ever goes forward, since the host started.
package struct KernelInstant: InstantProtocol, Hashable, Sendable {
    /// What `CLOCK_MONOTONIC` shows.
    package var nanoseconds: Int64

    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// The same moment, for those who pace themselves without a kernel.
    package var sinceBoot: Duration {
        .nanoseconds(nanoseconds)
    }

    /// A later moment, or the last one there is instead of an overflow.
    package func advanced(by duration: Duration) -> KernelInstant {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.clampedNanoseconds)
        guard overflow else { return KernelInstant(nanoseconds: sum) }
        return KernelInstant(nanoseconds: duration < .zero ? .min : .max)
    }

    package func duration(to other: KernelInstant) -> Duration {
        .nanoseconds(other.nanoseconds) - .nanoseconds(nanoseconds)
    }

    package static func < (left: KernelInstant, right: KernelInstant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }
}

extension Duration {
    /// Nanoseconds, as many as 64 bits hold.
    package var clampedNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, overflowAgain) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
        guard overflow || overflowAgain else { return sum }
        return seconds < 0 ? .min : .max
    }

    /// Milliseconds for poll() and epoll_wait(), never less than was asked for.
    ///
    /// Rounded up, since a wait that ends early makes its caller spin.
    var pollMilliseconds: CInt {
        guard self > .zero else { return 0 }
        let nanoseconds = clampedNanoseconds
        let milliseconds = nanoseconds / 1_000_000 + (nanoseconds % 1_000_000 == 0 ? 0 : 1)
        return CInt(clamping: milliseconds)
    }
}
