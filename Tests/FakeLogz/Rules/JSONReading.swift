import IssueProtocol

/// Recognises lines that are JSON objects.
enum JSONReading {
    /// The maximum depth of a line whose fields are examined. A deeper line is accepted, too.
    static let maximumDepth = 128

    /// Returns `true` if the bytes are a single JSON object of any depth.
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
    /// The value as a nonnegative number.
    var asCount: Int? {
        asInteger.flatMap { $0 >= 0 ? Int($0) : nil }
    }
}
