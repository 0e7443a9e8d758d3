import IssueProtocol

/// Something that an operator has asked for and that takes long.
struct Job: Sendable {
    enum Work: Sendable {
        case backup(BackupParameters)
        case purge(PurgeParameters)
        case repair(RepairParameters)
        case requeue(RequeueParameters)
        /// Nobody has asked for it, and nobody is told.
        case collect
    }

    var connection: UInt64
    /// The process that asked, as the kernel named it; nil for what the daemon does on its own.
    var requester: Sender?
    /// Whether the client takes more than one reply.
    var wantsProgress: Bool
    var work: Work
}

extension Job.Work {
    /// Whether the work is given up when its client disconnects.
    ///
    /// A copy or a count is of no use without its client. A repair can be requested again and continues where it was.
    /// A purge or a requeue is finished: its work is bounded by what is stored.
    var endsWithClient: Bool {
        switch self {
        case .backup, .repair: true
        case .purge(let parameters): parameters.isDryRun == true
        case .requeue, .collect: false
        }
    }

    /// The name and parameters for the log; nil for what changes nothing and hands nothing out.
    var audit: (request: String, parameters: String)? {
        switch self {
        case .backup(let parameters): return ("backup", Self.text(parameters))
        case .purge(var parameters):
            guard parameters.isDryRun != true else { return nil }
            // The text to be erased must not remain in the log.
            if parameters.filter.text != nil { parameters.filter.text = "(left out)" }
            return ("purge", Self.text(parameters))
        case .repair(let parameters):
            return parameters.isDryRun == true ? nil : ("repair", Self.text(parameters))
        case .requeue(let parameters): return ("requeue", Self.text(parameters))
        case .collect: return nil
        }
    }

    private static func text(_ parameters: some JSONCodable) -> String {
        String(decoding: parameters.json, as: UTF8.self)
    }
}
