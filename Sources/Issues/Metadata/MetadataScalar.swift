internal import IssueWire

/// Takes the one value that a type encodes itself as.
struct MetadataScalar: SingleValueEncodingContainer {
    let node: EncodedNode
    let budget: EncodingBudget
    let codingPath: [any CodingKey]

    func encodeNil() { node.content = .value(.null) }
    func encode(_ value: Bool) { set(.init(value)) }
    func encode(_ value: String) { set(.init(value)) }
    func encode(_ value: Double) { set(.init(value)) }
    func encode(_ value: Float) { set(.init(Double("\(value)") ?? Double(value))) }
    func encode(_ value: Int) { set(.init(value)) }
    func encode(_ value: Int8) { set(.init(value)) }
    func encode(_ value: Int16) { set(.init(value)) }
    func encode(_ value: Int32) { set(.init(value)) }
    func encode(_ value: Int64) { set(.init(value)) }
    func encode(_ value: Int128) { set(.init(value)) }
    func encode(_ value: UInt) { set(.init(value)) }
    func encode(_ value: UInt8) { set(.init(value)) }
    func encode(_ value: UInt16) { set(.init(value)) }
    func encode(_ value: UInt32) { set(.init(value)) }
    func encode(_ value: UInt64) { set(.init(value)) }
    func encode(_ value: UInt128) { set(.init(value)) }

    func encode(_ value: some Encodable) {
        MetadataEncoder.encode(value, into: node, budget: budget, path: codingPath)
    }

    private func set(_ value: IssueMetadata.Value) {
        node.content = .value(value.json)
    }
}
