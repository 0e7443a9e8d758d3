import IssueProtocol

/// Performs the checks that the service makes silently after its 200.
struct LineInspector: Sendable {
    private enum Kind: Sendable {
        case text
        case number
        case bool
        case object
    }

    private static let longestField = 32_700
    private static let maxFields = 1_000
    private static let deepest = 10

    private var firstKinds: [String: Kind] = [:]

    /// Returns the tags of a line. Records the types of new fields.
    mutating func tags(of fields: JSONValue, typeInQuery: String?) -> Set<LineTag> {
        var tags: Set<LineTag> = []
        var count = 0
        inspect(fields, name: "", depth: 1, count: &count, tags: &tags)
        if count > Self.maxFields { tags.insert(.tooManyFields) }
        if let time = fields["@timestamp"], !Self.isTime(time) { tags.insert(.timestampUnparsable) }
        if let typeInQuery, let type = fields["type"], type != .string(typeInQuery) { tags.insert(.twoTypes) }
        return tags
    }

    private mutating func inspect(
        _ value: JSONValue, name: String, depth: Int, count: inout Int, tags: inout Set<LineTag>
    ) {
        switch value {
        case .null:
            break
        case .bool:
            note(.bool, of: name, tags: &tags)
        case .integer:
            note(.number, of: name, tags: &tags)
        case .number:
            note(.number, of: name, tags: &tags)
        case .string(let text):
            // Characters as counted by Java.
            if text.utf16.count > Self.longestField { tags.insert(.fieldTooLong) }
            note(.text, of: name, tags: &tags)
        case .array(let elements):
            if depth > Self.deepest { tags.insert(.tooDeep) }
            // The type of an array is that of its elements.
            for element in elements { inspect(element, name: name, depth: depth + 1, count: &count, tags: &tags) }
        case .object(let members):
            if depth > Self.deepest { tags.insert(.tooDeep) }
            if !name.isEmpty { note(.object, of: name, tags: &tags) }
            for member in members {
                count += 1
                if member.key.contains(".") { tags.insert(.dottedName) }
                if member.key.utf16.count > Self.longestField { tags.insert(.fieldNameTooLong) }
                inspect(
                    member.value, name: name.isEmpty ? member.key : "\(name).\(member.key)", depth: depth + 1,
                    count: &count, tags: &tags)
            }
        }
    }

    private mutating func note(_ kind: Kind, of name: String, tags: inout Set<LineTag>) {
        if let first = firstKinds[name] {
            if first != kind { tags.insert(.typeChanged) }
        } else {
            firstKinds[name] = kind
        }
    }

    /// Returns `true` for ISO 8601, and for seconds or milliseconds since 1970.
    private static func isTime(_ value: JSONValue) -> Bool {
        switch value {
        case .integer(let number): number >= 0
        case .string(let text): IssueTimestamp(text) != nil
        case .null, .bool, .number, .array, .object: false
        }
    }
}
