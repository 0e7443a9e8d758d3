package import IssueProtocol
public import Issues

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
        return HarmlessText.line("\(destination): \(count) held back by \(limit) since \(since)")
    }
}
