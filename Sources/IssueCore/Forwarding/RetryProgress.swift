/// How far the trying has come with a batch; stored, so that a restart neither forgets the failures nor starts
/// `RetryFor` anew.
package struct RetryProgress: Equatable, Sendable {
    /// Failures in a row.
    package var attempts: Int
    /// Of `RetryFor`, without the time in which the destination was paused.
    package var spent: Duration

    package init(attempts: Int = 0, spent: Duration = .zero) {
        self.attempts = attempts
        self.spent = spent
    }
}
