/// Times as systemd.time(7) writes them: `5s`, `2min 30s`, `7d`; a bare number is in seconds.
package enum DurationText {
    package static func parse(_ text: String) -> Duration? {
        parse(text, bareUnit: 1_000_000_000)
    }

    /// With a unit behind each number, for where a bare one would be doubtful.
    package static func parseWithUnits(_ text: String) -> Duration? {
        parse(text, bareUnit: nil)
    }

    package static func text(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        var rest = seconds
        var parts: [String] = []
        for (name, size) in [("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)] as [(String, Int64)] {
            let count = rest / size
            rest -= count * size
            if count != 0 { parts.append("\(count)\(name)") }
        }
        let microseconds = attoseconds / 1_000_000_000_000
        if microseconds / 1_000 != 0 { parts.append("\(microseconds / 1_000)ms") }
        if microseconds % 1_000 != 0 { parts.append("\(microseconds % 1_000)us") }
        return parts.isEmpty ? "0" : parts.joined(separator: " ")
    }

    private static func parse(_ text: String, bareUnit: Int64?) -> Duration? {
        var rest = text[...].trimmingBlanks
        var sum: Int64 = 0
        guard !rest.isEmpty else { return nil }
        while !rest.isEmpty {
            guard let number = DecimalNumber(takenFrom: &rest) else { return nil }
            rest = rest.trimmingBlanks
            let name = rest.prefix { $0.isLetter }
            rest = rest.dropFirst(name.count).trimmingBlanks
            let unit = name.isEmpty ? bareUnit : nanoseconds(in: String(name))
            guard let unit, let part = number.times(unit) else { return nil }
            let (total, overflow) = sum.addingReportingOverflow(part)
            guard !overflow else { return nil }
            sum = total
        }
        return .nanoseconds(sum)
    }

    private static func nanoseconds(in unit: String) -> Int64? {
        switch unit {
        case "us", "usec", "µs", "μs": 1_000
        case "ms", "msec": 1_000_000
        case "s", "sec", "second", "seconds": 1_000_000_000
        case "m", "min", "minute", "minutes": 60_000_000_000
        case "h", "hr", "hour", "hours": 3_600_000_000_000
        case "d", "day", "days": 86_400_000_000_000
        case "w", "week", "weeks": 604_800_000_000_000
        case _: nil
        }
    }
}
