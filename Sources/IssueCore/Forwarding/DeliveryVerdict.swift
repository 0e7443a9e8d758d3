/// What a destination's answer means for the records that were sent.
package enum DeliveryVerdict: Equatable, Sendable {
    case accepted
    /// All was sent, and this destination never says whether it arrived.
    case unconfirmed
    /// Some of them are refused for good; sending them all again unchanged would do no good.
    case partial(PartialAnswer)
    /// Nothing is wrong with the records: someone has to set something right.
    case paused(PauseReason)
    /// The request as a whole is too large.
    case tooLarge
    /// Later, in the same form.
    case again(FailureClass, retryAfter: Duration?)
    /// All was sent and no answer came: later in the same form, and it may be there twice then.
    case ambiguous(FailureClass)

    /// Whether nothing has left for the destination.
    package var isUnsent: Bool {
        switch self {
        case .again(let failure, _): !failure.isReached
        case .paused(let reason): reason == .noCredential
        case .accepted, .unconfirmed, .partial, .tooLarge, .ambiguous: false
        }
    }
}
