package import IssueProtocol

/// Parses time spans similar to those of systemd, such as `30s`, `2min 30s` or `7d`. A bare number is in seconds.
package enum DurationExpression {
    static let forms = "a time span such as 30s, 5min or 2h"
    static let formsWithUnit = "a time span with a unit, such as 30s, 5min or 2h"

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
            guard !overflow, !sumOverflow, sum <= 31_557_600_000_000 else { return nil }
            milliseconds = sum
        }
        return .milliseconds(milliseconds)
    }

    /// Describes what is expected instead of an invalid text, for an option that accepts only time spans above 0 with a
    /// unit.
    package static func expectation(for text: String) -> String {
        let words = text.split { !$0.isLetter }
        guard text.contains(where: \.isNumber), text.last?.isLetter == true else { return formsWithUnit }
        if let unit = words.first(where: { factor(of: $0) == nil }) {
            return "a unit of s, min, h, d or w instead of '\(unit)'"
        }
        if text.hasPrefix("-") || duration(text) == .zero { return "a time span above 0" }
        guard text.allSatisfy({ $0.isLetter || $0 == " " || $0.isASCII && $0.isNumber }) else {
            return "whole numbers, such as 1h 30min"
        }
        return "at most a thousand years"
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

/// Parses times: RFC 3339, a date, a time of day, an age such as `2h`, or a keyword. Without an offset, times are UTC,
/// since all times are shown in UTC. As in systemd.time(7), an age may end with `ago`.
package enum TimeExpression {
    static let forms =
        "a date, an RFC 3339 time, a time of day such as 15:30, an age such as 2h or \"7 days ago\", now, today or "
        + "yesterday"
    static let futureForms =
        "a date, an RFC 3339 time, a time of day such as 15:30, a time span such as 8h, or tomorrow"

    private static let day: Int64 = 86_400_000
    private static let days: [Substring: Int64] = ["yesterday": -1, "today": 0, "tomorrow": 1]

    /// Returns the time that a text denotes; nil if it is invalid. A time of day alone means today, even if it is
    /// in the future.
    package static func moment(_ text: String, now: IssueTimestamp) -> IssueTimestamp? {
        let word = text.lowercased()
        if word == "now" { return now }
        let parts = word.split(separator: " ", omittingEmptySubsequences: false)
        if let first = parts.first, let days = Self.days[first], parts.count <= 2 {
            let time: TimeOfDay? = parts.count == 2 ? timeOfDay(parts[1]) : TimeOfDay(milliseconds: 0, offset: 0)
            return time?.moment(at: now).advanced(by: .milliseconds(days * day))
        }
        if let time = timeOfDay(word[...]) { return time.moment(at: now) }
        let age = word.hasPrefix("-") ? word.dropFirst() : word.hasSuffix(" ago") ? word.dropLast(4) : word[...]
        if let span = span(age) { return now.advanced(by: .zero - span) }
        return IssueTimestamp(text) ?? IssueTimestamp(text + "T00:00:00Z") ?? IssueTimestamp(text + "Z")
            ?? IssueTimestamp(text + ":00Z")
            // A time without seconds but with an offset, such as 2026-11-22T03:12+01:00.
            ?? IssueTimestamp("\(text.prefix(16)):00\(text.dropFirst(16))")
    }

    /// Returns the future time that a text denotes; nil if it is invalid or not in the future. A time span starts now,
    /// and a time of day means its next occurrence.
    package static func futureMoment(_ text: String, now: IssueTimestamp) -> IssueTimestamp? {
        let word = text.lowercased()
        if let span = span(word.hasPrefix("+") ? word.dropFirst() : word[...]) {
            return span > .zero ? now.advanced(by: span) : nil
        }
        guard let moment = moment(text, now: now) else { return nil }
        if moment > now { return moment }
        return timeOfDay(word[...]) == nil ? nil : moment.advanced(by: .milliseconds(day))
    }

    /// Returns the time span that a text denotes; nil if it is invalid or does not end with a unit. A bare number could
    /// be a year.
    private static func span(_ word: Substring) -> Duration? {
        guard let last = word.last, last.isLetter else { return nil }
        return DurationExpression.duration(String(word))
    }

    /// A time of day in a time zone.
    private struct TimeOfDay {
        /// The time since midnight in the time zone.
        var milliseconds: Int64
        /// The offset of the time zone from UTC, in milliseconds.
        var offset: Int64

        /// Returns this time on the current day in the time zone.
        func moment(at now: IssueTimestamp) -> IssueTimestamp {
            midnight(of: now.advanced(by: .milliseconds(offset))).advanced(by: .milliseconds(milliseconds - offset))
        }
    }

    /// Returns a time of day such as `8:00`, `08:00:30z` or `08:00+01:00`; nil if it is invalid.
    private static func timeOfDay(_ word: Substring) -> TimeOfDay? {
        var (time, offset) = (word, Int64(0))
        if word.hasSuffix("z") {
            time = word.dropLast()
        } else if let sign = word.lastIndex(where: { $0 == "+" || $0 == "-" }) {
            let zone = word[word.index(after: sign)...]
            guard zone.utf8.count == 5, let distance = sinceMidnight(zone) else { return nil }
            time = word[..<sign]
            offset = word[sign] == "-" ? -distance : distance
        }
        return sinceMidnight(time).map { TimeOfDay(milliseconds: $0, offset: offset) }
    }

    /// Returns the milliseconds since midnight of a time such as `8:00` or `08:00:30`; nil if it is invalid.
    private static func sinceMidnight(_ word: Substring) -> Int64? {
        let time = word.dropFirst().first == ":" ? "0\(word)" : String(word)
        guard time.utf8.count == 5 || time.utf8.count == 8 else { return nil }
        let seconds = time.utf8.count == 5 ? ":00" : ""
        return IssueTimestamp("1970-01-01T\(time)\(seconds)Z")?.millisecondsSince1970
    }

    private static func midnight(of moment: IssueTimestamp) -> IssueTimestamp {
        let rest = moment.millisecondsSince1970 % day
        return IssueTimestamp(millisecondsSince1970: moment.millisecondsSince1970 - (rest < 0 ? rest + day : rest))
    }
}

/// Formats times and time spans for tables.
package enum RelativeTime {
    /// Returns a relative time such as `3 min ago`, `in 20 s` or `now`.
    package static func text(_ moment: IssueTimestamp, now: IssueTimestamp) -> String {
        let (difference, overflow) = now.millisecondsSince1970.subtractingReportingOverflow(
            moment.millisecondsSince1970)
        guard !overflow, difference.magnitude >= 1000 else { return "now" }
        let span = span(seconds: (difference.magnitude + 500) / 1000)
        return difference > 0 ? "\(span) ago" : "in \(span)"
    }

    /// Returns a time span such as `59 s`, `3 min`, `1 h 59 min` or `2 days`, rounded to the nearest number of its last
    /// unit.
    ///
    /// From one to ten hours and from one to ten days, a second unit follows unless its number is zero, because `1 h`
    /// would be misleading for almost one and a half hours.
    static func span(seconds: UInt64) -> String {
        func count(of unit: UInt64) -> UInt64 { (seconds + unit / 2) / unit }
        let (minutes, hours, days) = (count(of: 60), count(of: 3600), count(of: 86_400))
        if seconds < 60 { return "\(seconds) s" }
        if minutes < 60 { return "\(minutes) min" }
        if minutes < 600 { return joined("\(minutes / 60) h", minutes % 60, "min") }
        if hours < 24 { return "\(hours) h" }
        if hours < 240 { return joined(hours < 48 ? "1 day" : "\(hours / 24) days", hours % 24, "h") }
        return days < 730 ? "\(days) days" : "\(count(of: 31_536_000)) years"
    }

    private static func joined(_ text: String, _ rest: UInt64, _ unit: String) -> String {
        rest == 0 ? text : "\(text) \(rest) \(unit)"
    }
}

/// Formats absolute times in UTC.
enum PageTime {
    /// Returns a time such as `2026-11-21 10:00:00Z`.
    static func second(_ moment: IssueTimestamp) -> String {
        let text = moment.description
        guard let dot = text.firstIndex(of: "."), let letter = text.firstIndex(of: "T") else { return text }
        return "\(text[..<letter]) \(text[text.index(after: letter)..<dot])Z"
    }

    /// Returns a time such as `2026-11-21T10:00:00.123Z (3 min ago)`.
    static func full(_ moment: IssueTimestamp, now: IssueTimestamp) -> String {
        "\(moment.description) (\(RelativeTime.text(moment, now: now)))"
    }
}

/// Formats durations, such as maximum ages and the periods of limits, in the syntax of the configuration.
enum PeriodText {
    /// Returns the text of a duration, such as `1min` or `7d`.
    static func text(_ period: Duration) -> String {
        let milliseconds = period.wholeMilliseconds
        let units: [(Int64, String)] = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s"), (1, "ms")]
        for (size, name) in units where milliseconds >= size && milliseconds.isMultiple(of: size) {
            return "\(milliseconds / size)\(name)"
        }
        return "\(milliseconds)ms"
    }

    /// Returns the text of the period of a rate, such as `min`, `5min` or `day`.
    static func ofRate(_ period: Duration) -> String {
        switch text(period) {
        case "1d": "day"
        case let one where one.first == "1" && one.dropFirst().first?.isLetter == true: String(one.dropFirst())
        case let other: other
        }
    }
}
