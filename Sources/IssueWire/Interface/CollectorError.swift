/// The errors of the daemon's interface and the standard errors of Varlink.
package enum CollectorError: Error, Equatable, Sendable {
    /// A record of a report is invalid. `index` is the record's position in the call, from 0, and `field` the invalid
    /// member; each is nil if unknown.
    case invalidRecord(index: Int?, field: String?, reason: String)
    /// A member of a filter is invalid or, despite the name, another parameter can't be used, for example because no
    /// destination has this name. `field` is the path of the member in the filter, or the name of the parameter.
    case invalidFilter(field: String, reason: String)
    /// The call exceeds `limit`, a number of bytes or of records.
    case tooLarge(limit: Int)
    /// The daemon cannot process the call now. The caller may send it again after this time.
    case busy(retryAfter: Duration)
    /// The daemon has ended a query because it took too long. On the wire, this is `Busy` with a reason.
    case tooSlow(retryAfter: Duration)
    /// The daemon has no disk space left to store records.
    case noSpace
    /// No record, group or other object has this id or name, or the object belongs to another user.
    case notFound(id: String)
    /// The record with this id is stored in a damaged block.
    case unreadable(id: String)
    /// The user may not make this call.
    case denied

    case interfaceNotFound(String)
    case methodNotFound(String)
    case invalidParameter(String)
    case expectedMore

    /// An error that this version does not know, or whose parameters it cannot read.
    case unknown(name: String, parameters: JSONValue)

    /// Creates the error for parameters that could not be read.
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
    /// A sentence for the user.
    package var description: String {
        switch self {
        case .invalidRecord(let index, let field, let reason):
            "The record\(index.map { " at index \($0)" } ?? "") was not accepted: \(field.map { "\($0): " } ?? "")\(reason)."
        case .invalidFilter(let field, let reason): "The filter is invalid: \(field): \(reason)."
        case .tooLarge(let limit):
            "The request has more bytes or records than the daemon accepts; the limit is \(limit)."
        case .busy(let delay): "The daemon is busy; try again in \(delay)."
        case .tooSlow: "The query took too long, so the daemon ended it; narrow the query."
        case .noSpace: "The daemon has no disk space left to store records."
        case .notFound(let id): "There is no object with the id or name \(id), or it belongs to another user."
        case .unreadable(let id): "The record \(id) is stored in a damaged part of the database and can't be read."
        case .denied: "The daemon does not allow this user to do that."
        case .interfaceNotFound(let name): "The daemon has no interface \(name)."
        case .methodNotFound(let name): "The daemon has no method \(name)."
        case .invalidParameter(let name): "The parameter \(name) is missing or invalid."
        case .expectedMore: "The method must be called with `more`."
        case .unknown(let name, let parameters):
            "The daemon replied with an unknown error: \(name) "
                + String(decoding: parameters.json, as: UTF8.self)
        }
    }
}

extension CollectorError {
    /// The full name of the error.
    package var name: String { form.name }

    /// The reply that reports the error.
    package var reply: VarlinkReply {
        let parameters =
            if case .unknown(_, let parameters) = self {
                JSONValue.object(parameters.asObject ?? []).json
            } else {
                form.details.json
            }
        return VarlinkReply(parameters: parameters, error: name)
    }

    /// Reads the error from a reply. Returns nil if the reply reports success.
    package init?(_ reply: VarlinkReply) {
        guard let name = reply.error else { return nil }
        let known = (try? ErrorDetails(json: reply.parameters)).map(Self.candidates)?.compactMap(\.self)
        self =
            known?.first { $0.name == name }
            ?? .unknown(name: name, parameters: (try? JSONValue(json: reply.parameters)) ?? .object([]))
    }

    /// The `reason` of `Busy` for ``tooSlow(retryAfter:)``.
    private static let tooSlowReason = "too_slow"

    /// Returns all known errors with the given parameters; nil in place of an error that lacks a required parameter.
    private static func candidates(_ details: ErrorDetails) -> [CollectorError?] {
        [
            details.reason.map { .invalidRecord(index: details.index, field: details.field, reason: $0) },
            details.field.flatMap { field in details.reason.map { .invalidFilter(field: field, reason: $0) } },
            details.limit.map { .tooLarge(limit: $0) },
            details.retryAfter.map {
                details.reason == tooSlowReason ? .tooSlow(retryAfter: $0) : .busy(retryAfter: $0)
            },
            details.id.map { .notFound(id: $0) }, details.id.map { .unreadable(id: $0) },
            .interfaceNotFound(details.interface ?? ""), .methodNotFound(details.method ?? ""),
            .invalidParameter(details.parameter ?? ""), .noSpace, .denied, .expectedMore,
        ]
    }

    private var form: (name: String, details: ErrorDetails) {
        switch self {
        case .invalidRecord(let index, let field, let reason):
            ("org.issued.Collector.InvalidRecord", ErrorDetails(index: index, field: field, reason: reason))
        case .invalidFilter(let field, let reason):
            ("org.issued.Collector.InvalidFilter", ErrorDetails(field: field, reason: reason))
        case .tooLarge(let limit): ("org.issued.Collector.TooLarge", ErrorDetails(limit: limit))
        case .busy(let delay): ("org.issued.Collector.Busy", ErrorDetails(retryAfter: delay))
        case .tooSlow(let delay):
            ("org.issued.Collector.Busy", ErrorDetails(reason: Self.tooSlowReason, retryAfter: delay))
        case .noSpace: ("org.issued.Collector.NoSpace", ErrorDetails())
        case .notFound(let id): ("org.issued.Collector.NotFound", ErrorDetails(id: id))
        case .unreadable(let id): ("org.issued.Collector.Unreadable", ErrorDetails(id: id))
        case .denied: ("org.issued.Collector.Denied", ErrorDetails())
        case .interfaceNotFound(let name): ("org.varlink.service.InterfaceNotFound", ErrorDetails(interface: name))
        case .methodNotFound(let name): ("org.varlink.service.MethodNotFound", ErrorDetails(method: name))
        case .invalidParameter(let name): ("org.varlink.service.InvalidParameter", ErrorDetails(parameter: name))
        case .expectedMore: ("org.varlink.service.ExpectedMore", ErrorDetails())
        case .unknown(let name, _): (name, ErrorDetails())
        }
    }
}

/// The parameters of all known errors. A parameter that an error does not have is nil.
private struct ErrorDetails: JSONObjectCodable {
    var index: Int?
    var field: String?
    var reason: String?
    var limit: Int?
    var retryAfter: Duration?
    var id: String?
    var interface: String?
    var method: String?
    var parameter: String?

    static var initial: Self { Self() }

    mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.optional("index", &index)
        try members.optional("field", &field)
        try members.optional("reason", &reason)
        try members.optional("limit", &limit)
        try members.optional("retry_after", &retryAfter)
        try members.optional("id", &id)
        try members.optional("interface", &interface)
        try members.optional("method", &method)
        try members.optional("parameter", &parameter)
    }
}
