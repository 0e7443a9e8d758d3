/// How serious an issue is, in the two steps that test frameworks know.
///
/// Where more steps are wanted, a report takes an ``IssueLevel`` instead.
public enum IssueSeverity: String, Sendable, Hashable, Codable, CaseIterable, Comparable {
    /// Something that deserves a look and fails no test.
    case warning
    /// Something that went wrong.
    case error

    /// Orders severities from the mildest to the worst.
    public static func < (left: Self, right: Self) -> Bool {
        left == .warning && right == .error
    }
}
