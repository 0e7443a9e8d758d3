/// The level of an issue: one of the five that the daemon distinguishes.
public enum IssueLevel: String, Sendable, Hashable, Codable, CaseIterable, Comparable {
    /// Useful only for debugging.
    case debug
    /// Informational; not a fault.
    case info
    /// A possible problem.
    case warning
    /// A failure.
    case error
    /// A failure that needs attention immediately.
    case critical

    /// The number of the level in the database, and its position in the order: 0 for ``debug`` to 4 for ``critical``.
    package var rank: UInt8 {
        switch self {
        case .debug: 0
        case .info: 1
        case .warning: 2
        case .error: 3
        case .critical: 4
        }
    }

    /// Returns the level with a rank; nil if no such level exists.
    package init?(rank: UInt8) {
        switch rank {
        case 0: self = .debug
        case 1: self = .info
        case 2: self = .warning
        case 3: self = .error
        case 4: self = .critical
        default: return nil
        }
    }

    /// Returns whether a level is lower than another.
    ///
    /// - Parameters:
    ///   - left: A level.
    ///   - right: Another level.
    /// - Returns: True if `left` is less severe than `right`.
    public static func < (left: Self, right: Self) -> Bool {
        left.rank < right.rank
    }
}

extension IssueLevel: JSONStringEnum {}
