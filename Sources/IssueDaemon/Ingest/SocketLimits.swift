import IssueCore

/// How much of the daemon one connection and one user may take.
struct SocketLimits: Equatable, Sendable {
    var messageBytes = 1 << 20
    var connections = 4096
    var connectionsPerUser = 1024
    var bytesInFlightPerUser = 8 << 20
    /// What all users together may make the daemon hold.
    var memory = 256 << 20
    /// The largest message that is no report.
    var questionMessageBytes = 64 << 10
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

    var ofConnections: ConnectionShares.Limits {
        ConnectionShares.Limits(total: connections, perUser: connectionsPerUser)
    }

    /// Half of the memory is for calls, half-sent or not yet answered.
    var callMemory: MemoryBudget { MemoryBudget(limit: memory / 2, guaranteed: 256 << 10) }
    /// The other half is for replies, unread or under way.
    var replyMemory: MemoryBudget { MemoryBudget(limit: memory / 2, guaranteed: 2 * questionBytes) }
    /// What half-sent messages may take: they may stay as they are, unlike other calls.
    var halfSentMemory: Int { memory / 4 }
}
