/// How much of the daemon one connection and one user may take.
struct SocketLimits: Equatable, Sendable {
    var messageBytes = 1 << 20
    var connections = 4096
    var connectionsPerUser = 1024
    var bytesInFlightPerUser = 8 << 20
    var readTimeout: Duration = .seconds(30)
    /// What a reader may leave unread before he is no longer waited for.
    var unreadBytes = 16 << 20
    /// How long he may take for it.
    var writeTimeout: Duration = .seconds(30)
}
