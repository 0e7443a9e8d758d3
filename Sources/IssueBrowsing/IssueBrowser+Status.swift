package import IssueProtocol
public import Issues

extension IssueBrowser {
    /// The status of the daemon, its store and its destinations.
    public struct Status: Sendable {
        package var wire: DaemonStatus

        package init(_ wire: DaemonStatus) {
            self.wire = wire
        }

        /// The daemon's version.
        public var version: String { wire.version }
        /// The name of the host.
        public var host: String { wire.host }
        /// The time at which the daemon started.
        public var startedAt: IssueTimestamp { wire.startedAt }
        /// The number of records that the daemon has received.
        public var received: Int { Int(clamping: wire.received) }
        /// The number of records that were rejected since the start, because they were invalid or too large. 0 if the
        /// caller may not see all records.
        public var rejected: Int { Int(clamping: wire.rejected) }
        /// The number of duplicates since the start. 0 if the caller may not see all records.
        public var duplicates: Int { Int(clamping: wire.duplicates) }
        /// The number of reports that failed since the start, for example because the disk was full. 0 if the caller
        /// may not see all records.
        public var refused: Int { Int(clamping: wire.refused) }
        /// The number of open connections.
        public var connections: Int { Int(clamping: wire.connections ?? 0) }
        /// The id of the store, which stays the same as long as its records exist. Nil if the store cannot be opened.
        public var store: String? { wire.store.id.isEmpty ? nil : wire.store.id }
        /// The number of stored records.
        public var records: Int { Int(clamping: wire.store.records) }
        /// The number of stored groups.
        public var groups: Int { Int(clamping: wire.store.groups) }
        /// The size of the store on disk, in bytes. Nil if the caller may not see all records.
        public var bytes: Int? { wire.store.bytes.map { Int(clamping: $0) } }
        /// The free space of the store's file system, in bytes. Nil if the caller may not see all records.
        public var freeBytes: Int? { wire.store.freeBytes.map { Int(clamping: $0) } }
        /// The time at which the oldest stored record was received. Nil if there is none, or the caller may not see all
        /// records.
        public var oldest: IssueTimestamp? { wire.store.oldest }
        /// Sentences that describe faults of the store.
        public var faults: [String] { wire.store.faults }
        /// The destinations.
        public var destinations: [Destination] { wire.destinations.map { Destination($0) } }
        /// The current suppressions by rate limits and quotas.
        public var suppressions: [Suppression] { wire.suppressions.map { Suppression($0) } }
    }
}

extension IssueBrowser.Status: CustomStringConvertible {
    /// A line for the daemon and its store, and one for each fault, destination and suppression.
    public var description: String {
        var head = "issued \(version) on \(host) since \(startedAt): "
        if store == nil {
            head += "the store can't be opened"
        } else {
            head += "\(received) received, \(records) stored in \(groups) \(groups == 1 ? "group" : "groups")"
            if let bytes { head += ", \(bytes) bytes" }
            if let freeBytes { head += ", \(freeBytes) free" }
        }
        let faults = faults.map { TerminalSanitizer.line("fault: \($0)") }
        let lines = [TerminalSanitizer.line(head)] + faults + destinations.map(\.description)
        return (lines + suppressions.map(\.description)).joined(separator: "\n")
    }
}

extension IssueBrowser {
    /// The status of a destination.
    public struct Destination: Sendable {
        package var wire: DestinationStatus

        package init(_ wire: DestinationStatus) {
            self.wire = wire
        }

        /// The name in the daemon's configuration.
        public var name: String { wire.name }
        /// The kind of the destination.
        public var kind: String { wire.kind }
        /// The current activity: `idle`, `sending`, `waiting` or `paused`.
        public var state: String { wire.state.rawValue }
        /// The reason for waiting or being paused. Nil if there is none.
        public var reason: String? { wire.reason }
        /// The recommended action. Nil if there is none, or the caller may not see all records.
        public var advice: String? { wire.advice }
        /// The time of the next attempt. Nil unless the destination is waiting.
        public var nextAttempt: IssueTimestamp? { wire.nextAttempt }
        /// The destination's last response. Nil if there is none, or the caller may not see all records.
        public var lastAnswer: String? { wire.lastAnswer }
        /// The time of the last successful request. Nil if there was none.
        public var lastSuccess: IssueTimestamp? { wire.lastSuccess }
        /// The time at which the oldest pending record was reported. Nil if no record is pending.
        public var oldestPending: IssueTimestamp? { wire.oldestPending }
        /// The number of requests since the daemon started. 0 if the caller may not see all records.
        public var requests: Int { Int(clamping: wire.requests) }
        /// The number of records that were sent again since the daemon started.
        public var resent: Int { Int(clamping: wire.resent) }
        /// The number of records since the daemon started that the destination may have received twice.
        public var possibleDuplicates: Int { Int(clamping: wire.maybeDuplicate) }
        /// The number of bytes that were sent today (UTC).
        public var bytesToday: Int { Int(clamping: wire.bytesToday) }
        /// The number of records since the destination was added. It always equals the sum of all outcomes.
        public var received: Int { Int(clamping: wire.ledger.received) }

        /// Whether each received record has exactly one outcome. This should always be true.
        public var balances: Bool { wire.ledger.balances }

        /// Returns the number of records with an outcome.
        ///
        /// - Parameter outcome: The outcome.
        /// - Returns: The number of records.
        public func count(of outcome: IssueFate.Outcome) -> Int {
            Int(clamping: wire.ledger[outcome])
        }
    }
}

extension IssueBrowser.Destination: CustomStringConvertible {
    /// The activity and the progress in one line.
    public var description: String {
        let reason = reason.map { " (\($0))" } ?? ""
        let counts = "\(count(of: .delivered)) of \(received) records delivered, \(count(of: .pending)) pending"
        return TerminalSanitizer.line("\(name): \(state)\(reason), \(counts)")
    }
}

