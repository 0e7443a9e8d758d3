import IssueProtocol

/// A simple reader of JSON with one function per grammar rule. It shares no code with the product except the type of
/// its result, and checks the encoding of the whole text first.
struct PlainJSON {
    enum Failure: Error {
        case malformed
        /// The text is nested deeper than this reader supports.
        case tooDeep
    }

    private let bytes: [UInt8]
    private var index = 0
    /// The maximum depth of nested containers so far.
    private(set) var depth = 0
    private(set) var keys = 0
    private static let maxDepth = 300

    /// Returns the value of the text, its depth, and the number of its keys.
    static func value(_ bytes: [UInt8]) throws(Failure) -> (value: JSONValue, depth: Int, keys: Int) {
        guard String(validating: bytes, as: UTF8.self) != nil else { throw .malformed }
        var reader = PlainJSON(bytes: bytes)
        let value = try reader.value(depth: 0)
        reader.skipWhitespace()
        guard reader.index == bytes.count else { throw .malformed }
        return (value, reader.depth, reader.keys)
    }

    private init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    private mutating func value(depth: Int) throws(Failure) -> JSONValue {
        skipWhitespace()
        guard index < bytes.count else { throw .malformed }
        switch bytes[index] {
        case UInt8(ascii: "{"): return try object(depth: depth + 1)
        case UInt8(ascii: "["): return try array(depth: depth + 1)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try literal("true", .bool(true))
        case UInt8(ascii: "f"): return try literal("false", .bool(false))
        case UInt8(ascii: "n"): return try literal("null", .null)
        default: return try number()
        }
    }

    private mutating func enter(_ depth: Int) throws(Failure) {
        guard depth <= Self.maxDepth else { throw .tooDeep }
        self.depth = max(self.depth, depth)
        index += 1
        skipWhitespace()
    }

    private mutating func object(depth: Int) throws(Failure) -> JSONValue {
        try enter(depth)
        var members: [JSONValue.Member] = []
        if take("}") { return .object(members) }
        repeat {
            skipWhitespace()
            let key = try string()
            keys += 1
            skipWhitespace()
            guard take(":") else { throw .malformed }
            members.append(JSONValue.Member(key, try value(depth: depth)))
            skipWhitespace()
        } while take(",")
        guard take("}") else { throw .malformed }
        return .object(members)
    }

    private mutating func array(depth: Int) throws(Failure) -> JSONValue {
        try enter(depth)
        var elements: [JSONValue] = []
        if take("]") { return .array(elements) }
        repeat {
            elements.append(try value(depth: depth))
            skipWhitespace()
        } while take(",")
        guard take("]") else { throw .malformed }
        return .array(elements)
    }

    private mutating func string() throws(Failure) -> String {
        guard take("\"") else { throw .malformed }
        var units: [UInt8] = []
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: units, as: UTF8.self)
            case UInt8(ascii: "\\"): units.append(contentsOf: String(try escape()).utf8)
            case 0..<0x20: throw .malformed
            default: units.append(byte)
            }
        }
        throw .malformed
    }

    private mutating func escape() throws(Failure) -> Unicode.Scalar {
        guard index < bytes.count else { throw .malformed }
        let letter = bytes[index]
        index += 1
        let plain: [UInt8: Unicode.Scalar] = [
            0x22: "\"", 0x5C: "\\", 0x2F: "/", 0x62: "\u{8}", 0x66: "\u{C}", 0x6E: "\n", 0x72: "\r", 0x74: "\t",
        ]
        if let scalar = plain[letter] { return scalar }
        guard letter == UInt8(ascii: "u") else { throw .malformed }
        let first = try codeUnit()
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard first < 0xDC00, take("\\"), take("u") else { throw .malformed }
        let second = try codeUnit()
        guard (0xDC00...0xDFFF).contains(second) else { throw .malformed }
        let value = 0x10000 + (UInt32(first) - 0xD800) * 0x400 + (UInt32(second) - 0xDC00)
        guard let scalar = Unicode.Scalar(value) else { throw .malformed }
        return scalar
    }

    private mutating func codeUnit() throws(Failure) -> UInt16 {
        guard index + 4 <= bytes.count else { throw .malformed }
        let digits = bytes[index..<(index + 4)]
        index += 4
        guard digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
            let unit = UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw .malformed }
        return unit
    }

    private mutating func number() throws(Failure) -> JSONValue {
        let start = index
        _ = take("-")
        if !take("0") { try digits() }
        var isInteger = true
        if take(".") {
            isInteger = false
            try digits()
        }
        if take("e") || take("E") {
            isInteger = false
            _ = take("+") || take("-")
            try digits()
        }
        let spelling = String(decoding: bytes[start..<index], as: UTF8.self)
        if isInteger, let integer = Int64(spelling) { return .integer(integer) }
        return .number(spelling)
    }

    private mutating func digits() throws(Failure) {
        let start = index
        while index < bytes.count, (0x30...0x39).contains(bytes[index]) { index += 1 }
        guard index > start else { throw .malformed }
    }

    private mutating func literal(_ text: String, _ value: JSONValue) throws(Failure) -> JSONValue {
        guard bytes[index...].starts(with: text.utf8) else { throw .malformed }
        index += text.utf8.count
        return value
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard index < bytes.count, bytes[index] == UInt8(ascii: character) else { return false }
        index += 1
        return true
    }

    private mutating func skipWhitespace() {
        while index < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[index]) { index += 1 }
    }
}
