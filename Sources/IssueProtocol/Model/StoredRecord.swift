package import IssueWire

/// A record with all that the daemon knows of it.
package struct StoredRecord: Equatable, Sendable {
    package var id: String
    package var group: String
    package var receivedAt: Timestamp
    package var sender: Sender
    /// What the daemon mended or cut in it, a sentence each.
    package var repairs: [String]
    /// What the sender said, with severity, times and count filled in.
    package var record: IssueRecord

    package init(
        id: String, group: String, receivedAt: Timestamp, sender: Sender, repairs: [String], record: IssueRecord
    ) {
        self.id = id
        self.group = group
        self.receivedAt = receivedAt
        self.sender = sender
        self.repairs = repairs
        self.record = record
    }
}
