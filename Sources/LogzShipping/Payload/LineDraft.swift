import IssueProtocol

/// A line in the making: its members in order, each text within the limit, and what had to be cut for that.
struct LineDraft {
    var members: [JSONValue.Member] = []
    private(set) var truncated: [String] = []

    init() {}

    /// A line that was made before.
    init?(line: [UInt8]) {
        guard let value = try? JSONValue(json: line), let members = value.asObject else { return nil }
        self.members = members.filter { $0.key != Self.truncatedKey }
        truncated = value[Self.truncatedKey]?.asArray?.compactMap(\.asString) ?? []
    }

    mutating func put(_ key: String, _ text: String) {
        members.append(.init(key, .string(fitted(text, as: key))))
    }

    mutating func put(_ key: String, _ value: JSONValue) {
        members.append(.init(key, value))
    }

    mutating func put(_ key: String, ifPresent text: String?) {
        if let text { put(key, text) }
    }

    mutating func put(_ key: String, ifPresent number: Int64?) {
        if let number { put(key, .integer(number)) }
    }

    /// A text that stands in a member, cut if need be.
    mutating func fitted(_ text: String, as name: String) -> String {
        guard text.utf8.count > LineLimits.textBytes else { return text }
        noteTruncated(name)
        return text.cut(toBytes: LineLimits.cutTextBytes)
    }

    mutating func noteTruncated(_ name: String) {
        guard !truncated.contains(name) else { return }
        truncated.append(name)
    }

    /// Names an object in place of what was cut within it.
    mutating func noteTruncated(allOf object: String) {
        truncated.removeAll { $0 == object || $0.hasPrefix("\(object).") }
        truncated.append(object)
    }

    /// The line as it stands.
    var bytes: [UInt8] {
        var members = members
        if !truncated.isEmpty { members.append(.init(Self.truncatedKey, .array(truncated.map { .string($0) }))) }
        return JSONValue.object(members).json
    }

    /// The line, trimmed until it is within the limit.
    consuming func trimmedBytes() -> [UInt8] {
        var bytes = bytes
        for step in TrimStep.allCases where bytes.count > LineLimits.lineBytes {
            trim(step)
            bytes = self.bytes
        }
        return bytes
    }

    static let truncatedKey = "truncated_fields"
}
