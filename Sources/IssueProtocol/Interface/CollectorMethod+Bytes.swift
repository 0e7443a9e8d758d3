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

extension CollectorMethod {
    /// What a message that has not come to its end calls, or nil where that cannot be told yet.
    package enum Beginning: Equatable, Sendable {
        case report
        case other
    }

    /// How far into a message its method is looked for.
    private static let maxBeginning = 4096

    /// Tells from its beginning what a message calls; nil where the method does not stand there.
    package static func method(ofMessageBeginningWith message: Span<UInt8>) -> Beginning? {
        var scanner = JSONScanner(message.extracting(0..<min(message.count, maxBeginning)))
        do throws(JSONError) {
            try scanner.openObject()
            while let key = try scanner.nextMember() {
                guard scanner.string(key) == "method" else {
                    try scanner.skipValueOfAnySize()
                    continue
                }
                let name = scanner.string(try scanner.text())
                return CollectorMethod(fullName: name) == .report ? .report : .other
            }
        } catch {
            return nil
        }
        return nil
    }
}
