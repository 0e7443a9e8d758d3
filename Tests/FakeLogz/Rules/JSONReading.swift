import IssueProtocol

/// Tells lines that are JSON objects from those that are not.
enum JSONReading {
    /// Deeper values are well-formed all the same, but nobody looks into them.
    static let maximumDepth = 128

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
}

extension JSONValue {
    /// A number that can count something.
    var asCount: Int? {
        asInteger.flatMap { $0 >= 0 ? Int($0) : nil }
    }
}
