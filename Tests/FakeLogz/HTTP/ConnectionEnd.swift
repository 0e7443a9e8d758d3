import UnixIO

/// The reason why nothing more can be read from a connection.
enum ConnectionEnd: Error, Hashable, Sendable {
    /// The client or the listener has closed it.
    case closed
    case failed(Errno)
    /// The request is not valid HTTP/1.0 or HTTP/1.1.
    case malformed
    /// The request exceeds a limit.
    case tooLarge
}
