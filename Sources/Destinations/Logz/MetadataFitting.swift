import IssueCore
import IssueProtocol

/// Divides a sender's metadata into the part that the destination can index and the part that is sent as text.
///
/// A field in the index has a fixed type. A value of another type would cause the whole line to be rejected later,
/// without an error.
struct MetadataFitting {
    private(set) var types: FieldTypes
    /// The user who is accountable for the metadata.
    private let user: UInt32
    /// The members that did not fit, with their paths within the metadata.
    private(set) var context: [JSONValue.Member] = []
    /// The paths of the texts that were cut.
    private(set) var truncated = TruncatedNames()
    private var fields = 0

    init(types: FieldTypes, user: UInt32) {
        self.types = types
        self.user = user
    }

    /// Returns the part of the members that fits; nil if none does.
    ///
    /// - Parameter name: The name of the metadata object.
    mutating func fit(_ members: [JSONValue.Member], under name: String) -> JSONValue? {
        guard
            types.kind(at: name) == .object
                || enter(name, at: "", depth: 1) != nil && types.record(.object, at: name, by: user)
        else {
            context += members
            return nil
        }
        let depth = 2 + name.utf8.count { $0 == UInt8(ascii: ".") }
        let fitting = fit(members, at: name, keyPrefix: "", depth: depth, whole: false) ?? []
        return fitting.isEmpty ? nil : .object(fitting)
    }

    /// - Parameters:
    ///   - keyPrefix: The path from the metadata to the object, with a trailing dot; empty for the metadata itself.
    ///   - whole: `true` to return nil unless all members fit.
    private mutating func fit(
        _ members: [JSONValue.Member], at path: String, keyPrefix: String, depth: Int, whole: Bool
    ) -> [JSONValue.Member]? {
        var fitting: [JSONValue.Member] = []
        for member in ReservedKeys.unique(members) {
            var subpath = path
            subpath += "."
            subpath += member.key
            if fields < LineLimits.metadataFields, let depth = enter(member.key, at: path, depth: depth),
                let value = fit(
                    member.value, at: subpath, keyPrefix: keyPrefix, key: member.key, depth: depth, whole: whole)
            {
                fields += 1
                fitting.append(.init(member.key, value))
            } else if whole {
                return nil
            } else {
                context.append(.init("\(keyPrefix)\(member.key)", member.value))
            }
        }
        return fitting
    }

    private mutating func fit(
        _ value: JSONValue, at path: String, keyPrefix: String, key: String, depth: Int, whole: Bool
    ) -> JSONValue? {
        switch value {
        case .null:
            return value
        case .bool:
            return scalar(value, .bool, at: path)
        case .integer:
            return scalar(value, .integer, at: path)
        case .number(let spelling):
            guard Self.isIndexableFloat(spelling) else { return nil }
            return scalar(value, .number, at: path)
        case .string(let text):
            guard types.record(.string, at: path, by: user) else { return nil }
            guard text.utf8.count > LineLimits.textBytes else { return value }
            truncated.note(path)
            return .string(text.cut(toBytes: LineLimits.cutTextBytes))
        case .array(let elements):
            guard depth <= LineLimits.depth else { return nil }
            return fit(elements, at: path, keyPrefix: keyPrefix, key: key, depth: depth)
        case .object(let members):
            guard depth <= LineLimits.depth, types.record(.object, at: path, by: user) else { return nil }
            return fit(members, at: path, keyPrefix: "\(keyPrefix)\(key).", depth: depth, whole: whole).map {
                .object($0)
            }
        }
    }

    /// Returns the value if its field accepts the type; otherwise nil.
    private mutating func scalar(_ value: JSONValue, _ kind: FieldTypes.Kind, at path: String) -> JSONValue? {
        // Not a conditional expression, in which nil would become a JSON null.
        guard types.record(kind, at: path, by: user) else { return nil }
        return value
    }

