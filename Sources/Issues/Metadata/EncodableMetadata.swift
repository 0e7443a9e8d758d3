internal import IssueWire

extension IssueMetadata {
    /// A dictionary literal whose values are nil or of any `Encodable` type.
    ///
    /// ```swift
    /// reportIssue("Payment refused", metadata: ["order": order, "attempt": attempt])
    /// ```
    ///
    /// `reportIssue`, `leaveBreadcrumb` and `withIssueMetadata` accept this literal. Elsewhere, for example in an
    /// ``IssueReport``, write `IssueMetadata(["order": order])`.
    public struct EncodableLiteral: ExpressibleByDictionaryLiteral {
        let metadata: IssueMetadata

        /// Creates metadata from a dictionary literal.
        ///
        /// - Parameter elements: The keys and values. If a key occurs twice, the last value is used.
        public init(dictionaryLiteral elements: (IssueMetadata.Key, (any Encodable)?)...) {
            var members: [(IssueMetadata.Key, IssueMetadata.Value)] = []
            members.reserveCapacity(elements.count)
            for (key, value) in elements { members.append((key, IssueMetadata.Value(any: value))) }
            metadata = IssueMetadata(members)
        }
    }

    /// Creates metadata from a dictionary literal whose values are nil or of any `Encodable` type.
    ///
    /// - Parameter values: The values by key.
    public init(_ values: EncodableLiteral) {
        self = values.metadata
    }

    /// Creates metadata from a dictionary with values of any `Encodable` type, for example a `[String: String]`.
    ///
    /// - Parameter values: The values by key. A key that is neither a `String` nor a ``Key`` is replaced with its
    ///   description.
    @_disfavoredOverload
    public init(_ values: [AnyHashable: any Encodable]) {
        self.init(values.map { (Key(any: $0.key), Value(any: $0.value)) })
    }
}

extension IssueMetadata.Key {
    fileprivate init(any key: AnyHashable) {
        switch key.base {
        case let name as String: self.init(name)
        case let key as Self: self = key
        case let other: self.init("\(other)")
        }
    }
}

extension IssueMetadata.Value {
    /// Creates a value from any encodable value, or a JSON null from nil.
    init(any value: (any Encodable)?) {
        switch value {
        case nil: self.init(json: .null)
        // The common types need no encoder.
        case let text as String: self.init(text)
        case let number as Int: self.init(number)
        case let flag as Bool: self.init(flag)
        case let number as Double: self.init(number)
        case let value as Self: self = value
        case let metadata as IssueMetadata: self.init(metadata)
        case let value?: self.init(json: MetadataEncoder.json(of: value))
        }
    }
}

extension IssueMetadata: Encodable {
    /// Encodes the metadata as an object.
    ///
    /// - Parameter encoder: The encoder.
    /// - Throws: The error of the encoder.
    public func encode(to encoder: any Encoder) throws {
        try Value(self).encode(to: encoder)
    }
}

extension IssueMetadata.Value: Encodable {
    /// Encodes the value as the JSON that it represents. A number with a fraction or an exponent, or an integer of more
    /// than 64 bits, is rounded to a `Double`; a number beyond the range of `Double` becomes a string.
    ///
    /// - Parameter encoder: The encoder.
    /// - Throws: The error of the encoder.
    public func encode(to encoder: any Encoder) throws {
        switch json {
        case .null: try Bool?.none.encode(to: encoder)
        case .bool(let flag): try flag.encode(to: encoder)
        case .integer(let number): try number.encode(to: encoder)
        case .number(let spelling):
            if let number = UInt64(spelling) {
                try number.encode(to: encoder)
            } else if let number, number.isFinite {
                try number.encode(to: encoder)
            } else {
                try spelling.encode(to: encoder)
            }
        case .string(let text): try text.encode(to: encoder)
        case .array(let elements): try elements.map { Self(json: $0) }.encode(to: encoder)
        case .object(let members):
            var container = encoder.container(keyedBy: MemberKey.self)
            for member in members {
                try container.encode(Self(json: member.value), forKey: MemberKey(stringValue: member.key))
            }
        }
    }

    private struct MemberKey: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}

/// Encodes any `Encodable` value as JSON and never fails.
///
/// A value that cannot be encoded is replaced with its description. Values that are nested too deeply, or that contain
/// too many others, are truncated.
struct MetadataEncoder: Encoder {
    let node: EncodedNode
    let budget: EncodingBudget
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    static func json(of value: some Encodable) -> JSONValue {
        let node = EncodedNode()
        encode(value, into: node, budget: EncodingBudget(), path: [])
        return node.json
    }

