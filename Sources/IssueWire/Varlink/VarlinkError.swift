/// Why a message is no call, or no reply.
package enum VarlinkError: Error, Equatable, Sendable {
    /// It is no JSON.
    case malformed(JSONError)
    /// It is JSON, but a member is missing or has the wrong type.
    case invalid(FieldError)
}

extension VarlinkError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .malformed(let error): "the message is no JSON: \(error)"
        case .invalid(let error): "the message is not what Varlink asks for: \(error)"
        }
    }
}
