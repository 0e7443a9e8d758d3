internal import IssueWire

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
