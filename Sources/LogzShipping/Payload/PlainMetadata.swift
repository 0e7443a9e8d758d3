import IssueCore
import IssueProtocol

/// Metadata of which each member is a text, a number or a Boolean that its field is known to take: most are so,
/// and need not be taken apart.
struct PlainMetadata {
    /// With more members a look through all keys for each would cost more than it saves.
    private static let most = 16

    private let name: String
    /// The keys that were met last, none of them twice, and what they take.
    private(set) var fields: [LineMemo.Field]
    private var json: [UInt8] = []

    /// - Parameter fields: What was found under this name before.
    init(under name: String, _ fields: [LineMemo.Field] = []) {
        self.name = name
        self.fields = fields
    }

    /// The object as it stands in the line; nothing where it takes more than a look to tell what fits.
    mutating func json(of text: String, _ types: FieldTypes) -> [UInt8]? {
        if fields.isEmpty, types.kind(at: name) != .object { return nil }
        json.removeAll(keepingCapacity: true)
        json.reserveCapacity(text.utf8.count)
        guard let isPlain = try? copy(text.utf8.span, types), isPlain else { return nil }
        return json
    }

    private mutating func copy(_ bytes: Span<UInt8>, _ types: FieldTypes) throws(JSONError) -> Bool {
        var scanner = JSONScanner(bytes, maximumDepth: 2)
        guard try scanner.kind() == .object else { return false }
        try scanner.openObject()
        json.append(UInt8(ascii: "{"))
        var count = 0
        while let key = try scanner.nextMember() {
            guard count < Self.most, let kind = kind(of: key, in: bytes, at: count, types) else { return false }
            if count > 0 { json.append(UInt8(ascii: ",")) }
            count += 1
            appendQuoted(bytes, key)
            json.append(UInt8(ascii: ":"))
            switch try scanner.kind() {
            case .string:
                let text = try scanner.text()
                guard kind == .string, append(text, &scanner) else { return false }
            case .number:
                let number = try scanner.number()
                if let integer = number.integer {
                    guard kind == .integer || kind == .number else { return false }
                    JSONWriter.append(integer, to: &json)
                } else {
                    let spelling = scanner.string(JSONText(start: number.start, end: number.end, hasEscapes: false))
                    guard kind == .number, MetadataFitting.isFraction(spelling) else { return false }
                    json.append(contentsOf: spelling.utf8)
                }
            case .bool:
                let flag = try scanner.bool()
                guard kind == .bool else { return false }
                json.append(contentsOf: (flag ? "true" : "false").utf8)
            case .null, .array, .object: return false
            }
        }
        try scanner.end()
        json.append(UInt8(ascii: "}"))
        return count > 0
    }

    /// What the field of a key takes; nothing where that is not known, or the key can't stand there as it is.
    private mutating func kind(
        of key: JSONText, in bytes: Span<UInt8>, at place: Int, _ types: FieldTypes
    ) -> FieldTypes.Kind? {
        if place < fields.count {
            let field = fields[place]
            if !key.hasEscapes, key.count == field.key.count,
                bytes.equals(from: key.start, field.key.span, from: 0, count: key.count)
            {
                return field.kind
            }
            fields.removeSubrange(place...)
        }
        var name: [UInt8] = []
        name.append(contentsOf: bytes, from: key.start, to: key.end)
        let text = String(decoding: name, as: UTF8.self)
        guard !key.hasEscapes, Self.isPlain(text), !fields.contains(where: { $0.key == name }),
            let kind = types.kind(at: "\(self.name).\(text)")
        else { return nil }
        fields.append(LineMemo.Field(key: name, kind: kind))
        return kind
    }

    /// Appends a text within its limit.
    private mutating func append(_ text: JSONText, _ scanner: inout JSONScanner) -> Bool {
        guard text.hasEscapes else {
            guard text.count <= LineLimits.textBytes else { return false }
            appendQuoted(scanner.bytes, text)
            return true
        }
        let resolved = scanner.string(text)
        guard resolved.utf8.count <= LineLimits.textBytes else { return false }
        json.append(UInt8(ascii: "\""))
        JSONWriter.append(escaped: resolved.utf8.span, to: &json)
        json.append(UInt8(ascii: "\""))
        return true
    }

    private mutating func appendQuoted(_ bytes: Span<UInt8>, _ text: JSONText) {
        json.append(UInt8(ascii: "\""))
        json.append(contentsOf: bytes, from: text.start, to: text.end)
        json.append(UInt8(ascii: "\""))
    }

    private static func isPlain(_ key: String) -> Bool {
        !key.isEmpty && key.utf8.count <= LineLimits.keyBytes && key.utf8.allSatisfy(ReservedKeys.isLetterOrDigit)
            && !ReservedKeys.contains(key)
    }
}
