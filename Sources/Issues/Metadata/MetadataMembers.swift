internal import IssueWire

/// Takes the members of an object.
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

    mutating func superEncoder(forKey key: Key) -> any Encoder {
        inner(key)
    }

    private func inner(_ key: Key) -> MetadataEncoder {
        MetadataEncoder(
            node: member(key.stringValue) ?? EncodedNode(), budget: budget, codingPath: codingPath + [key])
    }

    /// A member of this name, to be filled; nil when there is no room for one.
    private func member(_ name: String) -> EncodedNode? {
        let member = EncodedNode()
        switch budget.take() {
        case .some: node.append(member, for: name)
        case .last:
            member.content = .value(.string(EncodingBudget.cut))
            node.append(member, for: name)
            return nil
        case .none: return nil
        }
        return member
    }
}
