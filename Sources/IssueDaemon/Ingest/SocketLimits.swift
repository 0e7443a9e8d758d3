import IssueCore

/// How much of the daemon one connection and one user may take.
struct SocketLimits: Equatable, Sendable {
    var messageBytes = 1 << 20
    var connections = 4096
    var connectionsPerUser = 1024
    var bytesInFlightPerUser = 8 << 20
    var readTimeout: Duration = .seconds(30)
    /// What one user may leave unread before nothing more of him is begun.
    var unreadBytesPerUser = 16 << 20
    /// What counts as unread for a question as long as it is not answered.
    var questionBytes = 256 << 10
    /// How long a reader may take nothing of it.
    var writeTimeout: Duration = .seconds(30)
    /// What is read of one user before others have their turn.
    var quantum = 256 << 10
    /// A connection that has less under way need not wait for its user's others.
    var little = 4 << 10

    var ofUser: UserLoad.Limits {
        UserLoad.Limits(calls: bytesInFlightPerUser, replies: unreadBytesPerUser, quantum: quantum, little: little)
    }
}
