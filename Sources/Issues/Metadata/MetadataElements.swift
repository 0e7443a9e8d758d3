internal import IssueWire

/// Takes the elements of a list.
struct MetadataElements: UnkeyedEncodingContainer {
    let node: EncodedNode
    let budget: EncodingBudget
    let codingPath: [any CodingKey]
    private(set) var count = 0

    init(node: EncodedNode, budget: EncodingBudget, codingPath: [any CodingKey]) {
        self.node = node
        self.budget = budget
        self.codingPath = codingPath
    }

    mutating func encodeNil() {
        next()?.content = .value(.null)
    }

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

    mutating func superEncoder() -> any Encoder {
        inner()
    }

    private mutating func inner() -> MetadataEncoder {
        let path = codingPath + [MetadataIndex(count)]
        return MetadataEncoder(node: next() ?? EncodedNode(), budget: budget, codingPath: path)
    }

    /// The next element, to be filled; nil when there is no room for one.
    private mutating func next() -> EncodedNode? {
        count += 1
        let element = EncodedNode()
        switch budget.take() {
        case .some: node.append(element)
        case .last:
            element.content = .value(.string(EncodingBudget.cut))
            node.append(element)
            return nil
        case .none: return nil
        }
        return element
    }
}
