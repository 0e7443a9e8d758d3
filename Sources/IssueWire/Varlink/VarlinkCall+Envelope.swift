extension VarlinkCall {
    /// What a call says around its parameters, found without copying any of it.
    package struct Envelope: Equatable, Sendable {
        /// Where the method's full name lies in the message.
        package private(set) var method: JSONText
        /// Where the parameters lie in the message, an object; nothing when they are absent or `null`.
        package private(set) var parameters: Range<Int>?
        package private(set) var oneway = false
        package private(set) var more = false
        package private(set) var upgrade = false

        /// Scans a message, given without its NUL, from end to end.
        ///
        /// The parameters are known to be well-formed afterwards, but may nest
        /// deeper than a scanner allows: whoever reads them says what is too deep,
        /// so that one deep record does no harm to those beside it.
        package init(scanning message: Span<UInt8>) throws(VarlinkError) {
            var scanner = JSONScanner(message)
            let keys = EnvelopeKeys.shared
            method = JSONText(start: 0, end: 0, hasEscapes: false)
            var hasMethod = false
            try scanner.openEnvelope()
            while let text = try scanner.nextEnvelopeMember() {
                let key = scanner.key(text)
                if key == keys.method {
                    method = try scanner.envelopeText("method")
                    hasMethod = true
                } else if key == keys.parameters {
                    parameters = try scanner.envelopeParameters()
                } else if key == keys.oneway {
                    oneway = try scanner.envelopeFlag("oneway")
                } else if key == keys.more {
                    more = try scanner.envelopeFlag("more")
                } else if key == keys.upgrade {
                    upgrade = try scanner.envelopeFlag("upgrade")
                } else {
                    try scanner.skipEnvelopeMember()
                }
            }
            try scanner.endEnvelope()
            guard hasMethod else { throw .invalid(FieldError(field: "method", reason: "must be given")) }
        }
    }
}
