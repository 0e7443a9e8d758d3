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

extension Timestamp: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        let time: Timestamp?
        do {
            let text = try scanner.text()
            // No form of a time needs an escape, but a writer may use one.
            time = text.hasEscapes ? Timestamp(scanner.string(text)) : scanner.timestamp(text)
        } catch {
            throw FieldError(error, expected: "a time as RFC 3339 has it")
        }
        guard let time else {
            throw FieldError(reason: "must be a time as RFC 3339 has it, such as 2026-11-21T10:00:00.123Z")
        }
        self = time
    }

    package func write(to writer: inout JSONWriter) { writer.string(text) }
}

extension Duration: JSONCodable {
    /// Reads a number of milliseconds, which can't be negative.
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        let milliseconds = try Int64(from: &scanner)
        guard milliseconds >= 0 else { throw FieldError(reason: "must not be negative") }
        self = .milliseconds(milliseconds)
    }

    package func write(to writer: inout JSONWriter) { writer.integer(wholeMilliseconds) }
}

extension JSONScanner {
    fileprivate func timestamp(_ text: JSONText) -> Timestamp? {
        Timestamp(bytes, from: text.start, to: text.end)
    }
}
