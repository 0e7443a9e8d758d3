package import IssueCore

/// Rates: so many in such a time, `1/5min` or `60/min`; `0` is no limit.
package enum RateText {
    private static let largest: Int64 = 1_000_000_000

    package static func parse(_ text: String) -> Rate? {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { $0.trimmingBlanks }
        guard let digits = parts.first, !digits.isEmpty, digits.allSatisfy(\.isASCIIDigit),
            let count = Int64(digits), count <= largest
        else { return nil }
        if parts.count == 1 { return count == 0 ? .unlimited : nil }
        guard parts.count == 2 else { return nil }
        // “60/min” is sixty in one minute.
        let period = parts[1].first?.isASCIIDigit == true ? String(parts[1]) : "1\(parts[1])"
        guard !parts[1].isEmpty, let duration = DurationText.parseWithUnits(period),
            duration >= .milliseconds(1), duration <= .seconds(366 * 86_400)
        else { return nil }
        return count == 0 ? .unlimited : Rate(count, per: duration)
    }

    package static func text(_ rate: Rate) -> String {
        guard !rate.isUnlimited else { return "0" }
        let period = DurationText.text(rate.period)
        let isOne = period.first == "1" && period.dropFirst().first?.isLetter == true && !period.contains(" ")
        return "\(rate.count)/\(isOne ? String(period.dropFirst()) : period)"
    }
}