    /// Returns the elements as an array; nil if one of them does not fit or the array is too long. The type of an array
    /// is the type of its elements.
    private mutating func fit(
        _ elements: [JSONValue], at path: String, keyPrefix: String, key: String, depth: Int
    ) -> JSONValue? {
        let before = self
        var fitting: [JSONValue] = []
        for element in elements {
            guard let value = fit(element, at: path, keyPrefix: keyPrefix, key: key, depth: depth + 1, whole: true)
            else {
                self = before
                return nil
            }
            fitting.append(value)
        }
        let array = JSONValue.array(fitting)
        guard array.json.count <= LineLimits.textBytes else {
            self = before
            return nil
        }
        return array
    }

    /// Returns the depth of a member's value; nil if the destination does not accept the key at this place.
    ///
    /// The destination interprets each dot in a key as a nested object. The types of these objects are recorded.
    private mutating func enter(_ key: String, at path: String, depth: Int) -> Int? {
        if !key.utf8.contains(UInt8(ascii: ".")) {
            return !key.isEmpty && key.utf8.count <= LineLimits.keyBytes && depth <= LineLimits.depth ? depth + 1 : nil
        }
        let steps = key.split(separator: ".", omittingEmptySubsequences: false)
        guard key.utf8.count <= LineLimits.keyBytes, !steps.contains(where: \.isEmpty),
            depth + steps.count - 1 <= LineLimits.depth
        else { return nil }
        var subpath = path
        for step in steps.dropLast() {
            subpath += subpath.isEmpty ? String(step) : ".\(step)"
            guard types.record(.object, at: subpath, by: user) else { return nil }
        }
        return depth + steps.count
    }

    /// Returns `true` if a floating-point field accepts a number. Such a field has single precision and rejects values
    /// that are infinite in single precision.
    static func isIndexableFloat(_ spelling: String) -> Bool {
        RecordColumns.isReadableDouble(spelling) && Float(spelling)?.isFinite == true
    }
}

/// Metadata whose members are all texts, numbers or Booleans of types that their fields are known to accept. Most
/// metadata has this form and need not be parsed into values.
struct PlainMetadata {
    /// The maximum number of members. To find duplicates, each new key is compared with all others, which takes too
    /// long for more members.
    private static let maxMembers = 16

    private let name: String
    /// The keys that are expected in the object, in order and without duplicates, and the types of their fields.
    private(set) var fields: [CachedLine.Field]
    private var json: [UInt8] = []

    /// - Parameters:
    ///   - name: The name of the metadata object.
    ///   - fields: The value of `fields` after the previous object of this name.
    init(under name: String, _ fields: [CachedLine.Field] = []) {
        self.name = name
        self.fields = fields
    }

    /// Returns the object for the line; nil if the metadata must be examined in detail.
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
            guard count < Self.maxMembers, let kind = kind(of: key, in: bytes, at: count, types) else { return false }
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
                    guard kind == .number, MetadataFitting.isIndexableFloat(spelling) else { return false }
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

    /// Returns the type of a key's field; nil if the type is unknown, or if the key is a duplicate or not plain.
    private mutating func kind(
        of key: JSONText, in bytes: Span<UInt8>, at index: Int, _ types: FieldTypes
    ) -> FieldTypes.Kind? {
        if index < fields.count {
            let field = fields[index]
            if !key.hasEscapes, key.count == field.key.count,
                bytes.equals(from: key.start, field.key.span, from: 0, count: key.count)
            {
                return field.kind
            }
            fields.removeSubrange(index...)
        }
        var name: [UInt8] = []
        name.append(contentsOf: bytes, from: key.start, to: key.end)
        let text = String(decoding: name, as: UTF8.self)
        guard !key.hasEscapes, Self.isPlain(text), !fields.contains(where: { $0.key == name }),
            let kind = types.kind(at: "\(self.name).\(text)")
        else { return nil }
        fields.append(CachedLine.Field(key: name, kind: kind))
        return kind
    }

