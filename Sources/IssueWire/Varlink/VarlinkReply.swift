/// A reply to a call, or a part of one, as it stands on the socket.
package struct VarlinkReply: Equatable, Sendable {
    /// The parameters, a JSON object.
    package var parameters: [UInt8]
    /// Whether another part follows.
    package var continues: Bool
    /// The error's full name, where the call failed; the parameters are the error's then.
    package var error: String?

    package init(parameters: [UInt8] = Array("{}".utf8), continues: Bool = false, error: String? = nil) {
        self.parameters = parameters
        self.continues = continues
        self.error = error
    }

    /// Decodes a message, given without its NUL.
    package init(decoding message: Span<UInt8>) throws(VarlinkError) {
        var scanner = JSONScanner(message)
        let keys = EnvelopeKeys.shared
        var range: Range<Int>?
        continues = false
        try scanner.openEnvelope()
        while let text = try scanner.nextEnvelopeMember() {
            let key = scanner.key(text)
            if key == keys.parameters {
                range = try scanner.envelopeParameters()
            } else if key == keys.continues {
                continues = try scanner.envelopeFlag("continues")
            } else if key == keys.error {
                error = scanner.string(try scanner.envelopeText("error"))
            } else {
                try scanner.skipEnvelopeMember()
            }
        }
        try scanner.endEnvelope()
        parameters = message.json(in: range)
    }

    /// Decodes a message, given without its NUL.
    package init(decoding message: [UInt8]) throws(VarlinkError) {
        try self.init(decoding: message.span)
    }

    /// Appends the reply as a message, its NUL included.
    package func encode(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("error", ifPresent: error)
        writer.key("parameters")
        writer.raw(parameters)
        if continues { writer.member("continues", true) }
        writer.closeObject()
        writer.endText(with: 0)
    }

    /// The reply as a message, its NUL included.
    package var message: [UInt8] {
        var writer = JSONWriter(reserving: parameters.count + 64)
        encode(to: &writer)
        return writer.bytes
    }

    /// Appends a reply as a message, writing its parameters in place.
    package static func encode(
        _ parameters: some JSONCodable, continues: Bool = false, to writer: inout JSONWriter
    ) {
        writer.openObject()
        writer.member("parameters", parameters)
        if continues { writer.member("continues", true) }
        writer.closeObject()
        writer.endText(with: 0)
    }
}
