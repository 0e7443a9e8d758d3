/// A moment on the machine's monotonic clock, by which everything is paced that has to do with the outside.
package struct MonotonicInstant: InstantProtocol {
    package var sinceBoot: Duration

    package init(sinceBoot: Duration) {
        self.sinceBoot = sinceBoot
    }

    package func advanced(by duration: Duration) -> MonotonicInstant {
        MonotonicInstant(sinceBoot: sinceBoot + duration)
    }

    package func duration(to other: MonotonicInstant) -> Duration {
        other.sinceBoot - sinceBoot
    }

    package static func < (left: Self, right: Self) -> Bool {
        left.sinceBoot < right.sinceBoot
    }
}
