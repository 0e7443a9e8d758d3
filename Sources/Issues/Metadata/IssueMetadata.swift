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
