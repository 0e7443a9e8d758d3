internal import IssueWire

/// What people have said of a group.
package enum GroupState: UInt8, CaseIterable, Hashable, Sendable {
    case open
    case resolved
    case muted

    /// The word that stands for it on the wire and in tables.
    package var name: String {
        switch self {
        case .open: "open"
        case .resolved: "resolved"
        case .muted: "muted"
        }
    }

    /// The state that a word of the wire means, or nothing.
    package init?(name: String) {
        guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = match
    }
}
