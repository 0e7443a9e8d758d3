import IssueProtocol

extension Fate {
    /// What became of what a batch sent and nobody refused, by the batch's `state`: 0 has no answer yet, 1 has arrived, 2
    /// was sent to where no answer is given.
    init(ofSentByState state: Int64) {
        switch state {
        case 0: self = .pending
        case 2: self = .unconfirmed
        default: self = .delivered
        }
    }
}
