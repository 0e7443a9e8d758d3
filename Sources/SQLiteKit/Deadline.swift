internal import Glibc

/// A point of the monotonic clock after which a query is not worth finishing.
package struct Deadline: Hashable, Sendable {
    package let monotonicNanoseconds: UInt64

    /// A point that was read from the kernel's monotonic clock.
    package init(monotonicNanoseconds: UInt64) {
        self.monotonicNanoseconds = monotonicNanoseconds
    }

    /// The point that lies this far from now.
    package static func after(_ duration: Duration) -> Deadline {
        let (seconds, attoseconds) = duration.components
        guard seconds >= 0, attoseconds >= 0 else { return Deadline(monotonicNanoseconds: monotonicNow()) }
        let (whole, tooLong) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        let distance = whole.addingReportingOverflow(UInt64(attoseconds) / 1_000_000_000)
        let point = monotonicNow().addingReportingOverflow(distance.partialValue)
        let isBeyondTheClock = tooLong || distance.overflow || point.overflow
        return Deadline(monotonicNanoseconds: isBeyondTheClock ? .max : point.partialValue)
    }

    /// Reads the kernel's monotonic clock.
    static func monotonicNow() -> UInt64 {
        var time = timespec()
        _ = unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
