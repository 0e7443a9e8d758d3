/// Why a record is given up for a destination.
package enum DeadLetterReason: String, CaseIterable, Hashable, Sendable {
    /// It was refused when it was sent alone.
    case refused
    /// It is too large even after it was cut.
    case tooLarge = "too_large"
    /// `RetryFor` is over.
    case retriesExpired = "retries_expired"
}
