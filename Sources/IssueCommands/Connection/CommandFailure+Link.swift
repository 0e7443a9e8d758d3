import IssueProtocol
import Issues
import UnixIO

extension CommandFailure {
    /// What a failed call means for people and scripts.
    init(_ failure: CollectorConnectionError) {
        switch failure {
        case .unreachable(let path, let reason):
            let hint = "is issued running? (systemctl status issued)"
            self.init(.unavailable, "no daemon answers at \(path) (\(reason)): \(hint)")
        case .untrusted(let path, let reason):
            let hint = "start issued, or if that user is to be trusted, name it in ISSUED_SOCKET_USER"
            self.init(.unavailable, "the socket \(path) is not trusted, \(reason): \(hint)")
        case .switchedOff:
            self.init(.unavailable, "ISSUED_SOCKET is empty, which switches issues off: unset it, or give --socket")
        case .unusablePath(let reason): self.init(.usage, "the socket's path can't be used: \(reason)")
        case .closed: self.init(.unavailable, "the daemon has closed the connection: see journalctl -u issued")
        case .timedOut: self.init(.tryAgain, "the daemon has not answered in time: try again")
        case .malformed(let reason):
            self.init(
                .refused, "the daemon's answer can't be read (\(reason)): are issuectl and issued of one version?")
        case .refused(let error): self.init(error)
        }
    }

    private init(_ error: CollectorError) {
        switch error {
        case .notFound(let id):
            let hint = "see issuectl list"
            self.init(.refused, "there is nothing with the id '\(id)' that you may see: \(hint)")
        case .denied, .permissionDenied:
            self.init(.refused, "only operators may do that: be root, or in a group named by Operators= in issued.conf")
        case .busy(let delay):
            let seconds = max(1, delay.components.seconds + (delay.components.attoseconds > 0 ? 1 : 0))
            self.init(.tryAgain, "the daemon is busy: try again in \(RelativeTime.span(seconds: UInt64(seconds)))")
        case .noSpace:
            self.init(
                .tryAgain,
                "the daemon has not enough space left on its disk (KeepFree= is to stay free): make room, then try again"
            )
        case .tooLarge(let limit):
            self.init(.refused, "this is more than the daemon takes at once (the limit is \(limit)): send less")
        case .invalidFilter("bucket", let reason):
            self.init(.refused, "this time can't be counted in such buckets: \(reason)")
        case .invalidFilter(let field, let reason):
            self.init(.refused, "the daemon can't use the filter '\(field)': \(reason)")
        case .invalidRecord(let index, let field, let reason):
            let place = [index.map { "record \($0 + 1)" }, field].compactMap(\.self).joined(separator: ", ")
            self.init(.refused, "the daemon can't read \(place.isEmpty ? "what was reported" : place): \(reason)")
        case .methodNotImplemented, .methodNotFound, .interfaceNotFound:
            self.init(.refused, "this daemon does not offer that: is it older than issuectl? (issuectl status)")
        case .invalidParameter(let name):
            self.init(.refused, "the daemon can't use '\(name)': are issuectl and issued of one version?")
        case .expectedMore, .unknown: self.init(.refused, "the daemon refuses: \(error)")
        }
    }
}

extension CollectorConnectionError {
    /// Whether the same call may succeed later.
    var mayPass: Bool {
        switch self {
        case .unreachable, .untrusted, .closed, .timedOut, .refused(.busy), .refused(.noSpace): true
        case .switchedOff, .unusablePath, .refused, .malformed: false
        }
    }
}
