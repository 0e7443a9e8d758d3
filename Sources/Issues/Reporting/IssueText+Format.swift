/// How a value appears in an ``IssueText``.
///
/// ```swift
/// reportIssue("Took \(seconds, format: .decimals(2)) s at \(address, format: .hex)")
/// ```
///
/// With the product `IssuesFoundation`, a value can also have a `FormatStyle` of Foundation as its format.
public struct IssueTextFormat<Value> {
    let text: (Value) -> String

    /// Creates a format.
    ///
    /// - Parameter text: Returns the text of a value.
    public init(_ text: @escaping (Value) -> String) {
        self.text = text
    }
}

extension IssueTextFormat where Value: BinaryInteger {
    /// Hexadecimal digits after `0x`.
    public static var hex: Self {
        Self { $0 < 0 ? "-0x\(String($0.magnitude, radix: 16))" : "0x\(String($0, radix: 16))" }
    }
}

extension IssueTextFormat where Value: BinaryFloatingPoint {
    /// A number with a fixed number of digits after the decimal point.
    ///
    /// - Parameter count: The number of digits, from 0 to 15.
    /// - Returns: The format.
    public static func decimals(_ count: Int) -> Self {
        Self { Decimals.text(of: Double($0), count: min(max(count, 0), 15)) }
    }
}

extension IssueText.StringInterpolation {
    /// Appends a value in a format.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - format: The format, for example `.decimals(2)`.
    public mutating func appendInterpolation<Value>(_ value: Value, format: IssueTextFormat<Value>) {
        append(format.text(value), .text)
    }
}

/// Writes numbers with a fixed number of decimals, without Foundation.
private enum Decimals {
    static func text(of value: Double, count: Int) -> String {
        var factor = 1.0
        for _ in 0..<count { factor *= 10 }
        let scaled = (value.magnitude * factor).rounded()
        // Above this limit a number has no digits after the decimal point to round.
        guard value.isFinite, scaled < 9e18 else { return value.description }
        let digits = String(UInt64(scaled))
        let padded = String(repeating: "0", count: max(0, count + 1 - digits.utf8.count)) + digits
        let sign = value < 0 && scaled > 0 ? "-" : ""
        guard count > 0 else { return sign + padded }
        return "\(sign)\(padded.dropLast(count)).\(padded.suffix(count))"
    }
}
