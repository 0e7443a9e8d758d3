package import IssueWire
package import UnixIO

/// Why a question to the daemon has no answer.
package enum CollectorConnectionError: Error, Equatable, Sendable {
    /// `ISSUED_SOCKET` is set and empty.
    case switchedOff
    /// The path is none that a socket can have.
    case unusablePath(InvalidSocketAddress)
    /// Nobody answers at this path, the likeliest one.
    case unreachable(path: String, Errno)
    /// The socket or its server belongs to a user who is not trusted with reports.
    case untrusted(path: String, reason: String)
    /// The daemon said no.
    case refused(CollectorError)
    /// The connection ended before the answer.
    case closed
    /// The answer did not come in time.
    case timedOut
    /// What came was no answer to the call.
    case malformed(String)
}

extension CollectorConnectionError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .switchedOff: "ISSUED_SOCKET is empty, so there is no daemon to ask."
        case .unusablePath(let error): error.description
        case .unreachable(let path, let error): "No daemon answers at \(path): \(error)."
        case .untrusted(let path, let reason):
            "The socket at \(path) is not trusted: \(reason). If that user is to have this user's issues, "
                + "name it in ISSUED_SOCKET_USER."
        case .refused(let error): error.description
        case .closed: "The daemon closed the connection."
        case .timedOut: "The daemon did not answer in time."
        case .malformed(let reason): "The daemon's answer makes no sense: \(reason)."
        }
    }
}
