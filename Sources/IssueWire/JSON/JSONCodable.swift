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
        do {
            try scanner.end()
        } catch {
            throw FieldError(error, expected: "a single value")
        }
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
        do {
            try scanner.openArray()
        } catch {
            throw FieldError(error, expected: "a list")
        }
        while try Self.hasNext(in: &scanner) {
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

    private static func hasNext(in scanner: inout JSONScanner) throws(FieldError) -> Bool {
        do {
            return try scanner.nextElement()
        } catch {
            throw FieldError(error, expected: "a list")
        }
    }
}

extension Int64: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        do {
            self = try scanner.integer()
        } catch {
            throw FieldError(error, expected: "an integer")
        }
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
        do {
            self = scanner.string(try scanner.text())
        } catch {
            throw FieldError(error, expected: "a string")
        }
    }

    package func write(to writer: inout JSONWriter) { writer.string(self) }
}

extension Bool: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        do {
            self = try scanner.bool()
        } catch {
            throw FieldError(error, expected: "true or false")
        }
    }

    package func write(to writer: inout JSONWriter) { writer.bool(self) }
}

extension IssueTimestamp: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        let time: IssueTimestamp?
        do {
            let text = try scanner.text()
            // No form of a time needs an escape, but a writer may still use one.
            time = text.hasEscapes ? IssueTimestamp(scanner.string(text)) : scanner.timestamp(text)
        } catch {
            throw FieldError(error, expected: "an RFC 3339 time")
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
    fileprivate func timestamp(_ text: JSONText) -> IssueTimestamp? {
        IssueTimestamp(bytes, from: text.start, to: text.end)
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
