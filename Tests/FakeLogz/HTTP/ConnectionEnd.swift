import UnixIO

/// Why nothing more can be read from a connection.
enum ConnectionEnd: Error, Hashable, Sendable {
    /// The client has closed it, or we have.
    case closed
    case failed(Errno)
    /// What came is no HTTP/1.1.
    case malformed
    /// More than one request may have.
    case tooLarge
}
