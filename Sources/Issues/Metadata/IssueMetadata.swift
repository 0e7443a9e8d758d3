package import IssueWire

/// Named values that belong to an issue.
///
/// Metadata can be written as a dictionary literal. If a key occurs twice, the last value is used.
///
/// ```swift
/// reportIssue("Payment refused", metadata: ["attempt": 3, "cart": cart])
/// ```
///
/// Values can be read by key, or in a loop in the order of their keys:
///
/// ```swift
/// let attempt = report.metadata["attempt"]?.integer ?? 1
/// for (key, value) in report.metadata { print(key, value.text ?? "\(value)") }
/// ```
public struct IssueMetadata: Sendable, ExpressibleByDictionaryLiteral {
    /// The members, with unique keys. A list instead of a dictionary, because metadata is small: a literal is stored
    /// without hashing its keys.
    private(set) var members: [(Key, Value)]

    /// The number of key comparisons above which keys are hashed instead.
    private static let maxComparisons = 1024

    /// Creates empty metadata.
    public init() {
        members = []
    }

    /// Creates metadata from a dictionary literal.
    ///
    /// - Parameter elements: The keys and values. If a key occurs twice, the last value is used.
    public init(dictionaryLiteral elements: (Key, Value)...) {
        self.init(elements)
    }

    /// Creates metadata from a dictionary.
    ///
    /// - Parameter values: The values by key.
    public init(_ values: [Key: Value]) {
        members = values.map { ($0.key, $0.value) }
    }

    /// Creates metadata from a list. If a key occurs twice, the last value is used.
    init(_ elements: [(Key, Value)]) {
        if Self.areKeysDifferent(elements) {
            members = elements
        } else {
            members = Dictionary(elements, uniquingKeysWith: { _, last in last }).map { ($0.key, $0.value) }
        }
    }

    /// Whether there are no values.
    public var isEmpty: Bool { members.isEmpty }

    /// The number of values.
    public var count: Int { members.count }

    /// The keys, in no particular order.
    public var keys: some Collection<Key> { members.lazy.map(\.0) }

    /// Accesses the value of a key.
    ///
    /// - Parameter key: The key.
    /// - Returns: The value; nil if the key does not exist. Assigning nil removes the key.
    public subscript(key: Key) -> Value? {
        get { index(of: key).map { members[$0].1 } }
        set {
            switch (index(of: key), newValue) {
            case (let index?, let value?): members[index].1 = value
            case (let index?, nil): members.remove(at: index)
            case (nil, let value?): members.append((key, value))
            case (nil, nil): break
            }
        }
    }

    /// Returns this metadata with other metadata added.
    ///
    /// - Parameter others: The metadata to add. Its values replace the values of equal keys.
    /// - Returns: The merged metadata.
    public func merging(_ others: IssueMetadata) -> IssueMetadata {
        guard !others.isEmpty else { return self }
        guard !isEmpty else { return others }
        guard count * others.count <= Self.maxComparisons else {
            return IssueMetadata(dictionary.merging(others.dictionary) { _, other in other })
        }
        var merged = self
        for (key, value) in others.members { merged[key] = value }
        return merged
    }

    private func index(of key: Key) -> Int? {
        members.firstIndex { $0.0 == key }
    }

    private var dictionary: [Key: Value] {
        Dictionary(members, uniquingKeysWith: { _, last in last })
    }

    private static func areKeysDifferent(_ elements: [(Key, Value)]) -> Bool {
        guard elements.count * elements.count <= maxComparisons else { return false }
        for index in elements.indices.dropFirst() {
            for other in 0..<index where elements[other].0 == elements[index].0 { return false }
        }
        return true
    }
}

extension IssueMetadata: Hashable {
    public static func == (left: Self, right: Self) -> Bool {
        guard left.count == right.count else { return false }
        for (index, member) in left.members.enumerated() {
            // The order is nearly always the same, since equal metadata usually comes from the same code.
            let hasSameKey = right.members[index].0 == member.0
            guard let other = hasSameKey ? right.members[index].1 : right[member.0], other == member.1 else {
                return false
            }
        }
        return true
    }

    public func hash(into hasher: inout Hasher) {
        dictionary.hash(into: &hasher)
    }
}

extension IssueMetadata {
    /// The name of a metadata value.
    ///
    /// Frequently used keys can be declared once:
    ///
    /// ```swift
    /// extension IssueMetadata.Key {
    ///     static let requestID: Self = "request_id"
    /// }
    /// ```
    public struct Key: RawRepresentable, Hashable, Sendable, ExpressibleByStringInterpolation, CustomStringConvertible {
        /// The name on the wire.
        public var rawValue: String

        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// Creates a key.
        ///
        /// - Parameter name: The name on the wire.
        public init(_ name: String) {
            rawValue = name
        }

        /// Creates a key from a literal.
        ///
        /// - Parameter value: The name on the wire.
        public init(stringLiteral value: String) {
            rawValue = value
        }

        /// The name on the wire.
        public var description: String { rawValue }
    }
}

extension IssueMetadata {
    /// A metadata value. It can hold any JSON value.
    public struct Value: Hashable, Sendable {
        package var json: JSONValue

        package init(json: JSONValue) {
            self.json = json
        }

        /// Creates a string.
        ///
        /// - Parameter text: The string.
        public init(_ text: String) {
            json = .string(text)
        }

        /// Creates an integer.
        ///
        /// - Parameter number: The integer.
        public init(_ number: Int) {
            json = .integer(Int64(number))
        }

        /// Creates an integer.
        ///
        /// - Parameter number: The integer. It may have more than 64 bits.
        public init(_ number: some BinaryInteger) {
            json = Int64(exactly: number).map { .integer($0) } ?? .number(String(number))
        }

