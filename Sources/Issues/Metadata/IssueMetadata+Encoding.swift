internal import IssueWire

extension IssueMetadata.Value {
    /// Anything that can be encoded, as JSON.
    ///
    /// It never fails: what refuses to be encoded is described in words, and
    /// what is too deep or too large is cut. Dates, URLs, decimal numbers and
    /// data of Foundation become texts and numbers as people write them.
    @_disfavoredOverload
    public init(_ value: some Encodable) {
        self.init(json: MetadataEncoder.json(of: value))
    }

    /// Whatever it is, as well as it can be said.
    init(describing value: Any, depth: Int = 0) {
        let mirror = Mirror(reflecting: value)
        if mirror.displayStyle == .optional {
            guard let some = mirror.children.first?.value else {
                self.init(json: .null)
                return
            }
            self.init(describing: some, depth: depth)
        } else if depth > 8 {
            self.init("…")
        } else if let value = value as? [Any] {
            self.init(value.prefix(100).map { Self(describing: $0, depth: depth + 1) })
        } else if let value = value as? [String: Any] {
            var metadata = IssueMetadata()
            for (key, value) in value.prefix(100) {
                metadata[IssueMetadata.Key(key)] = Self(describing: value, depth: depth + 1)
            }
            self.init(metadata)
        } else if let value = value as? any Encodable {
            self.init(value)
        } else {
            self.init(String(describing: value))
        }
    }
}
