/// Reads JSON (RFC 8259) from bytes, value by value, without building anything.
///
/// Strict: UTF-8 must be well-formed, surrogates paired, control characters
/// escaped, nesting and the number of keys bounded. Keys that come twice are
/// both seen; whoever reads an object decides (ours take the last one).
/// A failed scanner is of no further use.
public struct JSONScanner: ~Escapable {
    /// What is read.
    public let bytes: Span<UInt8>
    /// How many bytes were read; nobody but the scanner moves it.
    public var position: Int
    @usableFromInline var depth = 0
    @usableFromInline var keys = 0
    @usableFromInline let maximumDepth: Int
    @usableFromInline let maximumKeys: Int
    /// Whether a value stands before the position in the container that is open, so that a comma must come next.
    @usableFromInline var followsValue = false

    /// What a record may have, and what stands around it in an answer.
    package static let defaultDepth = 48
    /// A text's place is kept in 32 bits, one of them for its escapes.
    private static let maxBytes = Int(Int32.max)

    @_lifetime(copy bytes)
    package init(
        _ bytes: Span<UInt8>, from position: Int = 0, maximumDepth: Int = JSONScanner.defaultDepth,
        maximumKeys: Int = .max
    ) {
        precondition(bytes.count <= Self.maxBytes, "Bytes that are scanned are fewer than 2 GiB")
        self.bytes = bytes
        self.position = position
        self.maximumDepth = maximumDepth
        self.maximumKeys = maximumKeys
    }

    /// Begins where the value of an object's member stands, with the object open around it.
    @_lifetime(copy bytes)
    package init(
        _ bytes: Span<UInt8>, atMemberValue position: Int, maximumDepth: Int = JSONScanner.defaultDepth,
        maximumKeys: Int = .max
    ) {
        self.init(bytes, from: position, maximumDepth: maximumDepth, maximumKeys: maximumKeys)
        depth = 1
    }

    /// Passes white space and answers which kind of value follows.
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

    /// Enters an object; then ask for its members until there is none.
    @inlinable @inline(__always)
    public mutating func openObject() throws(JSONError) {
        try open(UInt8(ascii: "{"))
    }

    /// Enters an array; then ask for its elements until there is none.
    @inlinable @inline(__always)
    public mutating func openArray() throws(JSONError) {
        try open(UInt8(ascii: "["))
    }

    /// The key of the object's next member, whose value must be read or skipped next; nothing when the object ends
    /// here.
    @inlinable @inline(__always)
    public mutating func nextMember() throws(JSONError) -> JSONText? {
        guard let key = plainKey() else { return passPlainEnd() ? nil : try nextMemberInAnyForm() }
        try countKey()
        return key
    }

    /// Passes an object that is known to be one, of so many bytes and keys; nothing is passed where it has too many.
    @inlinable @inline(__always)
    public mutating func passObject(_ count: Int, keys more: Int) -> Bool {
        guard keys &+ more <= maximumKeys else { return false }
        keys &+= more
        position &+= count
        followsValue = true
        return true
    }

    /// Passes keys and values that were passed before and end with a key, where they stand again just so behind a
    /// value.
    @inlinable @inline(__always)
    public mutating func passMembers(_ before: Span<UInt8>) -> Bool {
        guard followsValue, !before.isEmpty, position &+ before.count <= bytes.count,
            bytes.equals(from: position, before, from: 0, count: before.count)
        else { return false }
        position &+= before.count
        followsValue = false
        return true
    }

    /// How many keys were met since they are counted.
    package var keyCount: Int { keys }

    /// Whether the array has another element, which must be read or skipped next.
    @inlinable @inline(__always)
    public mutating func nextElement() throws(JSONError) -> Bool {
        try next(orEnd: UInt8(ascii: "]"))
    }

    // MARK: Scalars

    /// A string's contents.
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

    /// A 64-bit integer.
    @inlinable @inline(__always)
    public mutating func integer() throws(JSONError) -> Int64 {
        if let value = plainInteger() { return value }
        let number = try number()
        guard let value = number.integer else { throw .notAnInteger(at: number.start) }
        return value
    }

    /// A number: where it stands, and its value when it is a 64-bit integer without fraction or exponent.
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

    /// Passes a `null` and says so, or stays and says that something else is there.
    @inlinable @inline(__always)
    public mutating func null() throws(JSONError) -> Bool {
        guard try peek() == UInt8(ascii: "n") else { return false }
        try nullWord()
        return true
    }

    // MARK: Whole values

