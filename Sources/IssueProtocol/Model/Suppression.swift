package import IssueWire

/// What is being held back for a destination right now, and why.
package struct Suppression: Equatable, Sendable {
    package var destination: String
    package var app: String?
    package var group: String?
    package var reason: SuppressionReason
    package var count: Int64
    package var since: Timestamp

    package init(
        destination: String, app: String?, group: String?, reason: SuppressionReason, count: Int64, since: Timestamp
    ) {
        self.destination = destination
        self.app = app
        self.group = group
        self.reason = reason
        self.count = count
        self.since = since
    }
}
