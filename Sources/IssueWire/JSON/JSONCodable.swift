/// A type with a JSON representation.
///
/// Readers ignore unknown members, treat `null` as absent, and use the last of several members with the same key.
/// Writers omit absent values.
package protocol JSONCodable {
    /// Reads the next value.
    init(from scanner: inout JSONScanner) throws(FieldError)

    func write(to writer: inout JSONWriter)
}

extension JSONCodable {
    /// Reads a value from JSON text that contains nothing else but white space.
    package init(json: Span<UInt8>) throws(FieldError) {
        var scanner = JSONScanner(json)
        try self.init(from: &scanner)
        try scanner.read("a single value") { scanner throws(JSONError) in try scanner.end() }
    }

    /// Reads a value from JSON text that contains nothing else but white space.
    package init(json: [UInt8]) throws(FieldError) {
        try self.init(json: json.span)
    }

    /// Reads a value from JSON text that contains nothing else but white space.
    package init(json: String) throws(FieldError) {
        try self.init(json: Array(json.utf8).span)
    }

    /// Reads a value from JSON that has been parsed already.
    package init(json: JSONValue) throws(FieldError) {
        try self.init(json: json.json.span)
    }

    /// The value as JSON.
    package var json: [UInt8] {
        var writer = JSONWriter()
        write(to: &writer)
        return writer.bytes
    }
}

extension Array: JSONCodable where Element: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        self.init()
        try scanner.read("a list") { scanner throws(JSONError) in try scanner.openArray() }
        while try scanner.read("a list", { scanner throws(JSONError) in try scanner.nextElement() }) {
            do {
                append(try Element(from: &scanner))
            } catch {
                throw error.inside(String(count))
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.openArray()
        for element in self { element.write(to: &writer) }
        writer.closeArray()
    }
}

extension Int64: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        self = try scanner.read("an integer") { scanner throws(JSONError) in try scanner.integer() }
    }

    package func write(to writer: inout JSONWriter) { writer.integer(self) }
}

extension JSONCodable where Self: FixedWidthInteger {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        let number = try Int64(from: &scanner)
        guard let value = Self(exactly: number) else {
            throw FieldError(reason: "must be between \(Self.min) and \(Self.max)")
        }
        self = value
    }

    package func write(to writer: inout JSONWriter) { writer.integer(Int64(self)) }
}

extension Int: JSONCodable {}
extension Int32: JSONCodable {}
extension UInt32: JSONCodable {}

extension String: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        self = try scanner.read("a string") { scanner throws(JSONError) in scanner.string(try scanner.text()) }
    }

    package func write(to writer: inout JSONWriter) { writer.string(self) }
}

extension Bool: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        self = try scanner.read("true or false") { scanner throws(JSONError) in try scanner.bool() }
    }

    package func write(to writer: inout JSONWriter) { writer.bool(self) }
}

extension IssueTimestamp: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        let time = try scanner.read("an RFC 3339 time") { scanner throws(JSONError) in
            IssueTimestamp(scanner.string(try scanner.text()))
        }
        guard let time else {
            throw FieldError(reason: "must be an RFC 3339 time, such as 2026-11-21T10:00:00.123Z")
        }
        self = time
    }

    package func write(to writer: inout JSONWriter) { writer.string(description) }
}

extension Duration: JSONCodable {
    /// Reads a number of milliseconds, which must not be negative.
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        let milliseconds = try Int64(from: &scanner)
        guard milliseconds >= 0 else { throw FieldError(reason: "must not be negative") }
        self = .milliseconds(milliseconds)
    }

    package func write(to writer: inout JSONWriter) { writer.integer(wholeMilliseconds) }
}

extension JSONScanner {
    /// Reads a value. An error states what was expected, with its article.
    mutating func read<Value>(
        _ expected: String, _ body: (inout JSONScanner) throws(JSONError) -> Value
    ) throws(FieldError) -> Value {
        do {
            return try body(&self)
        } catch {
            throw FieldError(error, expected: expected)
        }
    }
}

/// A type with a few named values that are strings in JSON.
package protocol JSONStringEnum: JSONCodable, CaseIterable {
    var name: String { get }
    init?(name: String)
}

extension JSONStringEnum {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        guard let word = Self(name: try String(from: &scanner)) else {
            throw FieldError(reason: "must be one of \(Self.allCases.map(\.name).joined(separator: ", "))")
        }
        self = word
    }

    package func write(to writer: inout JSONWriter) { writer.string(name) }
}

extension JSONStringEnum where Self: RawRepresentable<String> {
    package var name: String { rawValue }
    package init?(name: String) { self.init(rawValue: name) }
}
