extension RetentionFacts {
    /// What one user has in one closed range.
    package struct Holding: Equatable, Sendable {
        package var range: ClosedRange
        package var user: UInt32
        package var bytes: Int64
        /// Whether nothing in the range waits for a destination any more.
        package var isSettled: Bool

        package init(range: ClosedRange, user: UInt32, bytes: Int64, isSettled: Bool) {
            self.range = range
            self.user = user
            self.bytes = bytes
            self.isSettled = isSettled
        }
    }
}
