package import IssueWire

/// Facts that go with an issue, by name.
///
/// Written as a dictionary literal; of two equal keys the last one wins.
///
/// ```swift
/// reportIssue("Payment refused", metadata: ["attempt": 3, "cart": .init(cart)])
/// ```
///
/// Read by name, or one after the other with keys in order:
///
/// ```swift
/// let attempt = report.metadata["attempt"]?.integer ?? 1
/// for (key, value) in report.metadata { print(key, value.text ?? "\(value)") }
/// ```
public struct IssueMetadata: Sendable, ExpressibleByDictionaryLiteral {
    /// Each key once. A list, since facts are few: it takes the literal as it
    /// is, where a dictionary would hash every key.
    private(set) var members: [(Key, Value)]

    /// Above so many comparisons of keys, hashing them is quicker.
    private static let comparisons = 1024

    /// No facts at all.
    public init() {
        members = []
    }

    /// The facts of a literal, the last of equal keys winning.
    public init(dictionaryLiteral elements: (Key, Value)...) {
        self.init(elements)
    }

    /// The facts of a dictionary.
    public init(_ values: [Key: Value]) {
        members = values.map { ($0.key, $0.value) }
    }

    /// The facts of a list, the last of equal keys winning.
    init(_ elements: [(Key, Value)]) {
        if Self.areKeysDifferent(elements) {
            members = elements
        } else {
            members = Dictionary(elements, uniquingKeysWith: { _, last in last }).map { ($0.key, $0.value) }
        }
    }

    /// Whether nothing is said.
    public var isEmpty: Bool { members.isEmpty }

    /// How many facts there are.
    public var count: Int { members.count }

    /// The names of all facts, in no order.
    public var keys: some Collection<Key> { members.lazy.map(\.0) }

    /// One fact by its name.
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

    /// These facts and others, which win where both name the same key.
    public func merging(_ others: IssueMetadata) -> IssueMetadata {
        guard !others.isEmpty else { return self }
        guard !isEmpty else { return others }
        guard count * others.count <= Self.comparisons else {
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
        guard elements.count * elements.count <= comparisons else { return false }
        for index in elements.indices.dropFirst() {
            for other in 0..<index where elements[other].0 == elements[index].0 { return false }
        }
        return true
    }
}

extension IssueMetadata: Hashable {
    /// Whether both say the same, in whatever order.
    public static func == (left: Self, right: Self) -> Bool {
        guard left.count == right.count else { return false }
        for (place, member) in left.members.enumerated() {
            // Nearly always in the same order, since both come from the same place.
            let isThere = right.members[place].0 == member.0
            guard let other = isThere ? right.members[place].1 : right[member.0], other == member.1 else {
                return false
            }
        }
        return true
    }

    /// Hashes the facts, in whatever order.
    public func hash(into hasher: inout Hasher) {
        dictionary.hash(into: &hasher)
    }
}

extension IssueMetadata {
    /// The name of a fact.
    ///
    /// Keys that a program uses often are declared once:
    ///
    /// ```swift
    /// extension IssueMetadata.Key {
    ///     static let requestID: Self = "request_id"
    /// }
    /// ```
    public struct Key: RawRepresentable, Hashable, Sendable, ExpressibleByStringInterpolation, CustomStringConvertible {
        /// The name as it goes over the wire.
        public var rawValue: String

        /// A key of this name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// A key of this name.
        public init(_ name: String) {
            rawValue = name
        }

        /// A key of this name.
        public init(stringLiteral value: String) {
            rawValue = value
        }

        /// The name as it goes over the wire.
        public var description: String { rawValue }
    }
}

extension IssueMetadata {
    /// A fact: anything that JSON can hold.
    public struct Value: Hashable, Sendable {
        package var json: JSONValue

        package init(json: JSONValue) {
            self.json = json
        }

        /// A text.
        public init(_ text: String) {
            json = .string(text)
        }

        /// A whole number.
        public init(_ number: Int) {
            json = .integer(Int64(number))
        }

        /// A whole number.
        public init(_ number: some BinaryInteger) {
            json = Int64(exactly: number).map { .integer($0) } ?? .number(String(number))
        }

        /// A number; what is none, such as infinity, becomes a text.
        public init(_ number: Double) {
            json = number.isFinite ? .number(String(number)) : .string(String(number))
        }

        /// Yes or no.
        public init(_ flag: Bool) {
            json = .bool(flag)
        }

        /// A list of facts.
        public init(_ values: [Value]) {
            json = .array(values.map(\.json))
        }

