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
