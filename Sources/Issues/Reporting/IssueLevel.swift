package import IssueWire

/// How serious an issue is, in the five steps that the daemon knows.
public enum IssueLevel: String, Sendable, Hashable, Codable, CaseIterable, Comparable {
    /// Of use only while looking for a fault.
    case debug
    /// Worth knowing, and no fault.
    case info
    /// Something that deserves a look.
    case warning
    /// Something that went wrong.
    case error
    /// Something that went wrong and cannot wait.
    case critical

    /// The level that a severity stands for.
    public init(_ severity: IssueSeverity) {
        switch severity {
        case .warning: self = .warning
        case .error: self = .error
        }
    }

    /// The nearer of the two severities, for reporters that know no others.
    public var severity: IssueSeverity {
        switch self {
        case .debug, .info, .warning: .warning
        case .error, .critical: .error
        }
    }

    /// Orders levels from the mildest to the worst.
    public static func < (left: Self, right: Self) -> Bool {
        left.wire < right.wire
    }

    package init(_ wire: Severity) {
        switch wire {
        case .debug: self = .debug
        case .info: self = .info
        case .warning: self = .warning
        case .error: self = .error
        case .critical: self = .critical
        }
    }

    package var wire: Severity {
        switch self {
        case .debug: .debug
        case .info: .info
        case .warning: .warning
        case .error: .error
        case .critical: .critical
        }
    }
}
