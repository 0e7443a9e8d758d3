package import IssueWire

/// The reply of `Status`.
package struct DaemonStatus: Equatable, Sendable {
    package var version: String
    package var host: String
    package var startedAt: Timestamp
    /// The number of records received since the store was created.
    package var received: Int64
    /// The number of rejected records since the daemon started.
    package var rejected: Int64
    /// The number of records since the daemon started that had been stored before.
    package var duplicates: Int64
    /// The number of reports since the daemon started that were refused.
    package var refused: Int64
    /// The number of open connections; nil if the caller may not see it.
    package var connections: Int64?
    package var store: StoreStatus
    package var destinations: [DestinationStatus]
    /// The suppressions with the highest counts, highest first.
    package var suppressions: [Suppression]
    /// The number of suppressions that are not in `suppressions`.
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

extension DaemonStatus: JSONObjectCodable {
    private static let blank = DaemonStatus(
        version: "", host: "", startedAt: .epoch, received: 0, rejected: 0, duplicates: 0, refused: 0,
        connections: nil, store: .blank, destinations: [], suppressions: [])

    package static let fields = JSONFields(blank) {
        $0.required("version", \.version)
        $0.required("host", \.host)
        $0.required("started_at", \.startedAt)
        $0.required("received", \.received)
        $0.required("rejected", \.rejected)
        $0.required("duplicates", \.duplicates)
        $0.defaulted("refused", \.refused)
        $0.optional("connections", \.connections)
        $0.required("store", \.store)
        $0.defaulted("destinations", \.destinations)
        $0.defaulted("suppressions", \.suppressions)
        $0.defaulted("other_suppressions", \.otherSuppressions)
    }
}

/// The state of the daemon's store.
package struct StoreStatus: Equatable, Sendable {
    /// The id of the store; empty if the store could not be opened.
    package var id: String
    package var records: Int64
    package var groups: Int64
    /// The size of the store in bytes; nil if the caller may not see it.
    package var bytes: Int64?
    /// The time of the oldest record; nil if there are no records.
    package var oldest: Timestamp?
    /// The free disk space in bytes; nil if it is unknown or the caller may not see it.
    package var freeBytes: Int64?
    /// A sentence for each current fault.
    package var faults: [String]

    package init(
        id: String, records: Int64, groups: Int64, bytes: Int64?, oldest: Timestamp?, freeBytes: Int64?,
        faults: [String]
    ) {
        self.id = id
        self.records = records
        self.groups = groups
        self.bytes = bytes
        self.oldest = oldest
        self.freeBytes = freeBytes
        self.faults = faults
    }
}

extension StoreStatus: JSONObjectCodable {
    fileprivate static let blank = StoreStatus(
        id: "", records: 0, groups: 0, bytes: nil, oldest: nil, freeBytes: nil, faults: [])

    package static let fields = JSONFields(blank) {
        $0.required("id", \.id)
        $0.required("records", \.records)
        $0.required("groups", \.groups)
        $0.optional("bytes", \.bytes)
        $0.optional("oldest", \.oldest)
        $0.optional("free_bytes", \.freeBytes)
        $0.defaulted("faults", \.faults)
    }
}
