internal import IssueWire

/// Makes JSON of anything that can be encoded, and never fails.
///
/// What cannot be encoded is described; what goes too deep, or on for too long,
/// is cut.
struct MetadataEncoder: Encoder {
    let node: EncodedNode
    let budget: EncodingBudget
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    static func json(of value: some Encodable) -> JSONValue {
        let node = EncodedNode()
        encode(value, into: node, budget: EncodingBudget(), path: [])
        return node.json
    }

    // Not generic: it would be there once for each of the standard library's types.
    static func encode(
        _ value: any Encodable, into node: EncodedNode, budget: EncodingBudget, path: [any CodingKey]
    ) {
        let isShallow = budget.descend {
            do {
                try value.encode(to: MetadataEncoder(node: node, budget: budget, codingPath: path))
            } catch {
                node.content = .value(.string(String(describing: value)))
            }
        }
        guard isShallow else {
            node.content = .value(.string(EncodingBudget.cut))
            return
        }
        if case .nothing = node.content { node.content = .value(.string(String(describing: value))) }
        // Foundation's types encode themselves in ways that are for machines of their own kind.
        let typeName = String(reflecting: type(of: value))
        if typeName.hasPrefix("Foundation"), let readable = readable(value, typeName, node.json) {
            node.content = .value(readable)
        }
    }

    private static func readable(_ value: any Encodable, _ typeName: String, _ json: JSONValue) -> JSONValue? {
        switch typeName.split(separator: ".").last {
        case "Date":
            // Seconds since the beginning of 2001.
            guard case .number(let text) = json, let seconds = Double(text) else { return nil }
            let milliseconds = (seconds * 1000).rounded() + 978_307_200_000
            return Int64(exactly: milliseconds).map { .string(Timestamp(milliseconds: $0).text) }
        case "URL": return .string(String(describing: value))
        case "Decimal":
            let text = String(describing: value)
            return Double(text).map { $0.isFinite } == true ? .number(text) : .string(text)
        case "Data":
            guard case .array(let elements) = json else { return nil }
            let bytes = elements.compactMap { element -> UInt8? in
                guard case .integer(let number) = element else { return nil }
                return UInt8(exactly: number)
            }
            return .string(bytes.count == elements.count ? Base64.text(of: bytes) : String(describing: value))
        default: return nil
        }
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        if case .object = node.content {} else { node.content = .object([]) }
        return KeyedEncodingContainer(
            MetadataMembers<Key>(node: node, budget: budget, codingPath: codingPath))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        if case .array = node.content {} else { node.content = .array([]) }
        return MetadataElements(node: node, budget: budget, codingPath: codingPath)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        MetadataScalar(node: node, budget: budget, codingPath: codingPath)
    }
}
