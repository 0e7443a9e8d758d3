/// The errors of the daemon's interface, and those that every Varlink service has.
package enum CollectorError: Error, Equatable, Sendable {
    case invalidRecord(index: Int?, field: String?, reason: String)
    case invalidFilter(field: String, reason: String)
    /// Something exceeds a limit, in bytes or as a count.
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

    /// An error that this version does not know, or cannot read the parameters of.
    case unknown(name: String, parameters: JSONValue)

    /// Creates the error reply for parameters that could not be read.
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
            "The record\(index.map { " \($0)" } ?? "") was not accepted: \(field.map { "\($0): " } ?? "")\(reason)."
        case .invalidFilter(let field, let reason): "The filter is invalid: \(field): \(reason)."
        case .tooLarge(let limit): "The request is larger than the daemon accepts; the limit is \(limit)."
        case .busy(let delay): "The daemon is busy; try again in \(delay)."
        case .noSpace: "The daemon has no disk space left to store records."
        case .notFound(let id): "No record or group has the id \(id), or it belongs to another user."
        case .denied, .permissionDenied: "The daemon does not allow this user to do that."
        case .interfaceNotFound(let name): "The daemon has no interface \(name)."
        case .methodNotFound(let name): "The daemon has no method \(name)."
        case .methodNotImplemented(let name): "This version of the daemon does not implement \(name)."
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
    package var name: String {
        switch self {
        case .invalidRecord: "org.issued.Collector.InvalidRecord"
        case .invalidFilter: "org.issued.Collector.InvalidFilter"
        case .tooLarge: "org.issued.Collector.TooLarge"
        case .busy: "org.issued.Collector.Busy"
        case .noSpace: "org.issued.Collector.NoSpace"
        case .notFound: "org.issued.Collector.NotFound"
        case .denied: "org.issued.Collector.Denied"
        case .interfaceNotFound: "org.varlink.service.InterfaceNotFound"
        case .methodNotFound: "org.varlink.service.MethodNotFound"
        case .methodNotImplemented: "org.varlink.service.MethodNotImplemented"
        case .invalidParameter: "org.varlink.service.InvalidParameter"
        case .permissionDenied: "org.varlink.service.PermissionDenied"
        case .expectedMore: "org.varlink.service.ExpectedMore"
        case .unknown(let name, _): name
        }
    }

    /// The reply that reports the error.
    package var reply: VarlinkReply {
        var writer = JSONWriter()
        writer.object(writeParameters)
        return VarlinkReply(parameters: writer.bytes, error: name)
    }

    /// Reads the error that a reply reports. Returns nil if the reply reports none.
    package init?(_ reply: VarlinkReply) {
        guard let name = reply.error else { return nil }
        let details = try? ErrorDetails(json: reply.parameters.span)
        if let details, let known = Self(name: name, details) {
            self = known
        } else {
            self = .unknown(name: name, parameters: (try? JSONValue(json: reply.parameters)) ?? .object([]))
        }
    }

    private init?(name: String, _ details: ErrorDetails) {
        switch name {
        case "org.issued.Collector.InvalidRecord":
            guard let reason = details.reason else { return nil }
            self = .invalidRecord(index: details.index, field: details.field, reason: reason)
        case "org.issued.Collector.InvalidFilter":
            guard let field = details.field, let reason = details.reason else { return nil }
            self = .invalidFilter(field: field, reason: reason)
        case "org.issued.Collector.TooLarge":
            guard let limit = details.limit else { return nil }
            self = .tooLarge(limit: limit)
        case "org.issued.Collector.Busy":
            guard let delay = details.retryAfter else { return nil }
            self = .busy(retryAfter: delay)
        case "org.issued.Collector.NoSpace": self = .noSpace
        case "org.issued.Collector.NotFound":
            guard let id = details.id else { return nil }
            self = .notFound(id: id)
        case "org.issued.Collector.Denied": self = .denied
        case "org.varlink.service.InterfaceNotFound": self = .interfaceNotFound(details.interface ?? "")
        case "org.varlink.service.MethodNotFound": self = .methodNotFound(details.method ?? "")
        case "org.varlink.service.MethodNotImplemented": self = .methodNotImplemented(details.method ?? "")
        case "org.varlink.service.InvalidParameter": self = .invalidParameter(details.parameter ?? "")
        case "org.varlink.service.PermissionDenied": self = .permissionDenied
        case "org.varlink.service.ExpectedMore": self = .expectedMore
        default: return nil
        }
    }

    private func writeParameters(to writer: inout JSONWriter) {
        switch self {
        case .invalidRecord(let index, let field, let reason):
            writer.member("index", ifPresent: index)
            writer.member("field", ifPresent: field)
            writer.member("reason", reason)
        case .invalidFilter(let field, let reason):
            writer.member("field", field)
            writer.member("reason", reason)
        case .tooLarge(let limit): writer.member("limit", limit)
        case .busy(let delay): writer.member("retry_after", delay)
        case .notFound(let id): writer.member("id", id)
        case .interfaceNotFound(let name): writer.member("interface", name)
        case .methodNotFound(let name), .methodNotImplemented(let name): writer.member("method", name)
        case .invalidParameter(let name): writer.member("parameter", name)
        case .noSpace, .denied, .permissionDenied, .expectedMore: break
        case .unknown(_, let parameters):
            for member in parameters.asObject ?? [] { writer.member(member.key, member.value) }
        }
    }
}

/// The parameters of all known errors. Each is nil if the error does not have it.
struct ErrorDetails {
    var index: Int?
    var field: String?
    var reason: String?
    var limit: Int?
    var retryAfter: Duration?
    var id: String?
    var interface: String?
    var method: String?
    var parameter: String?
}

extension ErrorDetails {
    init(json: Span<UInt8>) throws(FieldError) {
        var scanner = JSONScanner(json)
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "index": try scanner.read(&index, key)
            case "field": try scanner.read(&field, key)
            case "reason": try scanner.read(&reason, key)
            case "limit": try scanner.read(&limit, key)
            case "retry_after": try scanner.read(&retryAfter, key)
            case "id": try scanner.read(&id, key)
            case "interface": try scanner.read(&interface, key)
            case "method": try scanner.read(&method, key)
            case "parameter": try scanner.read(&parameter, key)
            default: try scanner.skipField(key)
            }
        }
    }
}
