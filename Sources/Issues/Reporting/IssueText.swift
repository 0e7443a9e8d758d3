internal import IssueWire

/// The message of an issue. Its constant text is kept apart from the values that are inserted into it.
///
/// A string literal that is passed to `reportIssue` becomes an `IssueText`. The values do not affect the grouping, so
/// all reports from this line belong to the same issue:
///
/// ```swift
/// reportIssue("User \(name) not found in \(count) tables")
/// ```
///
/// A value that must not leave the process is marked as private. The message contains `<private>` in its place, so the
/// grouping does not change:
///
/// ```swift
/// reportIssue("No account for \(address, private: true)")
/// ```
///
/// Apart from private values, the text is the same as for a `String` with the same literal.
public struct IssueText: Sendable, ExpressibleByStringInterpolation, CustomStringConvertible {
    /// The whole text.
    var text: String
    /// The values in the text.
    var values: Values

    init(_ text: String, _ values: Values) {
        self.text = text
        self.values = values
    }

    /// Creates a message whose values are unknown.
    init(plain text: String) {
        self.init(text, Values(isKnown: false))
    }

    /// Returns a message whose values are unknown. Nil if the text is nil.
    static func plain(_ text: String?) -> IssueText? { text.map { IssueText(plain: $0) } }

    public init(stringLiteral value: String) {
        self.init(value, Values())
    }

    public init(stringInterpolation: StringInterpolation) {
        self = stringInterpolation.message
    }

    /// The text with its values, except for private ones.
    public var description: String { text }
}

extension IssueText {
    /// The text that replaces a private value.
    @usableFromInline static let hidden = "<private>"

    /// Builds a message from a string literal with values.
    public struct StringInterpolation: StringInterpolationProtocol, Sendable {
        fileprivate var message: IssueText

        public init(literalCapacity: Int, interpolationCount: Int) {
            message = IssueText(stringLiteral: "")
            // Room for typical values, so that the text is allocated once.
            message.text.reserveCapacity(literalCapacity + interpolationCount * 8)
        }

        public mutating func appendLiteral(_ literal: String) {
            message.text.append(literal)
        }

        /// Appends a value.
        ///
        /// - Parameter value: The value.
        public mutating func appendInterpolation(_ value: String) {
            append(value, .text)
        }

        /// Appends the same text as interpolation of the value into a `String`. The daemon receives the value as a
        /// Boolean.
        ///
        /// Otherwise the same as the version for a `String` value.
        public mutating func appendInterpolation(_ value: Bool) {
            append(value ? "true" : "false", .scalar)
        }

        /// Appends the same text as interpolation of the value into a `String`. The daemon receives the value as a
        /// number, unless JSON cannot express it.
        ///
        /// Otherwise the same as the version for a `String` value.
        @inlinable
        public mutating func appendInterpolation<Value: BinaryInteger>(_ value: Value) {
            append(value.description, .scalar)
        }

        /// Appends the same text as interpolation of the value into a `String`. The daemon receives the value as a
        /// number, unless JSON cannot express it.
        ///
        /// Otherwise the same as the version for a `String` value.
        @inlinable
        public mutating func appendInterpolation<
            Value: BinaryFloatingPoint & TextOutputStreamable & CustomStringConvertible
        >(_ value: Value) {
            append(value.description, .scalar)
        }

        /// Appends the same text as interpolation of the value into a `String`.
        ///
        /// Otherwise the same as the version for a `String` value.
        @inlinable
        public mutating func appendInterpolation<Value: TextOutputStreamable & CustomStringConvertible>(
            _ value: Value
        ) {
            appendStream(value)
        }

        /// Appends the same text as interpolation of the value into a `String`.
        ///
        /// Otherwise the same as the version for a `String` value.
        @inlinable
        public mutating func appendInterpolation<Value: TextOutputStreamable>(_ value: Value) {
            appendStream(value)
        }

        /// Appends the same text as interpolation of the value into a `String`.
        ///
        /// Otherwise the same as the version for a `String` value.
        @inlinable
        public mutating func appendInterpolation<Value: CustomStringConvertible>(_ value: Value) {
            append(value.description, .text)
        }

        /// Appends the same text as interpolation of the value into a `String`.
        ///
        /// Otherwise the same as the version for a `String` value.
        @inlinable
        public mutating func appendInterpolation<Value>(_ value: Value) {
            append(String(describing: value), .text)
        }

