/// A method call, as sent on the socket.
package struct VarlinkCall: Equatable, Sendable {
    /// The method's full name, with its interface.
    package var method: String
    /// The parameters as a JSON object.
    package var parameters: [UInt8]
    /// Whether no reply is wanted.
    package var oneway: Bool
    /// Whether several replies are accepted.
    package var more: Bool
    /// Whether to switch the connection to another protocol after the reply.
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

    /// Decodes a message without its NUL.
    package init(decoding message: Span<UInt8>) throws(VarlinkError) {
        let envelope = try Envelope(scanning: message)
        self.init(
            method: JSONScanner(message).string(envelope.method), parameters: message.json(in: envelope.parameters),
            oneway: envelope.oneway, more: envelope.more, upgrade: envelope.upgrade)
    }

    /// Decodes a message without its NUL.
    package init(decoding message: [UInt8]) throws(VarlinkError) {
        try self.init(decoding: message.span)
    }

    /// Appends the call as a message, including its NUL.
    package func encode(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("method", method)
        writer.key("parameters")
        writer.raw(parameters)
        writeFlags(to: &writer)
        writer.closeObject()
        writer.endText(with: 0)
    }

    /// The call as a message, including its NUL.
    package var message: [UInt8] {
        var writer = JSONWriter(reserving: parameters.count + method.utf8.count + 64)
        encode(to: &writer)
        return writer.bytes
    }

    /// Appends a call as a message, including its NUL. Encodes the parameters in place, without an intermediate copy.
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
    /// Returns a copy of the object in a range; an empty object if the range is nil.
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

extension VarlinkCall {
    /// The members of a call. The method and the parameters are positions in the message and are not copied.
    package struct Envelope: Equatable, Sendable {
        /// The position of the method's full name in the message.
        package private(set) var method: JSONText
        /// The range in the message of the parameters, a JSON object; nil if they are absent or `null`.
        package private(set) var parameters: Range<Int>?
        package private(set) var oneway = false
        package private(set) var more = false
        package private(set) var upgrade = false

        /// Scans a whole message without its NUL.
        ///
        /// Checks that the parameters are well-formed. They may exceed the scanner's maximum depth: the reader of the
        /// parameters reports that, so that one deep record does not invalidate the others.
        package init(scanning message: Span<UInt8>) throws(VarlinkError) {
            var scanner = JSONScanner(message)
            let keys = EnvelopeKeys.shared
            method = JSONText(start: 0, end: 0, hasEscapes: false)
            var hasMethod = false
            var expected = (field: "", value: "an object")
            do throws(JSONError) {
                try scanner.openObject()
                while let text = try scanner.nextMember() {
                    let key = scanner.key(text)
                    if key == keys.method {
                        expected = ("method", "a string")
                        method = try scanner.text()
                        hasMethod = true
                    } else if key == keys.parameters {
                        expected = ("parameters", "an object")
                        parameters = try scanner.envelopeParameters()
                    } else if key == keys.oneway {
                        expected = ("oneway", "true or false")
                        oneway = try scanner.bool()
                    } else if key == keys.more {
                        expected = ("more", "true or false")
                        more = try scanner.bool()
                    } else if key == keys.upgrade {
                        expected = ("upgrade", "true or false")
                        upgrade = try scanner.bool()
                    } else {
                        _ = try scanner.skipValueOfAnyDepth()
                    }
                }
                try scanner.end()
            } catch {
                throw VarlinkError(error, in: expected.field, expected: expected.value)
            }
            guard hasMethod else { throw .invalid(FieldError(field: "method", reason: "is required")) }
        }
    }
}

/// The keys of calls and replies, ready for comparison.
struct EnvelopeKeys: Sendable {
    static let shared = EnvelopeKeys()

    let method = JSONKey("method")
    let parameters = JSONKey("parameters")
    let oneway = JSONKey("oneway")
    let more = JSONKey("more")
    let upgrade = JSONKey("upgrade")
    let continues = JSONKey("continues")
    let error = JSONKey("error")
}

extension JSONScanner {
    /// Skips an object and returns its range, or skips `null` and returns nil.
    fileprivate mutating func envelopeParameters() throws(JSONError) -> Range<Int>? {
        if try null() { return nil }
        guard try kind() == .object else { throw .wrongType(at: position) }
        return try skipValueOfAnyDepth()
    }

    /// Skips a value of any depth. Tries the fast path first, since almost no value is too deep for it.
    fileprivate mutating func skipValueOfAnyDepth() throws(JSONError) -> Range<Int> {
        var slow = self
        do {
            return try skipValue()
        } catch .tooDeep {
            _ = try slow.kind()
            let start = slow.position
            try slow.skipValueOfAnySize()
            self = slow
            return start..<position
        } catch {
            throw error
        }
    }
}

extension VarlinkError {
    /// Creates the error for a member: `invalid` for a value of the wrong type, `malformed` for any other error.
    fileprivate init(_ error: JSONError, in field: String, expected: String) {
        if case .wrongType = error {
            self = .invalid(FieldError(error, expected: expected).inside(field))
        } else {
            self = .malformed(error)
        }
    }
}

/// A reply to a call, or one of several, as sent on the socket.
package struct VarlinkReply: Equatable, Sendable {
    /// The parameters as a JSON object.
    package var parameters: [UInt8]
    /// Whether another reply follows.
    package var continues: Bool
    /// The full name of the error, whose parameters are `parameters`. Nil if the call succeeded.
    package var error: String?

    package init(parameters: [UInt8] = Array("{}".utf8), continues: Bool = false, error: String? = nil) {
        self.parameters = parameters
        self.continues = continues
        self.error = error
    }

    /// Decodes a message without its NUL.
    package init(decoding message: Span<UInt8>) throws(VarlinkError) {
        var scanner = JSONScanner(message)
        let keys = EnvelopeKeys.shared
        var range: Range<Int>?
        continues = false
        var expected = (field: "", value: "an object")
        do throws(JSONError) {
            try scanner.openObject()
            while let text = try scanner.nextMember() {
                let key = scanner.key(text)
                if key == keys.parameters {
                    expected = ("parameters", "an object")
                    range = try scanner.envelopeParameters()
                } else if key == keys.continues {
                    expected = ("continues", "true or false")
                    continues = try scanner.bool()
                } else if key == keys.error {
                    expected = ("error", "a string")
                    error = scanner.string(try scanner.text())
                } else {
                    _ = try scanner.skipValueOfAnyDepth()
                }
            }
            try scanner.end()
        } catch {
            throw VarlinkError(error, in: expected.field, expected: expected.value)
        }
        parameters = message.json(in: range)
    }

    /// Decodes a message without its NUL.
    package init(decoding message: [UInt8]) throws(VarlinkError) {
        try self.init(decoding: message.span)
    }

    /// Appends the reply as a message, including its NUL.
    package func encode(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("error", ifPresent: error)
        writer.key("parameters")
        writer.raw(parameters)
        if continues { writer.member("continues", true) }
        writer.closeObject()
        writer.endText(with: 0)
    }

    /// The reply as a message, including its NUL.
    package var message: [UInt8] {
        var writer = JSONWriter(reserving: parameters.count + 64)
        encode(to: &writer)
        return writer.bytes
    }
}

/// The reason why a message is not a valid call or reply.
package enum VarlinkError: Error, Equatable, Sendable {
    /// The message is not JSON.
    case malformed(JSONError)
    /// The message is not an object, or a member is missing or has the wrong type.
    case invalid(FieldError)
}

extension VarlinkError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .malformed(let error): "the message is not JSON: \(error)"
        case .invalid(let error): "the message is not a valid Varlink message: \(error)"
        }
    }
}
