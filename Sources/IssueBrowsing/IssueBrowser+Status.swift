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
        let faults = faults.map { HarmlessText.line("fault: \($0)") }
        let lines = [HarmlessText.line(head)] + faults + destinations.map(\.description)
        return (lines + suppressions.map(\.description)).joined(separator: "\n")
    }
}