        /// Appends another message, with its constant text and its values.
        ///
        /// - Parameter value: The message. If its values are unknown, its whole text becomes a single value.
        public mutating func appendInterpolation(_ value: IssueText) {
            guard value.values.isKnown else { return append(value.text, .text) }
            let start = message.text.utf8.count
            message.text.append(value.text)
            for index in 0..<value.values.count {
                let (range, kind) = value.values[index]
                message.values.append(from: start + range.lowerBound, to: start + range.upperBound, kind)
            }
        }

        /// Appends a type as its name.
        ///
        /// - Parameter value: The type.
        @inlinable
        public mutating func appendInterpolation(_ value: any Any.Type) {
            append(String(describing: value), .text)
        }

        /// Appends a value, or a given text if the value is nil.
        ///
        /// - Parameters:
        ///   - value: The value.
        ///   - default: The text for nil.
        @inlinable
        public mutating func appendInterpolation<Value>(
            _ value: Value?, default: @autoclosure () -> some StringProtocol
        ) {
            append(value.map { String(describing: $0) } ?? String(`default`()), .text)
        }

        /// Appends a value, or `<private>` instead of it.
        ///
        /// - Parameters:
        ///   - value: The value. If `isPrivate` is true, it is not even converted to text.
        ///   - isPrivate: `true` if the text shows `<private>` instead of the value.
        @inlinable
        public mutating func appendInterpolation<Value>(_ value: Value, private isPrivate: Bool) {
            append(isPrivate ? IssueText.hidden : String(describing: value), .text)
        }

        /// Appends an optional value, or `<private>` instead of it. Nil is a value like any other.
        ///
        /// Without this version, the compiler would warn that an optional value is converted to text.
        ///
        /// - Parameters:
        ///   - value: The value. If `isPrivate` is true, it is not even converted to text.
        ///   - isPrivate: `true` if the text shows `<private>` instead of the value.
        @inlinable
        public mutating func appendInterpolation<Value>(_ value: Value?, private isPrivate: Bool) {
            append(isPrivate ? IssueText.hidden : String(describing: value), .text)
        }

        @usableFromInline
        mutating func append(_ value: String, _ kind: Kind) {
            let start = message.text.utf8.count
            message.text.append(value)
            message.values.append(from: start, to: message.text.utf8.count, kind)
        }

        @usableFromInline
        mutating func appendStream<Value: TextOutputStreamable>(_ value: Value) {
            let start = message.text.utf8.count
            value.write(to: &message.text)
            message.values.append(from: start, to: message.text.utf8.count, .text)
        }
    }

    /// How a value is sent.
    @usableFromInline
    enum Kind {
        /// As a string.
        case text
        /// As a number or a Boolean; as a string if JSON cannot express the number.
        case scalar
    }

    /// The positions of the values in a text, in their order.
    struct Values: Sendable, Equatable {
        // A message fits in four registers, which keeps calls small: two for the text, one each for `packed` and
        // `others`.

        /// The values before the first one that does not fit, at most three. Each takes 20 bits: 10 for the offset, 9
        /// for the length and 1 for the kind. Bits 60 and 61 are the number of these values. Bit 62 is 1 if the values
        /// of the text are unknown.
        private var packed: UInt64
        /// The other values. Each takes 64 bits: 32 for the offset, 31 for the length and 1 for the kind.
        private var others: [UInt64]?

        private static let packedLimit = 3

        /// Creates an empty list.
        ///
        /// - Parameter isKnown: False for a text whose values are unknown.
        init(isKnown: Bool = true) {
            packed = isKnown ? 0 : 1 << 62
        }

        /// Whether the values are known.
        var isKnown: Bool { packed >> 62 == 0 }

        private var packedCount: Int { Int(truncatingIfNeeded: packed >> 60 & 3) }

        /// The number of values.
        var count: Int { packedCount + (others?.count ?? 0) }

        /// Adds the next value. If it ends at 2 GiB or later, the values are unknown from then on.
        @inline(__always)
        mutating func append(from start: Int, to end: Int, _ kind: Kind) {
            let (count, length) = (packedCount, end &- start)
            guard start < 1 << 10, length < 1 << 9, count < Self.packedLimit, others == nil else {
                return appendOther(from: start, to: end, kind)
            }
            let value = UInt64(start) << 10 | UInt64(length) << 1 | (kind == .scalar ? 1 : 0)
            packed |= value << UInt64(count &* 20)
            packed &+= 1 << 60
        }

        private mutating func appendOther(from start: Int, to end: Int, _ kind: Kind) {
            guard end < 1 << 31 else { return packed |= 1 << 62 }
            let value = UInt64(start) << 32 | UInt64(end - start) << 1 | (kind == .scalar ? 1 : 0)
            if others?.append(value) == nil { others = [value] }
        }

