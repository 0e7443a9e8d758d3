/// Writes compact JSON into an array of bytes.
///
/// The writer inserts commas. The caller is responsible for the rest of the grammar: keys only in objects, and every
/// container closed.
package struct JSONWriter: Sendable {
    package var bytes: [UInt8]
    private var needsComma = false

    /// Creates a writer.
    ///
    /// - Parameter capacity: The number of bytes to reserve memory for.
    package init(reserving capacity: Int = 0) {
        bytes = []
        bytes.reserveCapacity(capacity)
    }

    /// The text as a string.
    package var text: String { String(decoding: bytes, as: UTF8.self) }

    /// Ends a text with a delimiter, such as NUL on the socket or a line feed in a file. Another text may follow.
    package mutating func endText(with byte: UInt8) {
        bytes.append(byte)
        needsComma = false
    }

    // MARK: Containers

    /// Writes an object. The closure writes its members.
    package mutating func object(_ members: (inout JSONWriter) -> Void) {
        openObject()
        members(&self)
        closeObject()
    }

    /// Writes an array. The closure writes its elements.
    package mutating func array(_ elements: (inout JSONWriter) -> Void) {
        openArray()
        elements(&self)
        closeArray()
    }

    /// Begins an object, which must be closed with ``closeObject()``.
    package mutating func openObject() {
        separate()
        bytes.append(UInt8(ascii: "{"))
        needsComma = false
    }

    package mutating func closeObject() {
        bytes.append(UInt8(ascii: "}"))
        needsComma = true
    }

    /// Begins an array, which must be closed with ``closeArray()``.
    package mutating func openArray() {
        separate()
        bytes.append(UInt8(ascii: "["))
        needsComma = false
    }

    package mutating func closeArray() {
        bytes.append(UInt8(ascii: "]"))
        needsComma = true
    }

    // MARK: Values

    /// Writes the key of a member. Its value must follow.
    package mutating func key(_ key: String) {
        string(key)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    package mutating func null() { raw("null") }
    package mutating func bool(_ value: Bool) { raw(value ? "true" : "false") }

    package mutating func integer(_ value: Int64) {
        separate()
        Self.append(value, to: &bytes)
        needsComma = true
    }

    /// Writes a string, escaped as necessary.
    package mutating func string(_ value: String) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        if Self.needsEscape(value.utf8.span) {
            Self.append(escaped: value.utf8.span, to: &bytes)
        } else {
            bytes.append(contentsOf: value.utf8)
        }
        bytes.append(UInt8(ascii: "\""))
        needsComma = true
    }

    /// Writes a value that is JSON already.
    package mutating func raw(_ json: [UInt8]) {
        separate()
        bytes.append(contentsOf: json)
        needsComma = true
    }

    /// Writes a value that is JSON already.
    package mutating func raw(_ json: String) {
        separate()
        bytes.append(contentsOf: json.utf8)
        needsComma = true
    }

    package mutating func value(_ value: JSONValue) {
        switch value {
        case .null: null()
        case .bool(let flag): bool(flag)
        case .integer(let number): integer(number)
        case .number(let spelling): raw(spelling)
        case .string(let text): string(text)
        case .array(let elements):
            openArray()
            for element in elements { self.value(element) }
            closeArray()
        case .object(let members):
            openObject()
            for member in members {
                key(member.key)
                self.value(member.value)
            }
            closeObject()
        }
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
    }
}

extension JSONWriter {
    /// Writes a member.
    @inlinable
    package mutating func member(_ key: String, _ value: some JSONCodable) {
        self.key(key)
        value.write(to: &self)
    }

    /// Writes a member unless its value is nil.
    @inlinable
    package mutating func member<Value: JSONCodable>(_ key: String, ifPresent value: Value?) {
        if let value { member(key, value) }
    }
}

extension JSONWriter {
    /// Appends UTF-8 as the contents of a JSON string, escaped as necessary.
    package static func append(escaped text: Span<UInt8>, to output: inout [UInt8]) {
        output.reserveRoom(for: text.count)
        for index in text.indices {
            let byte = text[index]
            if byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
                output.append(byte)
            } else {
                appendEscape(of: byte, to: &output)
            }
        }
    }

    /// Returns `true` if a text needs escapes in a JSON string.
    static func needsEscape(_ text: Span<UInt8>) -> Bool {
        var index = text.scan(from: 0, to: text.count) { ByteMask.escapes(in: $0) }
        while index < text.count {
            let byte = text[index]
            if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { return true }
            index += 1
        }
        return false
    }

    /// Appends an integer in decimal notation.
    package static func append(_ value: Int64, to output: inout [UInt8]) {
        if value < 0 { output.append(UInt8(ascii: "-")) }
        var rest = value.magnitude
        var divisor: UInt64 = 1
        while rest / divisor >= 10 { divisor *= 10 }
        while divisor > 0 {
            output.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest / divisor))
            rest %= divisor
            divisor /= 10
        }
    }

    private static func appendEscape(of byte: UInt8, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\\"))
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): output.append(byte)
        case 0x0A: output.append(UInt8(ascii: "n"))
        case 0x0D: output.append(UInt8(ascii: "r"))
        case 0x09: output.append(UInt8(ascii: "t"))
        default:
            output.append(contentsOf: "u00".utf8)
            for nibble in [byte >> 4, byte & 15] {
                output.append(nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10)
            }
        }
    }
}
