internal import IssueWire

extension IssueMetadata {
    /// About how many bytes it takes on the wire.
    var estimatedBytes: Int {
        var bytes = 0
        for (key, value) in members { bytes += key.rawValue.utf8.count + 4 + value.json.estimatedBytes }
        return bytes
    }
}

extension JSONValue {
    // Loops, not closures: what calls itself from a closure is copied into itself several times over.
    fileprivate var estimatedBytes: Int {
        switch self {
        case .null, .bool: return 5
        case .integer: return 12
        case .number(let spelling): return spelling.utf8.count
        case .string(let text): return text.utf8.count + 2
        case .array(let elements):
            var bytes = 2
            for element in elements { bytes += element.estimatedBytes + 1 }
            return bytes
        case .object(let members):
            var bytes = 2
            for member in members { bytes += member.key.utf8.count + 4 + member.value.estimatedBytes }
            return bytes
        }
    }
}
