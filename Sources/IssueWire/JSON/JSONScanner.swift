/// Reads JSON (RFC 8259) from bytes, value by value, without building a tree.
///
/// The scanner is strict. UTF-8 must be well-formed, surrogates paired, and control characters escaped. The depth of
/// nesting is limited. The number of keys is limited too, if the caller wishes. Duplicate keys are all returned, and the
/// reader of an object decides which one counts (the readers of this package take the last one). A scanner that has
/// thrown an error must not be used again, unless it is rewound.
public struct JSONScanner: ~Escapable {
    /// The bytes to read.
    public let bytes: Span<UInt8>
    /// The index of the next byte. Only the scanner itself may change it.
    public var position: Int
    @usableFromInline var depth = 0
    @usableFromInline var keys = 0
    @usableFromInline let maximumDepth: Int
    @usableFromInline let maximumKeys: Int
    /// Whether a value of the open container was read last, so that a comma or the closing bracket must come next.
    @usableFromInline var followsValue = false

    /// The default maximum depth: the largest value of `MaxDepth=` (256), plus levels for the reply around a record.
    package static let defaultDepth = 272
    /// The maximum number of bytes, because a ``JSONText`` stores offsets of 31 bits.
    private static let maxBytes = Int(Int32.max)

    /// Creates a scanner.
    ///
    /// - Parameters:
    ///   - bytes: The bytes to read; less than 2 GiB.
    ///   - position: The index at which to begin.
    ///   - maximumDepth: The maximum nesting of arrays and objects.
    ///   - maximumKeys: The maximum of ``keyCount``.
    @_lifetime(copy bytes)
    package init(
        _ bytes: Span<UInt8>, from position: Int = 0, maximumDepth: Int = JSONScanner.defaultDepth,
        maximumKeys: Int = .max
    ) {
        precondition(bytes.count <= Self.maxBytes, "The bytes must be less than 2 GiB")
        self.bytes = bytes
        self.position = position
        self.maximumDepth = maximumDepth
        self.maximumKeys = maximumKeys
    }

    /// Creates a scanner that starts at the value of a member of an object, as if the object were open.
    @_lifetime(copy bytes)
    package init(
        _ bytes: Span<UInt8>, atMemberValue position: Int, maximumDepth: Int = JSONScanner.defaultDepth,
        maximumKeys: Int = .max
    ) {
        self.init(bytes, from: position, maximumDepth: maximumDepth, maximumKeys: maximumKeys)
        depth = 1
    }

    /// Skips whitespace and returns the kind of the next value.
    package mutating func kind() throws(JSONError) -> JSONKind {
        switch try peek() {
        case UInt8(ascii: "\""): return .string
        case UInt8(ascii: "{"): return .object
        case UInt8(ascii: "["): return .array
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number
        case UInt8(ascii: "t"), UInt8(ascii: "f"): return .bool
        case UInt8(ascii: "n"): return .null
        default: throw .unexpectedByte(at: position)
        }
    }

    // MARK: Containers

    /// Enters an object. Call ``nextMember()`` until it returns nil.
    ///
    /// - Throws: `JSONError` if the next value is not an object, or is nested too deeply.
    @inlinable @inline(__always)
    public mutating func openObject() throws(JSONError) {
        try open(UInt8(ascii: "{"))
    }

    /// Enters an array. Call ``nextElement()`` until it returns `false`.
    ///
    /// - Throws: `JSONError` if the next value is not an array, or is nested too deeply.
    @inlinable @inline(__always)
    public mutating func openArray() throws(JSONError) {
        try open(UInt8(ascii: "["))
    }

    /// Returns the key of the object's next member. The member's value must be read or skipped next.
    ///
    /// - Returns: nil at the end of the object.
    /// - Throws: `JSONError` if the text is malformed or has too many keys.
    @inlinable @inline(__always)
    public mutating func nextMember() throws(JSONError) -> JSONText? {
        guard let key = plainKey() else { return skipPlainEnd() ? nil : try nextMemberInAnyForm() }
        try countKey()
        return key
    }

    /// Skips the object at the current position, whose size and number of keys are known.
    ///
    /// - Parameters:
    ///   - count: The number of bytes of the object.
    ///   - more: The number of keys in the object, including those of nested objects.
    /// - Returns: `false`, without skipping the object, if its keys would exceed the maximum number.
    @inlinable @inline(__always)
    public mutating func skipObject(_ count: Int, keys more: Int) -> Bool {
        guard keys &+ more <= maximumKeys else { return false }
        keys &+= more
        position &+= count
        followsValue = true
        return true
    }

