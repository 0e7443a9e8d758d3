import IssueCore
import IssueProtocol
import UnixIO

/// The clocks of this machine, read in one place.
enum Clock {
    static var wall: Timestamp { Timestamp(milliseconds: WallClock.nowMilliseconds) }
    static var monotonic: MonotonicInstant { MonotonicInstant(sinceBoot: MonotonicClock.now.sinceBoot) }

    /// The same moment in the words of what waits on it.
    static func kernel(_ instant: MonotonicInstant) -> KernelInstant {
        KernelInstant(nanoseconds: instant.sinceBoot.clampedNanoseconds)
    }
}
