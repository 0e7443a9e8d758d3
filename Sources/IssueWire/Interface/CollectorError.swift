/// What a call is refused with: the errors of the interface, and those that every Varlink service has.
package enum CollectorError: Error, Equatable, Sendable {
    case invalidRecord(index: Int?, field: String?, reason: String)
    case invalidFilter(field: String, reason: String)
    /// Something is larger than so many bytes, or more than so many.
    case tooLarge(limit: Int)
    case busy(retryAfter: Duration)
    case noSpace
    case notFound(id: String)
    case denied

    case interfaceNotFound(String)
    case methodNotFound(String)
    case methodNotImplemented(String)
    case invalidParameter(String)
    case permissionDenied
    case expectedMore

    /// An error that this version does not know, or whose parameters it can't read.
    case unknown(name: String, parameters: JSONValue)

    /// The error with which parameters are refused that could not be read.
    package init(refusing error: FieldError) {
        let filter = "filter."
        if error.field.hasPrefix(filter) {
            self = .invalidFilter(field: String(error.field.dropFirst(filter.count)), reason: error.reason)
        } else {
            self = .invalidParameter(error.field.isEmpty ? "parameters" : error.field)
        }
    }
}

extension CollectorError: CustomStringConvertible {
    /// A sentence for people.
    package var description: String {
        switch self {
        case .invalidRecord(let index, let field, let reason):
            "The record\(index.map { " \($0)" } ?? "") can't be taken: \(field.map { "\($0): " } ?? "")\(reason)."
        case .invalidFilter(let field, let reason): "The filter can't be used: \(field): \(reason)."
        case .tooLarge(let limit): "That is more than the daemon takes at once; the limit is \(limit)."
        case .busy(let delay): "The daemon is busy; it asks to try again in \(delay)."
        case .noSpace: "The daemon has no space left to store anything."
        case .notFound(let id): "There is nothing with the id \(id), or it belongs to somebody else."
        case .denied, .permissionDenied: "The daemon does not allow you to do that."
        case .interfaceNotFound(let name): "The daemon has no interface \(name)."
        case .methodNotFound(let name): "The daemon has no method \(name)."
        case .methodNotImplemented(let name): "This version of the daemon does not offer \(name) yet."
        case .invalidParameter(let name): "The parameter \(name) is missing or has a value that can't be used."
        case .expectedMore: "The call must allow more than one reply."
        case .unknown(let name, let parameters):
            "The daemon answered with an error that this version does not know: \(name) "
                + String(decoding: parameters.json, as: UTF8.self)
        }
    }
}
