package import IssueProtocol

/// The conditions of a filter on a record's text, on its metadata and on the ids of its context.
package struct RecordMatcher: Equatable, Sendable {
    /// The text to find; nil for any.
    package let text: TextMatcher?
    /// The conditions on metadata, all of which must hold; nil for any metadata. An empty list matches no record.
    package let metadata: [MetadataCondition]?
    /// The conditions on the ids of the context, all of which must hold.
    package let context: [ContextCondition]

    /// Takes the conditions from a filter.
    ///
    /// - Parameter filter: A filter within `QueryLimits`.
    /// - Returns: Nil if the filter has no such conditions, so that every record matches.
    package init?(_ filter: IssueFilter) {
        text = filter.text.flatMap { TextMatcher($0) }
        metadata = filter.metadata.map { MetadataCondition.conditions($0) }
        context = filter.contextConditions.map { ContextCondition(field: $0.field, values: $0.values) }
        if text == nil, metadata == nil, context.isEmpty { return nil }
    }

    /// Returns `true` if a record matches.
    ///
    /// Each word or phrase of the text must occur in the message, the domain, a value of the metadata, or the domain or
    /// message of a cause.
    package func matches(_ record: IssueRecord) -> Bool {
        if let metadata, metadata.isEmpty || !metadata.allSatisfy({ $0.matches(record.metadata) }) { return false }
        guard context.allSatisfy({ $0.matches(record.context) }) else { return false }
        guard let text else { return true }
        var found: TextMatcher.Found = 0
        text.search(record.message, &found)
        if let domain = record.domain { text.search(domain, &found) }
        for cause in record.causes {
            if let domain = cause.domain { text.search(domain, &found) }
            text.search(cause.message, &found)
        }
        if found != text.all, let metadata = record.metadata {
            Self.forEachValue(of: metadata) { text.search($0, &found) }
        }
        return found == text.all
    }

    /// Passes the text of each string, number and Boolean in a value to `body`. The decoder limits the depth of the
    /// recursion.
    private static func forEachValue(of value: JSONValue, _ body: (String) -> Void) {
        switch value {
        case .array(let elements): for element in elements { forEachValue(of: element, body) }
        case .object(let members): for member in members { forEachValue(of: member.value, body) }
        case .null, .bool, .integer, .number, .string: if let text = value.scalarText { body(text) }
        }
    }
}

/// A condition on an id of the context.
package struct ContextCondition: Equatable, Sendable {
    package let field: IssueContext.Field
    /// The values. The record's id must be equal to one of them.
    package let values: [String]

    /// - Parameters:
    ///   - field: The id.
    ///   - values: The values. Hexadecimal digits may have either case. Invalid values match no record.
    init(field: IssueContext.Field, values: [String]) {
        self.field = field
        self.values = values.compactMap { field.normalized($0) }
    }

    /// Returns `true` if the id in a context is one of the values.
    package func matches(_ context: IssueContext) -> Bool {
        guard let own = context[field] else { return false }
        return values.contains { $0.utf8.elementsEqual(own.utf8) }
    }
}

/// A condition on a key of the metadata.
package struct MetadataCondition: Equatable, Sendable {
    /// The key. For a member of a nested object, it is the path of keys, separated by full stops.
    package let key: String
    /// The values as text. One of them must be equal to the record's value or, if that is an array, to an element.
    package private(set) var values: [String]

    /// Returns the conditions for a filter's entries. The values of entries with the same key are alternatives.
    ///
    /// - Parameter entries: The entries, each of the form `KEY=VALUE`. Entries of another form are ignored.
    static func conditions(_ entries: [String]) -> [Self] {
        var conditions: [Self] = []
        for entry in entries {
            guard let (key, value) = split(entry) else { continue }
            if let index = conditions.firstIndex(where: { $0.key == key }) {
                conditions[index].values.append(value)
            } else {
                conditions.append(Self(key: key, values: [value]))
            }
        }
        return conditions
    }

    /// Splits an entry at its first equals sign. Returns nil if it has none, or if the key is empty.
    static func split(_ entry: String) -> (key: String, value: String)? {
        guard let sign = entry.utf8.firstIndex(of: UInt8(ascii: "=")), sign > entry.startIndex else { return nil }
        return (String(entry[..<sign]), String(entry[entry.utf8.index(after: sign)...]))
    }

    /// Returns `true` if metadata has the key with one of the values.
    package func matches(_ metadata: JSONValue?) -> Bool {
        metadata.map { matches($0, path: Array(key.utf8)[...]) } ?? false
    }

    private func matches(_ value: JSONValue, path: ArraySlice<UInt8>?) -> Bool {
        switch value {
        case .array(let elements): return elements.contains { matches($0, path: path) }
        case .object(let members):
            guard let path else { return false }
            return members.contains { member in
                let key = member.key.utf8
                guard path.starts(with: key) else { return false }
                let rest = path.dropFirst(key.count)
                if rest.isEmpty { return matches(member.value, path: nil) }
                return rest.first == UInt8(ascii: ".") && matches(member.value, path: rest.dropFirst())
            }
        case .null, .bool, .integer, .number, .string:
            return path == nil
                && value.scalarText.map { text in values.contains { $0.utf8.elementsEqual(text.utf8) } } == true
        }
    }
}

extension JSONValue {
    /// The text of a string, number or Boolean; nil for other values.
    fileprivate var scalarText: String? {
        switch self {
        case .bool(let flag): flag ? "true" : "false"
        case .integer(let number): String(number)
        case .number(let spelling): spelling
        case .string(let text): text
        case .null, .array, .object: nil
        }
    }
}
