import IssueProtocol

/// The title of a group, with what sets it apart from an open one.
enum GroupTitle {
    static func text(_ group: IssueGroup) -> String {
        switch group.state {
        case .open: group.regressed ? "[regressed] \(group.title)" : group.title
        case .resolved: "[resolved] \(group.title)"
        case .muted: "[muted] \(group.title)"
        }
    }
}
