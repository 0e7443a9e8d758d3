package import IssueProtocol
public import Issues

extension IssueBrowser {
    /// How the daemon, its store and its destinations are.
    public struct Status: Sendable {
        package var wire: DaemonStatus

        package init(_ wire: DaemonStatus) {
            self.wire = wire
        }

        /// The daemon's version.
        public var version: String { wire.version }
        /// The host's name.
        public var host: String { wire.host }
        /// When it started.
        public var startedAt: IssueTimestamp { IssueTimestamp(wire.startedAt) }
        /// How many records it has received.
        public var received: Int { Int(clamping: wire.received) }
        /// How many it rejected since it started, since they could not be read or were too large; only for those who
        /// see all.
        public var rejected: Int { Int(clamping: wire.rejected) }
        /// How many had come before, of those since it started; only for those who see all.
        public var duplicates: Int { Int(clamping: wire.duplicates) }
        /// How many reports it answered with an error since it started, as where the disk is full; only for those who
        /// see all.
        public var refused: Int { Int(clamping: wire.refused) }
        /// How many connections are open to it.
        public var connections: Int { Int(clamping: wire.connections ?? 0) }
        /// The store's id, which stays the same for as long as its records do; nil while it can't be opened.
        public var store: String? { wire.store.id.isEmpty ? nil : wire.store.id }
        /// How many records are stored.
        public var records: Int { Int(clamping: wire.store.records) }
        /// How many groups are stored.
        public var groups: Int { Int(clamping: wire.store.groups) }
        /// How many bytes the store takes on the disk; only for those who see all.
        public var bytes: Int? { wire.store.bytes.map { Int(clamping: $0) } }
        /// How many bytes are free on that disk; only for those who see all.
        public var freeBytes: Int? { wire.store.freeBytes.map { Int(clamping: $0) } }
        /// When the oldest of the stored records was received; only for those who see all.
        public var oldest: IssueTimestamp? { wire.store.oldest.map { IssueTimestamp($0) } }
        /// What is wrong with the store, a sentence each.
        public var faults: [String] { wire.store.faults }
        /// Where it forwards to.
        public var destinations: [Destination] { wire.destinations.map { Destination($0) } }
        /// What limits hold back right now.
        public var suppressions: [Suppression] { wire.suppressions.map { Suppression($0) } }
    }
}

extension IssueBrowser.Status: CustomStringConvertible {
    /// A line for the daemon and its store, and one for each fault, destination and limit that holds something back.
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
    /// What the daemon says of one destination.
    public struct Destination: Sendable {
        package var wire: DestinationStatus

        package init(_ wire: DestinationStatus) {
            self.wire = wire
        }

        /// Its name in the daemon's configuration.
        public var name: String { wire.name }
        /// What kind it is.
        public var kind: String { wire.kind }
        /// What it does now: `idle`, `sending`, `waiting` or `paused`.
        public var state: String { wire.state.rawValue }
        /// Why it is waiting or paused.
        public var reason: String? { wire.reason }
        /// The recommended action; nil if the caller may not see all records.
        public var advice: String? { wire.advice }
        /// When it is tried again, where it is waiting.
        public var nextAttempt: IssueTimestamp? { wire.nextAttempt.map { IssueTimestamp($0) } }
        /// The destination's last answer; nil if the caller may not see all records.
        public var lastAnswer: String? { wire.lastAnswer }
        /// When it last took something.
        public var lastSuccess: IssueTimestamp? { wire.lastSuccess.map { IssueTimestamp($0) } }
        /// When the oldest record that waits for it was reported.
        public var oldestPending: IssueTimestamp? { wire.oldestPending.map { IssueTimestamp($0) } }
        /// How many requests were sent to it since the daemon started; 0 if the caller may not see all records.
        public var requests: Int { Int(clamping: wire.requests) }
        /// How many records had to be sent again since the daemon started.
        public var resent: Int { Int(clamping: wire.resent) }
        /// How many records it may have twice, of those sent since the daemon started.
        public var possibleDuplicates: Int { Int(clamping: wire.maybeDuplicate) }
        /// How many bytes it was sent today, in UTC.
        public var bytesToday: Int { Int(clamping: wire.bytesToday) }
        /// How many records were received since it exists: the sum of all outcomes, at every instant.
        public var received: Int { Int(clamping: wire.ledger.received) }

        /// Whether each record that was received has exactly one outcome, as always should be so.
        public var balances: Bool { wire.ledger.balances }

        /// How many records have ended in one way.
        public func count(of outcome: IssueFate.Outcome) -> Int {
            Fate(name: outcome.rawValue).map { Int(clamping: wire.ledger[$0]) } ?? 0
        }
    }
}

extension IssueBrowser.Destination: CustomStringConvertible {
    /// What it does and how far it is, in one line.
    public var description: String {
        let reason = reason.map { " (\($0))" } ?? ""
        let counts = "\(count(of: .delivered)) of \(received) records delivered, \(count(of: .pending)) pending"
        return TerminalSanitizer.line("\(name): \(state)\(reason), \(counts)")
    }
}

extension IssueBrowser {
    /// What a limit holds back for a destination right now.
    public struct Suppression: Sendable {
        package var wire: IssueProtocol.Suppression

        package init(_ wire: IssueProtocol.Suppression) {
            self.wire = wire
        }

        /// The destination's name.
        public var destination: String { wire.destination }
        /// The application that the limit is for, where it is for one.
        public var app: String? { wire.app }
        /// The id of the group that the limit is for, where it is for one.
        public var group: String? { wire.group }
        /// Which limit it is: `group_rate`, `application_rate`, `global_rate`, `daily_bytes` or `cardinality`.
        public var reason: String { wire.reason.rawValue }
        /// How many records it holds back.
        public var count: Int { Int(clamping: wire.count) }
        /// Since when.
        public var since: IssueTimestamp { IssueTimestamp(wire.since) }
    }
}

extension IssueBrowser.Suppression: CustomStringConvertible {
    /// What is held back, why, and since when, in one line.
    public var description: String {
        var limit = reason
        if let group { limit += " of \(group)" }
        if let app { limit += " in \(app)" }
        return TerminalSanitizer.line("\(destination): \(count) held back by \(limit) since \(since)")
    }
}

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
