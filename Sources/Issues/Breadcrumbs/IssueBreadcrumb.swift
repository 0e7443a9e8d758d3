/// Something small that happened before an issue.
public struct IssueBreadcrumb: Hashable, Sendable {
    /// When it happened.
    public var timestamp: IssueTimestamp
    /// What happened.
    public var message: String
    /// Facts that go with it, those of the scopes around it included.
    public var metadata: IssueMetadata

    /// What a trail keeps of facts, of a message, in bytes.
    private static let metadataLimit = 1024
    private static let messageLimit = 512

    init(_ message: String, metadata: IssueMetadata) {
        timestamp = .now
        self.message = message.utf8.count <= Self.messageLimit ? message : "\(message.prefix(Self.messageLimit / 4))…"
        let bytes = metadata.estimatedBytes
        self.metadata = bytes <= Self.metadataLimit ? metadata : [.omittedBytes: .init(bytes)]
    }

    var fact: IssueMetadata.Value {
        var fact: IssueMetadata = ["at": .init(timestamp.description), "message": .init(message)]
        if !metadata.isEmpty { fact["metadata"] = .init(metadata) }
        return .init(fact)
    }
}
