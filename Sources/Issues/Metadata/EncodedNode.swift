internal import IssueWire

/// A value that is being encoded, in the state that its containers have brought it to.
final class EncodedNode {
    enum Content {
        case nothing
        case value(JSONValue)
        case array([EncodedNode])
        case object([(key: String, node: EncodedNode)])
    }

    var content = Content.nothing

    func append(_ node: EncodedNode) {
        guard case .array(var elements) = content else { return }
        // Taken out first, so that the list is not copied for each element.
        content = .nothing
        elements.append(node)
        content = .array(elements)
    }

    func append(_ node: EncodedNode, for key: String) {
        guard case .object(var members) = content else { return }
        content = .nothing
        members.append((key, node))
        content = .object(members)
    }

    var json: JSONValue {
        switch content {
        case .nothing: .null
        case .value(let value): value
        case .array(let elements): .array(elements.map(\.json))
        case .object(let members):
            .object(members.map { JSONValue.Member($0.key, $0.node.json) })
        }
    }
}