        /// Facts within a fact.
        public init(_ metadata: IssueMetadata) {
            json = metadata.json
        }
    }
}

extension IssueMetadata.Value: ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral, ExpressibleByNilLiteral, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    /// A text.
    public init(stringLiteral value: String) { self.init(value) }
    /// A whole number.
    public init(integerLiteral value: Int64) { json = .integer(value) }
    /// A number.
    public init(floatLiteral value: Double) { self.init(value) }
    /// Yes or no.
    public init(booleanLiteral value: Bool) { self.init(value) }
    /// Known to be nothing.
    public init(nilLiteral: ()) { json = .null }
    /// A list of facts.
    public init(arrayLiteral elements: IssueMetadata.Value...) { self.init(elements) }

    /// Facts within a fact, the last of equal keys winning.
    public init(dictionaryLiteral elements: (IssueMetadata.Key, IssueMetadata.Value)...) {
        self.init(IssueMetadata(elements))
    }
}

extension IssueMetadata.Value: CustomStringConvertible {
    /// The JSON text.
    public var description: String {
        var writer = JSONWriter()
        writer.value(json)
        return writer.text
    }
}

extension IssueMetadata: CustomStringConvertible {
    /// The JSON text, keys in order.
    public var description: String { Value(self).description }

    /// The facts of a JSON object; of any other value none.
    package init(json: JSONValue) {
        let members = json.asObject ?? []
        self.init(members.map { (Key($0.key), Value(json: $0.value)) })
    }

    /// A JSON object with its keys in order, so that equal metadata reads the same.
    package var json: JSONValue {
        .object(inOrder.map { JSONValue.Member($0.0.rawValue, $0.1.json) })
    }

    var inOrder: [(Key, Value)] {
        members.sorted { $0.0.rawValue < $1.0.rawValue }
    }
}

/// What a fact says, for sinks and for those who ask the daemon; nil where it is of another kind.
extension IssueMetadata.Value {
    /// The text.
    public var text: String? { json.asString }

    /// The whole number; nil of one that is written with a fraction or an exponent, or has more than 64 bits.
    public var integer: Int? { json.asInteger.map { Int($0) } }

    /// The number, whole or not, as near as floating point comes to it; infinite when it is too large.
    ///
    /// `description` has every digit of it.
    public var number: Double? { json.asDouble }

    /// Yes or no.
    public var bool: Bool? { json.asBool }

    /// The facts of a list.
    public var list: [IssueMetadata.Value]? {
        guard let elements = json.asArray else { return nil }
        var list: [IssueMetadata.Value] = []
        list.reserveCapacity(elements.count)
        for element in elements { list.append(IssueMetadata.Value(json: element)) }
        return list
    }

    /// The facts within this one, by name.
    public var dictionary: IssueMetadata? {
        json.asObject == nil ? nil : IssueMetadata(json: json)
    }

    /// Whether it is known to be nothing.
    public var isNull: Bool { json.isNull }
}

extension IssueMetadata: Sequence {
    /// Takes one fact after the other, keys in order.
    public struct Iterator: IteratorProtocol {
        private var members: IndexingIterator<[(Key, Value)]>

        init(_ members: [(Key, Value)]) {
            self.members = members.makeIterator()
        }

        /// The next fact; nil when there is none.
        public mutating func next() -> (key: Key, value: Value)? {
            guard let (key, value) = members.next() else { return nil }
            return (key, value)
        }
    }

    /// Begins to go through all facts, keys in order.
    public func makeIterator() -> Iterator { Iterator(inOrder) }
}

extension IssueMetadata {
    /// Sets a fact of the library's own.
    ///
    /// What the application says under that name is kept under another, and
    /// `repairs` says so: it must neither vanish nor be taken for ours.
    mutating func setOwn(_ key: Key, to value: Value) {
        if let theirs = self[key] {
            let kept = Key("metadata_\(key)")
            self[kept] = theirs
            let repair = Value("\(key) is a name of the library's: what the application said stands in \(kept)")
            let earlier = self[.repairs]?.json.asArray?.map { Value(json: $0) } ?? []
            self[.repairs] = Value(earlier + [repair])
        }
        self[key] = value
    }
}

extension IssueMetadata.Key {
    /// What had to be renamed, a sentence each.
    static let repairs: Self = "repairs"
}

extension IssueMetadata {
    /// About how many bytes it takes on the wire.
    var estimatedBytes: Int {
        var bytes = 0
        for (key, value) in members { bytes += key.rawValue.utf8.count + 4 + value.json.estimatedBytes }
        return bytes
    }
}

extension JSONValue {
    // Loops, not closures: what calls itself from a closure is copied into itself several times over.
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
