import IssueProtocol

/// The few ways in which a text can stand out.
enum Style: Sendable {
    case plain
    case heading
    case faint
    case notice
    case warning
    case error
    case critical

    init(_ severity: Severity) {
        switch severity {
        case .debug: self = .faint
        case .info: self = .notice
        case .warning: self = .warning
        case .error: self = .error
        case .critical: self = .critical
        }
    }

    /// The parameters of the escape sequence (SGR) that switches it on.
    var parameters: String? {
        switch self {
        case .plain: nil
        case .heading: "1"
        case .faint: "2"
        case .notice: "36"
        case .warning: "33"
        case .error: "31"
        case .critical: "1;31"
        }
    }
}
