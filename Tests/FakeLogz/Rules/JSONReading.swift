import IssueProtocol

/// Builds values from JSON, as far as memory and stack allow.
enum JSONReading {
    /// Deeper values are well-formed all the same, but nobody looks into them.
    static let maximumDepth = 128

    static func value(_ bytes: [UInt8]) throws(JSONError) -> JSONValue {
        var scanner = JSONScanner(bytes.span, maximumDepth: maximumDepth)
        let value = try value(from: &scanner)
        try scanner.end()
        return value
    }

    /// Whether the bytes are one JSON object, of any depth.
    static func isObject(_ bytes: [UInt8]) -> Bool {
        var scanner = JSONScanner(bytes.span)
        do throws(JSONError) {
            guard try scanner.kind() == .object else { return false }
            try scanner.skipValueOfAnySize()
            try scanner.end()
            return true
        } catch {
            return false
        }
    }

    private static func value(from scanner: inout JSONScanner) throws(JSONError) -> JSONValue {
        switch try scanner.kind() {
        case .null:
            _ = try scanner.null()
            return .null
        case .bool:
            return .bool(try scanner.bool())
        case .number:
            let number = try scanner.number()
            if let integer = number.integer { return .integer(integer) }
            var spelling: [UInt8] = []
            scanner.append(number.start..<number.end, to: &spelling)
            return .number(String(decoding: spelling, as: UTF8.self))
        case .string:
            return .string(scanner.string(try scanner.text()))
        case .array:
            var elements: [JSONValue] = []
            try scanner.openArray()
            while try scanner.nextElement() { elements.append(try value(from: &scanner)) }
            return .array(elements)
        case .object:
            var members: [JSONValue.Member] = []
            try scanner.openObject()
            while let key = try scanner.nextMember() {
                let name = scanner.string(key)
                members.append(JSONValue.Member(name, try value(from: &scanner)))
            }
            return .object(members)
        }
    }
}

extension JSONValue {
    /// The member of an object; of two with one name the last one counts.
    func field(_ name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.key == name }?.value
    }

    var textOrNil: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    var countOrNil: Int? {
        guard case .integer(let number) = self, number >= 0 else { return nil }
        return Int(number)
    }
}
