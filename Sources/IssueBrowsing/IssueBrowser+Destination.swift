package import IssueProtocol
public import Issues

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
        return HarmlessText.line("\(name): \(state)\(reason), \(counts)")
    }
}
