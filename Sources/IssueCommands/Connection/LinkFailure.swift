package import IssueProtocol

/// Why a call to the daemon brought no reply.
package enum LinkFailure: Error, Equatable, Sendable {
    /// Nobody answers at the path, and what the kernel says about it.
    case unreachable(path: String, reason: String)
    /// The setting that names the socket is empty: issues are switched off.
    case switchedOff
    /// The path is none that a socket can have, and why.
    case unusablePath(String)
    /// The connection ended before the reply.
    case closed
    case timedOut
    /// What came was no reply to the call, and why.
    case malformed(String)
    /// The daemon said no.
    case refused(CollectorError)
}
