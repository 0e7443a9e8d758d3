/// Any JSON value. Members keep their order.
package enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    /// A number that is not spelled as a 64-bit integer. The spelling is kept, so that no precision is lost.
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([Member])

    /// A key with its value.
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
    /// The value of the last member with a key; nil if there is none, or if this is not an object.
    package subscript(key: String) -> JSONValue? {
        asObject?.last { $0.key == key }?.value
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

    /// The number rounded to a double; infinite if it is too large, nil if this is not a number.
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

    /// Creates a floating-point number. Infinity and NaN, which JSON cannot represent, become strings.
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

    /// Parses JSON text that contains a single value.
    package init(json: Span<UInt8>, maximumDepth: Int = JSONScanner.defaultDepth) throws(JSONError) {
        var scanner = JSONScanner(json, maximumDepth: maximumDepth)
        self = try Self.next(in: &scanner)
        try scanner.end()
    }

    /// Parses JSON text that contains a single value.
    package init(json: [UInt8], maximumDepth: Int = JSONScanner.defaultDepth) throws(JSONError) {
        try self.init(json: json.span, maximumDepth: maximumDepth)
    }

    /// Parses JSON text that contains a single value.
    package init(json: String, maximumDepth: Int = JSONScanner.defaultDepth) throws(JSONError) {
        try self.init(json: Array(json.utf8), maximumDepth: maximumDepth)
    }

    /// Reads the next value. The scanner limits the depth, and so the recursion.
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
