package import IssueProtocol

/// Parses time spans as in systemd: `30s`, `2min 30s`, `7d`. A bare number is in seconds.
package enum DurationExpression {
    static let forms = "a time span such as 30s, 5min or 2h"

    /// Parses a time span. Returns nil if it is invalid or exceeds a thousand years.
    package static func duration(_ text: String) -> Duration? {
        var rest = text[...].drop { $0 == " " }
        guard !rest.isEmpty else { return nil }
        var milliseconds: Int64 = 0
        while !rest.isEmpty {
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            rest = rest.dropFirst(digits.count).drop { $0 == " " }
            let unit = rest.prefix { $0.isLetter }
            rest = rest.dropFirst(unit.count).drop { $0 == " " }
            guard let number = Int64(digits), let factor = factor(of: unit) else { return nil }
            let (part, overflow) = number.multipliedReportingOverflow(by: factor)
            let (sum, sumOverflow) = milliseconds.addingReportingOverflow(part)
            // A limit of a thousand years.
            guard !overflow, !sumOverflow, sum <= 31_557_600_000_000 else { return nil }
            milliseconds = sum
        }
        return .milliseconds(milliseconds)
    }

    private static func factor(of unit: Substring) -> Int64? {
        switch unit.lowercased() {
        case "ms", "msec": 1
        case "", "s", "sec", "second", "seconds": 1000
        case "m", "min", "minute", "minutes": 60_000
        case "h", "hr", "hour", "hours": 3_600_000
        case "d", "day", "days": 86_400_000
        case "w", "week", "weeks": 604_800_000
        default: nil
        }
    }
}

/// Parses times: RFC 3339, a date, an age such as `2h`, or a keyword.
package enum TimeExpression {
    static let forms = "RFC 3339, a date, 2h or 7d (ago), now, today or yesterday"

    /// Returns the time that a text denotes; nil if it is invalid. Days begin at midnight UTC, since all times are
    /// shown in UTC.
    package static func moment(_ text: String, now: IssueTimestamp) -> IssueTimestamp? {
        let word = text.lowercased()
        switch word {
        case "now": return now
        case "today": return midnight(of: now)
        case "yesterday": return midnight(of: now).advanced(by: .seconds(-86_400))
        default: break
        }
        if let span = DurationExpression.duration(word.hasPrefix("-") ? String(word.dropFirst()) : word) {
            // A bare number could be a year as well as a number of seconds.
            guard let last = word.last, last.isLetter else { return nil }
            return now.advanced(by: .zero - span)
        }
        return IssueTimestamp(text) ?? IssueTimestamp(text + "T00:00:00Z") ?? IssueTimestamp(text + "Z")
            ?? IssueTimestamp(text + ":00Z")
    }

    private static func midnight(of moment: IssueTimestamp) -> IssueTimestamp {
        let day: Int64 = 86_400_000
        let rest = moment.millisecondsSince1970 % day
        return IssueTimestamp(millisecondsSince1970: moment.millisecondsSince1970 - (rest < 0 ? rest + day : rest))
    }
}
