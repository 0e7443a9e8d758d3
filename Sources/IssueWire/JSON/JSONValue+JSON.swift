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
    package init(json: Span<UInt8>, maximumDepth: Int = JSONScanner.usualDepth) throws(JSONError) {
        var scanner = JSONScanner(json, maximumDepth: maximumDepth)
        self = try Self.next(in: &scanner)
        try scanner.end()
    }

    /// Parses a text that is one value and nothing else.
    package init(json: [UInt8], maximumDepth: Int = JSONScanner.usualDepth) throws(JSONError) {
        try self.init(json: json.span, maximumDepth: maximumDepth)
    }

    /// Parses a text that is one value and nothing else.
    package init(json: String, maximumDepth: Int = JSONScanner.usualDepth) throws(JSONError) {
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
