import Destinations
package import IssueCore
import UnixIO

/// The syntax of a value in a configuration file: how to parse it, print it and describe it.
struct ValueForm<Value>: Sendable {
    /// A description of valid values, which follows "expected" in error messages.
    let expected: String
    /// Returns nil for an invalid text.
    let parse: @Sendable (String) -> Value?
    let text: @Sendable (Value) -> String
    /// Whether error messages may quote an invalid value. `false` if it may be a token in the wrong place.
    var isQuotable = true

    /// Returns the same syntax for an optional value, which is printed as an empty text if it is nil.
    func optional() -> ValueForm<Value?> {
        let form = self
        return ValueForm<Value?>(
            expected: expected, parse: { text in form.parse(text).map { $0 } },
            text: { $0.map { form.text($0) } ?? "" }, isQuotable: isQuotable)
    }
}

extension ValueForm where Value == Bool {
    static var boolean: Self {
        ValueForm(
            expected: "yes or no",
            parse: { text in
                switch text.lowercased() {
                case "yes", "true", "on", "1", "y", "t": true
                case "no", "false", "off", "0", "n", "f": false
                case _: nil
                }
            }, text: { $0 ? "yes" : "no" })
    }
}

extension ValueForm where Value: BinaryInteger & Sendable {
    /// A number in decimal digits.
    ///
    /// - Parameter zero: What 0 means, which makes 0 valid even outside the bounds; nil if 0 has no special meaning.
    static func count(_ bounds: ClosedRange<Value>, zero: String? = nil) -> Self {
        ValueForm(
            expected: "a number from \(bounds.lowerBound) to \(bounds.upperBound)\(zero.map { ", or 0: \($0)" } ?? "")",
            parse: { text in
                guard !text.isEmpty, text.allSatisfy(\.isASCIIDigit), let number = Int64(text),
                    let value = Value(exactly: number), bounds ~= value || value == 0 && zero != nil
                else { return nil }
                return value
            }, text: { "\($0)" })
    }

    /// A size in bytes. See `count(_:zero:)` for `zero`.
    static func size(_ bounds: ClosedRange<Value>, zero: String? = nil) -> Self {
        let from = SizeText.text(Int64(clamping: bounds.lowerBound))
        let to = SizeText.text(Int64(clamping: bounds.upperBound))
        let examples = ["64K", "1M", "512M", "2G"].filter { text in
            SizeText.parse(text).flatMap { Value(exactly: $0) }.map { bounds ~= $0 } ?? false
        }.suffix(2).joined(separator: " or ")
        return ValueForm(
            expected: "a size from \(from) to \(to), such as \(examples)\(zero.map { ", or 0: \($0)" } ?? "")",
            parse: { text in
                guard let bytes = SizeText.parse(text), let value = Value(exactly: bytes),
                    bounds ~= value || value == 0 && zero != nil
                else { return nil }
                return value
            }, text: { SizeText.text(Int64(clamping: $0)) })
    }
}

extension ValueForm where Value == UInt32 {
    static var mode: Self {
        ValueForm(
            expected: "permissions in octal, such as 0666",
            parse: { text in
                guard (3...4).contains(text.count), text.allSatisfy({ "0" <= $0 && $0 <= "7" && $0.isASCII }),
                    let mode = UInt32(text, radix: 8), mode <= 0o777
                else { return nil }
                return mode
            },
            text: { mode in
                let digits = String(mode, radix: 8)
                return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
            })
    }

    static var user: Self {
        ValueForm(
            expected: "the name or number of a user of this host",
            parse: { text in
                guard !text.isEmpty, text.allSatisfy(\.isASCIIDigit) else { return UserDatabase.userID(named: text) }
                // (uid_t)-1 means "unchanged" to chown(2) and setresuid(2), so it is not a user.
                return UInt32(text).flatMap { $0 == .max ? nil : $0 }
            }, text: { "\($0)" })
    }
}

extension ValueForm where Value == Duration {
    static func duration(_ bounds: ClosedRange<Duration>, zero: String? = nil) -> Self {
        let from = DurationText.text(bounds.lowerBound)
        let to = DurationText.text(bounds.upperBound)
        return ValueForm(
            expected: "a time from \(from) to \(to), such as 5s or 2min 30s\(zero.map { ", or 0: \($0)" } ?? "")",
            parse: { text in
                DurationText.parse(text).flatMap { bounds ~= $0 || $0 == .zero && zero != nil ? $0 : nil }
            },
            text: { DurationText.text($0) })
    }
}

extension ValueForm where Value == Rate {
    static var rate: Self {
        ValueForm(
            expected: "a rate such as 60/min or 1/5min, \(RateText.bounds()), or 0: no limit",
            parse: { RateText.parse($0) }, text: { RateText.text($0) })
    }
}

extension ValueForm where Value == Percentage {
    static func share(_ bounds: ClosedRange<Int64>) -> Self {
        ValueForm(
            expected: "a share from \(bounds.lowerBound)% to \(bounds.upperBound)%",
            parse: { text in
                let digits = text.dropLast().trimmingBlanks
                guard text.last == "%", !digits.isEmpty, digits.allSatisfy(\.isASCIIDigit),
                    let percent = Int64(digits), bounds ~= percent
                else { return nil }
                return Percentage(percent: percent)
            }, text: { "\($0.percent)%" })
    }
}

