// What calls and replies have in common, with the errors of a message.
extension JSONScanner {
    mutating func openEnvelope() throws(VarlinkError) {
        do {
            try openObject()
        } catch {
            throw VarlinkError(error, in: "", expected: "an object")
        }
    }

    @inline(__always)
    mutating func nextEnvelopeMember() throws(VarlinkError) -> JSONText? {
        do {
            return try nextMember()
        } catch {
            throw .malformed(error)
        }
    }

    mutating func envelopeText(_ field: String) throws(VarlinkError) -> JSONText {
        do {
            return try text()
        } catch {
            throw VarlinkError(error, in: field, expected: "a string")
        }
    }

    mutating func envelopeFlag(_ field: String) throws(VarlinkError) -> Bool {
        do {
            return try bool()
        } catch {
            throw VarlinkError(error, in: field, expected: "true or false")
        }
    }

    /// Where an object lies, or nothing for a `null`.
    mutating func envelopeParameters() throws(VarlinkError) -> Range<Int>? {
        do {
            if try null() { return nil }
            if try kind() == .object { return try passWhole() }
        } catch {
            throw .malformed(error)
        }
        throw VarlinkError(.wrongType(at: position), in: "parameters", expected: "an object")
    }

    mutating func skipEnvelopeMember() throws(VarlinkError) {
        do {
            _ = try passWhole()
        } catch {
            throw .malformed(error)
        }
    }

    mutating func endEnvelope() throws(VarlinkError) {
        do {
            try end()
        } catch {
            throw .malformed(error)
        }
    }

    /// Passes a value of any depth. The quick way is tried first, since next to none is too deep for it.
    private mutating func passWhole() throws(JSONError) -> Range<Int> {
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
    /// A value of the wrong type is a fault of the message; anything else is none of JSON.
    fileprivate init(_ error: JSONError, in field: String, expected: String) {
        switch error {
        case .wrongType: self = .invalid(FieldError(error, expected: expected).inside(field))
        case .truncated, .unexpectedByte, .invalidUTF8, .invalidEscape, .tooDeep, .tooManyKeys, .notAnInteger,
            .trailingBytes:
            self = .malformed(error)
        }
    }
}