    /// Passes one value of any kind, checking all of it, and answers where it stands.
    package mutating func skipValue() throws(JSONError) -> Range<Int> {
        _ = try peek()
        let start = position
        try skip()
        return start..<position
    }

    /// Passes one value that may hold more and nest deeper than the limits allow; its nesting costs memory, not stack.
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
            if open.last == UInt8(ascii: "}") { try passKey() }
        } while !open.isEmpty
    }

    /// Counts keys from here on.
    package mutating func startCountingKeys() {
        keys = 0
    }

    /// Fails when anything but white space follows.
    package mutating func end() throws(JSONError) {
        skipSpace()
        guard position == bytes.count else { throw .trailingBytes(at: position) }
    }
}

extension JSONScanner {
    /// The key that a text is, its escapes resolved.
    ///
    /// It changes nothing. But where a scanner is lent to be changed, asking it
    /// what changes nothing would copy it, for each key anew.
    @inlinable @inline(__always)
    public mutating func key(_ text: JSONText) -> JSONKey {
        guard text.hasEscapes else { return JSONKey(bytes, from: text.start, to: text.end) }
        return unescapedKey(text)
    }

    /// The text as a string, its escapes resolved.
    package func string(_ text: JSONText) -> String {
        if !text.hasEscapes, let utf8 = try? UTF8Span(validating: bytes.extracting(text.start..<text.end)) {
            return String(copying: utf8)
        }
        var resolved = ByteBuffer()
        append(text, to: &resolved)
        return String(decoding: resolved[0..<resolved.count], as: UTF8.self)
    }

    /// Appends the text's UTF-8, its escapes resolved.
    @inlinable @inline(__always)
    public func append(_ text: JSONText, to output: inout ByteBuffer) {
        if text.hasEscapes {
            appendUnescaped(text, to: &output)
        } else {
            output.append(bytes, from: text.start, to: text.end)
        }
    }

    /// Appends a part of the bytes as they stand.
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

    /// Appends the scalar whose escape, or pair of escapes, starts at a backslash, and answers where it ends.
    private func appendScalar(at backslash: Int, to output: inout ByteBuffer) -> Int {
        // The text was checked when it was read, so neither of these can fail.
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

/// Why bytes are no JSON, or not the JSON that was asked for.
public enum JSONError: Error, Equatable, Sendable {
    /// The bytes end before the value does.
    case truncated
    /// A byte that can't stand where it stands.
    case unexpectedByte(at: Int)
    /// Bytes that are no UTF-8.
    case invalidUTF8(at: Int)
    /// An escape that JSON does not know, or half of a surrogate pair.
    case invalidEscape(at: Int)
    case tooDeep(limit: Int)
    case tooManyKeys(limit: Int)
    /// A well-formed value of another type than the one that was asked for.
    case wrongType(at: Int)
    /// An integer that does not fit into 64 bits, or a number with a fraction where an integer was asked for.
    case notAnInteger(at: Int)
    /// Something follows where the value should be all.
    case trailingBytes(at: Int)
}

extension JSONError: CustomStringConvertible {
    /// What is wrong, and where.
    public var description: String {
        switch self {
        case .truncated: "the JSON text ends too early"
        case .unexpectedByte(let position): "the byte at offset \(position) can't stand there in JSON"
        case .invalidUTF8(let position): "the bytes at offset \(position) are no UTF-8"
        case .invalidEscape(let position): "the escape at offset \(position) is none that JSON knows"
        case .tooDeep(let limit): "the JSON text is nested deeper than \(limit)"
        case .tooManyKeys(let limit): "the JSON text has more than \(limit) keys"
        case .wrongType(let position): "the value at offset \(position) has another type than expected"
        case .notAnInteger(let position): "the number at offset \(position) is no 64-bit integer"
        case .trailingBytes(let position): "something follows the JSON text at offset \(position)"
        }
    }
}

/// Which kind of value begins at a byte.
package enum JSONKind: Equatable, Sendable {
    case null
    case bool
    case number
    case string
    case array
    case object
}

/// One of the words that stand for a value, as the bytes that are compared at once.
struct JSONConstant {
    /// The letters, the first of them lowest.
    let letters: UInt64
    let count: Int

    static let `true` = JSONConstant(letters: 0x6575_7274, count: 4)
    static let `false` = JSONConstant(letters: 0x65_736C_6166, count: 5)
    static let null = JSONConstant(letters: 0x6C6C_756E, count: 4)

    @inline(__always)
    var mask: UInt64 { (1 << UInt64(8 * count)) - 1 }
}
