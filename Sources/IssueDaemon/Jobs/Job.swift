import IssueProtocol

/// Something that an operator has asked for and that takes long.
struct Job: Sendable {
    enum Work: Sendable {
        case backup
        case purge(PurgeParameters)
        case repair(RepairParameters)
        case requeue(RequeueParameters)
        /// Nobody has asked for it, and nobody is told.
        case collect
    }

    var connection: UInt64
    /// Whether the client takes more than one reply.
    var wantsProgress: Bool
    var work: Work
}