    /// Skips the next bytes if they follow a value and are equal to `before`. Does not count their keys.
    ///
    /// With this, a caller need not parse members that are the same in each text.
    ///
    /// - Parameter before: Bytes of an earlier text, from the comma after a value to the colon of a later key.
    /// - Returns: `false`, without skipping anything, if the next bytes are different or do not follow a value, or if
    ///   `before` is empty.
    @inlinable @inline(__always)
    public mutating func skipMembers(_ before: Span<UInt8>) -> Bool {
        guard followsValue, !before.isEmpty, position &+ before.count <= bytes.count,
            bytes.equals(from: position, before, from: 0, count: before.count)
        else { return false }
        position &+= before.count
        followsValue = false
        return true
    }

    /// The number of keys, in all objects together, that were counted since the count was last restarted.
    package var keyCount: Int { keys }

    /// Returns `true` if the array has another element, which must be read or skipped next.
    ///
    /// - Returns: `false` at the end of the array.
    /// - Throws: `JSONError` if the text is malformed.
    @inlinable @inline(__always)
    public mutating func nextElement() throws(JSONError) -> Bool {
        try next(orEnd: UInt8(ascii: "]"))
    }

    // MARK: Scalars

    /// Reads a string.
    ///
    /// - Returns: The position of its contents.
    /// - Throws: `JSONError` if the next value is not a well-formed string.
    @inlinable @inline(__always)
    public mutating func text() throws(JSONError) -> JSONText {
        guard try peek() == UInt8(ascii: "\"") else { throw mismatch() }
        let start = position &+ 1
        let end = plainEnd(from: start)
        guard end < bytes.count, bytes[end] == UInt8(ascii: "\"") else {
            return try textInAnyForm(from: start, at: end)
        }
        position = end &+ 1
        followsValue = true
        return JSONText(start: start, end: end, hasEscapes: false)
    }

    /// Reads a 64-bit integer.
    ///
    /// - Returns: The integer.
    /// - Throws: `JSONError` if the next value is not such an integer.
    @inlinable @inline(__always)
    public mutating func integer() throws(JSONError) -> Int64 {
        if let value = plainInteger() { return value }
        let number = try number()
        guard let value = number.integer else { throw .notAnInteger(at: number.start) }
        return value
    }

    /// Reads a number. Returns its position, and its value if it is a 64-bit integer without fraction or exponent.
    @usableFromInline
    package mutating func number() throws(JSONError) -> (start: Int, end: Int, integer: Int64?) {
        let first = try peek()
        let isNegative = first == UInt8(ascii: "-")
        guard isNegative || Self.isDigit(first) else { throw mismatch() }
        let start = position
        var index = isNegative ? start + 1 : start
        guard index < bytes.count else { throw .truncated }
        guard Self.isDigit(bytes[index]) else { throw .unexpectedByte(at: index) }
        var value: Int64? = 0
        if bytes[index] == UInt8(ascii: "0") {
            index += 1
        } else {
            while index < bytes.count, Self.isDigit(bytes[index]) {
                value = Self.appending(bytes[index], to: value, isNegative: isNegative)
                index += 1
            }
        }
        if index < bytes.count, bytes[index] == UInt8(ascii: ".") {
            value = nil
            index = try digitsEnd(from: index + 1)
        }
        if index < bytes.count, bytes[index] | 0x20 == UInt8(ascii: "e") {
            value = nil
            index += 1
            if index < bytes.count, bytes[index] == UInt8(ascii: "+") || bytes[index] == UInt8(ascii: "-") {
                index += 1
            }
            index = try digitsEnd(from: index)
        }
        position = index
        followsValue = true
        return (start, index, value)
    }

    /// Reads `true` or `false`.
    package mutating func bool() throws(JSONError) -> Bool {
        switch try peek() {
        case UInt8(ascii: "t"):
            try word(.true)
            return true
        case UInt8(ascii: "f"):
            try word(.false)
            return false
        default: throw mismatch()
        }
    }

    /// Skips a `null` if it comes next.
    ///
    /// - Returns: `false`, without skipping the value, if it does not begin with `n`.
    /// - Throws: `JSONError` if the text ends, or if a value that begins with `n` is not `null`.
    @inlinable @inline(__always)
    public mutating func null() throws(JSONError) -> Bool {
        guard try peek() == UInt8(ascii: "n") else { return false }
        try nullWord()
        return true
    }

    // MARK: Whole values

    /// Skips one value of any kind, checking all of it, and returns its range.
    package mutating func skipValue() throws(JSONError) -> Range<Int> {
        _ = try peek()
        let start = position
        try skip()
        return start..<position
    }

