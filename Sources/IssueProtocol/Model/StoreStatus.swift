package import IssueWire

/// What the daemon says of its store.
package struct StoreStatus: Equatable, Sendable {
    package var id: String
    package var records: Int64
    package var groups: Int64
    package var bytes: Int64?
    package var oldest: Timestamp?
    package var freeBytes: Int64?
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
