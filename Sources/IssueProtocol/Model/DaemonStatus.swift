package import IssueWire

/// All that `Status` answers.
package struct DaemonStatus: Equatable, Sendable {
    package var version: String
    package var host: String
    package var startedAt: Timestamp
    package var received: Int64
    package var rejected: Int64
    package var duplicates: Int64
    package var refused: Int64
    package var connections: Int64?
    package var store: StoreStatus
    package var destinations: [DestinationStatus]
    /// The largest first.
    package var suppressions: [Suppression]
    /// How many there are besides.
    package var otherSuppressions: Int64

    package init(
        version: String, host: String, startedAt: Timestamp, received: Int64, rejected: Int64, duplicates: Int64,
        refused: Int64, connections: Int64?, store: StoreStatus, destinations: [DestinationStatus],
        suppressions: [Suppression], otherSuppressions: Int64 = 0
    ) {
        self.version = version
        self.host = host
        self.startedAt = startedAt
        self.received = received
        self.rejected = rejected
        self.duplicates = duplicates
        self.refused = refused
        self.connections = connections
        self.store = store
        self.destinations = destinations
        self.suppressions = suppressions
        self.otherSuppressions = otherSuppressions
    }
}