    /// Skips one value that may exceed the limits on keys and depth. Deep nesting takes heap memory, not stack.
    package mutating func skipValueOfAnySize() throws(JSONError) {
        var open: [UInt8] = []
        repeat {
            switch try kind() {
            case .string: _ = try text()
            case .number: _ = try number()
            case .bool: _ = try bool()
            case .null: _ = try null()
            case .array, .object:
                open.append(bytes[position] + 2)
                position += 1
                depth += 1
                followsValue = false
            }
            while let bracket = open.last, try !next(orEnd: bracket) { open.removeLast() }
            if open.last == UInt8(ascii: "}") { try readKey() }
        } while !open.isEmpty
    }

    /// Restarts the count of keys at zero.
    package mutating func startCountingKeys() {
        keys = 0
    }

    /// A position that a scanner can be rewound to.
    package struct Mark {
        fileprivate let position: Int
        fileprivate let depth: Int
        fileprivate let followsValue: Bool
    }

    /// Restarts the count of keys at zero, and returns the current position.
    ///
    /// Copying the scanner would be slower: a copy loads several fields at once that have just been written one by one,
    /// so the processor waits until the writes are complete. With 300 series in calls of 50 records, waiting took 5 %
    /// of the daemon's processor time.
    package mutating func startCountingKeysAndMark() -> Mark {
        keys = 0
        return Mark(position: position, depth: depth, followsValue: followsValue)
    }

    /// Returns to a mark, even after an error, and restarts the count of keys at zero.
    package mutating func rewind(to mark: Mark) {
        (position, depth, followsValue) = (mark.position, mark.depth, mark.followsValue)
        keys = 0
    }

    /// Throws if anything but whitespace follows.
    package mutating func end() throws(JSONError) {
        skipSpace()
        guard position == bytes.count else { throw .trailingBytes(at: position) }
    }
}

extension JSONScanner {
    /// Returns the key that a text contains, with its escapes resolved.
    ///
    /// This method changes nothing. It is `mutating` because calling a nonmutating method on an `inout` scanner would
    /// copy the scanner for each key.
    ///
    /// - Parameter text: The position of the text.
    /// - Returns: The key.
    @inlinable @inline(__always)
    public mutating func key(_ text: JSONText) -> JSONKey {
        guard text.hasEscapes else { return JSONKey(bytes, from: text.start, to: text.end) }
        return unescapedKey(text)
    }

    /// Returns the text as a string, with its escapes resolved.
    package func string(_ text: JSONText) -> String {
        if !text.hasEscapes, let utf8 = try? UTF8Span(validating: bytes.extracting(text.start..<text.end)) {
            return String(copying: utf8)
        }
        var resolved = ByteBuffer()
        append(text, to: &resolved)
        return String(decoding: resolved[0..<resolved.count], as: UTF8.self)
    }

    /// Appends the text as UTF-8, with its escapes resolved.
    ///
    /// - Parameters:
    ///   - text: The position of the text.
    ///   - output: The buffer to append to.
    @inlinable @inline(__always)
    public func append(_ text: JSONText, to output: inout ByteBuffer) {
        if text.hasEscapes {
            appendUnescaped(text, to: &output)
        } else {
            output.append(bytes, from: text.start, to: text.end)
        }
    }

    /// Appends a range of the bytes unchanged.
    ///
    /// - Parameters:
    ///   - range: The range of the bytes.
    ///   - output: The buffer to append to.
    @inlinable @inline(__always)
    public func append(_ range: Range<Int>, to output: inout ByteBuffer) {
        output.append(bytes, from: range.lowerBound, to: range.upperBound)
    }

    @usableFromInline
    func unescapedKey(_ text: JSONText) -> JSONKey {
        var resolved = ByteBuffer()
        appendUnescaped(text, to: &resolved)
        return JSONKey(resolved.span, from: 0, to: resolved.count)
    }

    @usableFromInline
    func appendUnescaped(_ text: JSONText, to output: inout ByteBuffer) {
        var index = text.start
        while index < text.end {
            let byte = bytes[index]
            guard byte == UInt8(ascii: "\\") else {
                output.append(byte)
                index += 1
                continue
            }
            switch bytes[index + 1] {
            case UInt8(ascii: "b"): output.append(0x08)
            case UInt8(ascii: "f"): output.append(0x0C)
            case UInt8(ascii: "n"): output.append(0x0A)
            case UInt8(ascii: "r"): output.append(0x0D)
            case UInt8(ascii: "t"): output.append(0x09)
            case UInt8(ascii: "u"):
                index = appendScalar(at: index, to: &output)
                continue
            case let other: output.append(other)
            }
            index += 2
        }
    }