extension IssueBrowser {
    /// Records that a limit currently holds back for a destination.
    public struct Suppression: Sendable {
        package var wire: IssueProtocol.Suppression

        package init(_ wire: IssueProtocol.Suppression) {
            self.wire = wire
        }

        /// The name of the destination.
        public var destination: String { wire.destination }
        /// The application that the limit applies to. Nil if it is not specific to one.
        public var app: String? { wire.app }
        /// The id of the group that the limit applies to. Nil if it is not specific to one.
        public var group: String? { wire.group }
        /// The limit: `group_rate`, `application_rate`, `global_rate`, `daily_bytes` or `cardinality`.
        public var reason: String { wire.reason.rawValue }
        /// The number of records that are held back.
        public var count: Int { Int(clamping: wire.count) }
        /// The time since which records are held back.
        public var since: IssueTimestamp { wire.since }
    }
}

extension IssueBrowser.Suppression: CustomStringConvertible {
    /// The number of records, the limit and the start in one line.
    public var description: String {
        var limit = reason
        if let group { limit += " of \(group)" }
        if let app { limit += " in \(app)" }
        return TerminalSanitizer.line("\(destination): \(count) held back by \(limit) since \(since)")
    }
}

extension IssueBrowser {
    /// Starts to forward all pending records now, and waits until each of them has a fate.
    ///
    /// Only operators may call this.
    ///
    /// - Parameters:
    ///   - destination: The name of a destination. Nil forwards to all destinations.
    ///   - timeout: The maximum time to wait. After it, the function returns the current status.
    /// - Returns: The status of the destinations.
    /// - Throws: `DeliveryError` with the code `.denied` if the caller is not an operator,
    ///   `.notFound` if no such destination exists, or another code if the daemon cannot be
    ///   reached.
    @discardableResult
    public func flush(destination: String? = nil, timeout: Duration = .seconds(30)) async throws -> [Destination] {
        let parameters = FlushParameters(destination: destination, timeout: timeout)
        let reply: FlushReply = try await ask(
            .flush, parameters.json, timeout: parameters.replyTimeout, isLong: true
        ) {
            DeliveryError($0, destination: destination)
        }
        return reply.destinations.map { Destination($0) }
    }

    /// Makes dead letters pending again.
    ///
    /// Only operators may call this.
    ///
    /// - Parameters:
    ///   - destination: The name of a destination. Nil selects the dead letters of all destinations.
    ///   - records: The ids of records. Nil selects the dead letters of all records.
    /// - Returns: `requeued` is the number of dead letters that are pending again. `left` is the number of those that
    ///   cannot be requeued, because their record or destination no longer exists.
    /// - Throws: `DeliveryError` with the code `.denied` if the caller is not an operator, or
    ///   another code if the daemon cannot be reached.
    @discardableResult
    public func requeue(
        destination: String? = nil, records: [String]? = nil
    ) async throws -> (requeued: Int, left: Int) {
        let parameters = RequeueParameters(destination: destination, records: records).json
        let reply: RequeueReply = try await order(.requeue, parameters)
        return (Int(clamping: reply.count), Int(clamping: reply.left))
    }

    /// Permanently erases records.
    ///
    /// Only operators may call this.
    ///
    /// - Parameters:
    ///   - filter: Selects the records. The daemon refuses an empty filter.
    ///   - isDryRun: Whether to count the records without erasing them.
    /// - Returns: `count` is the number of records. `unreachable` lists the places that may still contain some of them.
    /// - Throws: `DeliveryError` with the code `.denied` if the caller is not an operator, or
    ///   another code if the daemon refuses the filter or cannot be reached.
    public func purge(
        _ filter: Filter, dryRun isDryRun: Bool = false
    ) async throws -> (count: Int, unreachable: [String]) {
        let parameters = PurgeParameters(filter: filter.wire, isDryRun: isDryRun ? true : nil).json
        let reply: PurgeReply = try await order(.purge, parameters)
        return (Int(clamping: reply.count), reply.unreachable)
    }

    /// Lets the daemon copy its whole store while it is running.
    ///
    /// Only operators may call this.
    ///
    /// - Returns: The path of the copy on the daemon's host, in the daemon's state directory.
    /// - Throws: `DeliveryError` with the code `.denied` if the caller is not an operator, or
    ///   another code if the copy fails or the daemon cannot be reached.
    public func backup() async throws -> String {
        let reply: BackupReply = try await order(.backup, Array("{}".utf8))
        guard let path = reply.path else {
            throw DeliveryError(.malformed, "The daemon's reply contains no file path.")
        }
        return path
    }

    /// Recovers the readable records from stores that the daemon moved aside.
    ///
    /// Only operators may call this.
    ///
    /// - Parameters:
    ///   - file: The name of a file. Nil selects all files.
    ///   - isDryRun: Whether to list the files without reading them.
    /// - Returns: `recovered` and `unreadable` are numbers of records. `files` are the names of the files. `hopeless`
    ///   are the files that contain nothing readable; they are left unchanged.
    /// - Throws: `DeliveryError` with the code `.denied` if the caller is not an operator, or
    ///   another code if the daemon cannot be reached.
    public func repair(
        _ file: String? = nil, dryRun isDryRun: Bool = false
    ) async throws -> (recovered: Int, unreadable: Int, files: [String], hopeless: [String]) {
        let parameters = RepairParameters(file: file, isDryRun: isDryRun ? true : nil).json
        let reply: RepairReply = try await order(.repair, parameters)
        return (Int(clamping: reply.recovered), Int(clamping: reply.unreadable), reply.files, reply.hopeless)
    }
}
