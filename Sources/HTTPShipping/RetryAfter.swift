package import IssueProtocol

/// Reads a `Retry-After` header: seconds, or a date in one of the three forms that HTTP knows.
package enum RetryAfter {
    /// As long as anybody may ask for; whoever reads this has a limit of their own.
    private static let most: Int64 = 365 * 86_400

    /// The wait that is asked for, or nothing where the value makes no sense.
    package static func duration(_ value: String, at now: Timestamp) -> Duration? {
        let text = value.split(separator: " ").joined(separator: " ")
        if !text.isEmpty, text.utf8.allSatisfy(isDigit) {
            return .seconds(min(Int64(text) ?? most, most))
        }
        guard let moment = moment(text, at: now) else { return nil }
        return .milliseconds(min(max(0, moment.milliseconds - now.milliseconds), most * 1000))
    }

    private static func moment(_ text: String, at now: Timestamp) -> Timestamp? {
        let words = text.split(separator: " ")
        switch words.count {
        case 6 where words[5] == "GMT":
            // Sun, 06 Nov 1994 08:49:37 GMT
            return moment(year: words[3], month: words[2], day: words[1], time: words[4])
        case 5:
            // Sun Nov  6 08:49:37 1994
            return moment(year: words[4], month: words[1], day: words[2], time: words[3])
        case 4 where words[3] == "GMT":
            // Sunday, 06-Nov-94 08:49:37 GMT
            let date = words[1].split(separator: "-", omittingEmptySubsequences: false)
            guard date.count == 3, date[2].utf8.count == 2, let short = number(date[2]) else { return nil }
            return moment(year: "\(century(of: short, at: now) + short)", month: date[1], day: date[0], time: words[2])
        default:
            return nil
        }
    }

    /// A year of two digits that would lie more than 50 years ahead is one of the past.
    private static func century(of short: Int64, at now: Timestamp) -> Int64 {
        let year = number(now.text.prefix(4)) ?? 2000
        let century = year / 100 * 100
        return century + short > year + 50 ? century - 100 : century
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static func moment(
        year: some StringProtocol, month: some StringProtocol, day: some StringProtocol, time: some StringProtocol
    ) -> Timestamp? {
        guard let month = months.firstIndex(where: { $0 == month }), let day = number(day) else { return nil }
        return Timestamp("\(year)-\(padded(Int64(month + 1)))-\(padded(day))T\(time)Z")
    }

    private static func padded(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }

    private static func number(_ text: some StringProtocol) -> Int64? {
        text.utf8.allSatisfy(isDigit) ? Int64(text) : nil
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}
