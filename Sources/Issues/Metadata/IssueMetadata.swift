/// Facts that go with an issue, by name.
///
/// Written as a dictionary literal; of two equal keys the last one wins.
///
/// ```swift
/// reportIssue("Payment refused", metadata: ["attempt": 3, "cart": .init(cart)])
/// ```
public struct IssueMetadata: Sendable, Hashable, ExpressibleByDictionaryLiteral {
    private var values: [Key: Value]

    /// No facts at all.
    public init() {
        values = [:]
    }

    /// The facts of a literal, the last of equal keys winning.
    public init(dictionaryLiteral elements: (Key, Value)...) {
        // Not Dictionary's own literal, which traps on a key that comes twice.
        values = Dictionary(elements, uniquingKeysWith: { _, last in last })
    }

    /// The facts of a dictionary.
    public init(_ values: [Key: Value]) {
        self.values = values
    }

    /// Whether nothing is said.
    public var isEmpty: Bool { values.isEmpty }

    /// How many facts there are.
    public var count: Int { values.count }

    /// The names of all facts, in no order.
    public var keys: some Collection<Key> { values.keys }

    /// One fact by its name.
    public subscript(key: Key) -> Value? {
        get { values[key] }
        set { values[key] = newValue }
    }

    /// These facts and others, which win where both name the same key.
    public func merging(_ others: IssueMetadata) -> IssueMetadata {
        guard !others.isEmpty else { return self }
        guard !isEmpty else { return others }
        return IssueMetadata(values.merging(others.values) { _, other in other })
    }
}
