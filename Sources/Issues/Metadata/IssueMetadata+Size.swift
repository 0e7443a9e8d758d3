internal import IssueProtocol

extension IssueMetadata {
    /// About how many bytes it takes on the wire.
    var estimatedBytes: Int {
        members.reduce(0) { $0 + $1.0.rawValue.utf8.count + 4 + $1.1.json.estimatedBytes }
    }
}

extension JSONValue {
    fileprivate var estimatedBytes: Int {
        switch self {
        case .null, .bool: 5
        case .integer: 12
        case .number(let spelling): spelling.utf8.count
        case .string(let text): text.utf8.count + 2
        case .array(let elements): elements.reduce(2) { $0 + $1.estimatedBytes + 1 }
        case .object(let members):
            members.reduce(2) { $0 + $1.key.utf8.count + 4 + $1.value.estimatedBytes }
        }
    }
}
