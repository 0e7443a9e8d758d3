import Glibc

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
