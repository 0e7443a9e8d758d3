internal import IssueWire

extension IssueMetadata {
    /// A dictionary literal whose values are variables of any `Encodable` type, or nil.
    ///
    /// ```swift
    /// reportIssue("Payment refused", metadata: ["order": order, "attempt": attempt])
    /// ```
    ///
    /// The functions that take metadata accept such a literal. Elsewhere, for example in an ``IssueReport``, write
    /// `IssueMetadata(["order": order])`.
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

    /// Creates metadata from a dictionary literal with variables of any `Encodable` type.
    ///
    /// - Parameter values: The values by key.
    public init(_ values: EncodableLiteral) {
        self = values.metadata
    }

    /// Creates metadata from a dictionary with values of any `Encodable` type, for example a `[String: String]`.
    ///
    /// - Parameter values: The values by key. A key that is neither a `String` nor a ``Key`` is replaced by its
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
        // The usual types are not worth an encoder.
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
    /// Encodes the value like the JSON that it represents.
    ///
    /// - Parameter encoder: The encoder.
    /// - Throws: The error of the encoder.
    public func encode(to encoder: any Encoder) throws {
        switch json {
        case .array(let elements):
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(Self(json: element)) }
        case .object(let members):
            var container = encoder.container(keyedBy: MemberKey.self)
            for member in members {
                try container.encode(Self(json: member.value), forKey: MemberKey(stringValue: member.key))
            }
        case .null, .bool, .integer, .number, .string:
            var container = encoder.singleValueContainer()
            switch json {
            case .bool(let flag): try container.encode(flag)
            case .integer(let number): try container.encode(number)
            case .number(let spelling):
                if let number = UInt64(spelling) {
                    try container.encode(number)
                } else if let number, number.isFinite {
                    try container.encode(number)
                } else {
                    try container.encode(spelling)
                }
            case .string(let text): try container.encode(text)
            default: try container.encodeNil()
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
