package import IssueProtocol

/// Times and spans in the few words that fit into a table.
package enum RelativeTime {
    /// `3 min ago`, `in 20 s`, `now`.
    package static func text(_ moment: Timestamp, now: Timestamp) -> String {
        let (difference, overflow) = now.milliseconds.subtractingReportingOverflow(moment.milliseconds)
        guard !overflow, difference.magnitude >= 1000 else { return "now" }
        let span = span(seconds: difference.magnitude / 1000)
        return difference > 0 ? "\(span) ago" : "in \(span)"
    }

    /// `59 s`, `3 min`, `5 h`, `2 days`: the largest unit that is full.
    static func span(seconds: UInt64) -> String {
        switch seconds {
        case ..<60: return "\(seconds) s"
        case ..<3600: return "\(seconds / 60) min"
        case ..<86_400: return "\(seconds / 3600) h"
        case ..<63_072_000:
            let days = seconds / 86_400
            return days == 1 ? "1 day" : "\(days) days"
        default: return "\(seconds / 31_536_000) years"
        }
    }
}
