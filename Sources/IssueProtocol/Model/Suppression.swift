package import IssueWire

/// What one limit holds back of one application for a destination right now.
package struct Suppression: Equatable, Sendable {
    package var destination: String
    package var app: String?
    /// The group, where it is only one.
    package var group: String?
    package var reason: SuppressionReason
    package var count: Int64
    package var since: Timestamp
    /// How many groups are held back; nil from a daemon that lists each group by itself.
    package var groups: Int64?

    package init(
        destination: String, app: String?, group: String?, reason: SuppressionReason, count: Int64, since: Timestamp,
        groups: Int64? = nil
    ) {
        self.destination = destination
        self.app = app
        self.group = group
        self.reason = reason
        self.count = count
        self.since = since
        self.groups = groups
    }
}
