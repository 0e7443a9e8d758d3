/// A call of a method, as it stands on the socket.
package struct VarlinkCall: Equatable, Sendable {
    /// The method's full name, with its interface.
    package var method: String
    /// The parameters, a JSON object.
    package var parameters: [UInt8]
    /// Whether no reply is wanted.
    package var oneway: Bool
    /// Whether the reply may come in several parts.
    package var more: Bool
    /// Whether the connection shall speak something else after the reply.
    package var upgrade: Bool

    package init(
        method: String, parameters: [UInt8] = Array("{}".utf8), oneway: Bool = false, more: Bool = false,
        upgrade: Bool = false
    ) {
        self.method = method
        self.parameters = parameters
        self.oneway = oneway
        self.more = more
        self.upgrade = upgrade
    }

    /// Decodes a message, given without its NUL.
    package init(decoding message: Span<UInt8>) throws(VarlinkError) {
        let envelope = try Envelope(scanning: message)
        self.init(
            method: JSONScanner(message).string(envelope.method), parameters: message.json(in: envelope.parameters),
            oneway: envelope.oneway, more: envelope.more, upgrade: envelope.upgrade)
    }

    /// Decodes a message, given without its NUL.
    package init(decoding message: [UInt8]) throws(VarlinkError) {
        try self.init(decoding: message.span)
    }

    /// Appends the call as a message, its NUL included.
    package func encode(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("method", method)
        writer.key("parameters")
        writer.raw(parameters)
        writeFlags(to: &writer)
        writer.closeObject()
        writer.endText(with: 0)
    }

    /// The call as a message, its NUL included.
    package var message: [UInt8] {
        var writer = JSONWriter(reserving: parameters.count + method.utf8.count + 64)
        encode(to: &writer)
        return writer.bytes
    }

    /// Appends a call as a message, writing its parameters in place; a flag that is off is left out.
    package static func encode(
        _ method: String, _ parameters: some JSONCodable, oneway: Bool = false, more: Bool = false,
        to writer: inout JSONWriter
    ) {
        writer.openObject()
        writer.member("method", method)
        writer.member("parameters", parameters)
        VarlinkCall(method: method, parameters: [], oneway: oneway, more: more).writeFlags(to: &writer)
        writer.closeObject()
        writer.endText(with: 0)
    }

    private func writeFlags(to writer: inout JSONWriter) {
        if oneway { writer.member("oneway", true) }
        if more { writer.member("more", true) }
        if upgrade { writer.member("upgrade", true) }
    }
}

extension Span<UInt8> {
    /// A copy of the object in a range, or an empty one where none was given.
    package func json(in range: Range<Int>?) -> [UInt8] {
        var json: [UInt8] = []
        if let range {
            json.append(contentsOf: self, from: range.lowerBound, to: range.upperBound)
        } else {
            json.append(contentsOf: "{}".utf8)
        }
        return json
    }
}
