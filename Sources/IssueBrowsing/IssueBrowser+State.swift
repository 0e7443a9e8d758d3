internal import IssueProtocol
internal import Issues

extension IssueBrowser {
    /// What people have said of a group.
    public enum State: Sendable {
        /// Nothing, or not any more.
        case open
        /// It is mended; the next record of it is a regression.
        case resolved
        /// It is stored and counted, and nobody is told.
        case muted

        init(_ wire: GroupState) {
            switch wire {
            case .open: self = .open
            case .resolved: self = .resolved
            case .muted: self = .muted
            }
        }

        var wire: GroupState {
            switch self {
            case .open: .open
            case .resolved: .resolved
            case .muted: .muted
            }
        }
    }
}
