/// A moment of the wall clock: milliseconds since 1970-01-01T00:00:00Z, without leap seconds.
package struct Timestamp: Hashable, Comparable, Sendable {
    package var milliseconds: Int64

    package init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    package static func < (left: Self, right: Self) -> Bool {
        left.milliseconds < right.milliseconds
    }

    /// The moment that lies a duration later, or earlier when it is negative; the last or first there is when a duration
    /// from outside is longer than time.
    package func advanced(by duration: Duration) -> Timestamp {
        let (moment, overflow) = milliseconds.addingReportingOverflow(duration.wholeMilliseconds)
        guard overflow else { return Timestamp(milliseconds: moment) }
        return Timestamp(milliseconds: milliseconds < 0 ? .min : .max)
    }
}
