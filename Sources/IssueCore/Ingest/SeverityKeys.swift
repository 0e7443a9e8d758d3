import IssueProtocol

/// The words for severities on the wire, ready to be compared; the most frequent first.
struct SeverityKeys: Sendable {
    private let words = [Severity.error, .warning, .critical, .info, .debug].map {
        (key: JSONKey(text: $0.name), severity: $0)
    }

    @inline(__always)
    func severity(_ key: JSONKey) -> Severity? {
        for word in words where word.key == key { return word.severity }
        return nil
    }
}
