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
