import IssueCore
import IssueProtocol

/// Metadata of which each member is a text, a number or a Boolean that its field is known to take: most are so,
/// and need not be taken apart.
struct PlainMetadata {
    /// With more members a look through all keys for each would cost more than it saves.
    private static let most = 16

    let json: [UInt8]

    /// Nothing where it takes more than a look to tell what fits.
    init?(_ text: String, under name: String, types: FieldTypes) {
        guard types.kind(at: name) == .object else { return nil }
        let bytes = Array(text.utf8)
        var writer = JSONWriter(reserving: bytes.count)
        guard let isPlain = try? Self.copy(bytes, under: name, types, to: &writer), isPlain else { return nil }
        json = writer.bytes
    }

    private static func copy(
        _ bytes: [UInt8], under name: String, _ types: FieldTypes, to writer: inout JSONWriter
    ) throws(JSONError) -> Bool {
        var scanner = JSONScanner(bytes.span, maximumDepth: 2)
        guard try scanner.kind() == .object else { return false }
        try scanner.openObject()
        writer.openObject()
        var keys: [String] = []
        while let found = try scanner.nextMember() {
            let key = scanner.string(found)
            guard keys.count < most, isPlain(key), !keys.contains(key) else { return false }
            keys.append(key)
            var path = name
            path += "."
            path += key
            let kind = types.kind(at: path)
            switch try scanner.kind() {
            case .string:
                let text = scanner.string(try scanner.text())
                guard kind == .string, text.utf8.count <= LineLimits.textBytes else { return false }
                writer.member(key, text)
            case .number:
                let number = try scanner.number()
                if let integer = number.integer {
                    guard kind == .integer || kind == .number else { return false }
                    writer.member(key, integer)
                } else {
                    let spelling = scanner.string(JSONText(start: number.start, end: number.end, hasEscapes: false))
                    guard kind == .number, MetadataFitting.isFraction(spelling) else { return false }
                    writer.key(key)
                    writer.raw(spelling)
                }
            case .bool:
                let flag = try scanner.bool()
                guard kind == .bool else { return false }
                writer.member(key, flag)
            case .null, .array, .object: return false
            }
        }
        try scanner.end()
        writer.closeObject()
        return !keys.isEmpty
    }

    private static func isPlain(_ key: String) -> Bool {
        !key.isEmpty && key.utf8.count <= LineLimits.keyBytes && key.utf8.allSatisfy(ReservedKeys.isLetterOrDigit)
            && !ReservedKeys.contains(key)
    }
}