        /// Creates a number.
        ///
        /// - Parameter number: The number. An infinite or NaN value becomes a string.
        public init(_ number: Double) {
            json = number.isFinite ? .number(String(number)) : .string(String(number))
        }

        /// Creates a Boolean.
        ///
        /// - Parameter flag: The Boolean.
        public init(_ flag: Bool) {
            json = .bool(flag)
        }

        /// Creates a list.
        ///
        /// - Parameter values: The elements.
        public init(_ values: [IssueMetadata.Value]) {
            json = .array(values.map(\.json))
        }

        /// Creates a nested object.
        ///
        /// - Parameter metadata: The members of the object.
        public init(_ metadata: IssueMetadata) {
            json = metadata.json
        }
    }
}

extension IssueMetadata.Value: ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral, ExpressibleByNilLiteral, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    public init(stringLiteral value: String) { self.init(value) }
    public init(integerLiteral value: Int64) { json = .integer(value) }
    public init(floatLiteral value: Double) { self.init(value) }
    public init(booleanLiteral value: Bool) { self.init(value) }
    public init(nilLiteral: ()) { json = .null }
    public init(arrayLiteral elements: IssueMetadata.Value...) { self.init(elements) }

    /// Creates a nested object from a literal.
    ///
    /// - Parameter elements: The members of the object. If a key occurs twice, the last value is used.
    public init(dictionaryLiteral elements: (IssueMetadata.Key, IssueMetadata.Value)...) {
        self.init(IssueMetadata(elements))
    }
}

extension IssueMetadata.Value: CustomStringConvertible {
    /// The value as JSON.
    public var description: String { String(decoding: json.json, as: UTF8.self) }
}

extension IssueMetadata: CustomStringConvertible {
    /// The metadata as a JSON object with sorted keys.
    public var description: String { Value(self).description }
}

extension IssueMetadata {
    /// Creates metadata from a JSON object. Any other JSON value results in empty metadata.
    package init(json: JSONValue) {
        let members = json.asObject ?? []
        self.init(members.map { (Key($0.key), Value(json: $0.value)) })
    }

    /// The metadata as a JSON object. Its keys are sorted, so that equal metadata has equal JSON.
    package var json: JSONValue {
        .object(sortedMembers.map { JSONValue.Member($0.0.rawValue, $0.1.json) })
    }

    var sortedMembers: [(Key, Value)] {
        members.sorted { $0.0.rawValue < $1.0.rawValue }
    }
}

/// The contents of a metadata value. Each optional property is nil if the value is of another kind.
extension IssueMetadata.Value {
    /// The string; nil if the value is not a string.
    public var text: String? { json.asString }

    /// The integer. Nil if the value is not a number, has a fraction or an exponent, or does not fit in 64 bits.
    public var integer: Int? { json.asInteger.map { Int($0) } }

    /// The number, rounded to the nearest `Double`; infinite if it is too large. Nil if the value is not a number.
    ///
    /// Use `description` to get all digits.
    public var number: Double? { json.asDouble }

    /// The Boolean; nil if the value is not a Boolean.
    public var bool: Bool? { json.asBool }

    /// The elements of a list; nil if the value is not a list.
    public var list: [IssueMetadata.Value]? {
        json.asArray?.map { IssueMetadata.Value(json: $0) }
    }

    /// The members of a nested object; nil if the value is not an object.
    public var dictionary: IssueMetadata? {
        json.asObject == nil ? nil : IssueMetadata(json: json)
    }

    /// Whether the value is a JSON null.
    public var isNull: Bool { json.isNull }
}

extension IssueMetadata: Sequence {
    /// An iterator over the values, sorted by key.
    public struct Iterator: IteratorProtocol {
        private var members: IndexingIterator<[(Key, Value)]>

        init(_ members: [(Key, Value)]) {
            self.members = members.makeIterator()
        }

        public mutating func next() -> (key: Key, value: Value)? {
            guard let (key, value) = members.next() else { return nil }
            return (key, value)
        }
    }

    public func makeIterator() -> Iterator { Iterator(sortedMembers) }
}

extension IssueMetadata {
    /// Sets a value for a key that the library reserves.
    ///
    /// If the application uses the same key, the application's value moves to the key with the prefix `metadata_` and
    /// replaces any value there, and `repairs` mentions the change.
    mutating func setReserved(_ key: Key, to value: Value) {
        if let theirs = self[key] {
            let renamed = Key("metadata_\(key)")
            self[renamed] = theirs
            let repair = Value("\(key) is reserved by the library: the application's value was moved to \(renamed)")
            self[.repairs] = Value((self[.repairs]?.list ?? []) + [repair])
        }
        self[key] = value
    }
}

extension IssueMetadata.Key {
    /// Sentences about renamed keys.
    static let repairs: Self = "repairs"
}

extension IssueMetadata {
    /// The approximate size on the wire, in bytes.
    var estimatedBytes: Int {
        var bytes = 0
        for (key, value) in members { bytes += key.rawValue.utf8.count + 4 + value.json.estimatedBytes }
        return bytes
    }
}

extension JSONValue {
    // Loops instead of closures: if a function recurses through a closure, the compiler inlines it into itself several
    // times.
    fileprivate var estimatedBytes: Int {
        switch self {
        case .null, .bool: return 5
        case .integer: return 12
        case .number(let spelling): return spelling.utf8.count
        case .string(let text): return text.utf8.count + 2
        case .array(let elements):
            var bytes = 2
            for element in elements { bytes += element.estimatedBytes + 1 }
            return bytes
        case .object(let members):
            var bytes = 2
            for member in members { bytes += member.key.utf8.count + 4 + member.value.estimatedBytes }
            return bytes
        }
    }
}