    // Not generic, to avoid a specialization for each type of the standard library.
    static func encode(
        _ value: any Encodable, into node: EncodedNode, budget: EncodingBudget, path: [any CodingKey]
    ) {
        let isWithinDepth = budget.descend {
            do {
                try value.encode(to: MetadataEncoder(node: node, budget: budget, codingPath: path))
            } catch {
                node.content = .value(.string(String(describing: value)))
            }
        }
        guard isWithinDepth else {
            node.content = .value(.string(EncodingBudget.cut))
            return
        }
        if case .nothing = node.content { node.content = .value(.string(String(describing: value))) }
        // The encodings of Foundation's types are meant for decoding, not for reading.
        let typeName = String(reflecting: type(of: value))
        if typeName.hasPrefix("Foundation"), let readable = readable(value, typeName, node.json) {
            node.content = .value(readable)
        }
    }

    private static func readable(_ value: any Encodable, _ typeName: String, _ json: JSONValue) -> JSONValue? {
        switch typeName.split(separator: ".").last {
        case "Date":
            // Seconds since 2001-01-01T00:00:00Z, Foundation's reference date.
            guard case .number(let text) = json, let seconds = Double(text) else { return nil }
            let milliseconds = (seconds * 1000).rounded() + 978_307_200_000
            return Int64(exactly: milliseconds).map { .string(IssueTimestamp(millisecondsSince1970: $0).description) }
        case "URL": return .string(String(describing: value))
        case "Decimal":
            let text = String(describing: value)
            return Double(text).map { $0.isFinite } == true ? .number(text) : .string(text)
        case "Data":
            guard case .array(let elements) = json else { return nil }
            let bytes = elements.compactMap { element -> UInt8? in
                guard case .integer(let number) = element else { return nil }
                return UInt8(exactly: number)
            }
            return .string(bytes.count == elements.count ? Base64.encode(bytes) : String(describing: value))
        default: return nil
        }
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        if case .object = node.content {} else { node.content = .object([]) }
        return KeyedEncodingContainer(
            MetadataMembers<Key>(node: node, budget: budget, codingPath: codingPath))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        if case .array = node.content {} else { node.content = .array([]) }
        return MetadataElements(node: node, budget: budget, codingPath: codingPath)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }
}

extension IssueMetadata.Value {
    /// Creates a value from any encodable value.
    ///
    /// This never fails: a value that cannot be encoded is replaced with its description, and a value that is nested
    /// too deeply or contains too many others is truncated. Dates, URLs and decimal numbers of Foundation become
    /// readable strings and numbers. Data becomes Base64, or its description if it has about 10,000 bytes or more.
    ///
    /// - Parameter value: The value to encode.
    @_disfavoredOverload
    public init(_ value: some Encodable) {
        self.init(json: MetadataEncoder.json(of: value))
    }

    /// Creates a value from any value: an optional, a list or a dictionary with `String` keys by its contents, another
    /// `Encodable` value by its encoding, and any other value by its description. Long or deeply nested collections
    /// are truncated.
    init(describing value: Any, depth: Int = 0) {
        let mirror = Mirror(reflecting: value)
        if mirror.displayStyle == .optional {
            guard let some = mirror.children.first?.value else {
                self.init(json: .null)
                return
            }
            self.init(describing: some, depth: depth)
        } else if depth > 8 {
            self.init("…")
        } else if let value = value as? [Any] {
            self.init(value.prefix(100).map { Self(describing: $0, depth: depth + 1) })
        } else if let value = value as? [String: Any] {
            var metadata = IssueMetadata()
            for (key, value) in value.prefix(100) {
                metadata[IssueMetadata.Key(key)] = Self(describing: value, depth: depth + 1)
            }
            self.init(metadata)
        } else if let value = value as? any Encodable {
            self.init(value)
        } else {
            self.init(String(describing: value))
        }
    }
}

/// Encodes the elements of a list.
struct MetadataElements: UnkeyedEncodingContainer {
    let node: EncodedNode
    let budget: EncodingBudget
    let codingPath: [any CodingKey]
    private(set) var count = 0

    mutating func encodeNil() { next()?.content = .value(.null) }

    mutating func encode(_ value: some Encodable) {
        let path = codingPath + [MetadataIndex(count)]
        guard let element = next() else { return }
        MetadataEncoder.encode(value, into: element, budget: budget, path: path)
    }