        /// The byte offset after the last value, or 0 if there is none.
        var end: Int { count == 0 ? 0 : self[count - 1].range.upperBound }

        /// The byte offsets of a value, and its kind.
        subscript(index: Int) -> (range: Range<Int>, kind: Kind) {
            let start: Int, length: Int, isScalar: Bool
            if index < packedCount {
                let value = packed >> UInt64(index * 20) & 0xF_FFFF
                (start, length, isScalar) = (Int(value >> 10), Int(value >> 1 & 0x1FF), value & 1 == 1)
            } else {
                let value = others?[index - packedCount] ?? 0
                (start, length, isScalar) = (Int(value >> 32), Int(value >> 1 & 0x7FFF_FFFF), value & 1 == 1)
            }
            return (start..<(start + length), isScalar ? .scalar : .text)
        }

        /// Returns the positions that the values have once `length` bytes are inserted before the text.
        func shifted(by length: Int) -> Values {
            guard isKnown else { return self }
            var shifted = Values()
            for index in 0..<count {
                let (range, kind) = self[index]
                shifted.append(from: range.lowerBound + length, to: range.upperBound + length, kind)
            }
            return shifted
        }
    }
}

extension IssueText {
    /// The maximum size of a template that the daemon accepts, in bytes.
    private static let templateLimit = 1024
    /// The maximum number of values that the daemon accepts.
    private static let partLimit = 64

    /// Returns the template of a message and its values, as they are sent. Nil if the values are unknown or do not lie
    /// within `length` bytes, or if a limit is exceeded.
    ///
    /// - Parameters:
    ///   - text: The message, which may continue after the text that the values belong to.
    ///   - values: The positions of the values.
    ///   - length: The number of bytes of the text that the values belong to.
    static func parts(
        of text: String, _ values: Values, length: Int
    ) -> (template: String, parts: [JSONValue])? {
        guard values.isKnown, values.count <= partLimit, values.end <= length, length <= text.utf8.count else {
            return nil
        }
        let utf8 = text.utf8
        var (template, parts): ([UInt8], [JSONValue]) = ([], [])
        var position = utf8.startIndex
        var offset = 0
        func appendLiteral(to end: Int) {
            let next = utf8.index(position, offsetBy: end - offset)
            for byte in utf8[position..<next] {
                template.append(byte)
                if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "}") { template.append(byte) }
            }
            (position, offset) = (next, end)
        }
        for index in 0..<values.count {
            let (range, kind) = values[index]
            appendLiteral(to: range.lowerBound)
            let next = utf8.index(position, offsetBy: range.count)
            parts.append(part(String(text[position..<next]), kind))
            (position, offset) = (next, range.upperBound)
            template += "{}".utf8
            guard template.count <= templateLimit else { return nil }
        }
        guard length - offset <= templateLimit else { return nil }
        appendLiteral(to: length)
        guard template.count <= templateLimit else { return nil }
        return (String(decoding: template, as: UTF8.self), parts)
    }

    /// Returns a value as it is sent. A number that JSON cannot express is sent as text.
    private static func part(_ text: String, _ kind: Kind) -> JSONValue {
        guard kind == .scalar, let value = try? JSONValue(json: text) else { return .string(text) }
        switch value {
        case .number, .bool: return value
        case .integer(let number): return String(number) == text ? value : .string(text)
        case .null, .string, .array, .object: return .string(text)
        }
    }
}

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
    /// Hexadecimal digits after `0x`, or after `-0x` for a negative value.
    public static var hex: Self {
        Self { $0 < 0 ? "-0x\(String($0.magnitude, radix: 16))" : "0x\(String($0, radix: 16))" }
    }
}

extension IssueTextFormat where Value: BinaryFloatingPoint {
    /// A number with a fixed number of digits after the decimal point. An infinite or NaN value, or one whose digits
    /// without the point would form a number of 9e18 or more, is written like a `Double` that is interpolated
    /// into a `String`.
    ///
    /// - Parameter count: The number of digits. Limited to the range from 0 to 15.
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
        // Above this limit, a `Double` has no digits beyond the requested ones.
        guard value.isFinite, scaled < 9e18 else { return value.description }
        let digits = String(UInt64(scaled))
        let padded = String(repeating: "0", count: max(0, count + 1 - digits.utf8.count)) + digits
        let sign = value < 0 && scaled > 0 ? "-" : ""
        guard count > 0 else { return sign + padded }
        return "\(sign)\(padded.dropLast(count)).\(padded.suffix(count))"
    }
}
