import IssueProtocol
import Issues
package import UnixIO

/// The reason why a command failed: a line for the user and an exit code for scripts.
package struct CommandFailure: Error, Equatable, Sendable {
    package var code: ExitCode
    /// A description of the failure and of what to do, without a full stop; nil to print nothing.
    package var message: String?

    package init(_ code: ExitCode, _ message: String?) {
        self.code = code
        self.message = message
    }

    /// The reader has closed the output, as `head` does when it has enough lines. This is not a failure.
    static let nobodyReads = CommandFailure(.success, nil)
}

extension CommandFailure {
    /// Creates the failure for a failed call.
    init(_ failure: CollectorConnectionError) {
        switch failure {
        case .unreachable(let path, .accessDenied):
            self.init(.unavailable, "you may not connect to the daemon at \(path): see issuectl doctor")
        case .unreachable(let path, let reason):
            let hint = "is issued running? (systemctl status issued.service issued.socket)"
            self.init(.unavailable, "cannot reach the daemon at \(path) (\(reason)): \(hint)")
        case .untrusted(let path, ServerTrust.notASocket): self.init(.unavailable, "\(path) is not a socket")
        case .untrusted(let path, let reason):
            let hint = "start issued, or set ISSUED_SOCKET_USER to the user whose socket you trust"
            self.init(.unavailable, "the socket \(path) is not trusted, \(reason): \(hint)")
        case .switchedOff:
            self.init(.unavailable, "ISSUED_SOCKET is empty, which disables reporting: unset it, or use --socket")
        case .unusablePath(let reason): self.init(.usage, "cannot use the socket: \(reason)")
        case .closed: self.init(.unavailable, "the daemon closed the connection: see journalctl -u issued")
        case .timedOut: self.init(.tryAgain, "the daemon did not reply in time: try again")
        case .malformed(let reason):
            self.init(
                .refused, "the daemon's reply is invalid (\(reason)): are issuectl and issued the same version?")
        case .refused(let error): self.init(error)
        }
    }

    /// Returns the message for a user who may not see `subject`, because that needs the right to see all records.
    static func deniedToSee(_ subject: String) -> String {
        "permission denied: only root, the daemon's user and the groups in Operators= and Readers= (issued.conf) see "
            + subject
    }

    /// The options by the fields of a filter on the wire.
    private static let filterOptions = [
        "apps": FilterOptions.app, "versions": FilterOptions.version, "environments": FilterOptions.environment,
        "domains": FilterOptions.domain, "codes": FilterOptions.code, "files": FilterOptions.file,
        "text": FilterOptions.text, "metadata": FilterOptions.metadata,
        "users": FilterOptions.user, "units": FilterOptions.unit, "trace_ids": FilterOptions.trace,
        "request_ids": FilterOptions.request, "end_users": FilterOptions.endUser,
        "destination": FilterOptions.destination,
    ]

    private init(_ error: CollectorError) {
        switch error {
        case .notFound(let id):
            let hint = "see issuectl list"
            self.init(.refused, "no record or group '\(id)', or it belongs to another user: \(hint)")
        case .denied, .permissionDenied:
            self.init(.refused, "permission denied: only root and the groups in Operators= (issued.conf) may do this")
        case .busy(let delay):
            let seconds = max(1, delay.components.seconds + (delay.components.attoseconds > 0 ? 1 : 0))
            self.init(.tryAgain, "the daemon is busy: try again in \(RelativeTime.span(seconds: UInt64(seconds)))")
        case .noSpace:
            self.init(
                .tryAgain,
                "the daemon's disk is full (KeepFree= reserves some space): free some space, then try again"
            )
        case .tooLarge(let limit):
            self.init(.refused, "the request is larger than the daemon accepts (limit \(limit)): send less")
        case .invalidFilter("bucket", let reason):
            self.init(.refused, "invalid bucket size for this time range: \(reason)")
        // The pattern is valid, but it does not fit the group's records.
        case .invalidFilter("template", let reason): self.init(.refused, "invalid value for --template: \(reason)")
        // The operands of `group merge`.
        case .invalidFilter("groups", let reason): self.init(.refused, "invalid groups: \(reason)")
        case .invalidFilter(let field, let reason):
            if let option = Self.filterOptions[field] {
                self.init(.usage, "invalid value for \(option.spelling): \(reason)")
            } else {
                self.init(.refused, "invalid filter '\(field)': \(reason)")
            }
        case .invalidRecord(let index, let field, let reason):
            let location = [index.map { "record \($0 + 1)" }, field].compactMap(\.self).joined(separator: ", ")
            self.init(.refused, "the daemon rejected \(location.isEmpty ? "the report" : location): \(reason)")
        case .methodNotImplemented, .methodNotFound, .interfaceNotFound:
            self.init(.refused, "the daemon does not support this: is it older than issuectl? (issuectl status)")
        case .invalidParameter(let name):
            self.init(.refused, "the daemon rejected '\(name)': it is empty, too long or malformed")
        case .expectedMore, .unknown: self.init(.refused, "the daemon returned an error: \(error)")
        }
    }
}

extension CollectorConnectionError {
    /// `true` if the same call may succeed later.
    var mayPass: Bool {
        switch self {
        case .unreachable, .untrusted, .closed, .timedOut, .refused(.busy), .refused(.noSpace): true
        case .switchedOff, .unusablePath, .refused, .malformed: false
        }
    }
}
