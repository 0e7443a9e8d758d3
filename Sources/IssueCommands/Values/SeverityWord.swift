package import IssueProtocol

/// A severity as people and `logger` write it.
package enum SeverityWord {
    static let forms = Severity.allCases.map(\.name)

    /// Our five words, or those of syslog with or without a facility, so that a script may put us in place of `logger`.
    package static func severity(_ text: String) -> Severity? {
        let word = text.lowercased()
        if let severity = Severity(name: word) { return severity }
        switch word.split(separator: ".", maxSplits: 1).last {
        case "emerg", "panic", "alert", "crit", "critical": return .critical
        case "err", "error": return .error
        case "warn", "warning": return .warning
        case "notice", "info": return .info
        case "debug": return .debug
        default: return nil
        }
    }
}
