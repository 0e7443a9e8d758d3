import Glibc

/// The time of each call, in nanoseconds.
struct Samples: Sendable {
    private var nanoseconds: [Int64] = []

    init(reserving count: Int) {
        nanoseconds.reserveCapacity(count)
    }

    mutating func add(_ time: Int64) {
        nanoseconds.append(time)
    }

    mutating func add(_ others: Samples) {
        nanoseconds += others.nanoseconds
    }

    /// Returns the quantile of the times, in nanoseconds, or 0 if there are none.
    ///
    /// - Parameter share: The share of the calls that took at most this long, from 0 to 1.
    func quantile(_ share: Double) -> Int64 {
        guard !nanoseconds.isEmpty else { return 0 }
        return nanoseconds.sorted()[min(nanoseconds.count - 1, Int(Double(nanoseconds.count) * share))]
    }
}

/// Returns the time of the monotonic clock, in nanoseconds.
func nanoseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}
