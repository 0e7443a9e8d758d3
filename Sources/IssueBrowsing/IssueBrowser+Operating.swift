internal import IssueProtocol
internal import Issues

extension IssueBrowser {
    /// Has what is waiting forwarded now, and answers when all of it has a fate or the time is over.
    ///
    /// For operators.
    ///
    /// - Parameters:
    ///   - destination: The one to forward to, or all.
    ///   - timeout: How long to wait at most.
    /// - Returns: How the destinations stand then.
    /// - Throws: `DeliveryError` of the code `.notFound` where there is no such destination.
    @discardableResult
    public func flush(destination: String? = nil, timeout: Duration = .seconds(30)) async throws -> [Destination] {
        let parameters = FlushParameters(destination: destination, timeout: timeout)
        let reply = try await ask { session throws(DeliveryError) in
            try session.flush(parameters).value
        } failing: {
            DeliveryError($0, destination: destination)
        }
        return reply.destinations.map { Destination($0) }
    }

    /// Makes dead letters pending again.
    ///
    /// For operators.
    ///
    /// - Parameters:
    ///   - destination: Those of one destination, or of all.
    ///   - records: Those of some records, or of all.
    /// - Returns: How many are pending again, and how many stay, as their record or their destination is gone.
    @discardableResult
    public func requeue(
        destination: String? = nil, records: [String]? = nil
    ) async throws -> (requeued: Int, left: Int) {
        let parameters = RequeueParameters(destination: destination, records: records).json
        let reply: RequeueReply = try await ask { session throws(DeliveryError) in
            try session.order(.requeue, parameters).value
        }
        return (Int(clamping: reply.count), Int(clamping: reply.left))
    }

    /// Erases records for good.
    ///
    /// For operators.
    ///
    /// - Parameters:
    ///   - filter: Which ones; the daemon refuses one that says nothing.
    ///   - isDryRun: Whether they are only to be counted.
    /// - Returns: How many there were, and where some of it is left.
    public func purge(
        _ filter: Filter, dryRun isDryRun: Bool = false
    ) async throws -> (count: Int, unreachable: [String]) {
        let parameters = PurgeParameters(filter: filter.wire, isDryRun: isDryRun ? true : nil).json
        let reply: PurgeReply = try await ask { session throws(DeliveryError) in
            try session.order(.purge, parameters).value
        }
        return (Int(clamping: reply.count), reply.unreachable)
    }

    /// Has the daemon copy its whole store while it runs.
    ///
    /// For operators.
    ///
    /// - Returns: Where the copy lies, on the daemon's host and in its folder.
    public func backup() async throws -> String {
        let reply: BackupReply = try await ask { session throws(DeliveryError) in
            try session.order(.backup, Array("{}".utf8)).value
        }
        guard let path = reply.path else { throw DeliveryError(.malformed, "The daemon's answer names no file.") }
        return path
    }

    /// Brings over what is readable from stores that were set aside.
    ///
    /// For operators.
    ///
    /// - Parameters:
    ///   - file: The one that is meant, by its name; all of them where none is named.
    ///   - isDryRun: Whether the files are only to be named.
    /// - Returns: How many records were brought over, how many could not be read, from which files, and of which of
    ///   them nothing can be read: those are left as they are.
    public func repair(
        _ file: String? = nil, dryRun isDryRun: Bool = false
    ) async throws -> (recovered: Int, unreadable: Int, files: [String], hopeless: [String]) {
        let parameters = RepairParameters(file: file, isDryRun: isDryRun ? true : nil).json
        let reply: RepairReply = try await ask { session throws(DeliveryError) in
            try session.order(.repair, parameters).value
        }
        return (Int(clamping: reply.recovered), Int(clamping: reply.unreadable), reply.files, reply.hopeless)
    }
}