extension ValueForm where Value == [HostGroup] {
    /// Groups of this host, by name or number, separated by blanks.
    static var groups: Self {
        ValueForm(
            expected: "groups of this host, separated by blanks",
            parse: { text in
                var groups: [HostGroup] = []
                for word in text.split(whereSeparator: \.isBlank) {
                    guard let group = HostGroup(named: String(word)) else { return nil }
                    groups.append(group)
                }
                return groups
            }, text: { groups in groups.map(\.name).joined(separator: " ") })
    }
}

extension ValueForm where Value == [String] {
    /// Names separated by blanks, each with at least one letter.
    static var names: Self {
        ValueForm(
            expected: "names of at most 64 letters, digits, “_”, “-” and “.”, each with a letter, separated by blanks",
            parse: { text in
                let names = text.split(whereSeparator: \.isBlank).map(String.init)
                return names.allSatisfy { ValueForm<String>.name().parse($0) != nil && $0.contains(where: \.isLetter) }
                    ? names : nil
            }, text: { $0.joined(separator: " ") })
    }
}

extension ValueForm where Value == String {
    private init(
        _ expected: String, isQuotable: Bool = true, where isValid: @escaping @Sendable (String) -> Bool
    ) {
        self.init(expected: expected, parse: { isValid($0) ? $0 : nil }, text: { $0 }, isQuotable: isQuotable)
    }

    static var path: Self {
        .init("an absolute path") { $0.hasPrefix("/") && !$0.hasSuffix("/") && $0.utf8.count < 4096 }
    }

    static var socketPath: Self {
        .init("an absolute path of at most 107 bytes") {
            path.parse($0) != nil && (try? SocketAddress.unix($0)) != nil
        }
    }

    /// A name that needs no quoting in a URL or a JSON key.
    static func name() -> Self {
        .init("a name of at most 64 letters, digits, “_”, “-” and “.”") { text in
            (1...64).contains(text.utf8.count)
                && text.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || "_-.".contains($0) }
        }
    }

    /// The syntax of the values of a key that only some kinds of destination have.
    static func option(_ option: DestinationOption) -> Self {
        var form = option.expected.map { expected in .init(expected) { option.accepts($0) } } ?? name()
        form.isQuotable = option.isQuotable
        return form
    }

    /// An absolute path, or the name of a file in `$CREDENTIALS_DIRECTORY`.
    static var credential: Self {
        .init(
            "the name of a service credential, or the absolute path of a file", isQuotable: false
        ) { text in
            if text.hasPrefix("/") { return path.parse(text) != nil }
            return text != "." && text != ".." && text.utf8.count <= 255
                && !text.contains { $0 == "/" || $0.isBlank }
        }
    }

    static var proxy: Self {
        .init(
            "the URL of a proxy, such as http://proxy.example.com:3128, without a user or path", isQuotable: false,
            where: ProxyURL.isUsable)
    }
}

extension ValueForm where Value == HTTPAddress {
    static func address(of kind: DestinationKind) -> Self {
        ValueForm(
            expected: kind.format.expectedURL, parse: { HTTPAddress(url: $0) }, text: { $0.url }, isQuotable: false)
    }
}

extension ValueForm where Value: CaseIterable & RawRepresentable & Sendable, Value.RawValue == String {
    static var choice: Self {
        let choices = Value.allCases.map(\.rawValue)
        let list = choices.dropLast().joined(separator: ", ") + " or " + (choices.last ?? "")
        return ValueForm(expected: list, parse: { Value(rawValue: $0) }, text: { $0.rawValue })
    }
}

/// An unsigned decimal number in front of a unit.
struct DecimalNumber {
    private var whole: Int64
    private var fraction: Int64 = 0
    private var scale: Int64 = 1

    /// Parses the number at the start of `text` and removes it.
    ///
    /// Returns nil if there is no number, if its whole part does not fit into 64 bits, or if a decimal point is not
    /// followed by one to six digits.
    init?(takenFrom text: inout Substring) {
        let digits = text.prefix { $0.isASCIIDigit }
        guard !digits.isEmpty, let whole = Int64(digits) else { return nil }
        self.whole = whole
        text = text.dropFirst(digits.count)
        guard text.first == "." else { return }
        let decimals = text.dropFirst().prefix { $0.isASCIIDigit }
        // Six digits are enough for microseconds.
        guard !decimals.isEmpty, decimals.count <= 6, let fraction = Int64(decimals) else { return nil }
        self.fraction = fraction
        for _ in decimals { scale *= 10 }
        text = text.dropFirst(decimals.count + 1)
    }

    /// Returns the product with a unit, rounded towards zero; nil if it does not fit into 64 bits.
    func times(_ unit: Int64) -> Int64? {
        let (product, overflow) = whole.multipliedReportingOverflow(by: unit)
        // Divides first, because a unit times a million may overflow.
        let part = unit / scale * fraction + unit % scale * fraction / scale
        let (sum, overflowAgain) = product.addingReportingOverflow(part)
        return overflow || overflowAgain ? nil : sum
    }
}

