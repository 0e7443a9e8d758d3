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
        /// How many it refused.
        public var rejected: Int { Int(clamping: wire.rejected) }
        /// How many had come before.
        public var duplicates: Int { Int(clamping: wire.duplicates) }
        /// How many connections are open to it.
        public var connections: Int { Int(clamping: wire.connections ?? 0) }
        /// How many records are stored.
        public var records: Int { Int(clamping: wire.store.records) }
        /// How many groups are stored.
        public var groups: Int { Int(clamping: wire.store.groups) }
        /// What is wrong with the store, a sentence each.
        public var faults: [String] { wire.store.faults }
        /// Where it forwards to.
        public var destinations: [Destination] { wire.destinations.map { Destination($0) } }
    }
}
