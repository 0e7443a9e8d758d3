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

extension DaemonStatus: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var version: String?
        var host: String?
        var startedAt: Timestamp?
        var received: Int64?
        var rejected: Int64?
        var duplicates: Int64?
        var refused: Int64?
        var connections: Int64?
        var store: StoreStatus?
        var destinations: [DestinationStatus] = []
        var suppressions: [Suppression] = []
        var otherSuppressions: Int64?
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "version": try scanner.read(&version, key)
            case "host": try scanner.read(&host, key)
            case "started_at": try scanner.read(&startedAt, key)
            case "received": try scanner.read(&received, key)
            case "rejected": try scanner.read(&rejected, key)
            case "duplicates": try scanner.read(&duplicates, key)
            case "refused": try scanner.read(&refused, key)
            case "connections": try scanner.read(&connections, key)
            case "store": try scanner.read(&store, key)
            case "destinations": try scanner.read(&destinations, key)
            case "suppressions": try scanner.read(&suppressions, key)
            case "other_suppressions": try scanner.read(&otherSuppressions, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            version: try version.required("version"),
            host: try host.required("host"),
            startedAt: try startedAt.required("started_at"),
            received: try received.required("received"),
            rejected: try rejected.required("rejected"),
            duplicates: try duplicates.required("duplicates"),
            refused: refused ?? 0,
            connections: connections,
            store: try store.required("store"),
            destinations: destinations,
            suppressions: suppressions,
            otherSuppressions: otherSuppressions ?? 0
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("version", version)
        writer.member("host", host)
        writer.member("started_at", startedAt)
        writer.member("received", received)
        writer.member("rejected", rejected)
        writer.member("duplicates", duplicates)
        writer.member("refused", refused)
        writer.member("connections", ifPresent: connections)
        writer.member("store", store)
        writer.member("destinations", destinations)
        writer.member("suppressions", suppressions)
        writer.member("other_suppressions", otherSuppressions)
        writer.closeObject()
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

extension StoreStatus: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var id: String?
        var records: Int64?
        var groups: Int64?
        var bytes: Int64?
        var oldest: Timestamp?
        var freeBytes: Int64?
        var faults: [String] = []
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "id": try scanner.read(&id, key)
            case "records": try scanner.read(&records, key)
            case "groups": try scanner.read(&groups, key)
            case "bytes": try scanner.read(&bytes, key)
            case "oldest": try scanner.read(&oldest, key)
            case "free_bytes": try scanner.read(&freeBytes, key)
            case "faults": try scanner.read(&faults, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            id: try id.required("id"),
            records: try records.required("records"),
            groups: try groups.required("groups"),
            bytes: bytes,
            oldest: oldest,
            freeBytes: freeBytes,
            faults: faults
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("id", id)
        writer.member("records", records)
        writer.member("groups", groups)
        writer.member("bytes", ifPresent: bytes)
        writer.member("oldest", ifPresent: oldest)
        writer.member("free_bytes", ifPresent: freeBytes)
        writer.member("faults", faults)
        writer.closeObject()
    }
}