extension Character {
    var isASCIIDigit: Bool { "0" <= self && self <= "9" && isASCII }
    var isASCIILetter: Bool { isASCII && isLetter }
}

/// Durations such as `5s`, `2min 30s` or `7d`, in the syntax of systemd.time(7) but without months and years.
package enum DurationText {
    /// Returns the duration; nil if the text is invalid.
    ///
    /// - Parameter bareUnit: The unit of a number without a unit, in nanoseconds; by default a second. Nil if each
    ///   number must have a unit.
    package static func parse(_ text: String, bareUnit: Int64? = 1_000_000_000) -> Duration? {
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

    /// Returns the duration, rounded down to microseconds, as a text such as `2min 30s` that `parse` accepts.
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

/// A group of this host: its name in the configuration, and its id.
package struct HostGroup: Hashable, Sendable {
    package var name: String
    package var groupID: UInt32
}

extension HostGroup {
    /// Looks up a group by name. A number is taken as the id of a group that need not exist. Returns nil if this host
    /// has no group with the name, or if the number is not a valid id.
    init?(named name: String) {
        let isNumber = name.allSatisfy(\.isASCIIDigit)
        guard let groupID = isNumber ? UInt32(name) : UserDatabase.groupID(named: name), groupID != .max else {
            return nil
        }
        self.init(name: name, groupID: groupID)
    }
}

/// The syntax of a proxy URL without secrets.
enum ProxyURL {
    private static let schemes: Set<String> = ["http", "https", "socks5", "socks5h"]

    /// Returns `true` if a text is the URL of a proxy. A URL with a user is not accepted, because it may contain a
    /// password.
    static func isUsable(_ text: String) -> Bool {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3 || parts.count == 4 && parts[3].isEmpty, parts[1].isEmpty,
            parts[0].last == ":", schemes.contains(String(parts[0].dropLast()))
        else { return false }
        return HTTPAddress.hostAndPort(parts[2]) != nil
    }
}

/// Rates: a count per duration, such as `1/5min` or `60/min`. A count of 0 means no limit.
package enum RateText {
    private static let maxCount: Int64 = 1_000_000_000
    private static let periods: ClosedRange<Duration> = .milliseconds(1)...(.seconds(366 * 86_400))

    /// A phrase about the bounds of a rate, with the given bounds of its period.
    static func bounds(_ periods: ClosedRange<Duration> = RateText.periods) -> String {
        "with a count of at most \(maxCount) and a period from \(DurationText.text(periods.lowerBound)) to "
            + DurationText.text(periods.upperBound)
    }

    /// Returns the rate; nil if the text is invalid.
    package static func parse(_ text: String) -> Rate? {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { $0.trimmingBlanks }
        guard let digits = parts.first, !digits.isEmpty, digits.allSatisfy(\.isASCIIDigit),
            let count = Int64(digits), count <= maxCount
        else { return nil }
        if parts.count == 1 { return count == 0 ? .unlimited : nil }
        guard parts.count == 2 else { return nil }
        // "60/min" means 60 in one minute.
        let period = parts[1].first?.isASCIIDigit == true ? String(parts[1]) : "1\(parts[1])"
        guard !parts[1].isEmpty, let duration = DurationText.parse(period, bareUnit: nil),
            periods ~= duration
        else { return nil }
        return count == 0 ? .unlimited : Rate(count, per: duration)
    }

    /// Returns the rate as a text that `parse(_:)` accepts, with the period rounded down to microseconds.
    package static func text(_ rate: Rate) -> String {
        guard !rate.isUnlimited else { return "0" }
        let period = DurationText.text(rate.period)
        let isOne = period.first == "1" && period.dropFirst().first?.isLetter == true && !period.contains(" ")
        return "\(rate.count)/\(isOne ? String(period.dropFirst()) : period)"
    }
}

/// Sizes in systemd's syntax, such as `64K` or `1G`. Units are powers of 1024, and a number without a unit is in bytes.
package enum SizeText {
    private static let units: [(name: Character, shift: Int64)] = [("T", 40), ("G", 30), ("M", 20), ("K", 10)]

    /// Returns the size in bytes; nil if the text is invalid.
    package static func parse(_ text: String) -> Int64? {
        var rest = text[...].trimmingBlanks
        guard let number = DecimalNumber(takenFrom: &rest) else { return nil }
        rest = rest.trimmingBlanks
        if rest.isEmpty || rest == "B" { return number.times(1) }
        guard rest.count == 1, let unit = units.first(where: { $0.name == rest.first }) else { return nil }
        return number.times(1 << unit.shift)
    }

    /// Returns a number of bytes in the largest unit that needs no fraction.
    package static func text(_ bytes: Int64) -> String {
        for unit in units where bytes != 0 && bytes % (1 << unit.shift) == 0 {
            return "\(bytes >> unit.shift)\(unit.name)"
        }
        return "\(bytes)"
    }
}
