package import IssueWire

/// The reply of `Status`.
package struct DaemonStatus: Equatable, Sendable {
    package var version: String
    package var host: String
    package var startedAt: IssueTimestamp
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
        version: String, host: String, startedAt: IssueTimestamp, received: Int64, rejected: Int64, duplicates: Int64,
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
    package static let initial = DaemonStatus(
        version: "", host: "", startedAt: .epoch, received: 0, rejected: 0, duplicates: 0, refused: 0,
        connections: nil, store: .initial, destinations: [], suppressions: [])

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("version", &version)
        try members.required("host", &host)
        try members.required("started_at", &startedAt)
        try members.required("received", &received)
        try members.required("rejected", &rejected)
        try members.required("duplicates", &duplicates)
        try members.defaulted("refused", &refused, 0)
        try members.optional("connections", &connections)
        try members.required("store", &store)
        try members.defaulted("destinations", &destinations, [])
        try members.defaulted("suppressions", &suppressions, [])
        try members.defaulted("other_suppressions", &otherSuppressions, 0)
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
    package var oldest: IssueTimestamp?
    /// The free disk space in bytes; nil if it is unknown or the caller may not see it.
    package var freeBytes: Int64?
    /// A sentence for each current fault.
    package var faults: [String]

    package init(
        id: String, records: Int64, groups: Int64, bytes: Int64?, oldest: IssueTimestamp?, freeBytes: Int64?,
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
    package static let initial = StoreStatus(
        id: "", records: 0, groups: 0, bytes: nil, oldest: nil, freeBytes: nil, faults: [])

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("id", &id)
        try members.required("records", &records)
        try members.required("groups", &groups)
        try members.optional("bytes", &bytes)
        try members.optional("oldest", &oldest)
        try members.optional("free_bytes", &freeBytes)
        try members.defaulted("faults", &faults, [])
    }
}
