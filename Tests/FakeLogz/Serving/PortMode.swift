/// How a port treats connections.
enum PortMode: Hashable, Sendable {
    case open
    /// Connections are refused.
    case closed
    /// Connections are never accepted and time out.
    case blackhole
    /// Permanently closed, after the listener was stopped.
    case ended
}