    /// Appends a text. Returns `false`, and appends nothing, if it exceeds the limit.
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

    /// Returns `true` if the key is not reserved and consists of 1 to 256 letters, digits and underscores.
    private static func isPlain(_ key: String) -> Bool {
        !key.isEmpty && key.utf8.count <= LineLimits.keyBytes && key.utf8.allSatisfy(ReservedKeys.isFieldNameByte)
            && !ReservedKeys.contains(key)
    }
}

/// The field names that have a meaning for dashboards or for Logz.io. Metadata keys must not use them.
enum ReservedKeys {
    private static let names: Set<String> = [
        "@timestamp", "code", "domain", "environment", "event_id", "event_kind", "file", "function", "line", "message",
        "mobile", "reported_at", "token", "type",
    ]

    /// The names of the other members of a line. Metadata keys may use them, but the name of the metadata object, or
    /// its part before the first dot, must not be one of them.
    private static let others = Set([
        "app", "backtrace", "causes", "context_json", "fingerprint", "host", "occurrences", "repairs", "severity",
        "suppressed_before", "truncated_fields", "uid", "unit",
        // Of the lines of summaries and corrections.
        "correction", "correction_action", "correction_author", "correction_field", "correction_reason",
        "correction_template", "correction_undone", "distinct_groups_suppressed", "first_seen", "forwarded_count",
        "group_id", "last_seen", "other_fingerprint", "other_group_id", "sample_event_ids", "still_suppressing",
        "summary_seq", "suppressed_count", "suppression_reason", "window_end", "window_start",
    ]).union(IssueContext.Field.allCases.map(\.columnName))

    /// Returns `true` if the metadata object may have this name.
    static func isUsable(metadataKey: String) -> Bool {
        let steps = metadataKey.split(separator: ".", omittingEmptySubsequences: false)
        return metadataKey.utf8.count <= 64 && !names.contains(String(steps[0])) && !others.contains(String(steps[0]))
            && steps.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy(isFieldNameByte) }
    }

    /// Returns `true` if a byte is safe in a field name: a letter, a digit or an underscore.
    static func isFieldNameByte(_ byte: UInt8) -> Bool {
        byte.isLetterOrDigit || byte == UInt8(ascii: "_")
    }

    /// Returns `true` if a key of the metadata is reserved.
    static func contains(_ key: String) -> Bool {
        names.contains(key) || key.hasSuffix(".metadata")
    }

    /// Returns the members with reserved keys renamed and duplicates removed, and the keys that were renamed.
    static func renamed(in members: [JSONValue.Member]) -> (members: [JSONValue.Member], keys: [String]) {
        let unique = unique(members)
        guard unique.contains(where: { contains($0.key) }) else { return (unique, []) }
        var taken = Set(unique.map(\.key))
        var keys: [String] = []
        let renamed = unique.map { member in
            guard contains(member.key) else { return member }
            keys.append(member.key)
            var key = "metadata_\(member.key)"
            while taken.contains(key) || contains(key) {
                // A prefix does not remove the reserved suffix `.metadata`, so an underscore is added at the end.
                key = contains(key) ? "\(key)_" : "metadata_\(key)"
            }
            taken.insert(key)
            return JSONValue.Member(key, member.value)
        }
        return (renamed, keys)
    }

    /// Returns the members without duplicates, because receivers differ in which duplicate they use. Of several members
    /// with the same key, the last one is kept.
    static func unique(_ members: [JSONValue.Member]) -> [JSONValue.Member] {
        // For few members, a set would cost more than it saves.
        if members.count <= 8 {
            let isUnique = members.indices.allSatisfy { index in
                !members[..<index].contains { $0.key == members[index].key }
            }
            if isUnique { return members }
        }
        var seen: Set<String> = []
        return Array(members.reversed().filter { seen.insert($0.key).inserted }.reversed())
    }
}
