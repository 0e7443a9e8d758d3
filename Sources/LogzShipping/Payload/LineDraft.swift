import IssueProtocol

/// A line that is too long, taken apart to be trimmed.
struct LineDraft {
    var members: [JSONValue.Member]
    private var truncated: TruncatedNames

    init?(line: [UInt8]) {
        guard let value = try? JSONValue(json: line), let members = value.asObject else { return nil }
        self.members = members.filter { $0.key != TruncatedNames.key }
        truncated = TruncatedNames(value[TruncatedNames.key]?.asArray?.compactMap(\.asString) ?? [])
    }

    mutating func noteTruncated(_ name: String) {
        truncated.note(name)
    }

    mutating func noteTruncated(allOf object: String) {
        truncated.note(allOf: object)
    }

    /// The line as it stands.
    var bytes: [UInt8] {
        var members = members
        if !truncated.names.isEmpty {
            members.append(.init(TruncatedNames.key, .array(truncated.names.map { .string($0) })))
        }
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
}