    /// Appends the scalar that a `\u` escape or a surrogate pair represents, and returns the index after the escapes.
    private func appendScalar(at backslash: Int, to output: inout ByteBuffer) -> Int {
        // The text was validated when it was read, so `codeUnit` cannot fail.
        let unit = (try? codeUnit(at: backslash)) ?? 0xFFFD
        var value = unit
        var end = backslash + 6
        if case 0xD800...0xDBFF = unit {
            let low = (try? codeUnit(at: end)) ?? 0xDC00
            value = 0x10000 + ((unit - 0xD800) << 10 | (low - 0xDC00))
            end += 6
        }
        output.append(contentsOf: String(Unicode.Scalar(value) ?? "\u{FFFD}").utf8)
        return end
    }
}

/// The position of a text in scanned bytes: a validated string without its quotation marks, or a number.
///
/// Takes only eight bytes, since decoding a record creates about a dozen of these values. The highest bit of `upper` is
/// set if there are escapes. The scanned bytes must be less than 2 GiB.
public struct JSONText: Equatable, Sendable {
    @usableFromInline let lower: UInt32
    @usableFromInline let upper: UInt32

    /// Creates the position of a text.
    ///
    /// - Parameters:
    ///   - start: The index of its first byte.
    ///   - end: The index after its last byte.
    ///   - hasEscapes: `true` if it contains escapes.
    @inlinable @inline(__always)
    public init(start: Int, end: Int, hasEscapes: Bool) {
        lower = UInt32(truncatingIfNeeded: start)
        upper = UInt32(truncatingIfNeeded: end) | (hasEscapes ? 0x8000_0000 : 0)
    }

    /// The index of its first byte.
    @inlinable @inline(__always)
    public var start: Int { Int(lower) }

    /// The index after its last byte.
    @inlinable @inline(__always)
    public var end: Int { Int(upper & 0x7FFF_FFFF) }

    /// Whether the text contains escapes, which the reader must resolve.
    @inlinable @inline(__always)
    public var hasEscapes: Bool { upper >> 31 != 0 }

    /// The number of bytes, with the escapes unresolved.
    @inlinable @inline(__always)
    public var count: Int { end &- start }
}

/// The reason why bytes are not JSON, or not the expected JSON.
public enum JSONError: Error, Equatable, Sendable {
    /// The bytes end before the value does.
    case truncated
    /// A byte that is not allowed at its position.
    case unexpectedByte(at: Int)
    /// Bytes that are not well-formed UTF-8.
    case invalidUTF8(at: Int)
    /// An invalid escape, or half of a surrogate pair.
    case invalidEscape(at: Int)
    case tooDeep(limit: Int)
    case tooManyKeys(limit: Int)
    /// A value of another type than expected, as determined from its first byte.
    case wrongType(at: Int)
    /// An integer that does not fit into 64 bits, or a number with a fraction or exponent where an integer was
    /// expected.
    case notAnInteger(at: Int)
    /// Bytes that follow the end of the value.
    case trailingBytes(at: Int)
}

extension JSONError: CustomStringConvertible {
    /// The reason and, if known, the position, for messages to the user.
    public var description: String {
        switch self {
        case .truncated: "the JSON text ends too early"
        case .unexpectedByte(let position): "the byte at offset \(position) is not allowed there in JSON"
        case .invalidUTF8(let position): "the bytes at offset \(position) are not valid UTF-8"
        case .invalidEscape(let position): "the escape at offset \(position) is invalid"
        case .tooDeep(let limit): "the JSON text is nested deeper than \(limit) levels"
        case .tooManyKeys(let limit): "the JSON text has more than \(limit) keys"
        case .wrongType(let position): "the value at offset \(position) has another type than expected"
        case .notAnInteger(let position): "the number at offset \(position) is not a 64-bit integer"
        case .trailingBytes(let position): "the JSON text is followed by other bytes at offset \(position)"
        }
    }
}

/// The kind of a JSON value, as determined from its first byte.
package enum JSONKind: Equatable, Sendable {
    case null
    case bool
    case number
    case string
    case array
    case object
}

/// One of the constants `true`, `false` and `null`.
struct JSONConstant {
    /// The letters, the first one in the lowest byte.
    let letters: UInt64
    let count: Int

    static let `true` = JSONConstant(letters: 0x6575_7274, count: 4)
    static let `false` = JSONConstant(letters: 0x65_736C_6166, count: 5)
    static let null = JSONConstant(letters: 0x6C6C_756E, count: 4)

    @inline(__always)
    var mask: UInt64 { (1 << UInt64(8 * count)) - 1 }
}