    mutating func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        inner().container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        inner().unkeyedContainer()
    }

    mutating func superEncoder() -> any Encoder { inner() }

    private mutating func inner() -> MetadataEncoder {
        let path = codingPath + [MetadataIndex(count)]
        return MetadataEncoder(node: next() ?? EncodedNode(), budget: budget, codingPath: path)
    }

    /// Returns a node for the next element; nil if the budget is exhausted.
    private mutating func next() -> EncodedNode? {
        count += 1
        return budget.makeNode { node.append($0) }
    }
}

/// The index of an element, as a key for a coding path.
struct MetadataIndex: CodingKey {
    let intValue: Int?
    var stringValue: String { "\(intValue ?? 0)" }

    init(_ index: Int) { intValue = index }
    init?(intValue: Int) { self.intValue = intValue }
    init?(stringValue: String) { nil }
}

/// Encodes the members of an object.
struct MetadataMembers<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let node: EncodedNode
    let budget: EncodingBudget
    let codingPath: [any CodingKey]

    mutating func encodeNil(forKey key: Key) {
        member(key.stringValue)?.content = .value(.null)
    }

    mutating func encode(_ value: some Encodable, forKey key: Key) {
        guard let member = member(key.stringValue) else { return }
        MetadataEncoder.encode(value, into: member, budget: budget, path: codingPath + [key])
    }

    mutating func nestedContainer<Inner: CodingKey>(
        keyedBy type: Inner.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Inner> {
        inner(key).container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        inner(key).unkeyedContainer()
    }

    mutating func superEncoder() -> any Encoder {
        MetadataEncoder(node: member("super") ?? EncodedNode(), budget: budget, codingPath: codingPath)
    }

    mutating func superEncoder(forKey key: Key) -> any Encoder { inner(key) }

    private func inner(_ key: Key) -> MetadataEncoder {
        MetadataEncoder(
            node: member(key.stringValue) ?? EncodedNode(), budget: budget, codingPath: codingPath + [key])
    }

    /// Returns a node for a member; nil if the budget is exhausted.
    private func member(_ name: String) -> EncodedNode? {
        budget.makeNode { node.append($0, for: name) }
    }
}

/// Encodes a single value.
extension MetadataEncoder: SingleValueEncodingContainer {
    func encodeNil() { node.content = .value(.null) }
    func encode(_ value: Bool) { set(.init(value)) }
    func encode(_ value: String) { set(.init(value)) }
    func encode(_ value: Double) { set(.init(value)) }
    func encode(_ value: Float) { set(.init(Double("\(value)") ?? Double(value))) }
    func encode(_ value: some BinaryInteger & Encodable) { set(.init(value)) }

    func encode(_ value: some Encodable) {
        Self.encode(value, into: node, budget: budget, path: codingPath)
    }

    private func set(_ value: IssueMetadata.Value) {
        node.content = .value(value.json)
    }
}

/// A partially encoded value.
final class EncodedNode {
    enum Content {
        case nothing
        case value(JSONValue)
        case array([EncodedNode])
        case object([(key: String, node: EncodedNode)])
    }

    var content = Content.nothing

    func append(_ node: EncodedNode) {
        guard case .array(var elements) = content else { return }
        // Taken out first, so that appending does not copy the list.
        content = .nothing
        elements.append(node)
        content = .array(elements)
    }

    func append(_ node: EncodedNode, for key: String) {
        guard case .object(var members) = content else { return }
        content = .nothing
        members.append((key, node))
        content = .object(members)
    }

    var json: JSONValue {
        switch content {
        case .nothing: .null
        case .value(let value): value
        case .array(let elements): .array(elements.map(\.json))
        case .object(let members):
            .object(members.map { JSONValue.Member($0.key, $0.node.json) })
        }
    }
}

/// The limits for encoding a value.
///
/// They are needed because a value may contain itself or millions of others. The length of a text is not limited.
final class EncodingBudget {
    /// The text that replaces truncated values.
    static let cut = "…"

    private var valuesLeft = 10_000
    /// The number of levels of values that may still be nested.
    private var depthLeft = 24

    /// Passes a node for another element or member to `append`, and returns it. Returns nil once the limit is reached:
    /// the last node is then ``cut``, which stands for all remaining values.
    func makeNode(append: (EncodedNode) -> Void) -> EncodedNode? {
        guard valuesLeft > 0 else { return nil }
        valuesLeft -= 1
        let node = EncodedNode()
        append(node)
        guard valuesLeft == 0 else { return node }
        node.content = .value(.string(Self.cut))
        return nil
    }

    /// Runs `body` one level deeper. Returns false, without running it, if the depth limit is reached.
    func descend(_ body: () -> Void) -> Bool {
        guard depthLeft > 0 else { return false }
        depthLeft -= 1
        body()
        depthLeft += 1
        return true
    }
}
