/// Writes JSON, minified, into bytes that are kept and used again.
///
/// The caller keeps the grammar: keys only in objects, each container closed.
/// Commas are put in by the writer.
package struct JSONWriter: Sendable {
    package var bytes: [UInt8]
    private var needsComma = false

    package init(reserving capacity: Int = 0) {
        bytes = []
        bytes.reserveCapacity(capacity)
    }

    /// The text as a string.
    package var text: String { String(decoding: bytes, as: UTF8.self) }

    /// Starts again, keeping the memory.
    package mutating func clear() {
        bytes.removeAll(keepingCapacity: true)
        needsComma = false
    }

    /// Ends a text with a byte of its own, as NUL on the socket or a line feed in a file; another may follow.
    package mutating func endText(with byte: UInt8) {
        bytes.append(byte)
        needsComma = false
    }

    // MARK: Containers

    package mutating func object(_ members: (inout JSONWriter) -> Void) {
        openObject()
        members(&self)
        closeObject()
    }

    package mutating func array(_ elements: (inout JSONWriter) -> Void) {
        openArray()
        elements(&self)
        closeArray()
    }

    package mutating func openObject() {
        separate()
        bytes.append(UInt8(ascii: "{"))
        needsComma = false
    }

    package mutating func closeObject() {
        bytes.append(UInt8(ascii: "}"))
        needsComma = true
    }

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

    /// A string whose UTF-8 lies in bytes; what is malformed becomes U+FFFD.
    package mutating func string(utf8 value: [UInt8]) {
        string(String(decoding: value, as: UTF8.self))
    }

    /// A value that is JSON already.
    package mutating func raw(_ json: [UInt8]) {
        separate()
        bytes.append(contentsOf: json)
        needsComma = true
    }

    /// A value that is JSON already.
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
