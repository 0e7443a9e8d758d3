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
