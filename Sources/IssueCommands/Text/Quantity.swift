package import IssueProtocol

/// Formats numbers for users.
package enum Quantity {
    /// Returns a number such as `1,234,567`.
    package static func text(_ number: some FixedWidthInteger) -> String {
        let digits = Array(String(number.magnitude))
        var text = number < 0 ? "-" : ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3) { text.append(",") }
            text.append(digit)
        }
        return text
    }

    /// Returns a count such as `1 record` or `2 records`.
    static func text(_ number: some FixedWidthInteger, _ one: String) -> String {
        "\(text(number)) \(number == 1 ? one : one + "s")"
    }

    /// Returns a size such as `512 B`, `1.4 KiB` or `20.0 GiB`, rounded down.
    package static func bytes(_ number: some FixedWidthInteger) -> String {
        let magnitude = UInt64(number.magnitude)
        var divisor: UInt64 = 1
        var unit = 0
        while magnitude / divisor >= 1024, unit < units.count - 1 {
            divisor *= 1024
            unit += 1
        }
        guard unit > 0 else { return "\(number) B" }
        let whole = magnitude / divisor
        let tenth = magnitude % divisor * 10 / divisor
        return "\(number < 0 ? "-" : "")\(whole).\(tenth) \(units[unit])"
    }

    private static let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
}

/// Formats times and time spans for tables.
package enum RelativeTime {
    /// Returns a relative time such as `3 min ago`, `in 20 s` or `now`.
    package static func text(_ moment: IssueTimestamp, now: IssueTimestamp) -> String {
        let (difference, overflow) = now.millisecondsSince1970.subtractingReportingOverflow(
            moment.millisecondsSince1970)
        guard !overflow, difference.magnitude >= 1000 else { return "now" }
        let span = span(seconds: difference.magnitude / 1000)
        return difference > 0 ? "\(span) ago" : "in \(span)"
    }

    /// Returns a time span such as `59 s`, `3 min`, `1 h 59 min` or `2 days`, rounded down.
    ///
    /// Below ten hours and ten days, it has a second unit: `1 h` for almost two hours would be misleading.
    static func span(seconds: UInt64) -> String {
        switch seconds {
        case ..<60: return "\(seconds) s"
        case ..<3600: return "\(seconds / 60) min"
        case ..<36_000: return joined("\(seconds / 3600) h", seconds % 3600 / 60, "min")
        case ..<86_400: return "\(seconds / 3600) h"
        case ..<63_072_000:
            let days = seconds / 86_400
            let text = days == 1 ? "1 day" : "\(days) days"
            return days < 10 ? joined(text, seconds % 86_400 / 3600, "h") : text
        default: return "\(seconds / 31_536_000) years"
        }
    }

    private static func joined(_ text: String, _ rest: UInt64, _ unit: String) -> String {
        rest == 0 ? text : "\(text) \(rest) \(unit)"
    }
}
