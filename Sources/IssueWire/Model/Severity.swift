/// How bad it is, in the five steps of the wire.
package enum Severity: UInt8, CaseIterable, Comparable, Hashable, Sendable {
    case debug
    case info
    case warning
    case error
    case critical

    /// The word that stands for it on the wire and in tables.
    package var name: String {
        switch self {
        case .debug: "debug"
        case .info: "info"
        case .warning: "warning"
        case .error: "error"
        case .critical: "critical"
        }
    }

    /// The severity that a word of the wire means, or nothing.
    package init?(name: String) {
        guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = match
    }

    package static func < (left: Self, right: Self) -> Bool {
        left.rawValue < right.rawValue
    }
}
