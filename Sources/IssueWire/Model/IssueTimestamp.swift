/// A point in time of the wall clock, with millisecond precision and without leap seconds.
public struct IssueTimestamp: Hashable, Comparable, Sendable {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    public var millisecondsSince1970: Int64

    /// Creates a point in time.
    ///
    /// - Parameter millisecondsSince1970: Milliseconds since 1970-01-01T00:00:00Z.
    public init(millisecondsSince1970: Int64) {
        self.millisecondsSince1970 = millisecondsSince1970
    }

    /// 1970-01-01T00:00:00Z.
    package static let epoch = IssueTimestamp(millisecondsSince1970: 0)

    /// Returns `true` if a time is before another.
    ///
    /// - Parameters:
    ///   - left: A time.
    ///   - right: Another time.
    /// - Returns: True if `left` is earlier than `right`.
    public static func < (left: Self, right: Self) -> Bool {
        left.millisecondsSince1970 < right.millisecondsSince1970
    }

    /// Returns the time plus `duration`, which may be negative. Saturates instead of overflowing.
    package func advanced(by duration: Duration) -> IssueTimestamp {
        IssueTimestamp(millisecondsSince1970: millisecondsSince1970.clampedSum(duration.wholeMilliseconds))
    }

    /// Returns the time from this timestamp to `other`, which is negative if `other` is earlier.
    package func duration(to other: IssueTimestamp) -> Duration {
        .milliseconds(other.millisecondsSince1970.clampedDifference(millisecondsSince1970))
    }
}

extension IssueTimestamp: CustomStringConvertible {
    /// The times that RFC 3339 can represent in UTC, in milliseconds since 1970.
    private static let representable: ClosedRange<Int64> = -62_167_219_200_000...253_402_300_799_999

    /// The time in UTC in the format of RFC 3339, for example `2026-11-21T10:00:00.123Z`. Times outside the years 0 to
    /// 9999 are clamped to this range.
    public var description: String {
        let milliseconds = min(max(millisecondsSince1970, Self.representable.lowerBound), Self.representable.upperBound)
        let day = milliseconds.flooredQuotient(by: 86_400_000)
        let rest = milliseconds - day * 86_400_000
        let (year, month, dayOfMonth) = Self.civil(day: day)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(24)
        func append(_ value: Int64, _ width: Int, _ end: Unicode.Scalar) {
            var scale: Int64 = 1
            for _ in 1..<width { scale *= 10 }
            while scale > 0 {
                bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value / scale % 10))
                scale /= 10
            }
            bytes.append(UInt8(ascii: end))
        }
        append(year, 4, "-")
        append(month, 2, "-")
        append(dayOfMonth, 2, "T")
        append(rest / 3_600_000, 2, ":")
        append(rest / 60_000 % 60, 2, ":")
        append(rest / 1000 % 60, 2, ".")
        append(rest % 1000, 3, "Z")
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Parses an RFC 3339 time with any offset. The fraction may have any length and is truncated to milliseconds.
    ///
    /// - Returns: nil if the text is not such a time, or if its year in UTC is outside 0 to 9999.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        self.init(bytes.span, from: 0, to: bytes.count)
    }

    /// Parses an RFC 3339 time in a range of bytes.
    ///
    /// - Returns: nil if the bytes are not such a time, or if its year in UTC is outside 0 to 9999.
    package init?(_ bytes: Span<UInt8>, from start: Int, to end: Int) {
        var index = start
        func digits(_ count: Int) -> Int64? {
            guard index + count <= end else { return nil }
            var value: Int64 = 0
            for _ in 0..<count {
                guard JSONScanner.isDigit(bytes[index]) else { return nil }
                value = value * 10 + Int64(bytes[index] - UInt8(ascii: "0"))
                index += 1
            }
            return value
        }
        func skip(_ one: UInt8, or other: UInt8? = nil) -> Bool {
            guard index < end, bytes[index] == one || bytes[index] == other else { return false }
            index += 1
            return true
        }
        guard let year = digits(4), skip(UInt8(ascii: "-")), let month = digits(2), skip(UInt8(ascii: "-")),
            let day = digits(2), skip(UInt8(ascii: "T"), or: UInt8(ascii: "t")) || skip(UInt8(ascii: " ")),
            let hour = digits(2), skip(UInt8(ascii: ":")), let minute = digits(2), skip(UInt8(ascii: ":")),
            let second = digits(2), (1...12).contains(month), day >= 1, day <= Self.days(in: month, of: year),
            hour < 24, minute < 60, second <= 60
        else { return nil }

        var fraction: Int64 = 0
        if skip(UInt8(ascii: ".")) {
            var scale: Int64 = 100
            let first = index
            while index < end, JSONScanner.isDigit(bytes[index]) {
                fraction += scale * Int64(bytes[index] - UInt8(ascii: "0"))
                scale /= 10
                index += 1
            }
            guard index > first else { return nil }
        }

        var offset: Int64 = 0
        if !skip(UInt8(ascii: "Z"), or: UInt8(ascii: "z")) {
            let sign: Int64 = index < end && bytes[index] == UInt8(ascii: "-") ? -1 : 1
            guard skip(UInt8(ascii: "+"), or: UInt8(ascii: "-")), let hours = digits(2), skip(UInt8(ascii: ":")),
                let minutes = digits(2), hours < 24, minutes < 60
            else { return nil }
            offset = sign * (hours * 60 + minutes)
        }
        guard index == end else { return nil }
        let seconds = ((Self.day(year: year, month: month, day: day) * 24 + hour) * 60 + minute - offset) * 60 + second
        let moment = seconds * 1000 + fraction
        // The offset can move the time out of the representable years.
        guard Self.representable.contains(moment) else { return nil }
        self.init(millisecondsSince1970: moment)
    }

    // Days since 1970-01-01 in the proleptic Gregorian calendar. Eras have 400 years. Years begin in March, so that the
    // leap day is the last day of its year.

    private static func day(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = shifted.flooredQuotient(by: 400)
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func civil(day: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = day + 719_468
        let era = shifted.flooredQuotient(by: 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let position = (5 * dayOfYear + 2) / 153
        let month = position < 10 ? position + 3 : position - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * position + 2) / 5 + 1)
    }

    private static func days(in month: Int64, of year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

extension Int64 {
    /// Returns the quotient, rounded down.
    ///
    /// - Parameter divisor: The divisor, which must be positive.
    package func flooredQuotient(by divisor: Int64) -> Int64 {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}

extension FixedWidthInteger where Self: SignedInteger {
    /// Returns the sum, clamped to the range of the type.
    @inlinable
    package func clampedSum(_ other: Self) -> Self {
        let (sum, overflow) = addingReportingOverflow(other)
        guard overflow else { return sum }
        return other < 0 ? .min : .max
    }

    /// Returns the difference, clamped to the range of the type.
    @inlinable
    package func clampedDifference(_ other: Self) -> Self {
        let (difference, overflow) = subtractingReportingOverflow(other)
        guard overflow else { return difference }
        return other < 0 ? .max : .min
    }

    /// Returns the product, clamped to the range of the type.
    @inlinable
    package func clampedProduct(_ other: Self) -> Self {
        let (product, overflow) = multipliedReportingOverflow(by: other)
        guard overflow else { return product }
        return (self < 0) == (other < 0) ? .max : .min
    }
}

extension Duration {
    /// The number of whole milliseconds, clamped to 64 bits.
    package var wholeMilliseconds: Int64 { Int64(clamping: attoseconds / 1_000_000_000_000_000) }
}
