internal import IssueProtocol
internal import Issues

extension IssueBrowser {
    /// In which order an answer comes.
    public enum Order: Sendable {
        /// The newest activity first.
        case newest
        /// The oldest activity first.
        case oldest
        /// The most frequent first; of groups only.
        case most
        /// The most serious first; of groups only.
        case worst

        var wire: ResultOrder {
            switch self {
            case .newest: .newest
            case .oldest: .oldest
            case .most: .most
            case .worst: .worst
            }
        }
    }
}
