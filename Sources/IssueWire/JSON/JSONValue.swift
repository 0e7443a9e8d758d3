/// Any JSON value, members in the order in which they came.
package enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    /// A number that is no 64-bit integer, in the spelling in which it came, so that nothing of it is lost.
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([Member])

    /// One key with its value.
    package struct Member: Hashable, Sendable {
        package var key: String
        package var value: JSONValue

        package init(_ key: String, _ value: JSONValue) {
            self.key = key
            self.value = value
        }
    }
}

extension JSONValue {
    /// The value of the last member with a key, where this is an object that has one.
    package subscript(key: String) -> JSONValue? {
        asObject?.last { $0.key == key }?.value
    }

    /// The object with one member set, in the place of all that have its key or behind the others; any other value
    /// becomes an object of that one member.
    package func with(_ key: String, _ value: JSONValue) -> JSONValue {
        var members = asObject ?? []
        guard let index = members.firstIndex(where: { $0.key == key }) else {
            return .object(members + [Member(key, value)])
        }
        members.removeAll { $0.key == key }
        members.insert(Member(key, value), at: index)
        return .object(members)
    }

    package var isNull: Bool { self == .null }

    package var asBool: Bool? {
        guard case .bool(let flag) = self else { return nil }
        return flag
    }

    package var asInteger: Int64? {
        guard case .integer(let number) = self else { return nil }
        return number
    }

    /// The number as near as floating point comes to it; infinite when it is too large.
    package var asDouble: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .number(let spelling): Double(spelling)
        case .null, .bool, .string, .array, .object: nil
        }
    }

    package var asString: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    package var asArray: [JSONValue]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }

    package var asObject: [Member]? {
        guard case .object(let members) = self else { return nil }
        return members
    }

    /// A floating-point number; one that JSON has no numeral for (infinite, or none at all) becomes its name.
    package init(_ value: Double) {
        self = value.isFinite ? .number("\(value)") : .string("\(value)")
    }
}

extension JSONValue: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        do {
            self = try Self.next(in: &scanner)
        } catch {
            throw FieldError(error, expected: "a value")
        }
    }

    package func write(to writer: inout JSONWriter) { writer.value(self) }

    /// Parses a text that is one value and nothing else.
    package init(json: Span<UInt8>, maximumDepth: Int = JSONScanner.defaultDepth) throws(JSONError) {
        var scanner = JSONScanner(json, maximumDepth: maximumDepth)
        self = try Self.next(in: &scanner)
        try scanner.end()
    }

    /// Parses a text that is one value and nothing else.
    package init(json: [UInt8], maximumDepth: Int = JSONScanner.defaultDepth) throws(JSONError) {
        try self.init(json: json.span, maximumDepth: maximumDepth)
    }

    /// Parses a text that is one value and nothing else.
    package init(json: String, maximumDepth: Int = JSONScanner.defaultDepth) throws(JSONError) {
        try self.init(json: Array(json.utf8), maximumDepth: maximumDepth)
    }

    /// The value that comes next; its nesting is bounded by the scanner, and so is this recursion.
    package static func next(in scanner: inout JSONScanner) throws(JSONError) -> JSONValue {
        switch try scanner.kind() {
        case .null:
            _ = try scanner.null()
            return .null
        case .bool: return .bool(try scanner.bool())
        case .number:
            let number = try scanner.number()
            if let integer = number.integer { return .integer(integer) }
            return .number(scanner.string(JSONText(start: number.start, end: number.end, hasEscapes: false)))
        case .string: return .string(scanner.string(try scanner.text()))
        case .array:
            var elements: [JSONValue] = []
            try scanner.openArray()
            while try scanner.nextElement() { elements.append(try next(in: &scanner)) }
            return .array(elements)
        case .object:
            var members: [Member] = []
            try scanner.openObject()
            while let key = try scanner.nextMember() {
                members.append(Member(scanner.string(key), try next(in: &scanner)))
            }
            return .object(members)
        }
    }
}

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    package init(nilLiteral: ()) { self = .null }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(integerLiteral value: Int64) { self = .integer(value) }
    package init(floatLiteral value: Double) { self.init(value) }
    package init(stringLiteral value: String) { self = .string(value) }
    package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    package init(dictionaryLiteral members: (String, JSONValue)...) {
        self = .object(members.map { Member($0.0, $0.1) })
    }
}

/// Where a string's contents lie between its quotation marks, already known to be well-formed.
///
/// Eight bytes, since a record is read as a dozen of them: the highest bit of
/// the end says whether there are escapes. Bytes that are scanned are fewer
/// than 2 GiB.
public struct JSONText: Equatable, Sendable {
    @usableFromInline let lower: UInt32
    @usableFromInline let upper: UInt32

    /// The text between two indexes.
    @inlinable @inline(__always)
    public init(start: Int, end: Int, hasEscapes: Bool) {
        lower = UInt32(truncatingIfNeeded: start)
        upper = UInt32(truncatingIfNeeded: end) | (hasEscapes ? 0x8000_0000 : 0)
    }

    /// The index of its first byte.
    @inlinable @inline(__always)
    public var start: Int { Int(lower) }

    /// The index behind its last byte.
    @inlinable @inline(__always)
    public var end: Int { Int(upper & 0x7FFF_FFFF) }

    /// Whether it is written with escapes, which its reader resolves.
    @inlinable @inline(__always)
    public var hasEscapes: Bool { upper >> 31 != 0 }

    /// The number of bytes, escapes as they were written.
    @inlinable @inline(__always)
    public var count: Int { end &- start }
}
