extension CollectorError {
    /// The error's full name.
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

    /// The reply that carries the error.
    package var reply: VarlinkReply {
        var writer = JSONWriter()
        writer.object(writeParameters)
        return VarlinkReply(parameters: writer.bytes, error: name)
    }

    /// The error that a reply carries, or nothing when it carries none.
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
