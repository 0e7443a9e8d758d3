internal import IssueProtocol

/// Takes the members of an object.
struct MetadataMembers<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let node: EncodedNode
    let budget: EncodingBudget
    let codingPath: [any CodingKey]

    mutating func encodeNil(forKey key: Key) {
        member(key).content = .value(.null)
    }

    mutating func encode(_ value: some Encodable, forKey key: Key) {
        MetadataEncoder.encode(value, into: member(key), budget: budget, path: codingPath + [key])
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
        let member = EncodedNode()
        node.append(member, for: "super")
        return MetadataEncoder(node: member, budget: budget, codingPath: codingPath)
    }

    mutating func superEncoder(forKey key: Key) -> any Encoder {
        inner(key)
    }

    private func inner(_ key: Key) -> MetadataEncoder {
        MetadataEncoder(node: member(key), budget: budget, codingPath: codingPath + [key])
    }

    private func member(_ key: Key) -> EncodedNode {
        let member = EncodedNode()
        node.append(member, for: key.stringValue)
        return member
    }
}
