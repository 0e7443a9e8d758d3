package import IssueWire

extension CollectorMethod {
    private static let prefix = Array("\(CollectorInterface.name).".utf8)
    private static let keys = allCases.map { method in
        let name = Array(method.rawValue.utf8)
        return (key: JSONKey(name.span, from: 0, to: name.count), method: method)
    }

    /// The method that a call names, found without a string for the name.
    package init?(_ envelope: VarlinkCall.Envelope, in message: Span<UInt8>) {
        let name = envelope.method
        guard !name.hasEscapes else {
            self.init(fullName: JSONScanner(message).string(name))
            return
        }
        let prefix = Self.prefix
        // A key of at most 16 bytes is known by its form alone.
        guard name.count > prefix.count, name.count <= prefix.count + 16 else { return nil }
        for index in prefix.indices where message[name.start + index] != prefix[index] { return nil }
        let key = JSONKey(message, from: name.start + prefix.count, to: name.end)
        guard let match = Self.keys.first(where: { $0.key == key }) else { return nil }
        self = match.method
    }
}
