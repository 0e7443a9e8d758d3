/// A value with a form in JSON.
///
/// Readers ignore members they do not know, take a `null` for an absent member,
/// and the last of several members with one key. Writers leave absent values
/// out.
package protocol JSONCodable {
    /// Reads the value that comes next.
    init(from scanner: inout JSONScanner) throws(FieldError)

    func write(to writer: inout JSONWriter)
}

extension JSONCodable {
    /// Reads the value that some bytes are, with nothing but white space around it.
    package init(json: Span<UInt8>) throws(FieldError) {
        var scanner = JSONScanner(json)
        try self.init(from: &scanner)
        do {
            try scanner.end()
        } catch {
            throw FieldError(error, expected: "all there is")
        }
    }

    /// Reads the value that some bytes are, with nothing but white space around it.
    package init(json: [UInt8]) throws(FieldError) {
        try self.init(json: json.span)
    }

    /// Reads the value that a text is.
    package init(json: String) throws(FieldError) {
        try self.init(json: Array(json.utf8).span)
    }

    /// Reads what was read as any JSON before.
    package init(json: JSONValue) throws(FieldError) {
        try self.init(json: json.json.span)
    }

    /// The value in JSON.
    package var json: [UInt8] {
        var writer = JSONWriter()
        write(to: &writer)
        return writer.bytes
    }
}
