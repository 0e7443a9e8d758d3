package import IssueProtocol

/// A span of time as systemd writes it: `30s`, `2min 30s`, `7d`; a bare number is seconds.
package enum DurationExpression {
    static let forms = "a span of time such as 30s, 5min or 2h"

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
            // A thousand years are further than anything here reaches.
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

/// A moment as people write it: RFC 3339, a day, so long ago, or a word.
package enum TimeExpression {
    static let forms = "RFC 3339, a date, 2h or 7d (ago), now, today or yesterday"

    /// The moment that a text names; days begin at midnight UTC, as all times are shown in UTC.
    package static func moment(_ text: String, now: Timestamp) -> Timestamp? {
        let word = text.lowercased()
        switch word {
        case "now": return now
        case "today": return midnight(of: now)
        case "yesterday": return midnight(of: now).advanced(by: .seconds(-86_400))
        default: break
        }
        if let span = DurationExpression.duration(word.hasPrefix("-") ? String(word.dropFirst()) : word) {
            // A bare number might mean a year as well as a number of seconds.
            guard let last = word.last, last.isLetter else { return nil }
            return now.advanced(by: .zero - span)
        }
        return Timestamp(text) ?? Timestamp(text + "T00:00:00Z") ?? Timestamp(text + "Z") ?? Timestamp(text + ":00Z")
    }

    private static func midnight(of moment: Timestamp) -> Timestamp {
        let day: Int64 = 86_400_000
        let rest = moment.milliseconds % day
        return Timestamp(milliseconds: moment.milliseconds - (rest < 0 ? rest + day : rest))
    }
}
