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
        /// What a person should do.
        public var advice: String? { wire.advice }
        /// What it said last.
        public var lastAnswer: String? { wire.lastAnswer }
        /// When it last took something.
        public var lastSuccess: IssueTimestamp? { wire.lastSuccess.map { IssueTimestamp($0) } }
        /// When the oldest record that waits for it was reported.
        public var oldestPending: IssueTimestamp? { wire.oldestPending.map { IssueTimestamp($0) } }
        /// How many records were received since it exists: the sum of all outcomes, at every instant.
        public var received: Int { Int(clamping: wire.ledger.received) }

        /// How many records have ended in one way.
        public func count(of outcome: IssueFate.Outcome) -> Int {
            Fate(name: outcome.rawValue).map { Int(clamping: wire.ledger[$0]) } ?? 0
        }
    }
}
