/// Which member of a JSON object is not what it should be, and why.
package struct FieldError: Error, Equatable, Sendable {
    /// The way to it, its steps parted by dots (`filter.codes.2`); empty for the whole value.
    package var field: String
    /// What is wrong, fit to stand behind the field's name and a colon.
    package var reason: String

    package init(field: String = "", reason: String) {
        self.field = field
        self.reason = reason
    }

    /// What a fault of the scanner means for somebody who asked for a certain kind of value.
    package init(_ error: JSONError, expected: String) {
        field = ""
        reason =
            switch error {
            case .wrongType: "must be \(expected)"
            case .notAnInteger: "must be an integer of 64 bits"
            case .tooDeep(let limit): "is nested deeper than \(limit)"
            case .tooManyKeys(let limit): "has more than \(limit) keys"
            case .truncated, .unexpectedByte, .invalidUTF8, .invalidEscape, .trailingBytes: "is malformed JSON"
            }
    }

    /// The same error, seen from the object or array in which the value stands.
    package func inside(_ step: String) -> FieldError {
        FieldError(field: field.isEmpty ? step : "\(step).\(field)", reason: reason)
    }
}

extension FieldError: CustomStringConvertible {
    package var description: String { field.isEmpty ? "the value \(reason)" : "\(field): \(reason)" }
}

extension Optional {
    /// The value of a member that must be there.
    package func required(_ field: String) throws(FieldError) -> Wrapped {
        guard let self else { throw FieldError(field: field, reason: "must be given") }
        return self
    }
}
