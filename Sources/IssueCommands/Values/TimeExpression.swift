package import IssueProtocol

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
