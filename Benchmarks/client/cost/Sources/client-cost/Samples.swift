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

    /// Returns the time in nanoseconds that this share of the calls did not exceed, or 0 without calls.
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
